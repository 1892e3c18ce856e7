//! The built-in types as OpenAPI v3 schemas, without descriptions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::text::{Published, PublishedField, published};

/// The types by name, and their full names by the short ones.
struct Types {
    by_name: BTreeMap<&'static str, Published>,
    full: BTreeMap<&'static str, &'static str>,
}

static TYPES: LazyLock<Types> = LazyLock::new(|| {
    let by_name: BTreeMap<_, _> = published().map(|type_| (type_.name, type_)).collect();
    let full = by_name
        .values()
        .map(|type_| (type_.short(), type_.name))
        .collect();
    Types { by_name, full }
});

/// The schemas of `components` that a document of a group and version has: its kinds, and all that they are made of.
///
/// ```
/// let schemas = k8s_api_schema::openapi::components("apps", "v1");
/// let strategy = &schemas["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["strategy"];
/// assert_eq!(strategy["x-kubernetes-patch-strategy"], "retainKeys");
/// assert!(schemas.contains_key("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"));
/// ```
#[must_use]
pub fn components(group: &str, version: &str) -> Map<String, Value> {
    let is_of_version =
        |[own_group, own_version, _]: &[&str; 3]| *own_group == group && *own_version == version;
    let mut wanted: Vec<&'static str> = TYPES
        .by_name
        .values()
        .filter(|type_| type_.kinds.iter().any(is_of_version))
        .map(|type_| type_.name)
        .collect();
    let subresources: &[&str] = match (group, version) {
        ("", "v1") => &[
            "authentication.v1.TokenRequest",
            "autoscaling.v1.Scale",
            "policy.v1.Eviction",
        ],
        ("apps", "v1") => &["autoscaling.v1.Scale"],
        _ => &[],
    };
    let shared = ["meta.v1.APIResourceList", "meta.v1.Patch", "meta.v1.Status"];
    let names = subresources.iter().chain(&shared);
    wanted.extend(names.filter_map(|name| TYPES.full.get(name)));
    closure(wanted)
}

/// The schema of a type by its name, and those of all that it is made of.
#[must_use]
pub fn of_type(name: &str) -> Map<String, Value> {
    let found = TYPES.by_name.get_key_value(name);
    closure(found.map(|(name, _)| *name).into_iter().collect())
}

/// The name of the type of a kind.
#[must_use]
pub fn name_of(group: &str, version: &str, kind: &str) -> Option<&'static str> {
    let mut types = TYPES.by_name.values();
    let found = types.find(|type_| type_.kinds.contains(&[group, version, kind]));
    found.map(|type_| type_.name)
}

fn closure(mut wanted: Vec<&'static str>) -> Map<String, Value> {
    let mut seen: BTreeSet<&str> = wanted.iter().copied().collect();
    let mut schemas = Map::new();
    while let Some(name) = wanted.pop() {
        let Some(type_) = TYPES.by_name.get(name) else {
            continue;
        };
        for field in &type_.fields {
            if let Some(other) = reference(innermost(field.type_))
                && seen.insert(other)
            {
                wanted.push(other);
            }
        }
        schemas.insert(name.into(), schema(type_));
    }
    schemas
}

fn schema(type_: &Published) -> Value {
    let mut schema = match type_.value {
        Some(value) => value_schema(value),
        None => json!({"type": "object"}),
    };
    let fields = type_.fields.iter().filter(|field| !field.hidden);
    let properties: Map<String, Value> = fields
        .clone()
        .map(|field| (field.name.into(), property(field)))
        .collect();
    if !properties.is_empty() {
        schema["properties"] = properties.into();
    }
    let required: Vec<&str> = fields
        .filter(|field| field.required)
        .map(|field| field.name)
        .collect();
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    if !type_.kinds.is_empty() {
        let kinds = type_.kinds.iter();
        schema["x-kubernetes-group-version-kind"] = kinds
            .map(|[group, version, kind]| json!({"group": group, "version": version, "kind": kind}))
            .collect();
    }
    if let Some(map) = type_.map {
        schema["x-kubernetes-map-type"] = map.into();
    }
    if let Some(unions) = type_.unions.and_then(parsed) {
        schema["x-kubernetes-unions"] = unions;
    }
    schema
}

