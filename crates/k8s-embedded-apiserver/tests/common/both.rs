//! The embedded server, and a real one where there is one: what a test says must hold on both.

use http::{Request, Response};
use http_body_util::BodyExt as _;
use k8s_embedded_apiserver::EmbeddedApiServer;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

/// Names the kubeconfig of a real server, as for the other end-to-end tests.
const KUBECONFIG: &str = "K8S_CONTROLLER_E2E_KUBECONFIG";

/// A server that a test talks to.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) name: &'static str,
    pub(crate) client: kube::Client,
}

/// An answer: status code, headers, and the body as JSON (`null` where it is none).
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: http::HeaderMap,
    /// The body as it came.
    pub(crate) text: String,
    pub(crate) body: Value,
}

impl Answer {
    /// The texts of the `Warning` headers, without code and agent.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let texts = self.headers.get_all("warning").into_iter();
        texts
            .filter_map(|value| value.to_str().ok())
            .map(|text| text.trim_start_matches("299 - ").trim_matches('"').into())
            .collect()
    }

    /// The message of a `Status`.
    pub(crate) fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }
}

/// The servers that are there. The real one is named by an environment variable.
pub(crate) async fn servers() -> Vec<Server> {
    std::iter::once(embedded()).chain(real().await).collect()
}

/// The embedded server.
pub(crate) fn embedded() -> Server {
    Server {
        name: "embedded",
        client: kube::Client::new(EmbeddedApiServer::builder().rbac(true).build(), "default"),
    }
}

/// The real server, where there is one. Not to be used under paused time.
pub(crate) async fn real() -> Option<Server> {
    let kubeconfig = Kubeconfig::read_from(std::env::var_os(KUBECONFIG)?).expect("a kubeconfig");
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let client = kube::Client::try_from(config.expect("a configuration")).expect("a client");
    Some(Server {
        name: "real",
        client,
    })
}

impl Server {
    /// Sends a request; `body` is sent as it is where it is a text, else as JSON, and not at all where it is `null`.
    pub(crate) async fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Value,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let bytes = match &body {
            Value::Null => Vec::new(),
            Value::String(text) => text.clone().into_bytes(),
            other => other.to_string().into_bytes(),
        };
        let request = request.body(Body::from(bytes)).expect("a request");
        let response: Response<Body> = self.client.send(request).await.expect("an answer");
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.expect("a body").to_bytes();
        Answer {
            code: parts.status.as_u16(),
            headers: parts.headers,
            text: String::from_utf8_lossy(&bytes).into_owned(),
            body: serde_json::from_slice(&bytes).unwrap_or_default(),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.request("GET", path, &[], Value::Null).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        let json = [("content-type", "application/json")];
        self.request("POST", path, &json, body).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Answer {
        let json = [("content-type", "application/json")];
        self.request("PUT", path, &json, body).await
    }

    pub(crate) async fn patch(&self, path: &str, content_type: &str, body: Value) -> Answer {
        let headers = [("content-type", content_type)];
        self.request("PATCH", path, &headers, body).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.request("DELETE", path, &[], Value::Null).await
    }

    /// Makes a namespace of a fresh name.
    pub(crate) async fn namespace(&self) -> String {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "both-"}});
        let made = self.post("/api/v1/namespaces", namespace).await;
        assert_eq!(made.code, 201, "{}: {}", self.name, made.body);
        let name = made.body["metadata"]["name"].as_str();
        name.unwrap_or_default().into()
    }

    /// Waits until the answer to a GET is as wanted, at most a minute.
    pub(crate) async fn until(&self, path: &str, wanted: impl Fn(&Answer) -> bool) -> Answer {
        for _ in 0..600 {
            let answer = self.get(path).await;
            if wanted(&answer) {
                return answer;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        panic!("{}: {path} does not become as wanted", self.name);
    }
}
