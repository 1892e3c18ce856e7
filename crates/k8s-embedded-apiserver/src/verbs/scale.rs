//! The `scale` subresource: the replica counts of an object as an autoscaling/v1 Scale.

use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value, json};

use super::{Answer, Call, Item, Ownership, apply, create, patch, refuse, update};
use crate::body::{self, Decoded};
use crate::kinds::{Kind, Scale};
use crate::lifecycle::State;
use crate::managed;
use crate::metadata::{self, object_mut};
use crate::patch::{PatchKind, Patched};
use crate::query::WriteOptions;
use crate::status::Failure;
use k8s_api_schema::FieldError;

/// What the subresource takes and gives, whatever the kind that has it.
pub(crate) fn kind() -> &'static Arc<Kind> {
    static KIND: OnceLock<Arc<Kind>> = OnceLock::new();
    KIND.get_or_init(|| {
        let id = ("autoscaling", "v1", "Scale");
        Arc::new(Kind::row(id, "scales", "scale"))
    })
}

pub(super) fn get(state: &mut State, call: &Call) -> Result<Answer, Failure> {
    let (object, paths) = found(state, call)?;
    let object = call.current(&object);
    if count(&object, &paths.spec_replicas).is_none() {
        let path = paths.spec_replicas.replace('/', ".");
        let why = format!("the spec replicas field {path:?} does not exist");
        return Err(Failure::internal(&why));
    }
    Ok(answer(&object, &paths, Vec::new()))
}

fn answer(object: &Value, paths: &Scale, warnings: Vec<String>) -> Answer {
    Answer::Object {
        code: 200,
        object: Item::Made(scale_of(object, paths)),
        warnings,
    }
}

pub(super) fn replace(state: &mut State, call: &Call) -> Result<Answer, Failure> {
    let WriteOptions {
        dry_run,
        validation,
        ..
    } = call.query.write_options("UpdateOptions")?;
    let content_type = call.content_type.as_deref();
    let decoded = body::decode(
        &call.body,
        content_type,
        kind(),
        &state.registry,
        validation,
    )?;
    let warnings = decoded.warnings(validation);
    let mut scale = decoded.object;
    update::check_name(call, metadata::name(&scale))?;
    create::set_namespace(call, &mut scale)?;
    let (object, paths) = found(state, call)?;
    update::check_uid(call, &scale, Some(&object))?;
    let live = live_scale(state, call, &object, &paths);
    managed::track_scale(&state.source, &call.manager(), &live, &mut scale);
    let writing = Writing {
        object: &object,
        paths: &paths,
        dry_run,
    };
    writing.write(state, call, &scale, warnings)
}

pub(super) fn patch(state: &mut State, call: &Call) -> Result<Answer, Failure> {
    let Some(patch_kind) = patch::kind_of_patch(call)? else {
        return apply(state, call);
    };
    let WriteOptions {
        dry_run,
        validation,
        ..
    } = call.query.write_options("PatchOptions")?;
    patch::existing(state, call)?;
    let (object, paths) = found(state, call)?;
    let live = live_scale(state, call, &object, &paths);
    let types = kind().types.as_ref();
    let types = types.map(|(schema, id)| (&**schema, *id));
    let patched = crate::patch::apply(patch_kind, live.clone(), &call.body, types)?;
    let refuse = |why: String| patch::bad_result(&patched, types, &why);
    let mut decoded = outcome(patch_kind, &patched).map_err(refuse)?;
    decoded.strict.splice(0..0, patched.strict.iter().cloned());
    if let Some(why) = decoded.strict_error(validation) {
        return Err(refuse(why));
    }
    let warnings = decoded.warnings(validation);
    let mut scale = decoded.object;
    update::check_name(call, metadata::name(&scale))?;
    create::set_namespace(call, &mut scale)?;
    managed::track_scale(&state.source, &call.manager(), &live, &mut scale);
    let writing = Writing {
        object: &object,
        paths: &paths,
        dry_run,
    };
    writing.write(state, call, &scale, warnings)
}

