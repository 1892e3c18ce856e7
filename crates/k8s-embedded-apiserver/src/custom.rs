//! Objects of custom kinds: from a body to what is checked and stored, and back.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_api_schema::{FieldError, Schema, Type, TypeId, builtin, go_type, go_value, json};
use k8s_custom_schema::{CustomSchema, Findings, Metadata, Part};
use serde_json::Value;

use crate::kinds::Kind;
use crate::metadata::{finalizers, object_mut, text};
use crate::validation;

/// The schemas of a definition, by version.
pub(crate) type Schemas = Arc<BTreeMap<String, Arc<CustomSchema>>>;

/// How embedded objects' metadata is read and checked.
const METADATA: Metadata = Metadata {
    read: read_metadata,
    check: validation::embedded_metadata,
};

/// Metadata as the server reads it, and the paths of the fields that it does not have.
pub(crate) fn read_metadata(sent: &Value) -> Result<(Value, Vec<String>), String> {
    const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    let id = builtin()
        .by_name(META)
        .ok_or_else(|| format!("{META} is not known"))?;
    let read = json::decode(sent.to_string().as_bytes(), builtin(), id)?;
    let path = |text: &String| {
        let path = text.strip_prefix("unknown field \"")?.strip_suffix('"')?;
        Some(path.to_owned())
    };
    Ok((read.value, read.strict.iter().filter_map(path).collect()))
}

/// The types of a custom kind, with those of its metadata.
pub(crate) fn types(schema: &CustomSchema) -> (Arc<Schema>, TypeId) {
    const METADATA: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    let mut types = Schema::new();
    let metadata = builtin()
        .by_name(METADATA)
        .map(|id| copy(builtin(), id, &mut types, &mut BTreeMap::new()));
    let (types, root) = schema.types(types, metadata);
    (Arc::new(types), root)
}

/// Copies a type and what it refers to.
fn copy(
    from: &Schema,
    id: TypeId,
    to: &mut Schema,
    known: &mut BTreeMap<TypeId, TypeId>,
) -> TypeId {
    if let Some(known) = known.get(&id) {
        return *known;
    }
    let new = to.push(Type::Any);
    to.name(new, from.openapi_name(id), from.go_name(id));
    known.insert(id, new);
    let mut type_ = from.get(id).clone();
    match &mut type_ {
        Type::Struct(fields) => {
            for field in fields.fields.values_mut() {
                field.type_ = copy(from, field.type_, to, known);
            }
            fields.rest = fields.rest.map(|rest| copy(from, rest, to, known));
        }
        Type::Map(map) => map.values = copy(from, map.values, to, known),
        Type::List(list) => list.items = copy(from, list.items, to, known),
        Type::Scalar(_) | Type::Any => {}
    }
    to.replace(new, type_);
    new
}

fn schema<'a>(kind: &'a Kind, version: &str) -> Option<&'a CustomSchema> {
    let schemas = &kind.custom.as_ref()?.schemas;
    schemas.get(version).map(|schema| &**schema)
}

fn version_of(object: &Value) -> &str {
    text(object, "/apiVersion")
        .rsplit('/')
        .next()
        .unwrap_or_default()
}

/// Numbers as they are stored: a whole one has no fraction.
#[allow(
    clippy::cast_possible_truncation,
    reason = "checked to be whole and in range"
)]
fn normalize_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(float) = number.as_f64()
                && float.fract() == 0.0
                && float.abs() < 9.2e18
            {
                *value = Value::from(float as i64);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(normalize_numbers),
        Value::Object(map) => map.values_mut().for_each(normalize_numbers),
        _ => {}
    }
}

/// Prunes and defaults an object that was sent; gives back the paths of what it dropped. Nulls that the schema does not
/// allow are dropped, too, or else left for validation.
///
/// # Errors
///
/// Text that names the field that cannot be read.
pub(crate) fn receive(
    object: &mut Value,
    kind: &Kind,
    keeps_nulls: bool,
) -> Result<Vec<String>, String> {
    normalize_numbers(object);
    let Some(schema) = schema(kind, &kind.version) else {
        return Ok(Vec::new());
    };
    let mut unknown = schema.prune(object);
    if !keeps_nulls {
        schema.drop_nulls(object);
    }
    unknown.extend(
        schema
            .coerce(object, &METADATA)
            .map_err(|error| error.to_string())?,
    );
    schema.default(object);
    Ok(unknown)
}

/// An object of the kind's version as it is stored.
pub(crate) fn to_storage(mut object: Value, kind: &Kind) -> Value {
    let Some(custom) = &kind.custom else {
        return object;
    };
    let storage = &custom.storage_version;
    object_mut(&mut object).insert(
        "apiVersion".into(),
        format!("{}/{storage}", kind.group).into(),
    );
    if *kind.version != *storage
        && let Some(schema) = schema(kind, storage)
    {
        schema.prune(&mut object);
        schema.drop_nulls(&mut object);
    }
    object
}

