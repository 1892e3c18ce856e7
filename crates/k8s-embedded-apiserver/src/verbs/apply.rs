//! PATCH with a configuration: server-side apply.

use k8s_api_schema::strategic::mismatch;
use k8s_structured_merge::{ApplyError, Conflicts, path_text};
use serde_json::Value;

use super::{Answer, Call, Ownership, create, update};
use crate::body;
use crate::lifecycle::State;
use crate::managed;
use crate::metadata::{self, text};
use crate::query::{FieldValidation, WriteOptions};
use crate::status::{Cause, Failure};
use crate::yaml;

pub(super) fn apply(state: &mut State, call: &Call) -> Result<Answer, Failure> {
    let options = call.query.apply_options()?;
    let config = read(call)?;
    let kind = call.kind();
    let existing = state.store.at(&call.place(call.name()));
    let existing = existing.map(|found| found.value());
    let subresource = call.target.subresource.as_deref().unwrap_or_default();
    if existing.is_none() && !subresource.is_empty() {
        return Err(call.not_found());
    }
    check(&config, &kind.api_version(), &kind.kind)?;
    let live = existing.as_ref().map(|existing| call.view(existing));
    let write = managed::Write {
        kind,
        subresource,
        manager: &call.manager(),
    };
    let applied = managed::apply(
        &state.registry,
        &state.source,
        write,
        live.as_ref(),
        &config,
        options.force,
    )
    .map_err(|error| failure(&error, &config))?;
    let mut warnings = duplicates(call, options)?;
    let uid = metadata::uid(&applied.object);
    if existing.is_none() && !uid.is_empty() {
        let why = format!(
            "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        );
        return Err(Failure::conflict(
            &kind.group,
            &kind.plural,
            call.name(),
            &why,
        ));
    }
    let types = kind.types.as_ref().filter(|_| !kind.is_custom());
    let mismatch = types.and_then(|(schema, id)| mismatch(&applied.object, schema, *id));
    let decoded = match mismatch {
        Some(why) => Err(why),
        None => body::applied_to_stored(applied.object, kind),
    };
    let decoded = decoded.map_err(|why| {
        let how = if why.starts_with("illegal base64 data") {
            "error decoding from json: "
        } else {
            ""
        };
        let target = type_text(&kind.api_version(), &kind.kind);
        Failure::unclassified(format!(
            "failed to convert new object ({}) to proper version: unable to convert unstructured object to {target}: {how}{why}",
            describe(&config)
        ))
    })?;
    warnings.extend(decoded.warnings(options.validation));
    let mut object = decoded.object;
    create::set_namespace(call, &mut object)?;
    update::check_name(call, metadata::name(&object))?;
    let Some(existing) = existing else {
        metadata::metadata_mut(&mut object).remove("resourceVersion");
        return create::insert(
            state,
            call,
            object,
            warnings,
            options.dry_run,
            Ownership::Known,
        );
    };
    let finished = update::finish(
        state,
        call,
        &existing,
        object,
        options.dry_run,
        &mut warnings,
        Ownership::Known,
    );
    let object = finished.map_err(|failure| failure.warned(&warnings))?;
    Ok(call.object(200, &object, warnings))
}

/// The configuration of the body.
pub(super) fn read(call: &Call) -> Result<Value, Failure> {
    let config = yaml::to_json(&call.body)
        .map_err(|why| Failure::bad_request(format!("error encoding patch: {why}")))?;
    match config {
        Value::Null => Ok(Value::Object(serde_json::Map::new())),
        Value::Object(_) => Ok(config),
        other => Err(Failure::bad_request(format!(
            "error decoding patch: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {} into Go \
             value of type map[string]interface {{}}",
            crate::json_error::type_name(&other)
        ))),
    }
}

/// Checks what a configuration must say of itself, and what it must not.
pub(super) fn check(config: &Value, api_version: &str, kind: &str) -> Result<(), Failure> {
    let sent = (text(config, "/apiVersion"), text(config, "/kind"));
    if sent != (api_version, kind) {
        return Err(Failure::bad_request(format!(
            "invalid object type: {}",
            type_text(sent.0, sent.1)
        )));
    }
    let fields = config.pointer("/metadata/managedFields");
    if fields.is_some_and(Value::is_array) {
        return Err(Failure::bad_request("metadata.managedFields must be nil"));
    }
    Ok(())
}

/// A version and kind as messages show them.
fn type_text(api_version: &str, kind: &str) -> String {
    match api_version.matches('/').count() {
        0 if api_version.is_empty() => format!("/, Kind={kind}"),
        0 => format!("/{api_version}, Kind={kind}"),
        1 => format!("{api_version}, Kind={kind}"),
        _ => "/, Kind=".into(),
    }
}

/// A configuration as messages name it.
fn describe(config: &Value) -> String {
    format!(
        "{}/{}; {}",
        metadata::namespace(config),
        metadata::name(config),
        type_text(text(config, "/apiVersion"), text(config, "/kind"))
    )
}

/// The answer to a configuration that was not applied.
pub(super) fn failure(error: &ApplyError, config: &Value) -> Failure {
    match error {
        ApplyError::Conflicts(conflicts) => conflict(conflicts),
        ApplyError::Misfits(misfits) => Failure::unclassified(format!(
            "failed to create typed patch object ({}): {misfits}",
            describe(config)
        )),
        other => Failure::unclassified(other.to_string()),
    }
}

fn conflict(conflicts: &Conflicts) -> Failure {
    let causes = conflicts.0.iter().map(|conflict| Cause {
        reason: "FieldManagerConflict".into(),
        message: format!("conflict with {}", conflict.manager.describe()),
        field: path_text(&conflict.path),
    });
    Failure::apply_conflict(conflicts.to_string(), causes.collect())
}

/// The warnings of keys that the body has twice.
pub(super) fn duplicates(call: &Call, options: WriteOptions) -> Result<Vec<String>, Failure> {
    if options.validation == FieldValidation::Ignore {
        return Ok(Vec::new());
    }
    let found = yaml::duplicate_keys(&call.body);
    if options.validation == FieldValidation::Strict && !found.is_empty() {
        return Err(Failure::bad_request(format!(
            "error strict decoding patch: error converting YAML to JSON: yaml: unmarshal errors:\n  {}",
            found.join("\n  ")
        )));
    }
    Ok(found)
}
