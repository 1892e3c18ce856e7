//! Calls webhooks: services in the process, and, with the feature `http`, servers over HTTPS.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, Request, Response, StatusCode, Uri};
use http_body::Body;
use http_body_util::{BodyExt as _, Full, Limited};
use k8s_api_schema::json::check;
use k8s_api_schema::quote;
use serde_json::{Value, json};
use tower::{BoxError, Service, ServiceExt as _};

use super::hook::Endpoint;
use super::review;
use super::session::{Question, Session};

/// The largest answer that is read, in bytes.
const LIMIT: usize = 3 * 1024 * 1024;

type Answer = Result<(StatusCode, Bytes), BoxError>;
type Handler = Arc<dyn Fn(Request<Full<Bytes>>) -> BoxFuture<'static, Answer> + Send + Sync>;

/// Who answers for which host.
#[derive(Clone, Default)]
pub(crate) struct Client {
    handlers: BTreeMap<String, Handler>,
    addresses: BTreeMap<String, SocketAddr>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("handlers", &self.handlers.keys())
            .field("addresses", &self.addresses)
            .finish()
    }
}

impl Client {
    /// Lets `service` answer for `host`.
    pub(crate) fn serve<S, B>(&mut self, host: String, service: S)
    where
        S: Service<Request<Full<Bytes>>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
        B: Body + Send,
        B::Data: Send,
        B::Error: Into<BoxError>,
    {
        let handler: Handler = Arc::new(move |request| {
            let service = service.clone();
            Box::pin(async move {
                let response = service.oneshot(request).await.map_err(Into::into)?;
                let status = response.status();
                let body = Limited::new(response.into_body(), LIMIT).collect().await?;
                Ok((status, body.to_bytes()))
            })
        });
        self.handlers.insert(host, handler);
    }

    /// Connects to `address` for `host`.
    #[cfg(feature = "http")]
    pub(crate) fn resolve(&mut self, host: String, address: SocketAddr) {
        self.addresses.insert(host, address);
    }

    /// Puts the open questions of a write, all at once.
    pub(crate) async fn ask(&self, questions: Vec<Question>, session: &mut Session) {
        let answers = questions.into_iter().map(|question| async {
            let answer = self.review(&question).await;
            (question, answer)
        });
        for (question, answer) in futures::future::join_all(answers).await {
            session.answer(question, answer);
        }
    }

    async fn review(&self, question: &Question) -> Result<review::Response, String> {
        let hook = &question.hook;
        let known = hook
            .review_versions
            .iter()
            .find(|version| matches!(version.as_str(), "v1" | "v1beta1"));
        let version = known.map_or("v1", String::as_str);
        let mut request = question.request.clone();
        request["uid"] = question.uid.as_str().into();
        let body = json!({
            "kind": "AdmissionReview",
            "apiVersion": format!("admission.k8s.io/{version}"),
            "request": request,
        });
        let answer = self
            .post(&hook.endpoint, &body, hook.timeout)
            .await
            .map_err(|why| format!("failed to call webhook: {why}"))?;
        review::response(&answer, version, &question.uid, question.mutating)
            .map_err(|why| format!("received invalid webhook response: {why}"))
    }

    /// Posts JSON and reads the JSON of the answer. Also for conversion webhooks.
    ///
    /// # Errors
    ///
    /// Why there is no answer in time, or none of use, in the words of the real server.
    pub(crate) async fn post(
        &self,
        endpoint: &Endpoint,
        body: &Value,
        timeout: Duration,
    ) -> Result<Value, String> {
        let join = if endpoint.url.contains('?') { '&' } else { '?' };
        let url = format!("{}{join}timeout={}s", endpoint.url, timeout.as_secs());
        let failed = |why: String| format!("Post {}: {why}", quote(&url));
        let uri: Uri = url.parse().map_err(|error| failed(format!("{error}")))?;
        let request = Request::builder()
            .method(Method::POST)
            .uri(uri.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, */*")
            .body(Full::new(Bytes::from(body.to_string())))
            .map_err(|error| failed(error.to_string()))?;
        let answer = tokio::time::timeout(timeout, self.send(endpoint, &uri, request)).await;
        let (status, bytes) = match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return Err(failed(error.to_string())),
            Err(_) => return Err(failed("context deadline exceeded".into())),
        };
        if !status.is_success() {
            return Err(refused(status, &bytes));
        }
        serde_json::from_slice(&bytes).map_err(|error| {
            let why = check(&bytes).err().unwrap_or_else(|| error.to_string());
            format!("couldn't get version/kind; json parse error: {why}")
        })
    }

    async fn send(&self, endpoint: &Endpoint, uri: &Uri, request: Request<Full<Bytes>>) -> Answer {
        let host = uri.host().unwrap_or_default();
        let port = uri.port_u16().unwrap_or(443);
        let with_port = format!("{host}:{port}");
        if let Some(handler) = self
            .handlers
            .get(&with_port)
            .or_else(|| self.handlers.get(host))
        {
            return handler(request).await;
        }
        let address = self
            .addresses
            .get(&with_port)
            .or_else(|| self.addresses.get(host));
        match (&endpoint.service, address) {
            (Some((_, name)), None) => Err(format!("service {} not found", quote(name)).into()),
            #[cfg(feature = "http")]
            (_, address) => {
                super::https::send(endpoint, (host, port), address.copied(), request).await
            }
            #[cfg(not(feature = "http"))]
            _ => Err(format!("dial tcp: lookup {host}: no such host").into()),
        }
    }
}

/// An answer that is none, as a client of Kubernetes tells it.
fn refused(status: StatusCode, body: &Bytes) -> String {
    let text = String::from_utf8_lossy(body);
    match status.as_u16() {
        400 => "the server rejected our request for an unknown reason".into(),
        401 => "the server has asked for the client to provide credentials".into(),
        403 => text.into_owned(),
        404 => "the server could not find the requested resource".into(),
        405 => "the server does not allow this method on the requested resource".into(),
        503 => "the server is currently unable to handle the request".into(),
        code if code >= 500 => {
            format!(
                "an error on the server ({}) has prevented the request from succeeding",
                quote(text.trim())
            )
        }
        code => format!(
            "the server responded with the status code {code} but did not return more information"
        ),
    }
}
