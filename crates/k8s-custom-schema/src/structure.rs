//! Whether a schema is structural: each field has a type, said in one place.

use k8s_api_schema::FieldError;

use crate::path::Path;
use crate::structural::{Checks, Structural};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Field,
    Item,
}

/// Every error, in order.
pub(crate) fn check(schema: &Structural, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    node(schema, Level::Root, path, &mut errors);
    complete(&schema.checks, Some(schema), path, path, &mut errors);
    errors.sort_by_key(ToString::to_string);
    errors
}

fn node(schema: &Structural, level: Level, path: &Path, errors: &mut Vec<FieldError>) {
    let forbidden = |name: &str, why: &str| FieldError::forbidden(path.child(name).text(), why);
    let required = |name: &str, why: &str| FieldError::required(path.child(name).text(), why);
    if schema.type_ == "array" && schema.items.is_none() {
        errors.push(required("items", "must be specified"));
    }
    if let Some(items) = &schema.items {
        node(items, Level::Item, &path.child("items"), errors);
    }
    for (name, property) in &schema.properties {
        node(
            property,
            Level::Field,
            &path.child("properties").key(name),
            errors,
        );
    }
    if schema.additional.is_some() && level == Level::Root {
        errors.push(forbidden(
            "additionalProperties",
            "must not be used at the root",
        ));
    }
    if let Some(values) = schema.additional_schema() {
        node(
            values,
            Level::Field,
            &path.child("additionalProperties"),
            errors,
        );
    }
    if schema.int_or_string {
        for (set, name) in [
            (schema.preserve, "x-kubernetes-preserve-unknown-fields"),
            (schema.embedded, "x-kubernetes-embedded-resource"),
        ] {
            if set {
                let why = "must be false if x-kubernetes-int-or-string is true";
                errors.push(FieldError::invalid(path.child(name).text(), true, why));
            }
        }
    }
    let skip_any = is_int_or_string(&schema.checks.any_of);
    let skip_first = schema
        .checks
        .all_of
        .first()
        .is_some_and(|first| is_int_or_string(&first.checks.any_of));
    value_checks(&schema.checks, skip_any, skip_first, path, errors);
    if schema.embedded && schema.type_ != "object" {
        let why = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(if schema.type_.is_empty() {
            required("type", why)
        } else {
            FieldError::invalid(path.child("type").text(), schema.type_.as_str(), why)
        });
    } else if schema.type_.is_empty() && !schema.int_or_string && !schema.preserve {
        let why = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(required("type", why));
    }
    if schema.embedded && schema.additional.is_some() {
        let why = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(forbidden("additionalProperties", why));
    }
    if level == Level::Root && !schema.type_.is_empty() && schema.type_ != "object" {
        let type_ = path.child("type").text();
        let why = "must be object at the root";
        errors.push(FieldError::invalid(type_, schema.type_.as_str(), why));
    }
    type_and_metadata(schema, level, path, errors);
    if schema.embedded && !schema.preserve && schema.properties.is_empty() {
        errors.push(required(
            "properties",
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
        ));
    }
}

fn type_and_metadata(schema: &Structural, level: Level, path: &Path, errors: &mut Vec<FieldError>) {
    let is_resource = level == Level::Root || schema.embedded;
    let properties = path.child("properties");
    for name in ["kind", "apiVersion"] {
        if let Some(found) = schema.properties.get(name)
            && is_resource
            && found.type_ != "string"
        {
            let path = properties.key(name).child("type").text();
            errors.push(FieldError::invalid(
                path,
                found.type_.as_str(),
                "must be string",
            ));
        }
    }
    let Some(metadata) = schema.properties.get("metadata") else {
        return;
    };
    let path = properties.key("metadata");
    if is_resource && metadata.type_ != "object" {
        let type_ = path.child("type").text();
        errors.push(FieldError::invalid(
            type_,
            metadata.type_.as_str(),
            "must be object",
        ));
    }
    if level == Level::Root && !is_plain_metadata(metadata) {
        errors.push(FieldError::forbidden(
            path.text(),
            "must not specify anything other than name and generateName, but metadata is implicitly specified",
        ));
    }
}

/// Nothing but what may be said of the name.
fn is_plain_metadata(schema: &Structural) -> bool {
    let names = ["name", "generateName"];
    schema
        .properties
        .keys()
        .all(|key| names.contains(&key.as_str()))
        && schema.title.is_empty()
        && schema.description.is_empty()
        && !schema.nullable
        && !schema.preserve
        && !schema.embedded
        && !schema.int_or_string
        && schema.list_type.is_none()
        && schema.list_keys.is_empty()
        && schema.map_type.is_none()
        && schema.items.is_none()
        && schema.additional.is_none()
        && schema.rules.is_empty()
        && schema.checks.is_empty()
}

fn is_int_or_string(alternatives: &[Structural]) -> bool {
    let is = |schema: &Structural, type_: &str| schema.type_ == type_ && schema.checks.is_empty();
    matches!(alternatives, [a, b] if is(a, "integer") && is(b, "string"))
}

