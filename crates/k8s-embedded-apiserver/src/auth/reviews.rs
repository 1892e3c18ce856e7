//! Reviews: who am I, whose token is this, may this user do that.

use http::Method;
use k8s_api_schema::FieldError;
use serde_json::{Map, Value, json};

use super::attributes::Attributes;
use super::rbac::Decision;
use super::tokens;
use super::user::User;
use crate::lifecycle::State;
use crate::metadata::{object_mut, text, texts};
use crate::status::Failure;
use crate::verbs::{Answer, Call, Item};

/// Answers what was posted; the object is the answer.
pub(crate) type Review = fn(&mut State, &Call, Value) -> Result<Value, Failure>;

/// A request to a kind of review.
pub(crate) fn handle(state: &mut State, call: &Call, review: Review) -> Result<Answer, Failure> {
    if call.target.name.is_some() {
        return Err(Failure::no_such_resource());
    }
    if call.method != Method::POST {
        return Err(Failure::method_not_allowed());
    }
    let validation = call.query.write_options("CreateOptions")?.validation;
    let decoded = call.decode(state, validation)?;
    let warnings = decoded.warnings(validation);
    let mut object = decoded.object;
    call.track(state, None, &mut object);
    let object = review(state, call, object)?;
    Ok(Answer::Object {
        code: 201,
        object: Item::Made(object),
        warnings,
    })
}

fn set(object: &mut Value, key: &str, value: Value) {
    object_mut(object).insert(key.into(), value);
}

#[allow(
    clippy::unnecessary_wraps,
    clippy::needless_pass_by_value,
    reason = "a `Review`"
)]
pub(crate) fn self_subject(
    state: &mut State,
    call: &Call,
    object: Value,
) -> Result<Value, Failure> {
    // Nothing of what was sent matters.
    Ok(json!({
        "kind": object["kind"],
        "apiVersion": object["apiVersion"],
        "metadata": {"creationTimestamp": state.source.stamp()},
        "status": {"userInfo": call.user.to_json()},
    }))
}

pub(crate) fn token(state: &mut State, _: &Call, mut object: Value) -> Result<Value, Failure> {
    let token = text(&object, "/spec/token").to_owned();
    if token.is_empty() {
        return Err(Failure::bad_request(
            "token is required for TokenReview in authentication",
        ));
    }
    let wanted = texts(object.pointer("/spec/audiences"));
    let wanted: Vec<String> = wanted.into_iter().map(Into::into).collect();
    let audiences = (!wanted.is_empty()).then_some(wanted.as_slice());
    let status = match tokens::authenticate(state, &token, audiences) {
        Ok((user, audiences)) => {
            json!({"authenticated": true, "user": user.to_json(), "audiences": audiences})
        }
        Err(why) => json!({"user": {}, "error": why}),
    };
    set(&mut object, "status", status);
    Ok(object)
}

pub(crate) fn self_subject_access(
    state: &mut State,
    call: &Call,
    object: Value,
) -> Result<Value, Failure> {
    check(&object, false, None)?;
    let user = call.user.clone();
    Ok(decide(state, &user, object))
}

pub(crate) fn subject_access(state: &mut State, _: &Call, object: Value) -> Result<Value, Failure> {
    check(&object, true, None)?;
    let user = subject(&object);
    Ok(decide(state, &user, object))
}

pub(crate) fn local_subject_access(
    state: &mut State,
    call: &Call,
    mut object: Value,
) -> Result<Value, Failure> {
    crate::verbs::set_namespace(call, &mut object)?;
    check(
        &object,
        true,
        Some(call.target.namespace.as_deref().unwrap_or_default()),
    )?;
    let user = subject(&object);
    Ok(decide(state, &user, object))
}

