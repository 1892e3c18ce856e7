//! The `scale` subresource: the replica counts of an object as an autoscaling/v1 Scale.

use serde_json::{Value, json};

use super::{Answer, Call, Ownership, apply, patch, refuse, update};
use crate::body;
use crate::kinds::Scale;
use crate::lifecycle::State;
use crate::managed;
use crate::metadata::{self, object_mut};
use crate::patch::{PatchKind, Patched};
use crate::query::WriteOptions;
use crate::status::Failure;
use k8s_api_schema::{FieldError, builtin};

pub(super) fn get(state: &mut State, call: &Call) -> Result<Answer, Failure> {
    let (object, paths) = found(state, call)?;
    Ok(Answer::Other {
        code: 200,
        object: scale_of(&call.current(&object), &paths)?,
    })
}

pub(super) fn replace(state: &mut State, call: &Call) -> Result<Answer, Failure> {
    let WriteOptions { dry_run, .. } = call.query.write_options("UpdateOptions")?;
    let (object, paths) = found(state, call)?;
    let mut scale = body::read(&call.body, call.content_type.as_deref(), "Scale")?;
    let live = live_scale(state, call, &object, &paths)?;
    managed::track_scale(&state.source, &call.manager(), &live, &mut scale);
    write(state, call, &object, &paths, scale, dry_run)
}

pub(super) fn patch(state: &mut State, call: &Call) -> Result<Answer, Failure> {
    let Some(patch_kind) = patch::kind_of_patch(call)? else {
        return apply(state, call);
    };
    let WriteOptions { dry_run, .. } = call.query.write_options("PatchOptions")?;
    let (object, paths) = found(state, call)?;
    let live = live_scale(state, call, &object, &paths)?;
    let types = builtin().find("autoscaling", "v1", "Scale");
    let types = types.map(|id| (&**builtin(), id));
    let patched = crate::patch::apply(patch_kind, live.clone(), &call.body, types)?;
    let mut scale =
        outcome(patch_kind, &patched).map_err(|why| patch::bad_result(&patched, types, &why))?;
    managed::track_scale(&state.source, &call.manager(), &live, &mut scale);
    write(state, call, &object, &paths, scale, dry_run)
}

/// The scale that a patch makes, or why it is none.
fn outcome(patch: PatchKind, patched: &Patched) -> Result<Value, String> {
    if let Some(why) = &patched.mismatch {
        return Err(why.clone());
    }
    let mut scale = patched.object.clone();
    let (version, kind) = (
        metadata::text(&scale, "/apiVersion"),
        metadata::text(&scale, "/kind"),
    );
    if patch != PatchKind::Strategic && (version, kind) != ("autoscaling/v1", "Scale") {
        return Err(format!(
            "no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
        ));
    }
    let map = object_mut(&mut scale);
    map.insert("apiVersion".into(), "autoscaling/v1".into());
    map.insert("kind".into(), "Scale".into());
    body::typed(&scale, ("autoscaling", "v1", "Scale"))?;
    Ok(scale)
}

fn apply(state: &mut State, call: &Call) -> Result<Answer, Failure> {
    let options = call.query.apply_options()?;
    let config = apply::read(call)?;
    let (object, paths) = found(state, call)?;
    apply::check(&config, "autoscaling/v1", "Scale")?;
    let live = live_scale(state, call, &object, &paths)?;
    let manager = call.manager();
    let scale = managed::apply_scale(&state.source, &manager, &live, &config, options.force)
        .map_err(|error| apply::failure(&error, &config))?;
    apply::duplicates(call, options)?;
    write(state, call, &object, &paths, scale, options.dry_run)
}

/// The scale of an object, with the owners of its replica count.
fn live_scale(state: &State, call: &Call, object: &Value, paths: &Scale) -> Result<Value, Failure> {
    let mut scale = scale_of(&call.current(object), paths)?;
    managed::into_scale(&state.registry, call.kind(), object, &mut scale);
    Ok(scale)
}

fn found(state: &State, call: &Call) -> Result<(Value, Scale), Failure> {
    let object = call.existing(state)?.value();
    let paths = call
        .kind()
        .scale
        .clone()
        .ok_or_else(Failure::no_such_resource)?;
    Ok((object, paths))
}

