//! `serviceaccounts/NAME/token`: a token for who has asked.

use std::sync::LazyLock;

use k8s_api_schema::FieldError;
use k8s_openapi::jiff::SignedDuration;
use serde_json::{Map, Value, json};

use super::service_account;
use crate::body;
use crate::kinds::Kind;
use crate::lifecycle::State;
use crate::managed;
use crate::metadata::{self, entry_mut, metadata_mut, object_mut, text, texts};
use crate::source;
use crate::status::Failure;
use crate::verbs::{Answer, Call, Item};

const GROUP: &str = "authentication.k8s.io";
const KIND: &str = "TokenRequest";

/// How long a token is good for where nothing is asked for, in seconds.
const DEFAULT_EXPIRATION: i64 = 3600;
/// The shortest time that can be asked for.
const SHORTEST: i64 = 600;
/// The longest.
const LONGEST: i64 = 1 << 32;

/// What is posted; no resource of its own.
static TOKEN_REQUEST: LazyLock<Kind> =
    LazyLock::new(|| Kind::row((GROUP, "v1", KIND), "tokenrequests", "tokenrequest"));

/// POST of a TokenRequest.
pub(crate) fn create(state: &mut State, call: &Call) -> Result<Answer, Failure> {
    let validation = call.query.write_options("CreateOptions")?.validation;
    let decoded = body::decode(
        &call.body,
        call.content_type.as_deref(),
        &TOKEN_REQUEST,
        &state.registry,
        validation,
    )?;
    let warnings = decoded.warnings(validation);
    let mut object = decoded.object;
    let spec = entry_mut(object_mut(&mut object), "spec");
    if spec.get("expirationSeconds").is_none_or(Value::is_null) {
        spec.insert("expirationSeconds".into(), DEFAULT_EXPIRATION.into());
    }
    let write = managed::Write {
        kind: &TOKEN_REQUEST,
        subresource: "token",
        manager: &call.manager(),
    };
    managed::track(&state.registry, &state.source, write, None, &mut object);
    let object = answer(state, call, object)?;
    Ok(Answer::Object {
        code: 201,
        object: Item::Made(object),
        warnings,
    })
}

fn answer(state: &mut State, call: &Call, mut request: Value) -> Result<Value, Failure> {
    let name = call.target.name.as_deref().unwrap_or_default();
    let namespace = call.target.namespace.as_deref().unwrap_or_default();
    crate::verbs::set_namespace(call, &mut request)?;
    if state.namespace(namespace).is_none() {
        return Err(Failure::not_found("", "namespaces", namespace));
    }
    let sent = text(&request, "/metadata/name");
    if !sent.is_empty() && sent != name {
        let why = "must match the service account name if specified";
        let error = FieldError::invalid("metadata.name", sent, why);
        return Err(Failure::invalid(GROUP, KIND, name, &[error]));
    }
    let key = crate::store::key(Some(namespace), name);
    let account = state.store.get("serviceaccounts", &key).cloned();
    let account = account.ok_or_else(|| Failure::not_found("", "serviceaccounts", name))?;
    let uid = metadata::uid(&*account).to_owned();
    let sent = metadata::uid(&request);
    if !sent.is_empty() && sent != uid {
        let why = format!(
            "the UID in the token request ({sent}) does not match the UID of the service account ({uid})"
        );
        return Err(Failure::conflict(GROUP, KIND, name, &why));
    }
    let now = state.source.now();
    let own = state.access.signer.issuer.clone();
    let spec = entry_mut(object_mut(&mut request), "spec");
    if texts(spec.get("audiences")).is_empty() {
        spec.insert("audiences".into(), json!([own]));
    }
    if !spec.contains_key("boundObjectRef") {
        spec.insert("boundObjectRef".into(), Value::Null);
    }
    let seconds = spec
        .get("expirationSeconds")
        .and_then(Value::as_i64)
        .unwrap_or_default();
    check_expiration(seconds)?;
    let bound = bound_object(state, call, &request)?;
    let metadata = metadata_mut(&mut request);
    metadata.insert("name".into(), name.into());
    metadata.insert("namespace".into(), namespace.into());
    metadata.insert("uid".into(), uid.as_str().into());
    metadata.insert("creationTimestamp".into(), source::stamp(now).into());
    let expires = now
        .saturating_add(SignedDuration::from_secs(seconds))
        .unwrap_or(now);
    let mut about = json!({"namespace": namespace, "serviceaccount": {"name": name, "uid": uid}});
    if let Some(about) = about.as_object_mut() {
        about.extend(bound);
    }
    let claims = json!({
        "aud": request.pointer("/spec/audiences"),
        "exp": expires.as_second(),
        "iat": now.as_second(),
        "iss": own,
        "jti": state.source.uid(),
        "kubernetes.io": about,
        "nbf": now.as_second(),
        "sub": service_account::user_name(namespace, name),
    });
    let status = json!({
        "token": state.access.signer.sign(&claims),
        "expirationTimestamp": source::stamp(expires),
    });
    object_mut(&mut request).insert("status".into(), status);
    Ok(request)
}