fn value_checks(
    checks: &Checks,
    skip_any: bool,
    skip_first: bool,
    path: &Path,
    errors: &mut Vec<FieldError>,
) {
    if !skip_any {
        for (index, one) in checks.any_of.iter().enumerate() {
            nested(one, false, &path.child("anyOf").index(index), errors);
        }
    }
    for (index, one) in checks.all_of.iter().enumerate() {
        let skip = skip_first && index == 0;
        nested(one, skip, &path.child("allOf").index(index), errors);
    }
    for (index, one) in checks.one_of.iter().enumerate() {
        nested(one, false, &path.child("oneOf").index(index), errors);
    }
    if let Some(not) = &checks.not {
        nested(not, false, &path.child("not"), errors);
    }
    if let Some(pattern) = &checks.pattern
        && let Err(why) = &pattern.compiled
    {
        let why = format!("must be a valid regular expression, but isn't: {why}");
        let path = path.child("pattern").text();
        errors.push(FieldError::invalid(path, pattern.text.as_str(), why));
    }
}

/// Below `anyOf` and its like a schema may check values, but not say what the fields are.
fn nested(schema: &Structural, skip_any: bool, path: &Path, errors: &mut Vec<FieldError>) {
    const EMPTY: &str = "must be empty to be structural";
    const UNDEFINED: &str = "must be undefined to be structural";
    const FALSE: &str = "must be false to be structural";
    value_checks(&schema.checks, skip_any, false, path, errors);
    if let Some(items) = &schema.items {
        nested(items, false, &path.child("items"), errors);
    }
    for (name, property) in &schema.properties {
        nested(property, false, &path.child("properties").key(name), errors);
    }
    for (set, name, why) in [
        (!schema.type_.is_empty(), "type", EMPTY),
        (
            schema.additional.is_some(),
            "additionalProperties",
            UNDEFINED,
        ),
        (schema.default.is_some(), "default", UNDEFINED),
        (!schema.title.is_empty(), "title", EMPTY),
        (!schema.description.is_empty(), "description", EMPTY),
        (schema.nullable, "nullable", FALSE),
        (
            schema.preserve,
            "x-kubernetes-preserve-unknown-fields",
            FALSE,
        ),
        (schema.embedded, "x-kubernetes-embedded-resource", FALSE),
        (schema.int_or_string, "x-kubernetes-int-or-string", FALSE),
        (
            !schema.list_keys.is_empty(),
            "x-kubernetes-list-map-keys",
            EMPTY,
        ),
        (
            schema.list_type.is_some(),
            "x-kubernetes-list-type",
            UNDEFINED,
        ),
        (
            schema.map_type.is_some(),
            "x-kubernetes-map-type",
            UNDEFINED,
        ),
        (!schema.rules.is_empty(), "x-kubernetes-validations", EMPTY),
    ] {
        if set {
            errors.push(FieldError::forbidden(path.child(name).text(), why));
        }
    }
    if schema.properties.contains_key("metadata") {
        errors.push(FieldError::forbidden(
            path.child("properties").key("metadata").text(),
            "must not be specified in a nested context",
        ));
    }
}

/// What is checked below `anyOf` and its like must be specified outside of it.
fn complete(
    checks: &Checks,
    spine: Option<&Structural>,
    path: &Path,
    nested_path: &Path,
    errors: &mut Vec<FieldError>,
) {
    let lists = [
        (&checks.all_of, "allOf"),
        (&checks.any_of, "anyOf"),
        (&checks.one_of, "oneOf"),
    ];
    if let Some(not) = &checks.not {
        complete_nested(not, spine, path, &nested_path.child("not"), errors);
    }
    for (list, name) in lists {
        for (index, one) in list.iter().enumerate() {
            let nested_path = nested_path.child(name).index(index);
            complete_nested(one, spine, path, &nested_path, errors);
        }
    }
}

fn complete_nested(
    schema: &Structural,
    spine: Option<&Structural>,
    path: &Path,
    nested_path: &Path,
    errors: &mut Vec<FieldError>,
) {
    let missing = |path: &Path, nested_path: &Path| {
        let why = format!("because it is defined in {}", nested_path.text());
        FieldError::required(path.text(), why)
    };
    let Some(spine) = spine else {
        errors.push(missing(path, nested_path));
        return;
    };
    complete(&schema.checks, Some(spine), path, nested_path, errors);
    if let Some(items) = &schema.items {
        let spine = spine.items.as_deref();
        complete_nested(
            items,
            spine,
            &path.child("items"),
            &nested_path.child("items"),
            errors,
        );
    }
    for (name, property) in &schema.properties {
        let path = path.child("properties").key(name);
        let nested_path = nested_path.child("properties").key(name);
        match spine.properties.get(name) {
            Some(spine) => complete_nested(property, Some(spine), &path, &nested_path, errors),
            None => errors.push(missing(&path, &nested_path)),
        }
    }
}