/// The scale that a patch makes, or why it is none.
fn outcome(patch: PatchKind, patched: &Patched) -> Result<Decoded, String> {
    if let Some(why) = &patched.mismatch {
        return Err(why.clone());
    }
    let scale = &patched.object;
    let (version, name) = (
        metadata::text(scale, "/apiVersion"),
        metadata::text(scale, "/kind"),
    );
    if patch != PatchKind::Strategic && (version, name) != ("autoscaling/v1", "Scale") {
        let short = version.rsplit('/').next().unwrap_or(version);
        return Err(if patch::is_known(version, name) {
            body::no_conversion(short, name, kind())
        } else {
            format!(
                "no kind {name:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
            )
        });
    }
    body::to_stored(scale.clone(), kind())
}

fn apply(state: &mut State, call: &Call) -> Result<Answer, Failure> {
    let options = call.query.apply_options()?;
    let config = apply::read(call)?;
    let (object, paths) = found(state, call)?;
    apply::check(&config, "autoscaling/v1", "Scale")?;
    let live = live_scale(state, call, &object, &paths);
    let manager = call.manager();
    let scale = managed::apply_scale(&state.source, &manager, &live, &config, options.force)
        .map_err(|error| apply::failure(&error, &config))?;
    apply::duplicates(call, options)?;
    let scale =
        body::typed(&scale, ("autoscaling", "v1", "Scale")).map_err(Failure::bad_request)?;
    update::check_name(call, metadata::name(&scale))?;
    let writing = Writing {
        object: &object,
        paths: &paths,
        dry_run: options.dry_run,
    };
    writing.write(state, call, &scale, Vec::new())
}

/// The scale of an object, with the owners of its replica count. Who writes one need not have had one.
fn live_scale(state: &State, call: &Call, object: &Value, paths: &Scale) -> Value {
    let mut scale = scale_of(&call.current(object), paths);
    managed::into_scale(&state.registry, call.kind(), object, &mut scale);
    scale
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

fn count(object: &Value, pointer: &str) -> Option<i64> {
    object.pointer(pointer).and_then(Value::as_i64)
}

fn scale_of(object: &Value, paths: &Scale) -> Value {
    let replicas = count(object, &paths.spec_replicas).unwrap_or(0);
    let mut status = json!({"replicas": count(object, &paths.status_replicas).unwrap_or(0)});
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
    json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": kept, "spec": spec, "status": status})
}

/// A `LabelSelector`, or labels alone, as text; a text stays as it is.
fn selector_text(selector: &Value) -> String {
    if let Some(text) = selector.as_str() {
        return text.to_owned();
    }
    let is_plain = |map: &&Map<String, Value>| map.values().all(Value::is_string);
    let labels = match selector.get("matchLabels") {
        Some(Value::Object(labels)) => Some(labels),
        _ => selector.as_object().filter(is_plain),
    };
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

/// The object that a scale is written to.
struct Writing<'a> {
    object: &'a Value,
    paths: &'a Scale,
    dry_run: bool,
}

impl Writing<'_> {
    fn write(
        &self,
        state: &mut State,
        call: &Call,
        scale: &Value,
        warnings: Vec<String>,
    ) -> Result<Answer, Failure> {
        let replicas = count(scale, "/spec/replicas").unwrap_or(0);
        if replicas < 0 {
            return Err(negative(call, replicas));
        }
        let mut new = call.current(self.object).into_owned();
        let version = metadata::version(scale);
        // A scale may be written without a version, whatever the kind.
        if !matches!(version, "" | "0") {
            metadata::metadata_mut(&mut new).insert("resourceVersion".into(), version.into());
        }
        set(&mut new, &self.paths.spec_replicas, replicas.into());
        managed::out_of_scale(&state.registry, call.kind(), &mut new, scale);
        let stored = update::finish(
            state,
            call,
            self.object,
            new,
            self.dry_run,
            &mut Vec::new(),
            Ownership::Known,
        )?;
        Ok(answer(&call.current(&stored.value()), self.paths, warnings))
    }
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
