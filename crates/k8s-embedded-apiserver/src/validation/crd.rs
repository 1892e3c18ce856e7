//! CustomResourceDefinitions.

use serde_json::Value;

use super::crd_schema;
use super::names;
use crate::field_error::FieldError;

const IMMUTABLE: &str = "field is immutable";
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

/// A definition with its defaults; `old` is the one that it replaces.
pub(crate) fn custom_resource_definition(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let empty = Value::Null;
    let spec = object.get("spec").unwrap_or(&empty);
    let mut errors = Vec::new();
    if old.is_none() {
        name(object, spec, &mut errors);
    }
    group(object, spec, &mut errors);
    scope(spec, &mut errors);
    versions(spec, &mut errors);
    spec_names(spec, &mut errors);
    stored_versions(object, spec, old.is_none(), &mut errors);
    conversion(spec, &mut errors);
    if let Some(old) = old {
        kept(old, spec, &mut errors);
    }
    errors
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn name(object: &Value, spec: &Value, errors: &mut Vec<FieldError>) {
    let name = text(object, "/metadata/name");
    if !name.is_empty()
        && name != format!("{}.{}", text(spec, "/names/plural"), text(spec, "/group"))
    {
        errors.push(FieldError::invalid(
            "metadata.name",
            name,
            "must be spec.names.plural+\".\"+spec.group",
        ));
    }
}

fn group(object: &Value, spec: &Value, errors: &mut Vec<FieldError>) {
    let group = text(spec, "/group");
    let faults = names::subdomain(group, "characters");
    if group.is_empty() {
        errors.push(FieldError::required("spec.group", ""));
    } else if !faults.is_empty() {
        errors.push(FieldError::invalid("spec.group", group, faults.join(",")));
    } else if !group.contains('.') {
        errors.push(FieldError::invalid(
            "spec.group",
            group,
            "should be a domain with at least one dot",
        ));
    }
    let approval = "api-approved.kubernetes.io";
    let is_protected = [".k8s.io", ".kubernetes.io"]
        .iter()
        .any(|suffix| group.ends_with(suffix))
        || ["k8s.io", "kubernetes.io"].contains(&group);
    let approved = object
        .pointer("/metadata/annotations")
        .and_then(|annotations| annotations.get(approval))
        .is_some();
    if is_protected && !approved {
        errors.push(FieldError::required(
            format!("metadata.annotations[{approval}]"),
            format!(
                "protected groups must have approval annotation \"{approval}\", see https://github.com/kubernetes/enhancements/pull/1111"
            ),
        ));
    }
}

fn scope(spec: &Value, errors: &mut Vec<FieldError>) {
    match text(spec, "/scope") {
        "" => errors.push(FieldError::required("spec.scope", "")),
        "Cluster" | "Namespaced" => {}
        other => errors.push(FieldError::not_supported(
            "spec.scope",
            other,
            &["Cluster", "Namespaced"],
        )),
    }
}

/// Where the real server reports a part of a version: it moves what all versions share to the top.
fn is_shared(versions: &[Value], field: &str) -> bool {
    versions.first().is_some_and(|first| {
        versions
            .iter()
            .all(|version| version.get(field) == first.get(field))
    })
}

fn versions(spec: &Value, errors: &mut Vec<FieldError>) {
    let versions = list(spec, "/versions");
    let mut seen = Vec::new();
    let mut unique = true;
    for (index, version) in versions.iter().enumerate() {
        let path = format!("spec.versions[{index}]");
        let name = text(version, "/name");
        unique &= !seen.contains(&name);
        seen.push(name);
        let faults = names::label_1035(name);
        if !faults.is_empty() {
            errors.push(FieldError::invalid(
                format!("{path}.name"),
                name,
                faults.join(","),
            ));
        }
        let place = |field: &str, top: &str| {
            if is_shared(versions, field) {
                format!("spec.{top}")
            } else {
                format!("{path}.{field}")
            }
        };
        match version.pointer("/schema/openAPIV3Schema") {
            None | Some(Value::Null) => {
                errors.push(FieldError::required(
                    format!("{path}.schema.openAPIV3Schema"),
                    "",
                ));
            }
            Some(schema) => {
                crd_schema::structural(
                    &format!("{}.openAPIV3Schema", place("schema", "validation")),
                    schema,
                    errors,
                );
            }
        }
        subresources(&place("subresources", "subresources"), version, errors);
        columns(
            &place("additionalPrinterColumns", "additionalPrinterColumns"),
            version,
            errors,
        );
    }
    let all = || spec.get("versions").cloned().unwrap_or_default();
    if !unique {
        errors.push(FieldError::invalid(
            "spec.versions",
            all(),
            "must contain unique version names",
        ));
    }
    let storage = versions
        .iter()
        .filter(|version| version.get("storage") == Some(&Value::Bool(true)))
        .count();
    if storage != 1 {
        errors.push(FieldError::invalid(
            "spec.versions",
            all(),
            "must have exactly one version marked as storage version",
        ));
    }
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
    path.len() > 1
        && path.starts_with('.')
        && path.matches('[').count() == path.matches(']').count()
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

fn spec_names(spec: &Value, errors: &mut Vec<FieldError>) {
    for field in ["plural", "singular", "kind", "listKind"] {
        let path = format!("spec.names.{field}");
        let name = spec
            .pointer(&format!("/names/{field}"))
            .and_then(Value::as_str)
            .unwrap_or_default();
        if name.is_empty() {
            errors.push(FieldError::required(path, ""));
            continue;
        }
        let may_be_mixed = matches!(field, "kind" | "listKind");
        let faults = if may_be_mixed {
            names::label_1035(&name.to_lowercase())
        } else {
            names::label_1035(name)
        };
        if !faults.is_empty() {
            let prefix = if may_be_mixed {
                "may have mixed case, but should otherwise match: "
            } else {
                ""
            };
            errors.push(FieldError::invalid(
                path,
                name,
                format!("{prefix}{}", faults.join(",")),
            ));
        }
    }
    for field in ["shortNames", "categories"] {
        for (index, name) in list(spec, &format!("/names/{field}")).iter().enumerate() {
            let name = name.as_str().unwrap_or_default();
            let faults = names::label_1035(name);
            if !faults.is_empty() {
                errors.push(FieldError::invalid(
                    format!("spec.names.{field}[{index}]"),
                    name,
                    faults.join(","),
                ));
            }
        }
    }
    let kind = text(spec, "/names/kind");
    if !kind.is_empty() && kind == text(spec, "/names/listKind") {
        errors.push(FieldError::invalid(
            "spec.names.listKind",
            kind,
            "kind and listKind may not be the same",
        ));
    }
}

fn conversion(spec: &Value, errors: &mut Vec<FieldError>) {
    if spec.get("preserveUnknownFields") == Some(&Value::Bool(true)) {
        errors.push(FieldError::invalid(
            "spec.preserveUnknownFields",
            true,
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        ));
    }
    let set = |pointer: &str| spec.pointer(pointer).is_some_and(|value| !value.is_null());
    let (client, review) = (
        "/conversion/webhook/clientConfig",
        "/conversion/webhook/conversionReviewVersions",
    );
    match text(spec, "/conversion/strategy") {
        "" => {}
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
            if !set(client) {
                errors.push(FieldError::required(
                    "spec.conversion.webhookClientConfig",
                    "required when strategy is set to Webhook",
                ));
            }
            let url = text(spec, "/conversion/webhook/clientConfig/url");
            if !url.is_empty() && !url.starts_with("https://") {
                let scheme = url.split(':').next().unwrap_or_default();
                errors.push(FieldError::invalid(
                    "spec.conversion.webhookClientConfig.url",
                    scheme,
                    "'https' is the only allowed URL scheme; desired format: https://host[/path]",
                ));
            }
            if list(spec, review).is_empty() {
                errors.push(FieldError::required(
                    "spec.conversion.conversionReviewVersions",
                    "",
                ));
            }
        }
        other => errors.push(FieldError::not_supported(
            "spec.conversion.strategy",
            other,
            &["None", "Webhook"],
        )),
    }
}

fn stored_versions(object: &Value, spec: &Value, is_new: bool, errors: &mut Vec<FieldError>) {
    let path = "status.storedVersions";
    let stored = list(object, "/status/storedVersions");
    if stored.is_empty() {
        errors.push(FieldError::invalid(
            path,
            Value::Null,
            "must have at least one stored version",
        ));
        return;
    }
    let versions = list(spec, "/versions");
    for version in versions
        .iter()
        .filter(|version| version.get("storage") == Some(&Value::Bool(true)))
    {
        let name = text(version, "/name");
        if !stored.iter().any(|stored| stored == name) {
            errors.push(FieldError::invalid(
                path,
                Value::Array(stored.to_vec()),
                format!("must have the storage version {name}"),
            ));
        }
    }
    for (index, name) in stored.iter().enumerate() {
        let name = name.as_str().unwrap_or_default();
        if !versions
            .iter()
            .any(|version| text(version, "/name") == name)
        {
            errors.push(FieldError::invalid(
                format!("{path}[{index}]"),
                name,
                format!(
                    "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
                ),
            ));
        }
    }
}

fn kept(old: &Value, spec: &Value, errors: &mut Vec<FieldError>) {
    let empty = Value::Null;
    let old_spec = old.get("spec").unwrap_or(&empty);
    let established = list(old, "/status/conditions").iter().any(|condition| {
        text(condition, "/type") == "Established" && text(condition, "/status") == "True"
    });
    let established_fields: &[&str] = if established {
        &["/scope", "/names/kind"]
    } else {
        &[]
    };
    for pointer in established_fields
        .iter()
        .chain(&["/group", "/names/plural"])
    {
        let value = text(spec, pointer);
        if value != text(old_spec, pointer) {
            let path = format!("spec{}", pointer.replace('/', "."));
            errors.push(FieldError::invalid(path, value, IMMUTABLE));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn good() -> Value {
        json!({
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}],
            },
            "status": {"storedVersions": ["v1"], "conditions": [{"type": "Established", "status": "True"}]},
        })
    }

    #[test]
    fn texts_of_the_real_server() {
        for (changes, expected) in [
            (json!({}), vec![]),
            (
                json!({"metadata": {"name": "widgets"}}),
                vec![
                    "metadata.name: Invalid value: \"widgets\": must be spec.names.plural+\".\"+spec.group",
                ],
            ),
            (
                json!({"spec": {"scope": "Global"}}),
                vec![
                    "spec.scope: Unsupported value: \"Global\": supported values: \"Cluster\", \"Namespaced\"",
                ],
            ),
            (
                json!({"spec": {"scope": null}}),
                vec!["spec.scope: Required value"],
            ),
            (
                json!({"spec": {"names": {"listKind": "Widget"}}}),
                vec![
                    "spec.names.listKind: Invalid value: \"Widget\": kind and listKind may not be the same",
                ],
            ),
            (
                json!({"status": {"storedVersions": null}}),
                vec![
                    "status.storedVersions: Invalid value: null: must have at least one stored version",
                ],
            ),
        ] {
            let mut object = good();
            json_patch::merge(&mut object, &changes);
            let texts: Vec<String> = custom_resource_definition(&object, None)
                .iter()
                .map(ToString::to_string)
                .collect();
            assert_eq!(texts, expected, "{changes}");
        }
    }

    #[test]
    fn what_may_not_change() {
        let mut object = good();
        json_patch::merge(
            &mut object,
            &json!({"spec": {"scope": "Cluster", "names": {"kind": "Other"}}}),
        );
        let texts: Vec<String> = custom_resource_definition(&object, Some(&good()))
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            texts,
            [
                "spec.scope: Invalid value: \"Cluster\": field is immutable",
                "spec.names.kind: Invalid value: \"Other\": field is immutable",
            ]
        );
    }

    #[test]
    fn columns_are_checked() {
        let mut object = good();
        object["spec"]["versions"][0]["additionalPrinterColumns"] =
            json!([{"name": "a", "type": "text", "jsonPath": ".spec"}]);
        let texts: Vec<String> = custom_resource_definition(&object, None)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            texts,
            [
                "spec.additionalPrinterColumns[0].type: Invalid value: \"text\": must be one of boolean,date,integer,number,string"
            ]
        );
    }
}
