//! The kinds as discovery shows them.

use crate::discovery::{ApiResource, ApiSubresource};
use crate::kinds::{Kind, SUBRESOURCE_VERBS};
use crate::registry::Registry;

/// Verbs of a custom resource, in the order of a real server.
const CUSTOM_VERBS: &[&str] = &[
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];

/// What is told of a resource whose definition is going away.
const TERMINATING_VERBS: &[&str] = &["delete", "deletecollection", "get", "list", "watch"];

/// Every resource, the built-in ones first.
pub(crate) fn resources(registry: &Registry) -> Vec<ApiResource> {
    registry.kinds().map(|kind| resource(kind)).collect()
}

fn resource(kind: &Kind) -> ApiResource {
    let verbs = match &kind.custom {
        None => kind.verbs,
        Some(custom) if custom.terminating => TERMINATING_VERBS,
        Some(_) => CUSTOM_VERBS,
    };
    let texts =
        |texts: &[std::borrow::Cow<'static, str>]| texts.iter().map(ToString::to_string).collect();
    ApiResource {
        group: kind.group.to_string(),
        version: kind.version.to_string(),
        stored: stored(kind),
        kind: kind.kind.to_string(),
        plural: kind.plural.to_string(),
        singular: kind.singular.to_string(),
        short_names: texts(&kind.short_names),
        categories: texts(&kind.categories),
        namespaced: kind.namespaced,
        verbs: verbs.to_vec(),
        subresources: subresources(kind),
        schema: kind
            .custom
            .as_ref()
            .and_then(|custom| custom.version.pointer("/schema/openAPIV3Schema").cloned()),
    }
}

/// The group and version that objects are stored in.
fn stored(kind: &Kind) -> String {
    let version = match &kind.custom {
        Some(custom) => &custom.storage_version,
        None if kind.plural == "horizontalpodautoscalers" => "v2",
        None => &*kind.version,
    };
    let group = kind.storage.split_once('.').map_or("", |(_, group)| group);
    format!("{group}/{version}")
}

fn subresources(kind: &Kind) -> Vec<ApiSubresource> {
    let one = |name, group: &str, version: &str, kind: &str| ApiSubresource {
        name,
        group: group.into(),
        version: version.into(),
        kind: kind.into(),
        verbs: SUBRESOURCE_VERBS.to_vec(),
    };
    let mut all: Vec<ApiSubresource> = kind
        .subresources
        .iter()
        .map(|found| ApiSubresource {
            name: found.name,
            group: found.group.into(),
            version: found.version.into(),
            kind: if found.kind.is_empty() {
                kind.kind.to_string()
            } else {
                found.kind.into()
            },
            verbs: found.verbs.to_vec(),
        })
        .collect();
    if kind.status {
        all.push(one("status", "", "", &kind.kind));
    }
    if kind.scale.is_some() {
        all.push(one("scale", "autoscaling", "v1", "Scale"));
    }
    if !kind.is_custom() {
        all.sort_by_key(|subresource| subresource.name);
    }
    all
}
