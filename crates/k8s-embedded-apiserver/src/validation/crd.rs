//! CustomResourceDefinitions.

use serde_json::Value;

use super::{crd_versions, names};
use crate::definitions::{Approval, approval};
use crate::metadata::text;
use k8s_api_schema::FieldError;

const IMMUTABLE: &str = "field is immutable";

/// A definition with its defaults; `old` is the one that it replaces.
pub(crate) fn custom_resource_definition(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let empty = Value::Null;
    let spec = object.get("spec").unwrap_or(&empty);
    let mut errors = Vec::new();
    if old.is_none() {
        name(object, spec, &mut errors);
    }
    group(spec, &mut errors);
    scope(spec, &mut errors);
    crd_versions::versions(spec, &mut errors);
    spec_names(spec, &mut errors);
    crd_versions::shared(spec, &mut errors);
    crd_versions::conversion(spec, &mut errors);
    if let Some(old) = old {
        kept(old, spec, &mut errors);
    }
    stored_versions(object, spec, old.is_none(), &mut errors);
    approved(object, old, &mut errors);
    crd_versions::preserve_unknown_fields(spec, &mut errors);
    errors
}

/// What is said about a valid definition: what is new in its schemas.
pub(crate) fn definition_warnings(object: &Value, old: Option<&Value>) -> Vec<String> {
    let of = |object: &Value| -> Vec<String> {
        let mut found = Vec::new();
        for version in list(object, "/spec/versions") {
            let schema = version.pointer("/schema/openAPIV3Schema");
            for warning in schema
                .map(k8s_custom_schema::schema_warnings)
                .unwrap_or_default()
            {
                if !found.contains(&warning) {
                    found.push(warning);
                }
            }
        }
        found
    };
    let known = old.map(of).unwrap_or_default();
    let mut warnings = of(object);
    warnings.retain(|warning| !known.contains(warning));
    warnings
}

pub(super) fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
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

fn group(spec: &Value, errors: &mut Vec<FieldError>) {
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
}

/// The approval of a group of the community; one that was wrong already may stay so.
fn approved(object: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    const ANNOTATION: &str = "api-approved.kubernetes.io";
    let Some((state, why)) = approval(object) else {
        return;
    };
    if old.and_then(approval).is_some_and(|(old, _)| old == state) {
        return;
    }
    let path = format!("metadata.annotations[{ANNOTATION}]");
    match state {
        Approval::Missing => errors.push(FieldError::required(path, why)),
        Approval::Invalid => {
            let value = text(object, "/metadata/annotations/api-approved.kubernetes.io");
            errors.push(FieldError::invalid(path, value, why));
        }
        Approval::Approved | Approval::Bypassed => {}
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

fn spec_names(spec: &Value, errors: &mut Vec<FieldError>) {
    const NAMES: [&str; 4] = ["plural", "singular", "kind", "listKind"];
    let name = |field: &str| text(spec, &format!("/names/{field}"));
    for field in NAMES.into_iter().filter(|field| name(field).is_empty()) {
        errors.push(FieldError::required(format!("spec.names.{field}"), ""));
    }
    for field in NAMES.into_iter().filter(|field| !name(field).is_empty()) {
        let name = name(field);
        let (faults, prefix) = match field {
            "kind" | "listKind" => (
                names::label_1035(&name.to_lowercase()),
                "may have mixed case, but should otherwise match: ",
            ),
            _ => (names::label_1035(name), ""),
        };
        if !faults.is_empty() {
            let why = format!("{prefix}{}", faults.join(","));
            errors.push(FieldError::invalid(
                format!("spec.names.{field}"),
                name,
                why,
            ));
        }
    }
    labels(spec, "shortNames", errors);
    let kind = name("kind");
    if !kind.is_empty() && kind == name("listKind") {
        errors.push(FieldError::invalid(
            "spec.names.listKind",
            kind,
            "kind and listKind may not be the same",
        ));
    }
    labels(spec, "categories", errors);
}

fn labels(spec: &Value, field: &str, errors: &mut Vec<FieldError>) {
    for (index, name) in list(spec, &format!("/names/{field}")).iter().enumerate() {
        let name = name.as_str().unwrap_or_default();
        let faults = names::label_1035(name);
        if !faults.is_empty() {
            let path = format!("spec.names.{field}[{index}]");
            errors.push(FieldError::invalid(path, name, faults.join(",")));
        }
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
    // An update adds a new storage version by itself.
    let storage = versions
        .iter()
        .filter(|version| is_new && version.get("storage") == Some(&Value::Bool(true)));
    for version in storage {
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