/// A stored object in the kind's version: with the defaults of the version it was stored in, without what the kind's
/// version does not know.
pub(crate) fn from_storage(stored: &Value, kind: &Kind) -> Value {
    let mut object = stored.clone();
    if kind.custom.is_none() {
        return object;
    }
    let stored_version = version_of(stored).to_owned();
    if let Some(schema) = schema(kind, &stored_version) {
        schema.prune(&mut object);
        schema.drop_nulls(&mut object);
        schema.default(&mut object);
    }
    if *kind.version != *stored_version
        && let Some(schema) = schema(kind, &kind.version)
    {
        schema.prune(&mut object);
        schema.drop_nulls(&mut object);
    }
    let map = object_mut(&mut object);
    map.insert("apiVersion".into(), kind.api_version().into());
    map.insert("kind".into(), kind.kind.as_ref().into());
    object
}

/// Checks a new object.
pub(crate) fn check(kind: &Kind, object: &Value, before: Vec<FieldError>) -> Findings {
    let mut found = match schema(kind, &kind.version) {
        Some(schema) => schema.check(object, &METADATA, &before),
        None => Findings::default(),
    };
    scale_counts(kind, object, true, &mut found.errors);
    found.errors.splice(0..0, before);
    found.warnings.extend(new_finalizers(object, None));
    found
}

/// Checks what an object becomes.
pub(crate) fn check_update(
    kind: &Kind,
    object: &Value,
    old: &Value,
    part: Part,
    before: Vec<FieldError>,
) -> Findings {
    let mut found = match schema(kind, &kind.version) {
        Some(schema) => schema.check_update(object, old, part, &METADATA, &before),
        None => Findings::default(),
    };
    scale_counts(kind, object, part == Part::Whole, &mut found.errors);
    found.errors.splice(0..0, before);
    if part == Part::Whole {
        found.warnings.extend(new_finalizers(object, Some(old)));
    }
    found
}

/// The fields of the scale subresource hold counts.
fn scale_counts(kind: &Kind, object: &Value, with_spec: bool, errors: &mut Vec<FieldError>) {
    let Some(scale) = &kind.scale else { return };
    let spec = with_spec.then_some(&scale.spec_replicas);
    for pointer in spec.into_iter().chain([&scale.status_replicas]) {
        let path = pointer.replace('/', ".");
        let count = match nested(object, pointer) {
            Err(why) => {
                errors.push(FieldError::invalid(path, 0, why));
                continue;
            }
            Ok(None) => continue,
            Ok(Some(value)) => value,
        };
        let Some(number) = count.as_i64() else {
            let why = format!(
                "{path} accessor error: {} is of the type {}, expected int64",
                go_value(count),
                go_type(count)
            );
            errors.push(FieldError::invalid(path, 0, why));
            continue;
        };
        if number < 0 {
            errors.push(FieldError::invalid(
                path,
                number,
                "should be a non-negative integer",
            ));
        } else if number > i64::from(i32::MAX) {
            let why = format!("should be less than or equal to {}", i32::MAX);
            errors.push(FieldError::invalid(path, number, why));
        }
    }
    if let Some(pointer) = &scale.selector {
        let path = pointer.replace('/', ".");
        match nested(object, pointer) {
            Err(why) => errors.push(FieldError::invalid(path, "", why)),
            Ok(Some(wrong)) if !wrong.is_string() => {
                let why = format!(
                    "{path} accessor error: {} is of the type {}, expected string",
                    go_value(wrong),
                    go_type(wrong)
                );
                errors.push(FieldError::invalid(path, "", why));
            }
            Ok(_) => {}
        }
    }
}

/// The value at a pointer, through objects alone.
fn nested<'a>(object: &'a Value, pointer: &str) -> Result<Option<&'a Value>, String> {
    let mut at = object;
    let mut path = String::new();
    for key in pointer.split('/').skip(1) {
        let Some(map) = at.as_object() else {
            return Err(format!(
                "{path} accessor error: {} is of the type {}, expected map[string]interface{{}}",
                go_value(at),
                go_type(at)
            ));
        };
        path.push('.');
        path.push_str(key);
        match map.get(key) {
            Some(value) => at = value,
            None => return Ok(None),
        }
    }
    Ok(Some(at))
}

/// What is said about finalizers that a write adds.
fn new_finalizers(object: &Value, old: Option<&Value>) -> Vec<String> {
    let known = old.map(finalizers).unwrap_or_default();
    let mut added: Vec<&str> = finalizers(object)
        .into_iter()
        .filter(|one| !known.contains(one))
        .collect();
    added.sort_unstable();
    added.dedup();
    let path = "metadata.finalizers";
    let mut warnings = Vec::new();
    for finalizer in added {
        let quoted = k8s_api_schema::quote(finalizer);
        for fault in validation::label_key(finalizer) {
            warnings.push(format!("{path}: {quoted}: {fault}"));
        }
        let standard = matches!(finalizer, "orphan" | "foregroundDeletion" | "kubernetes");
        if !finalizer.contains('/') && !standard {
            let how = if finalizer.contains('.') {
                " including a path (/)"
            } else {
                ""
            };
            warnings.push(format!(
                "{path}: {quoted}: prefer a domain-qualified finalizer name{how} to avoid accidental conflicts with other finalizer writers"
            ));
        }
    }
    warnings
}
