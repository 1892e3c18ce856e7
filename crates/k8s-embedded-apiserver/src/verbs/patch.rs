//! PATCH.

use super::{Answer, Call, Ownership, apply, create, update};
use crate::body;
use crate::kinds::Kind;
use crate::lifecycle::State;
use crate::metadata;
use crate::ordered;
use crate::patch::{self, PatchKind, Patched};
use crate::query::WriteOptions;
use crate::registered;
use crate::status::Failure;
use k8s_api_schema::{FieldError, Schema, TypeId};

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
    let existing = call.existing(state)?.value();
    let types = call.kind().types.as_ref();
    let types = types.map(|(schema, id)| (&**schema, *id));
    let mut patched = patch::apply(patch_kind, &call.view(&existing), &call.body, types)?;
    if let Some(why) = &patched.mismatch {
        return Err(bad_result(&patched, types, why));
    }
    check_type(call.kind(), &patched, types)?;
    let mut decoded = body::to_stored(patched.object.clone(), call.kind())
        .map_err(|why| bad_result(&patched, types, &why))?;
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

/// A patch may not make an object of another kind.
fn check_type(kind: &Kind, patched: &Patched, types: Types<'_>) -> Result<(), Failure> {
    let (version, name) = (
        metadata::text(&patched.object, "/apiVersion"),
        metadata::text(&patched.object, "/kind"),
    );
    if version == kind.api_version() && name == kind.kind {
        return Ok(());
    }
    let short = version.rsplit('/').next().unwrap_or(version);
    let why = if name == kind.kind || (!kind.is_custom() && !is_known(version, name)) {
        format!(
            "no kind {name:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
        )
    } else if !kind.is_custom() {
        body::no_conversion(short, name, kind)
    } else {
        format!(
            "converting ({version}.{name}) to ({}): unknown conversion",
            kind.kind
        )
    };
    Err(bad_result(patched, types, &why))
}

/// Whether a version has a kind that is built in.
fn is_known(version: &str, kind: &str) -> bool {
    ordered::type_of(version, kind).is_some() || registered::is_known(version, kind)
}

/// 422 for a patch whose outcome is no object of the kind. Custom resources have no order but that of names.
fn bad_result(patched: &Patched, types: Types<'_>, why: &str) -> Failure {
    let types = types.filter(|(schema, _)| std::ptr::eq(*schema, &**k8s_api_schema::builtin()));
    let error = FieldError::invalid("patch", patched.quoted(types), why);
    Failure::invalid("", "", "", &[error])
}
