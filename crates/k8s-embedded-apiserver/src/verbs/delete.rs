//! DELETE of an object and of a collection.

use std::sync::Arc;

use serde_json::Value;

use super::{Answer, Call, list};
use crate::admission;
use crate::body;
use crate::kinds::Deleted;
use crate::lifecycle::{self, Deletion, Manner, NAMESPACES, Propagation, State};
use crate::metadata::{self, Meta as _};
use crate::object::Object;
use crate::query::dry_run_error;
use crate::status::{self, Failure};
use k8s_api_schema::FieldError;

/// What a delete asks for, in its body or its query.
#[derive(Debug, Default)]
struct DeleteOptions {
    manner: Manner,
    uid: Option<String>,
    version: Option<String>,
    dry_run: bool,
    /// Whether who asks wants to know that the object is not gone yet.
    tells_held: bool,
}

impl DeleteOptions {
    fn read(call: &Call) -> Result<Self, Failure> {
        if call.body.is_empty() {
            let grace = call.query.number("gracePeriodSeconds")?;
            let orphan = call.query.flag("orphanDependents");
            return Self::checked(
                call.query.get("propagationPolicy"),
                orphan,
                grace,
                call.query.dry_run("DeleteOptions")?,
            );
        }
        // With a body the query does not matter.
        let options = read_body(call)?;
        let dry_run = metadata::texts(options.get("dryRun"));
        if let Some(error) = dry_run_error(&dry_run) {
            return Err(Failure::invalid(
                "meta.k8s.io",
                "DeleteOptions",
                "",
                &[error],
            ));
        }
        let dry_run = !dry_run.is_empty();
        let policy = options.get("propagationPolicy").and_then(Value::as_str);
        let orphan = options.get("orphanDependents").and_then(Value::as_bool);
        let grace = options.get("gracePeriodSeconds").and_then(Value::as_i64);
        let given = |pointer: &str| {
            options
                .pointer(pointer)
                .and_then(Value::as_str)
                .map(Into::into)
        };
        Ok(Self {
            uid: given("/preconditions/uid"),
            version: given("/preconditions/resourceVersion"),
            ..Self::checked(policy, orphan, grace, dry_run)?
        })
    }

    fn checked(
        policy: Option<&str>,
        orphan: Option<bool>,
        grace: Option<i64>,
        dry_run: bool,
    ) -> Result<Self, Failure> {
        const FIELD: &str = "propagationPolicy";
        let invalid = |error| Failure::invalid("meta.k8s.io", "DeleteOptions", "", &[error]);
        if let (Some(policy), Some(_)) = (policy, orphan) {
            let why = "orphanDependents and deletionPropagation cannot be both set";
            return Err(invalid(FieldError::invalid(FIELD, policy, why)));
        }
        let propagation = match (policy, orphan) {
            (Some("Foreground"), _) => Some(Propagation::Foreground),
            (Some("Background"), _) | (None, Some(false)) => Some(Propagation::Background),
            (Some("Orphan"), _) | (None, Some(true)) => Some(Propagation::Orphan),
            (None, None) => None,
            (Some(other), _) => {
                let known = ["Foreground", "Background", "Orphan", "nil"];
                return Err(invalid(FieldError::not_supported(FIELD, other, &known)));
            }
        };
        Ok(Self {
            manner: Manner { propagation, grace },
            dry_run,
            tells_held: orphan == Some(false),
            ..Self::default()
        })
    }

    /// Namespaces have words of their own.
    fn check_namespace(&self, object: &Object) -> Result<(), Failure> {
        for (what, wanted, found) in [
            ("UID", &self.uid, object.uid()),
            ("ResourceVersion", &self.version, object.version()),
        ] {
            if let Some(wanted) = wanted.as_deref().filter(|wanted| *wanted != found) {
                let why = format!(
                    "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
                );
                return Err(Failure::conflict("", NAMESPACES, object.name(), &why));
            }
        }
        Ok(())
    }

    /// 409 where the object is not the one that was meant.
    fn check(&self, call: &Call, object: &Object) -> Result<(), Failure> {
        let (group, kind) = super::subject(call.kind());
        let name = object.name();
        let (uid, version) = (object.uid(), object.version());
        if call.kind().storage == NAMESPACES {
            return self.check_namespace(object);
        }
        if let Some(wanted) = self.uid.as_deref().filter(|wanted| *wanted != uid) {
            return Err(Failure::uid_precondition(group, kind, name, wanted, uid));
        }
        if let Some(wanted) = self.version.as_deref().filter(|wanted| *wanted != version) {
            return Err(Failure::version_precondition(
                group, kind, name, wanted, version,
            ));
        }
        Ok(())
    }
}

