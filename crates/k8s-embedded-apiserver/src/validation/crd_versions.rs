//! The versions of a CustomResourceDefinition.

use serde_json::Value;

use super::crd::list;
use super::{admissionregistration, names};
use crate::metadata::text;
use k8s_api_schema::FieldError;
use k8s_custom_schema::{check_schema, check_selectable_fields, has_defaults};

const COLUMN_TYPES: &[&str] = &["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: &[&str] = &[
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];

/// Where the real server reports a part of a version: it moves what all versions share to the top.
fn is_shared(versions: &[Value], field: &str) -> bool {
    versions.first().is_some_and(|first| {
        versions
            .iter()
            .all(|version| version.get(field) == first.get(field))
    })
}

/// Adds the errors of `spec.versions`, but for what all versions share.
pub(super) fn versions(spec: &Value, errors: &mut Vec<FieldError>) {
    let versions = list(spec, "/versions");
    schemas_are_there(versions, errors);
    no_defaults_of_unknown_fields(spec, errors);
    for (index, version) in versions.iter().enumerate() {
        let path = format!("spec.versions[{index}]");
        name(&format!("{path}.name"), text(version, "/name"), errors);
        deprecation(&path, version, errors);
        let own = |field| (!is_shared(versions, field)).then(|| format!("{path}.{field}"));
        let places = PARTS.map(own);
        parts(
            places.each_ref().map(Option::as_deref),
            version,
            has_status(version),
            errors,
        );
    }
    counts(spec, versions, errors);
    let first = versions.first().map_or("", |first| text(first, "/name"));
    if !first.is_empty() {
        name("spec.version", first, errors);
    }
}

/// Adds the errors of what all versions share, which the real server reports at the top, after those of the names.
pub(super) fn shared(spec: &Value, errors: &mut Vec<FieldError>) {
    let versions = list(spec, "/versions");
    let Some(first) = versions.first() else {
        return;
    };
    let tops = [
        "spec.validation",
        "spec.subresources",
        "spec.additionalPrinterColumns",
        "spec.selectableFields",
    ];
    let mut places = [None; 4];
    for ((place, field), top) in places.iter_mut().zip(PARTS).zip(tops) {
        *place = is_shared(versions, field).then_some(top);
    }
    parts(places, first, versions.iter().any(has_status), errors);
}

/// The parts of a version that have a place at the top if all versions share them, in the order of their checks.
const PARTS: [&str; 4] = [
    "schema",
    "subresources",
    "additionalPrinterColumns",
    "selectableFields",
];

/// Adds the errors of the parts that have a place.
fn parts(places: [Option<&str>; 4], version: &Value, status: bool, errors: &mut Vec<FieldError>) {
    let [
        schema_path,
        subresources_path,
        columns_path,
        selectable_path,
    ] = places;
    let schema = schema(version);
    if let (Some(path), Some(schema)) = (schema_path, schema) {
        errors.extend(check_schema(
            &format!("{path}.openAPIV3Schema"),
            schema,
            status,
        ));
    }
    if let Some(path) = subresources_path {
        subresources(path, version, errors);
    }
    if let Some(path) = columns_path {
        columns(path, version, errors);
    }
    let fields = list(version, "/selectableFields");
    if let (Some(path), false) = (selectable_path, fields.is_empty()) {
        match schema {
            Some(schema) => errors.extend(check_selectable_fields(path, fields, schema)),
            None if path.starts_with("spec.selectable") => errors.push(FieldError::invalid(
                path,
                "",
                "may only be set when validations.schema is included",
            )),
            None => errors.push(FieldError::invalid(
                path,
                "",
                "may only be set when `version.schema.openAPIV3Schema` is not included",
            )),
        }
    }
}

fn schema(version: &Value) -> Option<&Value> {
    version
        .pointer("/schema/openAPIV3Schema")
        .filter(|schema| !schema.is_null())
}

fn has_status(version: &Value) -> bool {
    version
        .pointer("/subresources/status")
        .is_some_and(|status| !status.is_null())
}

fn name(path: &str, name: &str, errors: &mut Vec<FieldError>) {
    let faults = names::label_1035(name);
    if !faults.is_empty() {
        errors.push(FieldError::invalid(path, name, faults.join(",")));
    }
}

fn schemas_are_there(versions: &[Value], errors: &mut Vec<FieldError>) {
    for (index, version) in versions.iter().enumerate() {
        if schema(version).is_none() {
            let path = format!("spec.versions[{index}].schema.openAPIV3Schema");
            errors.push(FieldError::required(path, ""));
        }
    }
}

