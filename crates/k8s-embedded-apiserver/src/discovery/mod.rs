//! What the server serves: versions, groups, resources, OpenAPI and health.

mod aggregated;
mod groups;
mod health;
mod metrics;
mod openapi;
mod version;

use http::Method;
use serde_json::{Value, json};

use crate::encoding::Encoding;
use crate::status::Failure;
use crate::table::route_to;

/// A resource as discovery shows it. Subresources follow in `subresources`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ApiResource {
    /// Empty for core.
    pub(crate) group: String,
    pub(crate) version: String,
    /// Group and version that objects are stored in, `/v1` in the core group.
    pub(crate) stored: String,
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

/// A request for what is no resource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a Method,
    pub(crate) path: &'a str,
    pub(crate) query: Option<&'a str>,
    pub(crate) accept: &'a str,
    /// Where the client reached the server, as it says itself; empty if it does not.
    pub(crate) host: &'a str,
}

/// An answer of discovery.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reply {
    /// JSON with its content type.
    Json(&'static str, Value),
    /// JSON for people, indented, with its content type.
    Indented(&'static str, Value),
    /// JSON with its content type that clients keep until its `ETag` changes.
    Tagged(&'static str, Value),
    /// Plain text.
    Text(String),
    /// Metrics, as Prometheus reads them.
    Metrics(String),
    /// Protocol buffers with their content type.
    Protobuf(&'static str, Vec<u8>),
    /// An object in what was negotiated.
    Object(Encoding, Value),
    /// It is elsewhere.
    Moved(String),
    /// 404 without a word.
    Nothing,
    Failure(Failure),
}

/// What the documents of discovery are in when nothing else was asked for.
const JSON: &str = "application/json";

/// The answer to a request outside any resource (`/version`, `/api`, `/apis/...`, `/openapi/...`, `/healthz`, ...);
/// `None` where discovery knows no such path.
pub(crate) fn reply(
    asked: &Asked<'_>,
    resources: impl FnOnce() -> Vec<ApiResource>,
) -> Option<Reply> {
    let path = match asked.path {
        "/" => "/",
        // Nothing is below two slashes.
        "//" => "//",
        path => path.strip_suffix('/').unwrap_or(path),
    };
    let reply = match path {
        "/" => Some(Reply::Indented(JSON, root(&resources()))),
        "/version" => Some(match route_to(asked.accept, &[JSON], &[]) {
            Ok(()) => Reply::Indented(JSON, version::info()),
            Err(failure) => Reply::Failure(failure),
        }),
        path if path.starts_with("/version/") => Some(Reply::Failure(Failure::no_such_resource())),
        "/metrics" => Some(Reply::Metrics(metrics::text(&resources()))),
        _ => health::reply(asked).or_else(|| {
            let resources = resources();
            openapi::reply(asked, &resources).or_else(|| groups::reply(path, asked, &resources))
        }),
    }?;
    Some(match reply {
        reply if takes_method(asked.method, path) => reply,
        // What is not there is told first.
        Reply::Failure(failure) if failure.code == 404 => Reply::Failure(failure),
        _ => Reply::Failure(Failure::method_not_allowed()),
    })
}

/// Some documents are answered to any method: those that are not behind the router of the API.
fn takes_method(method: &Method, path: &str) -> bool {
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    let is_routed = matches!(
        segments[..],
        ["version" | "api"] | ["api", _] | ["apis", _, _]
    );
    !is_routed || method == Method::GET
}

fn root(resources: &[ApiResource]) -> Value {
    let mut paths: Vec<String> = [
        "/.well-known/openid-configuration",
        "/api",
        "/api/v1",
        "/apis",
        "/apis/",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/openapi/v3/",
        "/openid/v1/jwks",
        "/version",
    ]
    .map(String::from)
    .into();
    paths.extend(health::paths());
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

/// FNV-1a: tells documents apart, and protects nothing.
pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
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

    fn replied(path: &str, accept: &str) -> Option<Reply> {
        asked(&Method::GET, path, accept)
    }

    fn asked(method: &Method, path: &str, accept: &str) -> Option<Reply> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let asked = Asked {
            method,
            path,
            query: Some(query),
            accept,
            host: "127.0.0.1:6443",
        };
        reply(&asked, || crate::served::resources(&Registry::new()))
    }

    fn json_at(path: &str) -> Value {
        match replied(path, "") {
            Some(
                Reply::Json(_, value)
                | Reply::Tagged(_, value)
                | Reply::Indented(_, value)
                | Reply::Object(_, value),
            ) => value,
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
        assert_eq!(replied("/apis/none.example.com", ""), None);
        assert!(
            matches!(replied("/apis/apps/v9", ""), Some(Reply::Failure(failure)) if failure.code == 404)
        );
    }

    #[test]
    fn aggregated_discovery() {
        let accept =
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
        let Some(Reply::Tagged(content_type, value)) = replied("/apis", accept) else {
            panic!()
        };
        assert_eq!(
            content_type,
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        );
        assert_eq!(value["kind"], "APIGroupDiscoveryList");
        let old = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
        assert!(
            matches!(replied("/apis", old), Some(Reply::Failure(failure)) if failure.code == 406)
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
        for path in [
            "/healthz",
            "/readyz",
            "/livez",
            "/readyz/ping",
            "/livez?exclude=no",
        ] {
            assert_eq!(replied(path, ""), Some(Reply::Text("ok".into())), "{path}");
        }
        for path in [
            "/healthz/",
            "/livez/nope",
            "/livez/shutdown",
            "/healthz/ping/x",
        ] {
            assert_eq!(replied(path, ""), None, "{path}");
        }
        let Some(Reply::Text(text)) =
            replied("/readyz?verbose&exclude=b&exclude=a&exclude=etcd", "")
        else {
            panic!()
        };
        assert!(
            text.starts_with("[+]ping ok\n[+]log ok\n[+]etcd excluded: ok\n[+]etcd-readiness ok\n")
        );
        let end = "[+]shutdown ok\nwarn: some health checks cannot be excluded: no matches for \"a\",\"b\"\nreadyz check passed\n";
        assert!(text.ends_with(end), "{text}");
    }

    /// As a real server has it: see which of these documents its router knows.
    #[test]
    fn methods() {
        for (path, code) in [
            ("/version", 405),
            ("/api", 405),
            ("/api/v1", 405),
            ("/apis/apps/v1", 405),
            ("/apis/apps/v9", 404),
            ("/apis", 200),
            ("/apis/", 200),
            ("/apis/apps", 200),
            ("/", 200),
            ("/healthz", 200),
            ("/metrics", 200),
            ("/openapi/v3", 200),
        ] {
            for method in [Method::POST, Method::HEAD, Method::OPTIONS, Method::DELETE] {
                let found = match asked(&method, path, "") {
                    Some(Reply::Failure(failure)) => failure.code,
                    Some(_) => 200,
                    None => 0,
                };
                assert_eq!(found, code, "{method} {path}");
            }
        }
    }
}
