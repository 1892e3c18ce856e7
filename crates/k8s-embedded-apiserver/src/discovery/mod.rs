//! What the server serves: versions, groups, resources, OpenAPI and health.

mod aggregated;
mod groups;
mod health;
mod openapi;
mod version;

use serde_json::{Value, json};

use crate::status::Failure;

/// A resource as discovery shows it. Subresources follow in `subresources`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ApiResource {
    /// Empty for core.
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    pub(crate) verbs: Vec<&'static str>,
    pub(crate) subresources: Vec<ApiSubresource>,
    /// JSON schema of a custom resource (`openAPIV3Schema`), if it has one.
    pub(crate) schema: Option<Value>,
}

/// A subresource such as `status` or `scale`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ApiSubresource {
    pub(crate) name: &'static str,
    /// Group and version of what it answers with, where that is not the resource's own (`scale`: autoscaling/v1 Scale).
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) verbs: Vec<&'static str>,
}

/// An answer of discovery.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reply {
    /// JSON with its content type.
    Json(&'static str, Value),
    /// Plain text.
    Text(String),
    /// Protocol buffers with their content type.
    Protobuf(&'static str, Vec<u8>),
    Failure(Failure),
}

/// What the documents of discovery are in when nothing else was asked for.
const JSON: &str = "application/json";

/// The answer to a GET outside any resource (`/version`, `/api`, `/apis/...`, `/openapi/...`, `/healthz`, ...);
/// `None` where discovery knows no such path.
pub(crate) fn reply(path: &str, accept: &str, resources: &[ApiResource]) -> Option<Reply> {
    let path = if path == "/" {
        path
    } else {
        path.strip_suffix('/').unwrap_or(path)
    };
    match path {
        "/" => Some(Reply::Json(JSON, root(resources))),
        "/version" => Some(Reply::Json(JSON, version::info())),
        _ => health::reply(path)
            .or_else(|| openapi::reply(path, accept, resources))
            .or_else(|| groups::reply(path, accept, resources)),
    }
}

fn root(resources: &[ApiResource]) -> Value {
    let mut paths: Vec<String> = [
        "/api",
        "/api/v1",
        "/apis",
        "/healthz",
        "/livez",
        "/openapi/v2",
        "/openapi/v3",
        "/readyz",
        "/version",
    ]
    .map(String::from)
    .into();
    for resource in resources
        .iter()
        .filter(|resource| !resource.group.is_empty())
    {
        paths.push(format!("/apis/{}", resource.group));
        paths.push(format!("/apis/{}/{}", resource.group, resource.version));
    }
    paths.sort_unstable();
    paths.dedup();
    json!({ "paths": paths })
}

impl ApiResource {
    /// `group/version`, or the version alone in the core group.
    fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

/// Versions of a group, the preferred one first: stable before beta before alpha, then the higher number.
fn versions_of<'a>(group: &str, resources: &'a [ApiResource]) -> Vec<&'a str> {
    let of_group = resources.iter().filter(|resource| resource.group == group);
    let mut versions: Vec<&str> = of_group.map(|resource| resource.version.as_str()).collect();
    versions.sort_unstable();
    versions.dedup();
    versions.sort_by(|left, right| {
        version::rank(right)
            .cmp(&version::rank(left))
            .then_with(|| left.cmp(right))
    });
    versions
}

/// The named groups, each once, in the order of the resources.
fn group_names(resources: &[ApiResource]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for resource in resources
        .iter()
        .filter(|resource| !resource.group.is_empty())
    {
        if !names.contains(&resource.group.as_str()) {
            names.push(&resource.group);
        }
    }
    names
}

/// The resources of one group and version, by name.
fn resources_of<'a>(
    group: &str,
    version: &str,
    resources: &'a [ApiResource],
) -> Vec<&'a ApiResource> {
    let mut found: Vec<&ApiResource> = resources
        .iter()
        .filter(|resource| resource.group == group && resource.version == version)
        .collect();
    found.sort_by(|left, right| left.plural.cmp(&right.plural));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Registry;

    fn json_at(path: &str) -> Value {
        match reply(path, "", &crate::served::resources(&Registry::new())) {
            Some(Reply::Json(_, value)) => value,
            other => panic!("{path}: {other:?}"),
        }
    }

    #[test]
    fn the_core_group() {
        assert_eq!(json_at("/api")["versions"], json!(["v1"]));
        let list = json_at("/api/v1");
        assert_eq!(list["groupVersion"], "v1");
        assert_eq!(list.get("apiVersion"), None);
        let config_maps = list["resources"]
            .as_array()
            .unwrap()
            .iter()
            .find(|found| found["name"] == "configmaps")
            .unwrap();
        assert_eq!(config_maps["shortNames"], json!(["cm"]));
        assert_eq!(config_maps["namespaced"], json!(true));
    }

    #[test]
    fn a_named_group() {
        assert_eq!(
            json_at("/apis/apps"),
            json!({
                "kind": "APIGroup", "apiVersion": "v1", "name": "apps",
                "versions": [{"groupVersion": "apps/v1", "version": "v1"}],
                "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"},
            })
        );
        assert_eq!(json_at("/apis/apps/v1/")["kind"], "APIResourceList");
    }

    #[test]
    fn unknown_groups_and_versions() {
        let resources = crate::served::resources(&Registry::new());
        assert_eq!(reply("/apis/none.example.com", "", &resources), None);
        assert!(
            matches!(reply("/apis/apps/v9", "", &resources), Some(Reply::Failure(failure)) if failure.code == 404)
        );
    }

    #[test]
    fn aggregated_discovery() {
        let resources = crate::served::resources(&Registry::new());
        let accept =
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
        let Some(Reply::Json(content_type, value)) = reply("/apis", accept, &resources) else {
            panic!()
        };
        assert_eq!(
            content_type,
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        );
        assert_eq!(value["kind"], "APIGroupDiscoveryList");
        let old = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
        assert!(
            matches!(reply("/apis", old, &resources), Some(Reply::Failure(failure)) if failure.code == 406)
        );
    }

    #[test]
    fn kubectl_finds_that_field_validation_is_done_here() {
        let index = json_at("/openapi/v3");
        assert!(
            index["paths"]["apis/apps/v1"]["serverRelativeURL"]
                .as_str()
                .unwrap()
                .starts_with("/openapi/v3/apis/apps/v1")
        );
        let document = json_at("/openapi/v3/api/v1");
        let patch = &document["paths"]["/api/v1/namespaces/{namespace}/configmaps/{name}"]["patch"];
        assert_eq!(
            patch["x-kubernetes-group-version-kind"],
            json!({"group": "", "version": "v1", "kind": "ConfigMap"})
        );
        assert!(
            patch["parameters"]
                .as_array()
                .unwrap()
                .iter()
                .any(|parameter| parameter["name"] == "fieldValidation")
        );
    }

    #[test]
    fn health() {
        let resources = crate::served::resources(&Registry::new());
        for path in ["/healthz", "/readyz", "/livez", "/readyz/ping"] {
            assert_eq!(
                reply(path, "", &resources),
                Some(Reply::Text("ok".into())),
                "{path}"
            );
        }
    }
}
