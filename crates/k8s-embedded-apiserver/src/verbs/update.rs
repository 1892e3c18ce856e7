//! PUT, and what PUT and PATCH have in common.

use std::sync::Arc;

use k8s_custom_schema::Part;
use serde_json::{Value, json};

use super::{Answer, Call, Ownership, create, settle, validate};
use crate::admission;
use crate::auth;
use crate::body::Decoded;
use crate::custom;
use crate::defaults;
use crate::definitions;
use crate::kinds::{Generation, Kind};
use crate::lifecycle::State;
use crate::managed;
use crate::metadata::{self, copy_key, entry_mut, metadata_mut, object_mut};
use crate::object::Object;
use crate::plugins;
use crate::query::FieldValidation;
use crate::query::WriteOptions;
use crate::services;
use crate::status::Failure;

pub(super) fn replace(state: &mut State, call: &Call) -> Result<Answer, Failure> {
    let WriteOptions {
        dry_run,
        validation,
        ..
    } = call.query.write_options("UpdateOptions")?;
    let decoded = call.decode(state, validation)?;
    replace_with(state, call, decoded, validation, dry_run)
}

fn replace_with(
    state: &mut State,
    call: &Call,
    mut decoded: Decoded,
    validation: FieldValidation,
    dry_run: bool,
) -> Result<Answer, Failure> {
    let kind = call.kind();
    let mut warnings = decoded.warnings(validation);
    let object = &mut decoded.object;
    warnings.extend(metadata::drop_duplicate_owners(object, ""));
    check_name(call, metadata::name(object))
        .and_then(|()| create::set_namespace(call, object))
        .map_err(|failure| failure.warned(&warnings))?;
    let place = call.place(call.name());
    let Some(existing) = state.store.at(&place).map(|found| found.value()) else {
        if kind.create_on_update && call.target.subresource.is_none() {
            check_uid(call, object, None).map_err(|failure| failure.warned(&warnings))?;
            metadata_mut(object).remove("resourceVersion");
            let object = decoded.object;
            let told = warnings.clone();
            return create::insert(state, call, object, told, dry_run, Ownership::Track)
                .map_err(|failure| failure.warned(&warnings));
        }
        return Err(call.not_found().warned(&warnings));
    };
    check_uid(call, object, Some(&existing)).map_err(|failure| failure.warned(&warnings))?;
    let finished = finish(
        state,
        call,
        &existing,
        decoded.object,
        dry_run,
        &mut warnings,
        Ownership::Track,
    );
    let object = finished.map_err(|failure| failure.warned(&warnings))?;
    Ok(call.object(200, &object, warnings))
}

pub(super) fn check_name(call: &Call, sent: &str) -> Result<(), Failure> {
    if sent == call.name() {
        return Ok(());
    }
    if sent.is_empty() {
        return Err(Failure::bad_request(format!(
            "the name of the object ({} based on URL) was undeterminable: name must be provided",
            call.name()
        )));
    }
    Err(Failure::bad_request(format!(
        "the name of the object ({sent}) does not match the name on the URL ({})",
        call.name()
    )))
}

/// A replacement that names a uid is meant for the object with that uid alone.
pub(super) fn check_uid(
    call: &Call,
    object: &Value,
    existing: Option<&Value>,
) -> Result<(), Failure> {
    let sent = metadata::uid(object);
    let found = existing.map(metadata::uid).unwrap_or_default();
    if sent.is_empty() || sent == found {
        return Ok(());
    }
    let kind = call.kind();
    let key = call.place(call.name()).key;
    // Definitions' objects are kept apart by group.
    let group = if kind.is_custom() {
        format!("{}/", kind.group)
    } else {
        String::new()
    };
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{group}{}/{key}, ResourceVersion: 0, \
         AdditionalErrorMsg: Precondition failed: UID in precondition: {sent}, UID in object meta: {found}",
        kind.plural
    );
    Err(Failure::conflict(
        &kind.group,
        &kind.plural,
        call.name(),
        &why,
    ))
}

/// Checks the version that a write was made from.
fn check_version(call: &Call, existing: &Value, sent: &str) -> Result<(), Failure> {
    let kind = call.kind();
    if matches!(sent, "" | "0") {
        if kind.unconditional_update {
            return Ok(());
        }
        let error = k8s_api_schema::FieldError::invalid(
            "metadata.resourceVersion",
            json!(0),
            "must be specified for an update",
        );
        return Err(Failure::invalid(
            &kind.group,
            &kind.plural,
            call.name(),
            &[error],
        ));
    }
    if sent.parse::<u64>().is_err() {
        return Err(Failure::unclassified(format!(
            "strconv.ParseUint: parsing {sent:?}: invalid syntax"
        )));
    }
    if sent != metadata::version(existing) {
        return Err(Failure::modified(&kind.group, &kind.plural, call.name()));
    }
    Ok(())
}

