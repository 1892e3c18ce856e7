//! Whether the schema of a definition is structural: each field has a type, said in one place.

use serde_json::Value;

use k8s_api_schema::FieldError;

const TYPES: &[&str] = &["array", "boolean", "integer", "number", "object", "string"];
const EMPTY_TO_BE_STRUCTURAL: &str = "must be empty to be structural";

/// Adds the errors of the schema at `path`.
pub(super) fn structural(path: &str, schema: &Value, errors: &mut Vec<FieldError>) {
    match schema
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default()
    {
        "" => errors.push(FieldError::required(
            format!("{path}.type"),
            "must not be empty at the root",
        )),
        "object" => {}
        other => errors.push(FieldError::invalid(
            format!("{path}.type"),
            other,
            "must be object at the root",
        )),
    }
    root_fields(path, schema, errors);
    node(path, schema, errors);
}

fn root_fields(path: &str, schema: &Value, errors: &mut Vec<FieldError>) {
    let properties = schema.get("properties");
    for field in ["apiVersion", "kind"] {
        let kind = properties
            .and_then(|properties| properties.get(field))
            .and_then(|schema| schema.get("type"));
        if let Some(kind) = kind
            .and_then(Value::as_str)
            .filter(|kind| *kind != "string")
        {
            errors.push(FieldError::invalid(
                format!("{path}.properties[{field}].type"),
                kind,
                "must be string",
            ));
        }
    }
    let metadata = properties.and_then(|properties| properties.get("metadata"));
    let extra = metadata
        .and_then(|metadata| metadata.get("properties"))
        .and_then(Value::as_object);
    if extra.is_some_and(|extra| {
        extra
            .keys()
            .any(|key| key != "name" && key != "generateName")
    }) {
        errors.push(FieldError::forbidden(
            format!("{path}.properties[metadata]"),
            "must not specify anything other than name and generateName, but metadata is implicitly specified",
        ));
    }
}

fn flag(schema: &Value, name: &str) -> bool {
    schema.get(name) == Some(&Value::Bool(true))
}

/// Children of a node with their paths; whether each is a property or the items.
fn children<'a>(path: &str, schema: &'a Value) -> Vec<(String, &'a Value, &'static str)> {
    let mut children = Vec::new();
    for (name, child) in schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        children.push((
            format!("{path}.properties[{name}]"),
            child,
            "must not be empty for specified object fields",
        ));
    }
    if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
        children.push((
            format!("{path}.items"),
            items,
            "must not be empty for specified array items",
        ));
    }
    if let Some(values) = schema
        .get("additionalProperties")
        .filter(|values| values.is_object())
    {
        let path = format!("{path}.additionalProperties");
        children.push((
            path,
            values,
            "must not be empty for specified object fields",
        ));
    }
    children
}

fn node(path: &str, schema: &Value, errors: &mut Vec<FieldError>) {
    let kind = schema
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if !kind.is_empty() && !TYPES.contains(&kind) {
        errors.push(FieldError::not_supported(
            format!("{path}.type"),
            kind,
            TYPES,
        ));
    }
    if schema.get("items").is_some_and(Value::is_array) {
        errors.push(FieldError::forbidden(
            format!("{path}.items"),
            "items must be a schema object and not an array",
        ));
    } else if kind == "array" && schema.get("items").is_none_or(Value::is_null) {
        errors.push(FieldError::required(
            format!("{path}.items"),
            "must be specified",
        ));
    }
    let has = |field: &str| {
        schema
            .get(field)
            .is_some_and(|value| !value.is_null() && *value != false)
    };
    if has("properties") && has("additionalProperties") {
        errors.push(FieldError::forbidden(
            format!("{path}.additionalProperties"),
            "additionalProperties and properties are mutual exclusive",
        ));
    }
    for (path, child, without_type) in children(path, schema) {
        let untyped = child
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .is_empty();
        if untyped
            && !flag(child, "x-kubernetes-int-or-string")
            && !flag(child, "x-kubernetes-preserve-unknown-fields")
        {
            errors.push(FieldError::required(format!("{path}.type"), without_type));
        }
        node(&path, child, errors);
    }
    if !flag(schema, "x-kubernetes-int-or-string") {
        for (path, inner) in alternatives(path, schema) {
            value_only(&path, inner, errors);
        }
    }
    if let Some(inner) = schema.get("not") {
        value_only(&format!("{path}.not"), inner, errors);
    }
}

/// Below `anyOf` and its like a schema may check values, but not say what the fields are.
fn value_only(path: &str, schema: &Value, errors: &mut Vec<FieldError>) {
    for field in [
        "type",
        "title",
        "description",
        "default",
        "nullable",
        "additionalProperties",
    ] {
        if schema
            .get(field)
            .is_some_and(|value| !value.is_null() && *value != false && *value != "")
        {
            errors.push(FieldError::forbidden(
                format!("{path}.{field}"),
                EMPTY_TO_BE_STRUCTURAL,
            ));
        }
    }
    for (path, child, _) in children(path, schema) {
        value_only(&path, child, errors);
    }
    for (path, inner) in alternatives(path, schema) {
        value_only(&path, inner, errors);
    }
    if let Some(inner) = schema.get("not") {
        value_only(&format!("{path}.not"), inner, errors);
    }
}

/// The schemas in `anyOf` and its like, with their paths.
fn alternatives<'a>(path: &str, schema: &'a Value) -> impl Iterator<Item = (String, &'a Value)> {
    ["anyOf", "allOf", "oneOf"]
        .into_iter()
        .flat_map(move |field| {
            let schemas = schema.get(field).and_then(Value::as_array);
            let numbered = schemas.into_iter().flatten().enumerate();
            numbered.map(move |(index, inner)| (format!("{path}.{field}[{index}]"), inner))
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_of_the_real_server() {
        let spec = |spec: Value| json!({"type": "object", "properties": {"spec": spec}});
        for (schema, expected) in [
            (json!({"type": "object"}), vec![]),
            (
                json!({}),
                vec!["s.type: Required value: must not be empty at the root"],
            ),
            (
                json!({"type": "string"}),
                vec!["s.type: Invalid value: \"string\": must be object at the root"],
            ),
            (
                spec(json!({})),
                vec![
                    "s.properties[spec].type: Required value: must not be empty for specified object fields",
                ],
            ),
            (
                spec(json!({"type": "array"})),
                vec!["s.properties[spec].items: Required value: must be specified"],
            ),
            (spec(json!({"x-kubernetes-int-or-string": true})), vec![]),
            (
                spec(
                    json!({"type": "object", "properties": {"x": {"type": "integer"}}, "anyOf": [{"properties": {"x": {"type": "integer"}}}]}),
                ),
                vec![
                    "s.properties[spec].anyOf[0].properties[x].type: Forbidden: must be empty to be structural",
                ],
            ),
            (
                spec(json!({"type": "whatever"})),
                vec![
                    "s.properties[spec].type: Unsupported value: \"whatever\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\"",
                ],
            ),
        ] {
            let mut errors = Vec::new();
            structural("s", &schema, &mut errors);
            let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
            assert_eq!(texts, expected, "{schema}");
        }
    }
}
