//! Whether the schema of a definition is one that the server takes.

use std::collections::BTreeSet;

use k8s_api_schema::FieldError;
use serde_json::{Map, Value};

use crate::cel::{Ratchet, Report, Rules, compile_rules};
use crate::path::Path;
use crate::structural::Structural;
use crate::{embedded, field_path, formats, prune, structure, values};

/// Parts of a schema that no definition may have.
const UNSUPPORTED: &[&str] = &[
    "id",
    "additionalItems",
    "patternProperties",
    "definitions",
    "dependencies",
    "$ref",
];

/// What may be at the root where the status is a subresource, as errors list it.
const ROOT_FIELDS: &str = "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations";

/// Every error of an `openAPIV3Schema` at a path; `status` if the status is a subresource.
#[must_use]
pub fn check_schema(path: &str, schema: &Value, status: bool) -> Vec<FieldError> {
    let path = Path::new(path);
    let mut errors = Vec::new();
    if status {
        root_fields(schema, &path, &mut errors);
    }
    if is_true(schema, "nullable") {
        errors.push(FieldError::forbidden(
            path.child("nullable").text(),
            "nullable cannot be true at the root",
        ));
    }
    let structural = Structural::read(schema);
    let mut rules = false;
    let unsupported = unsupported(schema);
    if unsupported.is_none() {
        let mut found = structure::check(&structural, &path);
        if found.is_empty() {
            defaults(&structural, &path, true, &mut found);
            rules = found.is_empty();
        }
        errors.extend(found);
    }
    let mut check = Check {
        errors: Vec::new(),
        rules: Vec::new(),
    };
    let place = Place {
        resource: rules.then_some(true),
        ..Place::default()
    };
    check.node(schema, &path, &place, true);
    errors.extend(check.errors);
    errors.extend(check.rules);
    if errors.is_empty()
        && let Some(why) = unsupported
    {
        errors.push(FieldError::invalid(path.text(), "", why));
    }
    errors
}

/// The formats in a schema that mean nothing to the server, each once.
fn unrecognized_formats(schema: &Value) -> Vec<String> {
    fn walk(schema: &Value, found: &mut Vec<String>) {
        let format = text(schema, "format");
        let type_ = if is_true(schema, "x-kubernetes-int-or-string") {
            ""
        } else {
            text(schema, "type")
        };
        if !format.is_empty()
            && !formats::is_known(type_, format)
            && !found.iter().any(|known| known == format)
        {
            found.push(format.to_owned());
        }
        for (_, child) in children(schema) {
            walk(child, found);
        }
    }
    let mut found = Vec::new();
    walk(schema, &mut found);
    found
}

/// What the server warns of in a schema.
#[must_use]
pub fn schema_warnings(schema: &Value) -> Vec<String> {
    fn sets(schema: &Value, found: &mut BTreeSet<String>) {
        let items = schema.get("items").map_or("", |items| text(items, "type"));
        if text(schema, "x-kubernetes-list-type") == "set" && matches!(items, "array" | "object") {
            found.insert(format!(
                "x-kubernetes-list-type: set for items of type {} is not supported by server-side apply or CEL validation rules",
                k8s_api_schema::quote(items)
            ));
        }
        for (_, child) in children(schema) {
            sets(child, found);
        }
    }
    let formats = unrecognized_formats(schema).into_iter();
    let mut warnings: Vec<String> = formats
        .map(|format| format!("unrecognized format {}", k8s_api_schema::quote(&format)))
        .collect();
    let mut found = BTreeSet::new();
    sets(schema, &mut found);
    warnings.extend(found);
    warnings
}

