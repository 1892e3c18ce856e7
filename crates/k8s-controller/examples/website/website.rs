//! The custom resource: what a user may ask for, and what the operator answers.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most copies of a page that one Website may ask for.
pub const MAX_REPLICAS: i32 = 10;
/// The longest label value that Kubernetes accepts; the name of a Website becomes one.
const MAX_LABEL_BYTES: usize = 63;
/// The type of the condition that says whether the page is set up.
pub const READY: &str = "Ready";
/// The longest host name, from RFC 1123.
const MAX_HOST_BYTES: usize = 253;

/// One page, served under one host name.
// These comments go into the schema, where `kubectl explain` shows them. The schema could also
// limit `replicas` and `host`, so that the API server refuses bad ones at once. Rules that no
// schema can express remain for the operator, so this example has all of its rules in `problems`,
// and shows how an operator reports them.
#[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "example.dev",
    version = "v1",
    kind = "Website",
    namespaced,
    status = "WebsiteStatus",
    doc = "A page that is served under a host name.",
    shortname = "web",
    printcolumn = r#"{"name":"Host","type":"string","jsonPath":".spec.host"}"#,
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name":"Message","type":"string","jsonPath":".status.message"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
pub struct WebsiteSpec {
    /// The page, as HTML.
    pub content: String,
    /// How many pods serve it, 0 to 10.
    #[serde(default = "one")]
    pub replicas: i32,
    /// The host name that it is served under. No two Websites of a cluster can have the same.
    pub host: String,
}

fn one() -> i32 {
    1
}

/// What the operator last found out about a Website.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WebsiteStatus {
    /// The `metadata.generation` that the rest of this status is about.
    pub observed_generation: Option<i64>,
    /// Whether the page is set up.
    #[serde(default)]
    pub phase: WebsitePhase,
    /// Where the page is served, once it is.
    pub url: Option<String>,
    /// What is wrong, if something is.
    pub message: Option<String>,
    /// `Ready`: whether the page is set up. Its pods may still be starting.
    // The schema of a map by `type`, as Kubernetes wants it: two conditions of one type are refused,
    // and with server-side apply, each can have an owner of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["type"]
    ))]
    pub conditions: Vec<Condition>,
}

/// The outcome in one word.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum WebsitePhase {
    /// Not looked at yet.
    #[default]
    Pending,
    /// Everything that the spec asks for is there.
    Ready,
    /// The last attempt failed; `message` says why.
    Failed,
}

impl Website {
    /// How this Website signs what it registers outside its own namespace.
    pub fn full_name(&self) -> String {
        format!(
            "{}/{}",
            self.namespace().unwrap_or_default(),
            self.name_any()
        )
    }

    /// Where the page is served.
    pub fn url(&self) -> String {
        format!("http://{}/", self.spec.host)
    }

    /// Everything that is wrong with the object, each with the field that it is about.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let name = self.name_any();
        if name.len() > MAX_LABEL_BYTES {
            problems.push(format!(
                "metadata.name: expected at most {MAX_LABEL_BYTES} bytes, found {}",
                name.len()
            ));
        }
        if let Some(problem) = host_problem(&self.spec.host) {
            problems.push(format!("spec.host: {problem}"));
        }
        let replicas = self.spec.replicas;
        if !(0..=MAX_REPLICAS).contains(&replicas) {
            problems.push(format!(
                "spec.replicas: expected 0 to {MAX_REPLICAS}, found {replicas}"
            ));
        }
        problems
    }
}

/// What keeps `host` from being a host name in lower case, in the sense of RFC 1123.
fn host_problem(host: &str) -> Option<String> {
    let problem = if host.is_empty() {
        "it is empty"
    } else if host.len() > MAX_HOST_BYTES {
        "it is longer than 253 bytes"
    } else if host
        .split('.')
        .any(|label| label.is_empty() || label.len() > 63)
    {
        "a part between dots is empty or longer than 63 bytes"
    } else if host
        .split('.')
        .any(|label| label.starts_with('-') || label.ends_with('-'))
    {
        "a part between dots begins or ends with '-'"
    } else if !host
        .bytes()
        .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.'))
    {
        "it has characters other than a-z, 0-9, '-' and '.'"
    } else {
        return None;
    };
    Some(format!(
        "expected a host name such as shop.example.com, found {host:?}: {problem}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_names() {
        for good in [
            "a",
            "shop.example.com",
            "xn--bcher-kva.example",
            "1.2.3.4",
            &"a.".repeat(126)[..251],
        ] {
            assert_eq!(host_problem(good), None, "{good}");
        }
        let long_label = "a".repeat(64);
        let long_host = format!("{}com", "a.".repeat(126));
        for bad in [
            "",
            ".",
            "a..b",
            "a.",
            "-a.com",
            "a-.com",
            "A.com",
            "a_b.com",
            "a b",
            "é.com",
            &long_label,
            &long_host,
        ] {
            assert!(host_problem(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn problems_name_their_field() {
        let spec = WebsiteSpec {
            content: String::new(),
            replicas: -1,
            host: "Shop".into(),
        };
        let problems = Website::new(&"n".repeat(64), spec).problems();
        let fields: Vec<_> = problems
            .iter()
            .filter_map(|p| p.split(':').next())
            .collect();
        assert_eq!(fields, ["metadata.name", "spec.host", "spec.replicas"]);

        let spec = WebsiteSpec {
            content: String::new(),
            replicas: MAX_REPLICAS,
            host: "shop".into(),
        };
        assert!(Website::new("shop", spec).problems().is_empty());
    }
}
