//! The schemas that documents are made of.

#![allow(clippy::unwrap_used, reason = "tests")]

use k8s_api_schema::openapi;
use serde_json::{Value, json};

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(reference)) = map.get("$ref") {
                found.push(reference.clone());
            }
            map.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[test]
fn a_document_has_all_that_it_refers_to() {
    for (group, version) in [
        ("", "v1"),
        ("apps", "v1"),
        ("apiextensions.k8s.io", "v1"),
        ("autoscaling", "v2"),
    ] {
        let schemas = openapi::components(group, version);
        let mut found = Vec::new();
        references(&Value::Object(schemas.clone()), &mut found);
        assert!(found.len() > 10);
        for reference in found {
            let name = reference.strip_prefix("#/components/schemas/").unwrap();
            assert!(schemas.contains_key(name), "{group}/{version}: {name}");
        }
    }
}

/// As kube-apiserver 1.37.2 publishes them, without descriptions.
#[test]
fn properties_tell_types_defaults_lists_and_strategies() {
    let core = openapi::components("", "v1");
    let container = &core["io.k8s.api.core.v1.Container"];
    assert_eq!(container["required"], json!(["name"]));
    for (name, expected) in [
        ("name", json!({"type": "string", "default": ""})),
        (
            "imagePullPolicy",
            json!({"type": "string", "enum": ["Always", "IfNotPresent", "Never"]}),
        ),
        (
            "resources",
            json!({"allOf": [{"$ref": "#/components/schemas/io.k8s.api.core.v1.ResourceRequirements"}], "default": {}}),
        ),
        (
            "ports",
            json!({
                "type": "array", "items": {"$ref": "#/components/schemas/io.k8s.api.core.v1.ContainerPort"},
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
                "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "containerPort",
            }),
        ),
    ] {
        assert_eq!(container["properties"][name], expected, "{name}");
    }
    let secret = &core["io.k8s.api.core.v1.Secret"];
    assert_eq!(
        secret["properties"]["data"],
        json!({"type": "object", "additionalProperties": {"type": "string", "format": "byte"}})
    );
    assert_eq!(
        secret["x-kubernetes-group-version-kind"],
        json!([{"group": "", "version": "v1", "kind": "Secret"}])
    );
    assert_eq!(
        core["io.k8s.apimachinery.pkg.util.intstr.IntOrString"],
        json!({"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]})
    );
}

#[test]
fn kinds_are_found_by_name() {
    assert_eq!(
        openapi::name_of("apps", "v1", "Deployment"),
        Some("io.k8s.api.apps.v1.Deployment")
    );
    assert_eq!(openapi::name_of("apps", "v1", "Nothing"), None);
}