/// What a delete does to dependents unless it says so may surprise.
fn warnings(call: &Call, options: &DeleteOptions) -> Vec<String> {
    const JOBS: &str = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning";
    let is_job = call.kind().storage == lifecycle::JOBS;
    if is_job && options.manner.propagation.is_none() {
        vec![JOBS.into()]
    } else {
        Vec::new()
    }
}

fn read_body(call: &Call) -> Result<Value, Failure> {
    let content_type = call.content_type.as_deref();
    let options = body::read_if(&call.body, content_type, "DeleteOptions", check_type);
    let mut options = options.map_err(|mut failure| {
        // Here the real server quotes neither the kind nor the body.
        if let Some((_, rest)) = failure.message.split_once("): ") {
            let end = rest.rfind(" (").unwrap_or(rest.len());
            failure.message = rest[..end].to_owned();
        }
        failure
    })?;
    if options.is_null() {
        options = Value::Object(serde_json::Map::new());
    }
    let sort = match &options {
        Value::Object(_) => None,
        Value::Array(_) => Some("array"),
        Value::String(_) => Some("string"),
        Value::Number(_) => Some("number"),
        _ => Some("bool"),
    };
    if let Some(sort) = sort {
        return Err(Failure::bad_request(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {sort} into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
        )));
    }
    // An option of a wrong type must not pass for one that was not given: it might be the dry run.
    body::typed(&options, ("", "v1", "DeleteOptions")).map_err(Failure::bad_request)
}

fn check_type(version: &str, kind: &str) -> Result<(), Failure> {
    if matches!(kind, "" | "DeleteOptions") {
        return Ok(());
    }
    let version = match version {
        "" => "meta.k8s.io/v1",
        version => version,
    };
    let scheme = "in scheme \"pkg/runtime/scheme.go:111\"";
    Err(Failure::bad_request(format!(
        "no kind {kind:?} is registered for version {version:?} {scheme}"
    )))
}

/// Namespaces that are always there.
const IMMORTAL: &[&str] = &["default", "kube-system", "kube-public"];

pub(super) fn delete(state: &mut State, call: &Call) -> Result<Answer, Failure> {
    let options = DeleteOptions::read(call)?;
    let kind = call.kind();
    if kind.storage == NAMESPACES && IMMORTAL.contains(&call.name()) {
        let why = "this namespace may not be deleted";
        return Err(Failure::forbidden(
            &kind.group,
            &kind.plural,
            call.name(),
            why,
        ));
    }
    let place = call.place(call.name());
    let existing = call.existing(state)?;
    options.check(call, &existing)?;
    admission::delete(state, call, &existing, options.dry_run)?;
    let deletion = if options.dry_run {
        state.would_delete(&place, options.manner)
    } else {
        state.delete(&place, options.manner)
    }
    .ok_or_else(|| call.not_found())?;
    Ok(answer(call, &options, &deletion))
}

fn answer(call: &Call, options: &DeleteOptions, deletion: &Deletion) -> Answer {
    let kind = call.kind();
    let warnings = warnings(call, options);
    match deletion {
        Deletion::Held(object) => {
            call.object(if options.tells_held { 202 } else { 200 }, object, warnings)
        }
        Deletion::Gone(object) if kind.deleted == Deleted::Object => {
            call.object(200, object, warnings)
        }
        Deletion::Gone(object) => {
            let status = status::deleted(&kind.group, &kind.plural, object.name(), object.uid());
            Answer::Other {
                code: 200,
                object: status,
            }
        }
    }
}

/// Deletes what the selectors select; the answer is the list as it was.
pub(super) fn collection(state: &mut State, call: &Call) -> Result<Answer, Failure> {
    let mut options = DeleteOptions::read(call)?;
    let (objects, list) = list::selected(state, call)?;
    // A version asked for is a precondition of each delete.
    if let Some(version) = call.query.get("resourceVersion") {
        options.version = Some(version.into());
    }
    admit_all(state, call, &objects, options.dry_run)?;
    for object in objects {
        options.check(call, &object)?;
        if !options.dry_run {
            let namespace = object.namespace();
            let namespace = call.kind().namespaced.then_some(namespace);
            let key = crate::store::key(namespace, object.name());
            let place = crate::store::Place {
                storage: call.kind().storage.clone(),
                key,
            };
            state.delete(&place, options.manner);
        }
    }
    Ok(Answer::List(list))
}

/// Puts each delete before admission. A write that waits for webhooks begins anew, so that nothing may be deleted
/// before all of them have answered.
fn admit_all(
    state: &mut State,
    call: &Call,
    objects: &[Arc<Object>],
    dry_run: bool,
) -> Result<(), Failure> {
    let mut waiting = Ok(());
    for object in objects {
        match admission::delete(state, call, object, dry_run) {
            Err(failure) if state.admission.session.waits() => waiting = Err(failure),
            other => other?,
        }
    }
    waiting
}