fn no_defaults_of_unknown_fields(spec: &Value, errors: &mut Vec<FieldError>) {
    let unknown_stay = spec.get("preserveUnknownFields") == Some(&Value::Bool(true));
    let mut schemas = list(spec, "/versions").iter().filter_map(schema);
    if unknown_stay && schemas.any(has_defaults) {
        errors.push(FieldError::invalid(
            "spec.preserveUnknownFields",
            true,
            "must be false in order to use defaults in the schema",
        ));
    }
}

fn counts(spec: &Value, versions: &[Value], errors: &mut Vec<FieldError>) {
    let mut fault = |why: &str| {
        let sent = spec.get("versions").cloned().unwrap_or_default();
        let error = FieldError::invalid("spec.versions", sent, why);
        errors.push(match printed(versions) {
            Some(printed) => error.printed(printed),
            None => error,
        });
    };
    let names: Vec<_> = versions
        .iter()
        .map(|version| text(version, "/name"))
        .collect();
    if (1..names.len()).any(|index| names[..index].contains(&names[index])) {
        fault("must contain unique version names");
    }
    let storage = versions
        .iter()
        .filter(|version| is_true(version, "storage"))
        .count();
    if storage != 1 {
        fault("must have exactly one version marked as storage version");
    }
}

fn is_true(version: &Value, field: &str) -> bool {
    version.get(field) == Some(&Value::Bool(true))
}

/// The versions as the real server prints them if they share all their parts.
fn printed(versions: &[Value]) -> Option<String> {
    if !PARTS.iter().all(|field| is_shared(versions, field)) {
        return None;
    }
    let print = |version: &Value| {
        let warning = version.get("deprecationWarning").unwrap_or(&Value::Null);
        format!(
            r#"{{"Name":{},"Served":{},"Storage":{},"Deprecated":{},"DeprecationWarning":{warning},"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}}"#,
            Value::from(text(version, "/name")),
            is_true(version, "served"),
            is_true(version, "storage"),
            is_true(version, "deprecated"),
        )
    };
    let all: Vec<_> = versions.iter().map(print).collect();
    Some(format!("[{}]", all.join(",")))
}

fn subresources(path: &str, version: &Value, errors: &mut Vec<FieldError>) {
    let Some(scale) = version
        .pointer("/subresources/scale")
        .filter(|scale| !scale.is_null())
    else {
        return;
    };
    for (field, below, required) in [
        ("specReplicasPath", ".spec.", true),
        ("statusReplicasPath", ".status.", true),
        ("labelSelectorPath", "", false),
    ] {
        let value = scale.get(field).and_then(Value::as_str).unwrap_or_default();
        let path = format!("{path}.scale.{field}");
        if value.is_empty() {
            if required {
                errors.push(FieldError::required(path, ""));
            }
        } else if !is_simple_path(value) {
            errors.push(FieldError::invalid(
                path,
                value,
                "must be a simple json path starting with .",
            ));
        } else if !value.starts_with(below) {
            let parent = below.trim_end_matches('.');
            errors.push(FieldError::invalid(
                path,
                value,
                format!("should be a json path under {parent}"),
            ));
        } else if !required
            && ![".spec.", ".status."]
                .iter()
                .any(|below| value.starts_with(below))
        {
            errors.push(FieldError::invalid(
                path,
                value,
                "should be a json path under either .spec or .status",
            ));
        }
    }
}

fn is_simple_path(path: &str) -> bool {
    path.starts_with('.')
}

fn deprecation(path: &str, version: &Value, errors: &mut Vec<FieldError>) {
    let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) else {
        return;
    };
    let path = format!("{path}.deprecationWarning");
    let mut fault = |why: String| errors.push(FieldError::invalid(path.as_str(), warning, why));
    if version.get("deprecated") != Some(&Value::Bool(true)) {
        return fault("can only be set for deprecated versions".into());
    }
    if warning.len() > 256 {
        fault("must be <= 256 characters long".into());
    }
    if warning.is_empty() {
        fault("must not be an empty string".into());
    }
    if let Some((index, _)) = warning.char_indices().find(|(_, c)| c.is_control()) {
        fault(format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {index}"
        ));
    }
}