fn value_schema(value: &str) -> Value {
    match value {
        "time" | "microtime" => json!({"type": "string", "format": "date-time"}),
        "duration" => json!({"type": "string"}),
        "quantity" => json!({"oneOf": [{"type": "string"}, {"type": "number"}]}),
        "intorstring" => {
            json!({"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]})
        }
        "raw" | "fields" => json!({"type": "object"}),
        _ => json!({}),
    }
}

fn parsed(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

fn property(field: &PublishedField) -> Value {
    let values = field.values.and_then(parsed);
    let mut schema = typed(field.type_, values.as_ref());
    if let Some(reference) = schema.get("$ref") {
        schema = json!({"allOf": [{ "$ref": reference }]});
    }
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            schema[key] = value;
        }
    };
    set("default", field.default.and_then(parsed));
    set("x-kubernetes-list-type", field.list.map(Into::into));
    if !field.list_keys.is_empty() {
        set(
            "x-kubernetes-list-map-keys",
            Some(field.list_keys.clone().into()),
        );
    }
    set("x-kubernetes-map-type", field.map.map(Into::into));
    set("x-kubernetes-patch-strategy", field.patch.map(Into::into));
    set("x-kubernetes-patch-merge-key", field.key.map(Into::into));
    schema
}

/// The schema of a type as it is written in the text of the types.
fn typed(token: &'static str, values: Option<&Value>) -> Value {
    let token = bare(token);
    if let Some(items) = token.strip_prefix("[]") {
        return json!({"type": "array", "items": typed(items, values)});
    }
    if let Some((_, of)) = token
        .strip_prefix('{')
        .and_then(|rest| rest.split_once('}'))
    {
        return json!({"type": "object", "additionalProperties": typed(of, values)});
    }
    if let Some(name) = reference(token) {
        return json!({"$ref": format!("#/components/schemas/{name}")});
    }
    let mut schema = match token {
        "bool" => json!({"type": "boolean"}),
        "int32" | "int64" => json!({"type": "integer", "format": token}),
        "float64" => json!({"type": "number", "format": "double"}),
        "bytes" => json!({"type": "string", "format": "byte"}),
        _ => json!({"type": "string"}),
    };
    if let Some(values) = values {
        schema["enum"] = values.clone();
    }
    schema
}

/// A type without its pointer and its name.
fn bare(token: &'static str) -> &'static str {
    let token = token.strip_prefix('*').unwrap_or(token);
    let named = token.strip_prefix('<');
    match named.and_then(|rest| rest.split_once('>')) {
        Some((_, rest)) => rest,
        None => token,
    }
}

/// What a type is made of, below all lists and maps.
fn innermost(token: &'static str) -> &'static str {
    let token = bare(token);
    if let Some(items) = token.strip_prefix("[]") {
        return innermost(items);
    }
    match token
        .strip_prefix('{')
        .and_then(|rest| rest.split_once('}'))
    {
        Some((_, of)) => innermost(of),
        None => token,
    }
}

/// The full name of a type that has a schema of its own.
fn reference(token: &'static str) -> Option<&'static str> {
    let short = match token {
        "time" => "meta.v1.Time",
        "microtime" => "meta.v1.MicroTime",
        "quantity" => "api.resource.Quantity",
        "intorstring" => "util.intstr.IntOrString",
        "raw" => "runtime.RawExtension",
        "fields" => "meta.v1.FieldsV1",
        "json" => "apiextensions.v1.JSON",
        "schemaorbool" => "apiextensions.v1.JSONSchemaPropsOrBool",
        "schemaorarray" => "apiextensions.v1.JSONSchemaPropsOrArray",
        "schemaorstrings" => "apiextensions.v1.JSONSchemaPropsOrStringArray",
        other => other,
    };
    TYPES.full.get(short).copied()
}