/// The user that `spec` describes.
fn subject(object: &Value) -> User {
    let spec = &object["spec"];
    let extra = spec.get("extra").and_then(Value::as_object);
    User {
        name: text(spec, "/user").into(),
        uid: text(spec, "/uid").into(),
        groups: texts(spec.get("groups"))
            .into_iter()
            .map(Into::into)
            .collect(),
        extra: extra
            .into_iter()
            .flatten()
            .map(|(key, values)| {
                let values = texts(Some(values)).into_iter().map(Into::into).collect();
                (key.clone(), values)
            })
            .collect(),
    }
}

fn decide(state: &mut State, user: &User, mut object: Value) -> Value {
    let asked = asked(&object["spec"]);
    let Decision { allowed, reason } = state.access.decide(&state.store, user, &asked);
    let mut status = json!({"allowed": allowed});
    if !reason.is_empty() {
        status["reason"] = reason.into();
    }
    set(&mut object, "status", status);
    object
}

fn asked(spec: &Value) -> Attributes {
    let Some(of) = spec.get("resourceAttributes").filter(|of| !of.is_null()) else {
        return Attributes {
            verb: text(spec, "/nonResourceAttributes/verb").into(),
            path: text(spec, "/nonResourceAttributes/path").into(),
            ..Attributes::default()
        };
    };
    Attributes {
        namespace: text(of, "/namespace").into(),
        subresource: text(of, "/subresource").into(),
        ..Attributes::resource(
            text(of, "/verb"),
            text(of, "/group"),
            text(of, "/resource"),
            text(of, "/name"),
        )
    }
}

/// 422 for what is no question. `namespace` is that of a local review.
fn check(object: &Value, of_user: bool, namespace: Option<&str>) -> Result<(), Failure> {
    let spec = object.get("spec").cloned().unwrap_or_default();
    let given = |key: &str| spec.get(key).filter(|value| !value.is_null());
    let (resource, other) = (given("resourceAttributes"), given("nonResourceAttributes"));
    let mut errors = Vec::new();
    if resource.is_some() == other.is_some() {
        let value =
            other.map(|other| json!({"Path": text(other, "/path"), "Verb": text(other, "/verb")}));
        let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        errors.push(FieldError::invalid("spec", value.unwrap_or_default(), why));
    }
    if of_user && text(&spec, "/user").is_empty() && texts(spec.get("groups")).is_empty() {
        let why = "at least one of user or group must be specified";
        errors.push(FieldError::invalid("spec.user", "", why));
    }
    for key in ["fieldSelector", "labelSelector"] {
        if let Some(selector) = resource
            .and_then(|of| of.get(key))
            .filter(|selector| !selector.is_null())
        {
            selector_errors(
                &format!("spec.resourceAttributes.{key}"),
                selector,
                &mut errors,
            );
        }
    }
    if let Some(error) = metadata_error(object, namespace.is_some()) {
        errors.push(error);
    }
    if let Some(namespace) = namespace {
        let asked = resource.map(|of| text(of, "/namespace"));
        if let Some(asked) = asked.filter(|asked| *asked != namespace) {
            let field = "spec.resourceAttributes.namespace";
            errors.push(FieldError::invalid(
                field,
                asked,
                "must match metadata.namespace",
            ));
        }
        if let Some(other) = other {
            let value = json!({"Path": text(other, "/path"), "Verb": text(other, "/verb")});
            let why = "disallowed on this kind of request";
            errors.push(FieldError::invalid(
                "spec.nonResourceAttributes",
                value,
                why,
            ));
        }
    }
    if errors.is_empty() {
        return Ok(());
    }
    Err(Failure::invalid("authorization.k8s.io", "", "", &errors))
}