/// Stores `new` over `existing` as the request's resource or subresource allows, and gives back what is stored.
pub(super) fn finish(
    state: &mut State,
    call: &Call,
    existing: &Value,
    mut new: Value,
    dry_run: bool,
    warnings: &mut Vec<String>,
    ownership: Ownership,
) -> Result<Arc<Object>, Failure> {
    let kind = call.kind();
    let stored = existing;
    let existing = &*call.current(stored);
    if ownership == Ownership::Track {
        call.track(state, Some(existing), &mut new);
    }
    let attributes = admission::Attributes {
        call,
        operation: admission::Operation::Update,
        name: call.name(),
        old: Some(existing),
        dry_run,
    };
    admission::mutate(state, attributes, Some(&mut new))?;
    warnings.extend(metadata::drop_duplicate_owners(
        &mut new,
        metadata::AFTER_ADMISSION,
    ));
    auth::check_escalation(state, call, &new, Some(existing))?;
    check_version(call, existing, metadata::version(&new))?;
    keep_system_fields(&mut new, existing);
    let subresource = call.target.subresource.as_deref();
    if subresource == Some("status") {
        let written = with_status_of(kind, existing, &new);
        let sent = std::mem::replace(&mut new, written);
        managed::set(&mut new, &sent);
    } else if subresource == Some("finalize") {
        let written = with_spec_finalizers_of(existing, &new);
        let sent = std::mem::replace(&mut new, written);
        managed::set(&mut new, &sent);
    } else if kind.status {
        copy_key(existing, object_mut(&mut new), "status");
        // What hangs on the spec of a namespace and on the status of a definition is the server's alone.
        if kind.storage == crate::lifecycle::NAMESPACES {
            copy_key(existing, object_mut(&mut new), "spec");
        }
    }
    if kind.storage == definitions::STORAGE {
        defaults::apiextensions::stored_versions(&mut new);
    }
    if subresource.is_none() && kind.storage == services::STORAGE {
        services::allocate(state, &mut new, Some(existing))?;
    }
    (kind.on_update)(&mut new, existing, &state.source);
    if subresource != Some("status") && raises_generation(kind, existing, &new) {
        let generation = existing
            .pointer("/metadata/generation")
            .and_then(Value::as_i64)
            .unwrap_or(0);
        metadata_mut(&mut new).insert("generation".into(), json!(generation + 1));
    }
    let part = if subresource == Some("status") {
        Part::Status
    } else {
        Part::Whole
    };
    warnings.extend(validate(kind, &new, Some(existing), part)?);
    if subresource.is_none() {
        plugins::validate(state, kind, &new, Some(existing))?;
    }
    warnings.extend((kind.warn)(&new, Some(existing)));
    admission::validate(state, attributes, Some(&new))?;
    let version = metadata::version(existing);
    metadata::set_text(metadata_mut(&mut new), "resourceVersion", version);
    k8s_structured_merge::keep_times(existing, &mut new);
    if dry_run {
        settle(kind, &mut new);
        return Ok(Arc::new(Object::new(&new)));
    }
    let mut new = custom::to_storage(new, kind);
    if new == *stored {
        return Ok(Arc::new(Object::new(&new)));
    }
    settle(kind, &mut new);
    let place = call.place(call.name());
    Ok(state.store_update(&place, new))
}

/// What a write cannot change is taken from the object as it is; what it tries to change is left for validation.
fn keep_system_fields(new: &mut Value, existing: &Value) {
    let old = existing.get("metadata").unwrap_or(&Value::Null);
    let metadata = metadata_mut(new);
    // Once there, it stays.
    if !old.get("deletionTimestamp").is_none_or(Value::is_null) {
        copy_key(old, metadata, "deletionTimestamp");
    }
    for key in ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if metadata
            .get(key)
            .is_none_or(|value| value.is_null() || *value == "")
        {
            copy_key(old, metadata, key);
        }
    }
    for key in ["creationTimestamp", "generation"] {
        copy_key(old, metadata, key);
    }
}

/// A write of `/status` changes the status; of the metadata at most what the kind lets it.
fn with_status_of(kind: &Kind, existing: &Value, new: &Value) -> Value {
    let mut object = existing.clone();
    let map = object_mut(&mut object);
    copy_key(new, map, "status");
    if kind.status_without_metadata || kind.storage == definitions::STORAGE {
        return object;
    }
    copy_key(new, map, "metadata");
    if kind.group == "apps" {
        let old = existing.get("metadata").unwrap_or(&Value::Null);
        copy_key(old, metadata_mut(&mut object), "labels");
    }
    object
}

/// A write of a namespace's `/finalize` changes the finalizers of its spec.
fn with_spec_finalizers_of(existing: &Value, new: &Value) -> Value {
    let mut object = existing.clone();
    let spec = new.get("spec").cloned().unwrap_or_default();
    copy_key(
        &spec,
        entry_mut(object_mut(&mut object), "spec"),
        "finalizers",
    );
    object
}

/// What is neither type nor metadata, nor the status where that is a subresource.
fn content<'a>(kind: &'a Kind, object: &'a Value) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let members = object.as_object().into_iter().flatten();
    members.filter(|(key, _)| match key.as_str() {
        "metadata" | "apiVersion" | "kind" => false,
        "status" => !kind.status,
        _ => true,
    })
}

fn raises_generation(kind: &Kind, old: &Value, new: &Value) -> bool {
    let differs = |pointer: &str| metadata::at(old, pointer) != metadata::at(new, pointer);
    match kind.generation {
        Generation::Untouched => false,
        Generation::Spec | Generation::SpecFromZero => differs("/spec"),
        Generation::Member(pointer) => differs(pointer),
        Generation::SpecAndAnnotations => differs("/spec") || differs("/metadata/annotations"),
        Generation::Content | Generation::ContentAndLabels => {
            let labels = kind.generation == Generation::ContentAndLabels;
            content(kind, old).ne(content(kind, new)) || (labels && differs("/metadata/labels"))
        }
    }
}
