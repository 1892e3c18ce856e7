//! Requests as a client without a library would send them.

#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::expect_used, reason = "in a test that is a failure")]

pub(crate) mod both;

use std::time::Duration;

use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use k8s_embedded_apiserver::{ApiBody, EmbeddedApiServer};
use serde_json::{Value, json};
use tower::ServiceExt;

pub(crate) const MERGE: &str = "application/merge-patch+json";
pub(crate) const JSON_PATCH: &str = "application/json-patch+json";
pub(crate) const STRATEGIC: &str = "application/strategic-merge-patch+json";

pub(crate) const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
pub(crate) const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
pub(crate) const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
pub(crate) const PODS: &str = "/api/v1/namespaces/default/pods";
pub(crate) const CORE_EVENTS: &str = "/api/v1/namespaces/default/events";
pub(crate) const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/default/events";
pub(crate) const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";
pub(crate) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A server and what it answers.
#[derive(Clone)]
pub(crate) struct Api(pub(crate) EmbeddedApiServer);

impl Api {
    /// A server whose controllers act before a request is answered.
    pub(crate) fn new() -> Self {
        let prompt = EmbeddedApiServer::builder()
            .seed(1)
            .controller_delay(Duration::ZERO)
            .namespace_deletion_delay(Duration::ZERO);
        Self(prompt.build())
    }

    pub(crate) async fn raw(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: impl Into<bytes::Bytes>,
    ) -> Response<ApiBody> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type)
            .body(Full::new(body.into()))
            .expect("a request");
        self.0.clone().oneshot(request).await.expect("an answer")
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: impl Into<bytes::Bytes>,
    ) -> (u16, Value) {
        let response = self.raw(method, path, content_type, body).await;
        let code = response.status().as_u16();
        (code, json_of(response).await)
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        self.send("GET", path, "", "").await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.send("POST", path, "application/json", body.to_string())
            .await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> (u16, Value) {
        self.send("PUT", path, "application/json", body.to_string())
            .await
    }

    pub(crate) async fn merge(&self, path: &str, body: Value) -> (u16, Value) {
        self.send("PATCH", path, MERGE, body.to_string()).await
    }

    pub(crate) async fn patch(&self, path: &str, content_type: &str, body: Value) -> (u16, Value) {
        self.send("PATCH", path, content_type, body.to_string())
            .await
    }

    pub(crate) async fn delete(&self, path: &str) -> (u16, Value) {
        self.send("DELETE", path, "", "").await
    }

    pub(crate) async fn delete_with(&self, path: &str, options: Value) -> (u16, Value) {
        self.send("DELETE", path, "application/json", options.to_string())
            .await
    }

    /// Creates what a test needs.
    pub(crate) async fn make(&self, path: &str, body: Value) -> Value {
        let (code, object) = self.post(path, body).await;
        assert_eq!(code, 201, "{object}");
        object
    }

    pub(crate) async fn watch(&self, path: &str) -> Watch {
        let joint = if path.contains('?') { '&' } else { '?' };
        let response = self
            .raw("GET", &format!("{path}{joint}watch=true"), "", "")
            .await;
        assert_eq!(response.status(), 200);
        Watch(response.into_body())
    }

    /// The kind Widget of example.com.
    pub(crate) async fn define_widgets(&self, version: Value) {
        let mut version = version;
        let base = json!({
            "name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
        });
        for (key, value) in base.as_object().expect("an object") {
            version
                .as_object_mut()
                .expect("an object")
                .entry(key.clone())
                .or_insert(value.clone());
        }
        self.define(vec![version]).await;
    }

    pub(crate) async fn define(&self, versions: Vec<Value>) {
        let definition = json!({
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
                "versions": versions,
            },
        });
        self.make(DEFINITIONS, definition).await;
    }
}

/// The body of an answer: JSON, or else its text.
pub(crate) async fn json_of(response: Response<ApiBody>) -> Value {
    let bytes = response
        .into_body()
        .collect()
        .await
        .expect("a body")
        .to_bytes();
    serde_json::from_slice(&bytes)
        .unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into_owned().into())
}

/// An open watch.
pub(crate) struct Watch(pub(crate) ApiBody);

impl Watch {
    /// The next event; `None` once the watch has ended.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let frame = self.0.frame().await?.expect("a frame");
        let line = frame.into_data().expect("data");
        assert_eq!(line.last(), Some(&b'\n'));
        Some(serde_json::from_slice(&line).expect("JSON"))
    }

    /// Type and name of the next event.
    pub(crate) async fn told(&mut self) -> String {
        let event = self.next().await.expect("an event");
        format!(
            "{} {}",
            event["type"].as_str().unwrap_or("?"),
            event["object"]["metadata"]["name"].as_str().unwrap_or("-")
        )
    }

    /// Whether nothing comes for a second.
    pub(crate) async fn is_silent(&mut self) -> bool {
        tokio::time::timeout(std::time::Duration::from_secs(1), self.0.frame())
            .await
            .is_err()
    }
}

pub(crate) fn named(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

pub(crate) fn version(object: &Value) -> &str {
    object["metadata"]["resourceVersion"]
        .as_str()
        .expect("a version")
}

pub(crate) fn widget(name: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"n": 1}})
}

pub(crate) fn deployment(name: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        },
    })
}

pub(crate) fn event(name: &str) -> Value {
    json!({
        "metadata": {"name": name}, "eventTime": "2026-01-01T00:00:00.000000Z", "type": "Normal",
        "reason": "R", "action": "A", "note": "hello",
        "reportingController": "example.com/c", "reportingInstance": "i",
        "regarding": {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "a"},
    })
}
