//! The kinds as discovery shows them.

use crate::discovery::{ApiResource, ApiSubresource};
use crate::kinds::Kind;
use crate::lifecycle::NAMESPACES;
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
/// Verbs of a built-in resource.
const VERBS: &[&str] = &[
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];
/// Verbs of a namespace, which is never deleted in a collection.
const NAMESPACE_VERBS: &[&str] = &[
    "create", "delete", "get", "list", "patch", "update", "watch",
];
const SUBRESOURCE_VERBS: &[&str] = &["get", "patch", "update"];

/// Every resource, the built-in ones first.
pub(crate) fn resources(registry: &Registry) -> Vec<ApiResource> {
    registry.kinds().map(|kind| resource(kind)).collect()
}

fn resource(kind: &Kind) -> ApiResource {
    let verbs = match kind.is_custom() {
        true => CUSTOM_VERBS,
        false if kind.storage == NAMESPACES => NAMESPACE_VERBS,
        false => VERBS,
    };
    let texts =
        |texts: &[std::borrow::Cow<'static, str>]| texts.iter().map(ToString::to_string).collect();
    ApiResource {
        group: kind.group.to_string(),
        version: kind.version.to_string(),
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

fn subresources(kind: &Kind) -> Vec<ApiSubresource> {
    let one = |name, group: &str, version: &str, kind: &str| ApiSubresource {
        name,
        group: group.into(),
        version: version.into(),
        kind: kind.into(),
        verbs: SUBRESOURCE_VERBS.to_vec(),
    };
    let mut all = Vec::new();
    if kind.storage == NAMESPACES {
        all.push(ApiSubresource {
            verbs: vec!["update"],
            ..one("finalize", "", "", &kind.kind)
        });
    }
    if kind.status {
        all.push(one("status", "", "", &kind.kind));
    }
    if kind.scale.is_some() {
        all.push(one("scale", "autoscaling", "v1", "Scale"));
    }
    all
}
