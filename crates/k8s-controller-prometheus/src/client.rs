//! Requests to the API server.

use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::{Method, Request, Response, StatusCode, Uri};
use kube::Config;
use kube::client::retry::RetryPolicy;
use kube::client::{Client, ClientBuilder};
use prometheus::IntCounterVec;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use tower::buffer::BufferLayer;
use tower::retry::RetryLayer;
use tower::{Layer, Service};

use crate::family::counters;

/// What client-go writes for the code of a request that had no answer.
const NO_ANSWER: &str = "<error>";

/// What client-go writes for the host where it does not know it.
const NO_HOST: &str = "none";

/// How many requests may wait, as in kube's own buffer of a client.
const BUFFER: usize = 1024;

/// `rest_client_requests_total{code,method,host}`: requests to the API server, as client-go counts
/// them.
///
/// A request is counted when the head of its answer is there, a watch too, under the status code.
/// One that gets no answer, or that is dropped before, has the code `<error>`. A method that the
/// Kubernetes API does not use is `OTHER`.
///
/// There are three ways to have a client whose requests are counted:
/// [`client_for`](Self::client_for) a `kube::Config`, which counts each attempt;
/// [`client`](Self::client), around a client that is there already; and
/// [`layer`](Self::layer), for a stack of your own.
///
/// ```
/// # use http::{Request, Response};
/// # use kube::client::Body;
/// use k8s_controller_prometheus::ClientMetrics;
/// use k8s_openapi::api::core::v1::Namespace;
/// use kube::Api;
/// use prometheus::{Registry, TextEncoder};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let cluster = tower::service_fn(|_: Request<Body>| async {
/// #     let status = r#"{"kind": "Status", "apiVersion": "v1", "code": 404, "reason": "NotFound"}"#;
/// #     let answer = Response::builder().status(404).body(Body::from(status.as_bytes().to_vec()));
/// #     Ok::<_, std::convert::Infallible>(answer.expect("a good response"))
/// # });
/// # let client = kube::Client::new(cluster, "default");
/// let metrics = ClientMetrics::new();
/// let registry = Registry::new();
/// registry.register(Box::new(metrics.clone()))?;
///
/// let client = metrics.client(&client, "192.0.2.1:6443");
/// assert!(Api::<Namespace>::all(client).get_opt("team-a").await?.is_none());
///
/// let text = TextEncoder::new().encode_to_string(&registry.gather())?;
/// let line =
///     r#"rest_client_requests_total{code="404",host="192.0.2.1:6443",method="GET"} 1"#;
/// assert!(text.contains(line), "{text}");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ClientMetrics {
    requests: IntCounterVec,
}

impl ClientMetrics {
    /// Metrics without any series yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            requests: counters(
                "rest_client_requests_total",
                "Requests to the API server, by status code, method and host.",
                &["code", "method", "host"],
            ),
        }
    }

    /// A client as `kube::Client::try_from(config)` makes it, whose requests are counted. Those
    /// that it tries again by itself are counted each time. The host is that of the config.
    ///
    /// # Errors
    ///
    /// If `kube` cannot make a client of this config.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime, as any making of a `kube::Client`.
    pub fn client_for(&self, mut config: Config) -> Result<Client, kube::Error> {
        let host = host_of(&config.cluster_url).unwrap_or_default();
        // The retries are made out here, as kube would, so that the layer is within them.
        let retries = std::mem::take(&mut config.default_retry);
        let builder = ClientBuilder::try_from(config)?.with_layer(&self.layer(host));
        if !retries {
            return Ok(builder.build());
        }
        Ok(builder
            .with_layer(&BufferLayer::new(BUFFER))
            .with_layer(&RetryLayer::new(RetryPolicy::server_retry()))
            .build())
    }

    /// A client that sends through `client` and counts. See [`layer`](Self::layer) for the host.
    ///
    /// What `client` tries again by itself is counted once, under the last answer.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime, as any making of a `kube::Client`.
    #[must_use]
    pub fn client(&self, client: &Client, host: impl AsRef<str>) -> Client {
        let inner = client.clone();
        let send = tower::service_fn(move |request| {
            let client = inner.clone();
            async move { client.send(request).await }
        });
        Client::new(self.layer(host).layer(send), client.default_namespace())
            .with_valid_until(*client.valid_until())
    }

    /// A tower layer that counts what goes through it.
    ///
    /// `host` is what the label says where the URI of a request does not name a host, which is so
    /// before kube has put the URL of the cluster in front: the host and port of
    /// `config.cluster_url`. `none` if empty. A user name and password are left out.
    #[must_use]
    pub fn layer(&self, host: impl AsRef<str>) -> ClientMetricsLayer {
        let host = match without_user(host.as_ref()) {
            "" => NO_HOST,
            host => host,
        };
        ClientMetricsLayer {
            requests: self.requests.clone(),
            host: host.into(),
        }
    }
}

impl Default for ClientMetrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Collector for ClientMetrics {
    fn desc(&self) -> Vec<&Desc> {
        self.requests.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.requests.collect()
    }
}

/// Made by [`ClientMetrics::layer`].
#[derive(Clone, Debug)]
pub struct ClientMetricsLayer {
    requests: IntCounterVec,
    host: Arc<str>,
}

impl<S> Layer<S> for ClientMetricsLayer {
    type Service = ClientMetricsService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        ClientMetricsService {
            inner,
            layer: self.clone(),
        }
    }
}

/// A service whose requests are counted; made by [`ClientMetricsLayer`].
#[derive(Clone, Debug)]
pub struct ClientMetricsService<S> {
    inner: S,
    layer: ClientMetricsLayer,
}

impl<S, Body, Answer> Service<Request<Body>> for ClientMetricsService<S>
where
    S: Service<Request<Body>, Response = Response<Answer>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let mut attempt = Attempt {
            requests: self.layer.requests.clone(),
            method: method_of(request.method()),
            host: host_of(request.uri()).map_or_else(|| self.layer.host.clone(), Into::into),
            code: None,
        };
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            if let Ok(answer) = &answer {
                attempt.answered(answer.status());
            }
            answer
        })
    }
}

/// One request. Is counted when it is dropped, so that one that is given up counts too.
struct Attempt {
    requests: IntCounterVec,
    method: &'static str,
    host: Arc<str>,
    code: Option<StatusCode>,
}

impl Attempt {
    fn answered(&mut self, code: StatusCode) {
        self.code = Some(code);
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let code = self.code.as_ref().map_or(NO_ANSWER, StatusCode::as_str);
        self.requests
            .with_label_values(&[code, self.method, &self.host])
            .inc();
    }
}

/// The methods that the Kubernetes API knows, so that the label has few values.
fn method_of(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "HEAD" => "HEAD",
        "OPTIONS" => "OPTIONS",
        _ => "OTHER",
    }
}

/// The host and port, as they are in the URI.
fn host_of(uri: &Uri) -> Option<String> {
    uri.authority()
        .map(|authority| without_user(authority.as_str()).to_owned())
}

fn without_user(authority: &str) -> &str {
    authority.rsplit('@').next().unwrap_or(authority)
}
