//! PATCH.

use super::{Answer, Call, Ownership, apply, create, update};
use crate::body;
use crate::kinds::Kind;
use crate::lifecycle::State;
use crate::metadata;
use crate::object::Object;
use crate::ordered;
use crate::patch::{self, PatchKind, Patched};
use crate::query::{FieldValidation, WriteOptions};
use crate::registered;
use crate::status::Failure;
use k8s_api_schema::{FieldError, Schema, TypeId};
use std::sync::Arc;

use serde_json::Value;

/// The type of the kind, where it has one.
type Types<'a> = Option<(&'a Schema, TypeId)>;

pub(super) fn patch(state: &mut State, call: &Call) -> Result<Answer, Failure> {
    let Some(patch_kind) = kind_of_patch(call)? else {
        return apply::apply(state, call);
    };
    let WriteOptions {
        dry_run,
        validation,
        ..
    } = call.query.write_options("PatchOptions")?;
    let stored = existing(state, call)?;
    let existing = stored.value();
    let types = call.kind().types.as_ref();
    let types = types.map(|(schema, id)| (&**schema, *id));
    let shown = if call.kind().shows_as_stored(&stored) {
        existing.clone()
    } else {
        call.view(&existing)
    };
    let mut patched = patch::apply(patch_kind, shown, &call.body, types)?;
    if let Some(why) = &patched.mismatch {
        return Err(bad_result(&patched, types, why));
    }
    if call.kind().is_custom() {
        check_custom_type(call, &patched)?;
    } else {
        if patch_kind != PatchKind::Strategic {
            sent_type(&patched, types)?;
        }
        settle_type(call, patch_kind, &mut patched.object)
            .map_err(|failure| failure.warned(&without_version(&patched.object, validation)))?;
        check_type(call.kind(), &patched, types)?;
    }
    // What may still be refused is still to be quoted.
    let decoded = if patched.strict.is_empty() && body::is_settled(&patched.object, call.kind()) {
        body::settled_to_stored(std::mem::take(&mut patched.object), call.kind())
    } else {
        body::to_stored(patched.object.clone(), call.kind())
    };
    let mut decoded = decoded.map_err(|why| bad_result(&patched, types, &why))?;
    let strict = std::mem::take(&mut patched.strict);
    decoded.strict.splice(0..0, strict);
    if let Some(why) = decoded.strict_error(validation) {
        return Err(bad_result(&patched, types, &why));
    }
    let mut warnings = decoded.warnings(validation);
    let mut object = decoded.object;
    let name = metadata::name(&object);
    update::check_name(call, name)?;
    create::set_namespace(call, &mut object)?;
    let finished = update::finish(
        state,
        call,
        &existing,
        object,
        dry_run,
        &mut warnings,
        Ownership::Track,
    );
    let object = finished.map_err(|failure| failure.warned(&warnings))?;
    Ok(call.object(200, &object, warnings))
}

/// The stored object that is patched. What is no JSON is told even where there is none.
pub(super) fn existing(state: &State, call: &Call) -> Result<Arc<Object>, Failure> {
    let found = call.existing(state);
    if found.is_err() {
        patch::check_syntax(&call.body)?;
    }
    found
}

/// Which patch the body is, `None` for a configuration to apply. Strategic merge needs to know the kind, so that custom
/// resources have none.
pub(super) fn kind_of_patch(call: &Call) -> Result<Option<PatchKind>, Failure> {
    const APPLY: &str = "application/apply-patch+yaml";
    let content_type = call.content_type.as_deref().unwrap_or_default();
    let custom = call.kind().is_custom();
    if content_type.split(';').next() == Some(APPLY) {
        return Ok(None);
    }
    match PatchKind::from_content_type(content_type) {
        Some(PatchKind::Strategic) if custom => {}
        Some(kind) => return Ok(Some(kind)),
        // Where the kind is built in, the router refuses the request, which knows nothing of patches.
        None if !custom => return Err(Failure::unknown_media_type()),
        None => {}
    }
    Err(Failure::unsupported_media_type(&[
        "application/json-patch+json",
        "application/merge-patch+json",
        APPLY,
    ]))
}

/// Says anew of which kind the outcome is, which is built in, where the real server does not ask: after a strategic
/// merge patch, where no kind is said, and in a version that it reads without serving it.
fn settle_type(call: &Call, patch: PatchKind, object: &mut Value) -> Result<(), Failure> {
    let kind = call.kind();
    let Some(map) = object.as_object_mut() else {
        return Ok(());
    };
    let text = |key: &str| map.get(key).and_then(Value::as_str).unwrap_or_default();
    let (version, name) = (text("apiVersion"), text("kind"));
    if version.is_empty() && patch != PatchKind::Strategic {
        // It is read as the internal type, which reads nothing of it.
        let of_path = call.target.name.as_deref().unwrap_or_default();
        return Err(Failure::bad_request(format!(
            "the name of the object ({of_path} based on URL) was undeterminable: name must be provided"
        )));
    }
    let is_own = version.is_empty() || version == kind.api_version();
    let is_settled = patch == PatchKind::Strategic
        || (name.is_empty() && is_own)
        || (name == &*kind.kind && registered::is_known(version, name));
    if is_settled {
        map.insert("apiVersion".into(), kind.api_version().into());
        map.insert("kind".into(), kind.kind.as_ref().into());
    }
    Ok(())
}