fn check_expiration(seconds: i64) -> Result<(), Failure> {
    let why = match seconds {
        ..SHORTEST => "may not specify a duration less than 10 minutes",
        seconds if seconds > LONGEST => "may not specify a duration larger than 2^32 seconds",
        _ => return Ok(()),
    };
    let error = FieldError::invalid("spec.expirationSeconds", seconds, why);
    Err(Failure::invalid(GROUP, KIND, "", &[error]))
}

/// What the token tells of the object that it is bound to.
fn bound_object(
    state: &State,
    call: &Call,
    request: &Value,
) -> Result<Map<String, Value>, Failure> {
    let mut told = Map::new();
    let Some(reference) = request
        .pointer("/spec/boundObjectRef")
        .filter(|found| !found.is_null())
    else {
        return Ok(told);
    };
    let (version, kind, name) = (
        text(reference, "/apiVersion"),
        text(reference, "/kind"),
        text(reference, "/name"),
    );
    let (group, core_version) = version.split_once('/').unwrap_or(("", version));
    if name.is_empty() && matches!((group, kind), ("", "Pod" | "Secret" | "Node")) {
        return Err(Failure::bad_request("Name parameter required."));
    }
    let (storage, key, namespaced) = match (group, kind) {
        ("", "Pod") => ("pods", "pod", true),
        ("", "Secret") => ("secrets", "secret", true),
        ("", "Node") => ("nodes", "node", false),
        _ => {
            let of = format!("{group}/{core_version}, Kind={kind}");
            return Err(Failure::bad_request(format!(
                "cannot bind token to object of type {of}"
            )));
        }
    };
    let namespace = call.target.namespace.as_deref().filter(|_| namespaced);
    let object = state
        .store
        .get(storage, &crate::store::key(namespace, name));
    let object = object
        .ok_or_else(|| Failure::not_found("", storage, name))?
        .value();
    let account = call.target.name.as_deref().unwrap_or_default();
    if key == "pod" {
        if text(&object, "/spec/serviceAccountName") != account {
            return Err(Failure::bad_request(format!(
                "cannot bind token for serviceaccount {} to pod running with different serviceaccount name.",
                k8s_api_schema::quote(account)
            )));
        }
        let node = text(&object, "/spec/nodeName");
        if !node.is_empty() {
            let mut of_node = json!({ "name": node });
            if let Some(found) = state.store.get("nodes", node) {
                of_node["uid"] = metadata::uid(&**found).into();
            }
            told.insert("node".into(), of_node);
        }
    }
    let (wanted, uid) = (text(reference, "/uid"), metadata::uid(&object));
    if !wanted.is_empty() && wanted != uid {
        let why = format!(
            "the UID in the bound object reference ({wanted}) does not match the UID in record. The object might have been deleted and then recreated"
        );
        return Err(Failure::conflict(group, kind, name, &why));
    }
    told.insert(key.into(), json!({"name": name, "uid": uid}));
    Ok(told)
}
