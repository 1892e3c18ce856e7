//! POST on a collection.

use std::sync::Arc;

use k8s_custom_schema::Part;
use serde_json::{Value, json};

use super::{Answer, Call, Ownership, settle, validate};
use crate::admission;
use crate::auth;
use crate::custom;
use crate::kinds::{Generation, Kind};
use crate::lifecycle::State;
use crate::metadata::{self, Meta as _, metadata_mut, object_mut};
use crate::object::Object;
use crate::plugins;
use crate::query::WriteOptions;
use crate::services;
use crate::source::SUFFIX_LENGTH;
use crate::status::Failure;

/// Longest name that a prefix and its suffix make together.
const MAX_GENERATED: usize = 63;
/// How many generated names are tried.
const ATTEMPTS: usize = 8;

pub(super) fn create(state: &mut State, call: &Call) -> Result<Answer, Failure> {
    let WriteOptions {
        dry_run,
        validation,
        ..
    } = call.query.write_options("CreateOptions")?;
    let decoded = call.decode(state, validation)?;
    let mut warnings = decoded.warnings(validation);
    let mut object = decoded.object;
    warnings.extend(metadata::drop_duplicate_owners(&mut object, ""));
    insert(
        state,
        call,
        object,
        warnings.clone(),
        dry_run,
        Ownership::Track,
    )
    .map_err(|failure| failure.warned(&warnings))
}

/// Stores a new object; also what a PUT does that may create.
pub(super) fn insert(
    state: &mut State,
    call: &Call,
    mut object: Value,
    mut warnings: Vec<String>,
    dry_run: bool,
    ownership: Ownership,
) -> Result<Answer, Failure> {
    let kind = call.kind();
    set_namespace(call, &mut object)?;
    if !matches!(metadata::version(&object), "" | "0") {
        return Err(Failure::unclassified(
            "resourceVersion should not be set on objects to be created",
        ));
    }
    if ownership == Ownership::Track {
        let metadata = metadata_mut(&mut object);
        metadata.remove("deletionTimestamp");
        metadata.remove("deletionGracePeriodSeconds");
        call.track(state, None, &mut object);
    }
    admit(state, call, &object)?;
    let sent_name = metadata::name(&object).to_owned();
    let attributes = admission::Attributes {
        call,
        operation: admission::Operation::Create,
        name: &sent_name,
        old: None,
        dry_run,
    };
    admission::mutate(state, attributes, Some(&mut object))?;
    warnings.extend(metadata::drop_duplicate_owners(
        &mut object,
        metadata::AFTER_ADMISSION,
    ));
    auth::check_escalation(state, call, &object, None)?;
    prepare(state, kind, &mut object);
    let place = name_it(state, call, &mut object);
    if kind.storage == services::STORAGE {
        services::allocate(state, &mut object, None)?;
    }
    (kind.on_create)(&mut object);
    warnings.extend(validate(kind, &object, None, Part::Whole)?);
    plugins::validate(state, kind, &object, None)?;
    warnings.extend((kind.warn)(&object, None));
    let name = metadata::name(&object).to_owned();
    if call.method != http::Method::POST {
        admission::authorize_create(state, call, &object)?;
    }
    let attributes = admission::Attributes {
        name: &name,
        ..attributes
    };
    admission::validate(state, attributes, Some(&object))?;
    if let Some(existing) = state.store.at(&place) {
        return Err(if existing.is_deleting() {
            Failure::being_deleted(&kind.group, &kind.plural, &name)
        } else {
            Failure::already_exists(&kind.group, &kind.plural, &name)
        });
    }
    settle(kind, &mut object);
    let object = if dry_run {
        Arc::new(Object::new(&object))
    } else {
        state.put(&place, custom::to_storage(object, kind))
    };
    Ok(call.object(201, &object, warnings))
}

/// The namespace of the path is that of the object.
pub(crate) fn set_namespace(call: &Call, object: &mut Value) -> Result<(), Failure> {
    let sent = metadata::namespace(object);
    let own = call.namespace().unwrap_or_default();
    if own.is_empty() {
        metadata_mut(object).remove("namespace");
        return Ok(());
    }
    if !sent.is_empty() && sent != own {
        return Err(Failure::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    metadata::set_text(metadata_mut(object), "namespace", own);
    Ok(())
}

/// Refuses what may not be made where it is to be made.
fn admit(state: &State, call: &Call, object: &Value) -> Result<(), Failure> {
    let kind = call.kind();
    let name = metadata::name(object);
    if let Some(namespace) = call.namespace() {
        match state.namespace(namespace) {
            None => {
                return Err(Failure::not_found(
                    "",
                    crate::lifecycle::NAMESPACES,
                    namespace,
                ));
            }
            Some(found) if found.is_deleting() => {
                return Err(Failure::namespace_terminating(
                    &kind.group,
                    &kind.plural,
                    name,
                    namespace,
                ));
            }
            Some(_) => {}
        }
    }
    if kind
        .custom
        .as_ref()
        .is_some_and(|custom| custom.terminating)
    {
        let why = "create not allowed while custom resource definition is terminating";
        return Err(Failure::forbidden(&kind.group, &kind.plural, name, why));
    }
    Ok(())
}

/// Sets what the server alone decides.
fn prepare(state: &mut State, kind: &Kind, object: &mut Value) {
    if kind.status && kind.is_custom() {
        object_mut(object).remove("status");
    } else if kind.status && !kind.status_on_create && object.get("status").is_some() {
        object_mut(object).insert("status".into(), json!({}));
        (kind.default)(object);
    }
    let uid = state.source.uid();
    let now = state.source.stamp();
    let metadata = metadata_mut(object);
    for key in [
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "resourceVersion",
    ] {
        metadata.remove(key);
    }
    metadata.insert("uid".into(), uid.into());
    metadata.insert("creationTimestamp".into(), now.into());
    if !matches!(
        kind.generation,
        Generation::Untouched | Generation::SpecFromZero
    ) {
        metadata.insert("generation".into(), json!(1));
    }
}

/// Makes a name from `generateName` where none was given, and says where the object goes.
fn name_it(state: &mut State, call: &Call, object: &mut Value) -> crate::store::Place {
    let prefix = metadata::text(object, "/metadata/generateName").to_owned();
    if metadata::name(object).is_empty() && !prefix.is_empty() {
        let mut end = prefix.len().min(MAX_GENERATED - SUFFIX_LENGTH);
        while !prefix.is_char_boundary(end) {
            end -= 1;
        }
        let cut = &prefix[..end];
        let mut name = String::new();
        for _ in 0..ATTEMPTS {
            name = format!("{cut}{}", state.source.suffix());
            if state.store.at(&call.place(&name)).is_none() {
                break;
            }
        }
        metadata_mut(object).insert("name".into(), name.into());
    }
    if call.kind().storage == crate::lifecycle::NAMESPACES {
        (call.kind().default)(object);
    }
    call.place(metadata::name(object))
}