/// What is said of an outcome without a version, which is read as a type that has none of its fields.
fn without_version(object: &Value, validation: FieldValidation) -> Vec<String> {
    let members = object.as_object().into_iter().flatten();
    let unknown = members.filter(|(key, _)| !matches!(key.as_str(), "apiVersion" | "kind"));
    let texts = unknown.map(|(key, _)| format!("unknown field {}", k8s_api_schema::quote(key)));
    if validation == FieldValidation::Warn {
        texts.collect()
    } else {
        Vec::new()
    }
}

/// The version and kind that the outcome says it is of.
fn sent_type<'p>(patched: &'p Patched, types: Types<'_>) -> Result<[&'p str; 2], Failure> {
    let refuse = |why: &str| {
        let why =
            format!("couldn't get version/kind; json parse error: json: cannot unmarshal {why}");
        bad_result(patched, types, &why)
    };
    let object = &patched.object;
    if !object.is_object() {
        let found = crate::json_error::type_name(object);
        let target = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
        return Err(refuse(&format!("{found} into Go value of type {target}")));
    }
    let mut texts = ["", ""];
    for (text, key) in texts.iter_mut().zip(["apiVersion", "kind"]) {
        match object.get(key).unwrap_or(&Value::Null) {
            Value::String(found) => *text = found,
            Value::Null => {}
            other => {
                let found = crate::json_error::type_name(other);
                let target = format!("Go struct field .{key} of type string");
                return Err(refuse(&format!("{found} into {target}")));
            }
        }
    }
    Ok(texts)
}

/// A patch may not make a custom resource one of another kind; that is found out when it is validated.
fn check_custom_type(call: &Call, patched: &Patched) -> Result<(), Failure> {
    let kind = call.kind();
    let object = &patched.object;
    let [version, name] = sent_type(patched, None)?;
    if version == kind.api_version() && name == &*kind.kind {
        return Ok(());
    }
    if version.matches('/').count() > 1 {
        let why = format!("unexpected GroupVersion string: {version}");
        return Err(bad_result(patched, None, &why));
    }
    if name.is_empty() {
        let why = format!("Object 'Kind' is missing in '{}'", patched.quoted(None));
        return Err(bad_result(patched, None, &why));
    }
    if version.is_empty() {
        return Err(Failure::internal(
            "Object 'apiVersion' is missing in 'object has no apiVersion field'",
        ));
    }
    update::check_name(call, metadata::name(object))?;
    let mut errors = Vec::new();
    for (field, found, own) in [
        ("apiVersion", version, &*kind.api_version()),
        ("kind", name, &*kind.kind),
    ] {
        if found != own {
            errors.push(FieldError::invalid(field, found, format!("must be {own}")));
        }
    }
    let group = version.split_once('/').map_or("", |(group, _)| group);
    Err(Failure::invalid(
        group,
        name,
        metadata::name(object),
        &errors,
    ))
}

/// A patch may not make a built-in object one of another kind.
fn check_type(kind: &Kind, patched: &Patched, types: Types<'_>) -> Result<(), Failure> {
    let (version, name) = (
        metadata::text(&patched.object, "/apiVersion"),
        metadata::text(&patched.object, "/kind"),
    );
    if version == kind.api_version() && name == kind.kind {
        return Ok(());
    }
    let short = version.rsplit('/').next().unwrap_or(version);
    let why = if name == kind.kind || !is_known(version, name) {
        format!(
            "no kind {name:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
        )
    } else {
        body::no_conversion(short, name, kind)
    };
    Err(bad_result(patched, types, &why))
}

/// Whether a version has a kind that is built in.
pub(super) fn is_known(version: &str, kind: &str) -> bool {
    ordered::type_of(version, kind).is_some() || registered::is_known(version, kind)
}

/// 422 for a patch whose outcome is no object of the kind. Custom resources have no order but that of names.
pub(super) fn bad_result(patched: &Patched, types: Types<'_>, why: &str) -> Failure {
    let types =
        types.filter(|(schema, _)| std::ptr::eq(*schema, Arc::as_ptr(k8s_api_schema::builtin())));
    let error = FieldError::invalid("patch", patched.quoted(types), why);
    Failure::invalid("", "", "", &[error])
}