fn columns(path: &str, version: &Value, errors: &mut Vec<FieldError>) {
    for (index, column) in list(version, "/additionalPrinterColumns")
        .iter()
        .enumerate()
    {
        let path = format!("{path}[{index}]");
        if text(column, "/name").is_empty() {
            errors.push(FieldError::required(format!("{path}.name"), ""));
        }
        let must_be = |choices: &[&str]| format!("must be one of {}", choices.join(","));
        match text(column, "/type") {
            "" => errors.push(FieldError::required(
                format!("{path}.type"),
                must_be(COLUMN_TYPES),
            )),
            kind if COLUMN_TYPES.contains(&kind) => {}
            other => errors.push(FieldError::invalid(
                format!("{path}.type"),
                other,
                must_be(COLUMN_TYPES),
            )),
        }
        let format = text(column, "/format");
        if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
            errors.push(FieldError::invalid(
                format!("{path}.format"),
                format,
                must_be(COLUMN_FORMATS),
            ));
        }
        let json_path = text(column, "/jsonPath");
        if json_path.is_empty() {
            errors.push(FieldError::required(format!("{path}.JSONPath"), ""));
        } else if !is_simple_path(json_path) {
            errors.push(FieldError::invalid(
                format!("{path}.JSONPath"),
                json_path,
                "must be a simple json path starting with .",
            ));
        }
    }
}

/// Adds the error of a definition that would keep all unknown fields.
pub(super) fn preserve_unknown_fields(spec: &Value, errors: &mut Vec<FieldError>) {
    if is_true(spec, "preserveUnknownFields") {
        errors.push(FieldError::invalid(
            "spec.preserveUnknownFields",
            true,
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        ));
    }
}

/// Adds the errors of how versions are converted.
pub(super) fn conversion(spec: &Value, errors: &mut Vec<FieldError>) {
    if spec.get("conversion").is_none_or(Value::is_null) {
        return;
    }
    let set = |pointer: &str| spec.pointer(pointer).is_some_and(|value| !value.is_null());
    let (client, review) = (
        "/conversion/webhook/clientConfig",
        "/conversion/webhook/conversionReviewVersions",
    );
    match text(spec, "/conversion/strategy") {
        "" => errors.push(FieldError::required("spec.conversion.strategy", "")),
        "None" => {
            for (pointer, field) in [
                (client, "webhookClientConfig"),
                (review, "conversionReviewVersions"),
            ] {
                if set(pointer) {
                    errors.push(FieldError::forbidden(
                        format!("spec.conversion.{field}"),
                        "should not be set when strategy is not set to Webhook",
                    ));
                }
            }
        }
        "Webhook" => {
            webhook(spec, set(client), errors);
            let path = "spec.conversion.conversionReviewVersions";
            let versions = list(spec, review);
            if versions.is_empty() {
                errors.push(FieldError::required(path, ""));
            } else {
                review_versions(path, versions, errors);
            }
        }
        other => errors.push(FieldError::not_supported(
            "spec.conversion.strategy",
            other,
            &["None", "Webhook"],
        )),
    }
}

fn webhook(spec: &Value, is_set: bool, errors: &mut Vec<FieldError>) {
    const PATH: &str = "spec.conversion.webhookClientConfig";
    let config = spec.pointer("/conversion/webhook/clientConfig");
    let Some(config) = config.filter(|_| is_set) else {
        let why = "required when strategy is set to Webhook";
        errors.push(FieldError::required(PATH, why));
        return;
    };
    let url = config.get("url").and_then(Value::as_str);
    let has_service = config.get("service").is_some_and(Value::is_object);
    if url.is_some() == has_service {
        let why = "exactly one of url or service is required";
        errors.push(FieldError::required(PATH, why));
        return;
    }
    if let Some(url) = url.filter(|url| !url.starts_with("https://")) {
        let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
        errors.push(FieldError::invalid(
            format!("{PATH}.url"),
            scheme,
            "'https' is the only allowed URL scheme; desired format: https://host[/path]",
        ));
    }
    if let Some(service) = config.get("service").filter(|_| has_service) {
        admissionregistration::webhook_service(&format!("{PATH}.service"), service, errors);
    }
}

/// The versions of reviews that a webhook knows.
pub(super) fn review_versions(path: &str, versions: &[Value], errors: &mut Vec<FieldError>) {
    let whole = path;
    for (index, version) in versions.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let name = version.as_str().unwrap_or_default();
        if versions[..index].contains(version) {
            errors.push(FieldError::invalid(path, name, "duplicate version"));
            continue;
        }
        let faults = names::label_1035(name).into_iter();
        errors.extend(faults.map(|fault| FieldError::invalid(path.as_str(), name, fault)));
    }
    if !versions.iter().any(|one| one == "v1" || one == "v1beta1") {
        errors.push(FieldError::invalid(
            whole,
            versions.to_vec(),
            "must include at least one of v1, v1beta1",
        ));
    }
}