/// Every error of `selectableFields` at a path.
#[must_use]
pub fn check_selectable_fields(path: &str, fields: &[Value], schema: &Value) -> Vec<FieldError> {
    const MAX: usize = 8;
    let schema = Structural::read(schema);
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, field) in fields.iter().enumerate() {
        let at = format!("{path}[{index}].jsonPath");
        let json_path = text(field, "jsonPath");
        if json_path.is_empty() {
            errors.push(FieldError::required(at, ""));
            continue;
        }
        let (found, leads_to) = match field_path::resolve(json_path, &schema, false) {
            Ok(found) => found,
            Err(why) => {
                let why = format!("is an invalid path: {why}");
                errors.push(FieldError::invalid(at, json_path, why));
                continue;
            }
        };
        if found == "metadata" || found.starts_with("metadata.") {
            let why = "must not point to fields in metadata";
            errors.push(FieldError::invalid(at.as_str(), json_path, why));
        }
        if !matches!(leads_to.type_.as_str(), "string" | "boolean" | "integer") {
            let why = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
            errors.push(FieldError::invalid(at.as_str(), json_path, why));
        }
        if !seen.insert(found) {
            errors.push(FieldError::duplicate(at, json_path));
        }
    }
    if seen.len() > MAX {
        errors.push(FieldError::too_many(path, seen.len(), MAX));
    }
    errors
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn is_true(value: &Value, key: &str) -> bool {
    value.get(key) == Some(&Value::Bool(true))
}

fn is_set(value: &Value, key: &str) -> bool {
    match value.get(key) {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(list)) => !list.is_empty(),
        Some(Value::Object(map)) => !map.is_empty() || key != "properties",
        Some(_) => true,
    }
}

fn schemas<'a>(schema: &'a Value, key: &str) -> impl Iterator<Item = (String, &'a Value)> {
    let map = schema.get(key).and_then(Value::as_object);
    map.into_iter()
        .flatten()
        .map(|(name, schema)| (name.clone(), schema))
}

fn listed<'a>(schema: &'a Value, key: &str) -> &'a [Value] {
    let list = schema.get(key).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

/// All schemas right below one.
fn children(schema: &Value) -> Vec<(String, &Value)> {
    let mut found: Vec<(String, &Value)> = schemas(schema, "properties").collect();
    for key in ["items", "additionalProperties", "not"] {
        if let Some(child) = schema.get(key).filter(|child| child.is_object()) {
            found.push((key.to_owned(), child));
        }
    }
    for key in ["items", "allOf", "anyOf", "oneOf"] {
        for child in listed(schema, key) {
            found.push((key.to_owned(), child));
        }
    }
    found
}

/// Whether a schema sets a default anywhere.
#[must_use]
pub fn has_defaults(schema: &Value) -> bool {
    is_set(schema, "default")
        || children(schema)
            .iter()
            .any(|(_, child)| has_defaults(child))
}

/// Why a schema cannot be read as a structural one.
fn unsupported(schema: &Value) -> Option<String> {
    for key in [
        "id",
        "$schema",
        "$ref",
        "patternProperties",
        "dependencies",
        "additionalItems",
        "definitions",
    ] {
        if is_set(schema, key) {
            return Some(format!("OpenAPIV3Schema '{key}' is not supported"));
        }
    }
    if schema.get("items").is_some_and(Value::is_array) {
        return Some("OpenAPIV3Schema 'items' must be a schema, but is an array".into());
    }
    children(schema)
        .into_iter()
        .find_map(|(_, child)| unsupported(child))
}

fn root_fields(schema: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    let empty = Map::new();
    for key in schema.as_object().unwrap_or(&empty).keys() {
        if !is_set(schema, key) {
            continue;
        }
        if key == "type" {
            if text(schema, "type") != "object" {
                errors.push(FieldError::invalid(
                    path.child("type").text(),
                    text(schema, "type"),
                    "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled",
                ));
                return;
            }
            continue;
        }
        let go_name = match key.strip_prefix("x-kubernetes-") {
            Some(rest) => {
                let words = rest.split('-').map(capitalize);
                format!("X{}", words.collect::<String>())
            }
            None => capitalize(key),
        };
        if !ROOT_FIELDS.split(' ').any(|known| known == go_name) {
            let why = format!(
                "only [{ROOT_FIELDS}] fields are allowed at the root of the schema if the status subresource is enabled"
            );
            errors.push(FieldError::invalid(path.text(), schema.clone(), why));
            return;
        }
    }
}