fn selector_errors(path: &str, selector: &Value, errors: &mut Vec<FieldError>) {
    let raw = text(selector, "/rawSelector");
    let requirements = selector.get("requirements").and_then(Value::as_array);
    let some = requirements.is_some_and(|list| !list.is_empty());
    if !raw.is_empty() && some {
        let why = "may not specified at the same time as requirements";
        errors.push(FieldError::invalid(format!("{path}.rawSelector"), raw, why));
    }
    if path.ends_with("labelSelector") {
        let keys = requirements.into_iter().flatten().enumerate();
        for (index, requirement) in keys {
            let (key, faults) = crate::validation::key_faults(requirement);
            let at = format!("{path}.requirements[{index}].key");
            errors.extend(
                faults
                    .into_iter()
                    .map(|fault| FieldError::invalid(at.as_str(), key, fault)),
            );
        }
    }
    if raw.is_empty() && !some {
        let why = format!("when {path} is specified, requirements or rawSelector is required");
        errors.push(FieldError::required(format!("{path}.requirements"), why));
    }
}

/// A review has no metadata but who wrote it, and the namespace of a local one.
fn metadata_error(object: &Value, local: bool) -> Option<FieldError> {
    let metadata = object.get("metadata").and_then(Value::as_object)?;
    let extra = metadata
        .keys()
        .any(|key| key != "managedFields" && !(local && key == "namespace"));
    let why = if local {
        "must be empty except for namespace"
    } else {
        "must be empty"
    };
    extra.then(|| FieldError::invalid_printed("metadata", printed(metadata), why))
}

/// Metadata as Go writes it, which is in the order of the type's fields.
fn printed(metadata: &Map<String, Value>) -> String {
    const METADATA: &[&str] = &[
        "name",
        "generateName",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "labels",
        "annotations",
        "ownerReferences",
        "finalizers",
    ];
    const ENTRY: &[&str] = &[
        "manager",
        "operation",
        "apiVersion",
        "time",
        "fieldsType",
        "fieldsV1",
        "subresource",
    ];
    let members = |map: &Map<String, Value>, order: &[&str]| -> Vec<String> {
        order
            .iter()
            .filter_map(|key| Some(format!("\"{key}\":{}", map.get(*key)?)))
            .collect()
    };
    let mut all = members(metadata, METADATA);
    if let Some(entries) = metadata.get("managedFields").and_then(Value::as_array) {
        let entries = entries.iter().filter_map(Value::as_object);
        let entries: Vec<String> = entries
            .map(|entry| format!("{{{}}}", members(entry, ENTRY).join(",")))
            .collect();
        all.push(format!("\"managedFields\":[{}]", entries.join(",")));
    }
    format!("{{{}}}", all.join(","))
}

#[allow(clippy::needless_pass_by_value, reason = "a `Review`")]
pub(crate) fn self_subject_rules(
    state: &mut State,
    call: &Call,
    object: Value,
) -> Result<Value, Failure> {
    let namespace = text(&object, "/spec/namespace");
    if namespace.is_empty() {
        return Err(Failure::bad_request("no namespace on request"));
    }
    let (mut resources, mut paths) = (Vec::new(), Vec::new());
    let mut status = json!({"incomplete": false});
    match state.access.roles(&state.store) {
        // Without roles, and for those whom roles do not restrict, everything is allowed.
        None => {
            resources.push(json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}));
            paths.push(json!({"verbs": ["*"], "nonResourceURLs": ["*"]}));
        }
        Some(rbac) => {
            let (rules, missing) = rbac.rules(&call.user, namespace);
            for rule in rules {
                if !rule.resources.is_empty() {
                    let mut shown = json!({"verbs": rule.verbs, "apiGroups": rule.api_groups, "resources": rule.resources});
                    if !rule.resource_names.is_empty() {
                        shown["resourceNames"] = json!(rule.resource_names);
                    }
                    resources.push(shown);
                }
                if !rule.non_resource_urls.is_empty() {
                    paths.push(
                        json!({"verbs": rule.verbs, "nonResourceURLs": rule.non_resource_urls}),
                    );
                }
            }
            if let Some(missing) = missing {
                status["evaluationError"] = missing.into();
            }
        }
    }
    status["resourceRules"] = resources.into();
    status["nonResourceRules"] = paths.into();
    Ok(json!({
        "kind": "SelfSubjectRulesReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": {},
        "status": status,
    }))
}
