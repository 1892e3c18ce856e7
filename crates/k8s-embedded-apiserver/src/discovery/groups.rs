//! Groups, versions and resource lists, one document each.

use serde_json::{Map, Value, json};

use super::aggregated;
use super::{ApiResource, ApiSubresource, Asked, Reply, group_names, resources_of, versions_of};
use crate::status::Failure;
use crate::table::{MEDIA_TYPES, for_documents, route};

pub(super) fn reply(path: &str, asked: &Asked<'_>, resources: &[ApiResource]) -> Option<Reply> {
    let accept = asked.accept;
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    let document = match segments[..] {
        ["api" | "apis"] => return Some(top(segments[0] == "api", asked, resources)),
        ["api", version] => resource_list("", version, resources),
        ["apis", group] => group_document(group, resources),
        ["apis", group, version] => resource_list(group, version, resources),
        _ => return None,
    };
    let known_group = segments
        .get(1)
        .is_some_and(|group| segments[0] == "api" || group_names(resources).contains(group));
    Some(match document {
        Some(document) => {
            let is_routed = segments[0] == "api" || segments.len() == 3;
            plain(
                document,
                accept,
                is_routed && is_builtin(segments[1], resources),
            )
        }
        None if known_group && is_builtin(segments[1], resources) => {
            Reply::Failure(Failure::no_such_resource())
        }
        None => return None,
    })
}

/// Paths below the groups of definitions are not routed at all until a version is served.
fn is_builtin(group: &str, resources: &[ApiResource]) -> bool {
    resources
        .iter()
        .filter(|resource| resource.group == group)
        .all(|resource| !resource.is_custom())
}

impl ApiResource {
    /// Definitions make resources whose verbs come in another order.
    pub(super) fn is_custom(&self) -> bool {
        self.verbs.first() == Some(&"delete")
    }
}

fn top(core: bool, asked: &Asked<'_>, resources: &[ApiResource]) -> Reply {
    if core && let Err(failure) = route(asked.accept, false) {
        return Reply::Failure(failure);
    }
    if let Some(content_type) = aggregated::negotiate(asked.accept) {
        return Reply::Tagged(content_type, aggregated::document(core, resources));
    }
    let document = if core {
        versions_document(asked.host)
    } else {
        group_list(resources)
    };
    plain(document, asked.accept, false)
}

/// A document in what is accepted. The router refuses some of that before.
fn plain(document: Value, accept: &str, is_routed: bool) -> Reply {
    if is_routed && let Err(failure) = route(accept, false) {
        return Reply::Failure(failure);
    }
    match for_documents(accept) {
        Some(encoding) => Reply::Object(encoding, document),
        None => Reply::Failure(Failure::not_acceptable(MEDIA_TYPES)),
    }
}

fn versions_document(host: &str) -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": host}],
    })
}

fn group_list(resources: &[ApiResource]) -> Value {
    let groups: Vec<Value> = group_names(resources)
        .into_iter()
        .map(|name| group(name, resources))
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

fn group(name: &str, resources: &[ApiResource]) -> Value {
    let versions: Vec<Value> = versions_of(name, resources)
        .into_iter()
        .map(|version| json!({"groupVersion": format!("{name}/{version}"), "version": version}))
        .collect();
    json!({"name": name, "preferredVersion": versions.first(), "versions": versions})
}

fn group_document(name: &str, resources: &[ApiResource]) -> Option<Value> {
    if !group_names(resources).contains(&name) {
        return None;
    }
    let mut document = group(name, resources);
    document["kind"] = "APIGroup".into();
    document["apiVersion"] = "v1".into();
    Some(document)
}

fn resource_list(group: &str, version: &str, resources: &[ApiResource]) -> Option<Value> {
    let found = resources_of(group, version, resources);
    let first = found.first()?;
    let entries: Vec<Value> = found
        .iter()
        .flat_map(|resource| entries(resource))
        .collect();
    let mut list = json!({"kind": "APIResourceList", "groupVersion": first.api_version(), "resources": entries});
    if !group.is_empty() {
        list["apiVersion"] = "v1".into();
    }
    Some(list)
}

/// A resource and its subresources.
fn entries(resource: &ApiResource) -> Vec<Value> {
    let mut main = Map::new();
    main.insert("name".into(), resource.plural.as_str().into());
    main.insert("singularName".into(), resource.singular.as_str().into());
    main.insert("namespaced".into(), resource.namespaced.into());
    main.insert("kind".into(), resource.kind.as_str().into());
    main.insert("verbs".into(), json!(resource.verbs));
    if !resource.short_names.is_empty() {
        main.insert("shortNames".into(), json!(resource.short_names));
    }
    if !resource.categories.is_empty() {
        main.insert("categories".into(), json!(resource.categories));
    }
    // What is only posted is not stored.
    // What is made up when it is asked for is not stored.
    if resource.verbs.contains(&"list") && resource.verbs.contains(&"create") {
        main.insert(
            "storageVersionHash".into(),
            storage_version_hash(resource).into(),
        );
    }
    let mut all = vec![Value::Object(main)];
    all.extend(
        resource
            .subresources
            .iter()
            .map(|subresource| subresource_entry(resource, subresource)),
    );
    all
}

fn subresource_entry(resource: &ApiResource, subresource: &ApiSubresource) -> Value {
    let mut entry = json!({
        "name": format!("{}/{}", resource.plural, subresource.name),
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": subresource.kind,
        "verbs": subresource.verbs,
    });
    if !subresource.group.is_empty() {
        entry["group"] = subresource.group.as_str().into();
        entry["version"] = subresource.version.as_str().into();
    }
    entry
}

/// Opaque to clients, who compare it: the head of the SHA-256 of what is stored, as on a real server.
pub(super) fn storage_version_hash(resource: &ApiResource) -> String {
    let text = format!("{}/{}", resource.stored, resource.kind);
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    base64::Engine::encode(&base64::prelude::BASE64_STANDARD, &digest.as_ref()[..8])
}