fn capitalize(word: &str) -> String {
    let mut chars = word.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

/// Defaults must be valid, and must not have what is pruned.
fn defaults(schema: &Structural, path: &Path, is_root: bool, errors: &mut Vec<FieldError>) {
    if let Some(default) = &schema.default {
        let at = path.child("default");
        let mut pruned = default.clone();
        let dropped = prune::prune(&mut pruned, schema, schema.embedded);
        if !dropped.is_empty() || pruned != *default {
            let why = "must not have unknown fields";
            errors.push(FieldError::invalid(at.text(), default.clone(), why));
        }
        let mut found = Vec::new();
        embedded::types(default, schema, is_root, &at, &mut found);
        if found.is_empty() {
            found = values::check(&schema.without_int_or_string(), default, &at, None);
        }
        if found.is_empty() {
            if let Some(rules) = Rules::new(schema, is_root || schema.embedded) {
                for old in [Some(default), None] {
                    let before = errors.len();
                    let ratchet = Ratchet::default();
                    let mut warnings = Vec::new();
                    let mut report = Report::new(errors, &mut warnings);
                    rules.check(default, old, &at, ratchet, &mut report);
                    if errors.len() > before {
                        break;
                    }
                }
            }
        } else {
            errors.extend(found);
        }
    }
    if let Some(items) = &schema.items {
        defaults(items, &path.child("items"), false, errors);
    }
    for (name, property) in &schema.properties {
        let is_meta = matches!(name.as_str(), "apiVersion" | "kind" | "metadata");
        if is_meta && (is_root || schema.embedded) {
            continue;
        }
        defaults(property, &path.child("properties").key(name), false, errors);
    }
}

/// What holds at a place in a schema.
#[derive(Clone, Default)]
struct Place {
    no_defaults: Option<String>,
    inside_metadata: bool,
    /// Where values cannot be told from what they were.
    uncorrelatable: Option<Path>,
    /// Whether rules are checked here, and then whether it is the root of a resource.
    resource: Option<bool>,
}

struct Check {
    errors: Vec<FieldError>,
    rules: Vec<FieldError>,
}

impl Check {
    fn forbid(&mut self, path: &Path, name: &str, why: impl Into<String>) {
        let path = path.child(name).text();
        self.errors.push(FieldError::forbidden(path, why));
    }

    fn require(&mut self, path: &Path, name: &str, why: &str) {
        let path = path.child(name).text();
        self.errors.push(FieldError::required(path, why));
    }

    fn invalid(&mut self, path: &Path, name: &str, value: impl Into<Value>, why: &str) {
        let path = path.child(name).text();
        self.errors.push(FieldError::invalid(path, value, why));
    }

    fn node(&mut self, schema: &Value, path: &Path, place: &Place, is_root: bool) {
        let before = self.errors.len();
        self.standard(schema, path, place);
        if is_true(schema, "uniqueItems") {
            let why =
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.forbid(path, "uniqueItems", why);
        }
        self.below(schema, path, place, is_root);
        if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
            let name = "x-kubernetes-preserve-unknown-fields";
            self.invalid(path, name, false, "must be true or undefined");
        }
        self.map_type(schema, path);
        self.list_type(schema, path);
        self.list_keys(schema, path);
        self.rules(schema, path, place, before);
    }

    fn standard(&mut self, schema: &Value, path: &Path, place: &Place) {
        const TYPES: &[&str] = &["array", "boolean", "integer", "number", "object", "string"];
        let type_ = text(schema, "type");
        if !type_.is_empty() && !TYPES.contains(&type_) {
            let at = path.child("type").text();
            self.errors
                .push(FieldError::not_supported(at, type_, TYPES));
        }
        if schema
            .get("default")
            .is_some_and(|default| !default.is_null())
            && let Some(reason) = &place.no_defaults
        {
            self.forbid(path, "default", format!("must not be set {reason}"));
        }
        for key in UNSUPPORTED {
            if is_set(schema, key) {
                self.forbid(path, key, format!("{key} is not supported"));
            }
        }
        if type_ == "null" {
            let why = "type cannot be set to null, use nullable as an alternative";
            self.forbid(path, "type", why);
        }
        if !listed(schema, "items").is_empty() {
            self.forbid(
                path,
                "items",
                "items must be a schema object and not an array",
            );
        }
        if place.inside_metadata && is_true(schema, "x-kubernetes-embedded-resource") {
            let name = "x-kubernetes-embedded-resource";
            self.forbid(path, name, "must not be used inside of resource meta");
        }
    }

    fn below(&mut self, schema: &Value, path: &Path, place: &Place, is_root: bool) {
        let embedded = |schema: &Value| is_true(schema, "x-kubernetes-embedded-resource");
        let child = |schema: &Value| Place {
            resource: place.resource.map(|_| embedded(schema)),
            ..place.clone()
        };
        let properties: Vec<(String, &Value)> = schemas(schema, "properties").collect();
        if let Some(additional) = schema.get("additionalProperties").filter(|v| !v.is_null()) {
            if !properties.is_empty() && *additional != Value::Bool(true) {
                let why = "additionalProperties and properties are mutual exclusive";
                self.forbid(path, "additionalProperties", why);
            }
            if additional.is_object() {
                let mut place = child(additional);
                if place.inside_metadata {
                    let reason = "inside additionalProperties applying to object metadata";
                    place.no_defaults = Some(reason.into());
                }
                self.node(
                    additional,
                    &path.child("additionalProperties"),
                    &place,
                    false,
                );
            }
        }
        let correlatable = !matches!(text(schema, "x-kubernetes-map-type"), other if !matches!(other, "" | "granular" | "atomic"));
        for (name, property) in properties {
            let mut place = child(property);
            if !correlatable {
                place.uncorrelatable.get_or_insert_with(|| path.clone());
            }
            let is_meta = matches!(name.as_str(), "metadata" | "kind" | "apiVersion");
            if is_meta && (is_root || embedded(schema)) {
                place.inside_metadata = true;
                if is_root {
                    place.no_defaults = Some(format!("in top-level {name}"));
                }
            }
            self.node(
                property,
                &path.child("properties").key(&name),
                &place,
                false,
            );
        }
        let without_rules = Place {
            resource: None,
            ..place.clone()
        };
        if let Some(not) = schema.get("not").filter(|not| not.is_object()) {
            self.node(not, &path.child("not"), &without_rules, false);
        }
        for key in ["allOf", "oneOf", "anyOf"] {
            for (index, one) in listed(schema, key).iter().enumerate() {
                self.node(one, &path.child(key).index(index), &without_rules, false);
            }
        }
        if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
            let mut place = child(items);
            if text(schema, "x-kubernetes-list-type") != "map" {
                place.uncorrelatable.get_or_insert_with(|| path.clone());
            }
            self.node(items, &path.child("items"), &place, false);
        }
    }

    fn map_type(&mut self, schema: &Value, path: &Path) {
        let Some(map_type) = schema.get("x-kubernetes-map-type").and_then(Value::as_str) else {
            return;
        };
        let type_ = text(schema, "type");
        let why = "must be object if x-kubernetes-map-type is specified";
        match type_ {
            "object" => {}
            "" => self.require(path, "type", why),
            other => self.invalid(path, "type", other, why),
        }
        if !matches!(map_type, "atomic" | "granular") {
            let at = path.child("x-kubernetes-map-type").text();
            self.errors.push(FieldError::not_supported(
                at,
                map_type,
                &["atomic", "granular"],
            ));
        }
    }

    fn list_type(&mut self, schema: &Value, path: &Path) {
        let list_type = schema.get("x-kubernetes-list-type").and_then(Value::as_str);
        let type_ = text(schema, "type");
        let Some(list_type) = list_type else { return };
        let why = "must be array if x-kubernetes-list-type is specified";
        if type_.is_empty() {
            self.require(path, "type", why);
        } else if type_ != "array" {
            self.invalid(path, "type", type_, why);
        } else if list_type == "set"
            && let Some(items) = schema.get("items").filter(|items| items.is_object())
        {
            let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
            let of_items = items
                .get("x-kubernetes-list-type")
                .cloned()
                .unwrap_or_default();
            let path = path.child("items");
            match text(items, "type") {
                "array" if !matches!(of_items.as_str(), None | Some("atomic")) => {
                    self.invalid(&path, "x-kubernetes-list-type", of_items, why);
                }
                "object" if text(items, "x-kubernetes-map-type") != "atomic" => {
                    self.invalid(&path, "x-kubernetes-map-type", of_items, why);
                }
                _ => {}
            }
        }
        if !matches!(list_type, "atomic" | "set" | "map") {
            let at = path.child("x-kubernetes-list-type").text();
            let valid = ["atomic", "set", "map"];
            self.errors
                .push(FieldError::not_supported(at, list_type, &valid));
        }
    }

    fn list_keys(&mut self, schema: &Value, path: &Path) {
        const LIST: &str = "x-kubernetes-list-type";
        const KEYS: &str = "x-kubernetes-list-map-keys";
        let keys = listed(schema, KEYS);
        let list_type = schema.get(LIST).and_then(Value::as_str);
        if !keys.is_empty() {
            let why = "must be map if x-kubernetes-list-map-keys is non-empty";
            match list_type {
                None => self.require(path, LIST, why),
                Some("map") => {}
                Some(other) => self.invalid(path, LIST, other, why),
            }
        }
        let items = schema.get("items").filter(|items| items.is_object());
        if list_type == Some("map") {
            if keys.is_empty() {
                let why = "must not be empty if x-kubernetes-list-type is map";
                self.require(path, KEYS, why);
            }
            if schema.get("items").is_none_or(Value::is_null) {
                let why = "must have a schema if x-kubernetes-list-type is map";
                self.require(path, "items", why);
            }
            if let Some(items) = items {
                self.keys_of(keys, items, path);
            }
        }
        let (Some(items), Some(list_type @ ("set" | "map"))) = (items, list_type) else {
            return;
        };
        let items_path = path.child("items");
        if is_true(items, "nullable") {
            let why = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
            self.forbid(&items_path, "nullable", why);
        }
        if list_type == "map" {
            for key in keys.iter().filter_map(Value::as_str) {
                let Some(property) = items.get("properties").and_then(|p| p.get(key)) else {
                    continue;
                };
                let at = items_path.child("properties").key(key);
                let required = listed(items, "required").iter().any(|name| name == key);
                if !required && property.get("default").is_none_or(Value::is_null) {
                    self.require(&at, "default", "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property");
                }
                if is_true(property, "nullable") {
                    self.forbid(
                        &at,
                        "nullable",
                        "this property is in x-kubernetes-list-map-keys, so it cannot be nullable",
                    );
                }
            }
        }
    }

    fn keys_of(&mut self, keys: &[Value], items: &Value, path: &Path) {
        const KEYS: &str = "x-kubernetes-list-map-keys";
        let type_ = text(items, "type");
        if type_ != "object" {
            let why = "must be object if parent array's x-kubernetes-list-type is map";
            self.invalid(&path.child("items"), "type", type_, why);
            return;
        }
        for (index, key) in keys.iter().enumerate() {
            let name = key.as_str().unwrap_or_default();
            match items.get("properties").and_then(|all| all.get(name)) {
                Some(property) if matches!(text(property, "type"), "array" | "object") => {
                    let at = path.child("items").child("properties").key(name);
                    let why =
                        "must be a scalar type if parent array's x-kubernetes-list-type is map";
                    self.invalid(&at, "type", type_, why);
                }
                Some(_) => {}
                None => {
                    let why = "entries must all be names of item properties";
                    self.invalid(path, KEYS, keys.to_vec(), why);
                }
            }
            if keys[..index].contains(key) {
                self.invalid(
                    path,
                    KEYS,
                    keys.to_vec(),
                    "must not contain duplicate entries",
                );
            }
        }
    }

    fn rules(&mut self, schema: &Value, path: &Path, place: &Place, before: usize) {
        const REASONS: &[&str] = &[
            "FieldValueDuplicate",
            "FieldValueForbidden",
            "FieldValueInvalid",
            "FieldValueRequired",
        ];
        let list = listed(schema, "x-kubernetes-validations");
        if list.is_empty() {
            return;
        }
        let at = path.child("x-kubernetes-validations");
        let structural = Structural::read(schema);
        for (index, rule) in structural.rules.iter().enumerate() {
            let at = at.index(index);
            let breaks = |text: &str| text.contains(['\n', '\r']);
            let (own, message) = (rule.rule.trim(), rule.message.trim());
            if own.is_empty() {
                self.require(&at, "rule", "rule is not specified");
            } else if !rule.message.is_empty() && message.is_empty() {
                let why = "must be non-empty if specified";
                self.invalid(&at, "message", rule.message.as_str(), why);
            } else if breaks(message) {
                let why = "must not contain line breaks";
                self.invalid(&at, "message", rule.message.as_str(), why);
            } else if breaks(own) && message.is_empty() {
                let why = "message must be specified if rule contains line breaks";
                self.require(&at, "message", why);
            }
            if !rule.message_expression.is_empty() && rule.message_expression.trim().is_empty() {
                let why = "messageExpression must be non-empty if specified";
                self.require(&at, "messageExpression", why);
            }
            if let Some(reason) = rule.reason.as_deref().filter(|one| !REASONS.contains(one)) {
                let at = at.child("reason").text();
                self.errors
                    .push(FieldError::not_supported(at, reason, REASONS));
            }
            let field = rule.field_path.as_str();
            if !field.is_empty() {
                if field.trim().is_empty() {
                    self.invalid(&at, "fieldPath", field, "must be non-empty if specified");
                }
                if breaks(field) {
                    self.invalid(&at, "fieldPath", field, "must not contain line breaks");
                }
                if field_path::resolve(field, &structural, true).is_err() {
                    self.invalid(&at, "fieldPath", field, "must be a valid path");
                }
            }
        }
        if let Some(is_resource) = place.resource.filter(|_| self.errors.len() == before) {
            self.compiled(&structural, is_resource, &at, place);
        }
    }

    fn compiled(&mut self, schema: &Structural, is_resource: bool, at: &Path, place: &Place) {
        let Some(compiled) = compile_rules(schema, is_resource) else {
            let why = "internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations";
            self.rules.push(FieldError::internal(at.text(), why));
            return;
        };
        for (index, (rule, compiled)) in schema.rules.iter().zip(compiled).enumerate() {
            let at = at.index(index);
            if let Some(why) = compiled.error() {
                let path = at.child("rule").text();
                self.rules
                    .push(FieldError::invalid_printed(path, rule.print(), why));
            }
            if let Some(why) = compiled.message_error() {
                let path = at.child("messageExpression").text();
                self.rules
                    .push(FieldError::invalid_printed(path, rule.print(), why));
            }
            if compiled.uses_old_self() {
                if let Some(within) = &place.uncorrelatable {
                    let why = format!(
                        "oldSelf cannot be used on the uncorrelatable portion of the schema within {}",
                        within.text()
                    );
                    let path = at.child("rule").text();
                    self.rules
                        .push(FieldError::invalid(path, rule.rule.as_str(), why));
                }
            } else if let Some(flag) = rule.optional_old_self {
                let path = at.child("optionalOldSelf").text();
                let why = "may not be set if oldSelf is not used in rule";
                self.rules.push(FieldError::invalid(path, flag, why));
            }
        }
    }
}
