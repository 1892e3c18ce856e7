//! Aggregated discovery: all groups in one document.

use serde_json::{Map, Value, json};

use super::{ApiResource, group_names, resources_of, versions_of};
use crate::encoding::Format;
use crate::table;

const JSON: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const YAML: &str = "application/yaml;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// The content type of the aggregated form, if that is accepted. It comes before the plain form whatever is liked best.
pub(super) fn negotiate(accept: &str) -> Option<&'static str> {
    if accept.is_empty() {
        return None;
    }
    let wanted = ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2");
    let (_, content_type) = table::negotiate(accept, |clause, format| {
        let content_type = match format {
            Format::Json => JSON,
            Format::Yaml => YAML,
            Format::Protobuf => return None,
        };
        (clause.transform() == Some(wanted)).then_some(content_type)
    })?;
    Some(content_type)
}

/// The core group, or all others.
pub(super) fn document(core: bool, resources: &[ApiResource]) -> Value {
    let names = if core {
        vec![""]
    } else {
        group_names(resources)
    };
    let items: Vec<Value> = names
        .into_iter()
        .map(|name| group(name, resources))
        .collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

fn group(name: &str, resources: &[ApiResource]) -> Value {
    let versions: Vec<Value> = versions_of(name, resources)
        .into_iter()
        .map(|version| {
            let found: Vec<Value> = resources_of(name, version, resources)
                .into_iter()
                .map(resource)
                .collect();
            json!({"version": version, "freshness": "Current", "resources": found})
        })
        .collect();
    let metadata = if name.is_empty() {
        json!({})
    } else {
        json!({ "name": name })
    };
    json!({"metadata": metadata, "versions": versions})
}

fn resource(resource: &ApiResource) -> Value {
    // The real server names group and version for custom resources only; the list says them anyway.
    let custom = resource.is_custom();
    let own = |text: &str| {
        if custom {
            text.to_owned()
        } else {
            String::new()
        }
    };
    let mut entry = Map::new();
    entry.insert("resource".into(), resource.plural.as_str().into());
    entry.insert(
        "responseKind".into(),
        json!({"group": own(&resource.group), "version": own(&resource.version), "kind": resource.kind}),
    );
    entry.insert(
        "scope".into(),
        if resource.namespaced {
            "Namespaced"
        } else {
            "Cluster"
        }
        .into(),
    );
    entry.insert("singularResource".into(), resource.singular.as_str().into());
    entry.insert("verbs".into(), json!(resource.verbs));
    if !resource.short_names.is_empty() {
        entry.insert("shortNames".into(), json!(resource.short_names));
    }
    if !resource.categories.is_empty() {
        entry.insert("categories".into(), json!(resource.categories));
    }
    if !resource.subresources.is_empty() {
        let subresources: Vec<Value> = resource
            .subresources
            .iter()
            .map(|subresource| {
                let (group, version) = if subresource.group.is_empty() {
                    (own(&resource.group), own(&resource.version))
                } else {
                    (subresource.group.clone(), subresource.version.clone())
                };
                json!({
                    "subresource": subresource.name,
                    "responseKind": {"group": group, "version": version, "kind": subresource.kind},
                    "verbs": subresource.verbs,
                })
            })
            .collect();
        entry.insert("subresources".into(), subresources.into());
    }
    Value::Object(entry)
}