fn scale_of(object: &Value, paths: &Scale) -> Result<Value, Failure> {
    let count = |pointer: &str| object.pointer(pointer).and_then(Value::as_i64);
    let replicas = count(&paths.spec_replicas).ok_or_else(|| {
        let path = paths.spec_replicas.replace('/', ".");
        Failure::internal(&format!("the spec replicas field {path:?} does not exist"))
    })?;
    let mut status = json!({"replicas": count(&paths.status_replicas).unwrap_or(0)});
    let selector = paths
        .selector
        .as_deref()
        .and_then(|path| object.pointer(path))
        .map(selector_text)
        .unwrap_or_default();
    if !selector.is_empty() {
        status["selector"] = selector.into();
    }
    let mut kept = json!({});
    let old = object.get("metadata").cloned().unwrap_or_default();
    for key in [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
    ] {
        metadata::copy_key(&old, object_mut(&mut kept), key);
    }
    let spec = if replicas == 0 {
        json!({})
    } else {
        json!({"replicas": replicas})
    };
    Ok(
        json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": kept, "spec": spec, "status": status}),
    )
}

/// A `LabelSelector` as text; a text stays as it is.
fn selector_text(selector: &Value) -> String {
    if let Some(text) = selector.as_str() {
        return text.to_owned();
    }
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    let mut terms: Vec<String> = labels
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    for expression in selector
        .get("matchExpressions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let key = metadata::text(expression, "/key");
        let values = metadata::texts(expression.get("values")).join(",");
        terms.push(match metadata::text(expression, "/operator") {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            _ => format!("!{key}"),
        });
    }
    terms.join(",")
}

fn write(
    state: &mut State,
    call: &Call,
    object: &Value,
    paths: &Scale,
    mut scale: Value,
    dry_run: bool,
) -> Result<Answer, Failure> {
    let map = object_mut(&mut scale);
    map.insert("apiVersion".into(), "autoscaling/v1".into());
    map.insert("kind".into(), "Scale".into());
    let scale =
        body::typed(&scale, ("autoscaling", "v1", "Scale")).map_err(Failure::bad_request)?;
    update::check_name(call, metadata::name(&scale))?;
    let replicas = scale
        .pointer("/spec/replicas")
        .and_then(Value::as_i64)
        .unwrap_or(0);
    if replicas < 0 {
        return Err(negative(call, replicas));
    }
    let mut new = call.current(object).into_owned();
    let version = metadata::version(&scale);
    // A scale may be written without a version, whatever the kind.
    if !matches!(version, "" | "0") {
        metadata::metadata_mut(&mut new).insert("resourceVersion".into(), version.into());
    }
    set(&mut new, &paths.spec_replicas, replicas.into());
    managed::out_of_scale(&state.registry, call.kind(), &mut new, &scale);
    let mut warnings = Vec::new();
    let known = Ownership::Known;
    let stored = update::finish(state, call, object, new, dry_run, &mut warnings, known)?;
    Ok(Answer::Other {
        code: 200,
        object: scale_of(&call.current(&stored.value()), paths)?,
    })
}

fn negative(call: &Call, replicas: i64) -> Failure {
    if call.kind().is_custom() {
        let path = call
            .kind()
            .scale
            .as_ref()
            .map_or(String::new(), |scale| scale.spec_replicas.replace('/', "."));
        let error = FieldError::invalid(path, replicas, "should be a non-negative integer");
        return refuse(call.kind(), call.name(), &[error])
            .err()
            .unwrap_or_else(Failure::unprocessable);
    }
    let error = FieldError::invalid(
        "spec.replicas",
        replicas,
        "must be greater than or equal to 0",
    );
    Failure::invalid("autoscaling", "Scale", call.name(), &[error])
}

/// Sets the value at a JSON pointer, making objects on the way.
fn set(object: &mut Value, pointer: &str, value: Value) {
    let mut at = object;
    for key in pointer.split('/').skip(1) {
        at = object_mut(at).entry(key).or_insert(Value::Null);
    }
    *at = value;
}
