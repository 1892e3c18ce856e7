//! A layer between a client and either server that records requests and misbehaves on demand.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::{self, StreamExt as _};
use http::{Method, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::UnsyncBoxBody};
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tower::{BoxError, Service};

type AnyBody = UnsyncBoxBody<Bytes, BoxError>;
type Hook = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;
type Edit = Arc<dyn Fn(&mut Value) + Send + Sync>;

/// A request that went through the layer.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) body: String,
}

impl Sent {
    pub(crate) fn is(&self, method: &Method, part_of_path: &str) -> bool {
        self.method == *method && self.path.contains(part_of_path)
    }

    pub(crate) fn is_watch(&self) -> bool {
        self.query.contains("watch=true") || self.query.contains("watch=1")
    }

    /// A list request of a plural (`widgets`).
    pub(crate) fn is_list(&self, plural: &str) -> bool {
        self.method == Method::GET && self.path.ends_with(&format!("/{plural}")) && !self.is_watch()
    }

    /// The body as JSON; null when there is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

/// What happens to a request.
#[derive(Clone)]
pub(crate) enum Fault {
    /// Waits, then sends it.
    Delay(Duration),
    /// Runs something first (a concurrent writer, say), then sends it.
    Before(Hook),
    /// Never reaches the server; this is the answer.
    Answer {
        status: u16,
        content_type: &'static str,
        body: String,
    },
    /// Reaches the server, whose answer gets lost: the caller sees a broken connection.
    LoseAnswer,
    /// Never answered.
    Hang,
    /// The JSON of the answer is edited on its way back. Not for watches.
    Edit(Edit),
    /// A watch ends in the middle of the first line that passes: as if that were all, or with the
    /// error of a broken connection.
    CutWatch { broken: bool },
}

impl Fault {
    pub(crate) fn status(code: u16, reason: &str, message: &str) -> Self {
        Self::status_with(code, reason, message, &Value::Null)
    }

    pub(crate) fn status_with(code: u16, reason: &str, message: &str, details: &Value) -> Self {
        let status = serde_json::json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": reason, "details": details, "code": code,
        });
        Self::Answer {
            status: code,
            content_type: "application/json",
            body: status.to_string(),
        }
    }

    /// A watch that says at once that the server no longer has what it asks for.
    pub(crate) fn expired_watch() -> Self {
        let line = serde_json::json!({"type": "ERROR", "object": {
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "too old resource version: 1 (2)", "reason": "Expired", "code": 410,
        }});
        Self::Answer {
            status: 200,
            content_type: "application/json",
            body: format!("{line}\n"),
        }
    }

    pub(crate) fn before<F: Future<Output = ()> + Send + 'static>(
        hook: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self {
        Self::Before(Arc::new(move || hook().boxed()))
    }

    pub(crate) fn edit(edit: impl Fn(&mut Value) + Send + Sync + 'static) -> Self {
        Self::Edit(Arc::new(edit))
    }
}

type Matches = Box<dyn Fn(&Sent) -> bool + Send>;

#[derive(Default)]
struct State {
    sent: Vec<Sent>,
    rules: Vec<(Matches, usize, Fault)>,
}

/// The controls of the layer.
#[derive(Clone, Default)]
pub(crate) struct Faults(Arc<Mutex<State>>);

impl Faults {
    /// A client whose requests go through the layer to `inner`.
    pub(crate) fn wrap(&self, inner: Client) -> Client {
        let namespace = inner.default_namespace().to_owned();
        Client::new(
            Layered {
                inner,
                faults: self.clone(),
            },
            namespace,
        )
    }

    /// The next `times` requests that match fall under the fault. Earlier rules win.
    pub(crate) fn inject(
        &self,
        times: usize,
        matches: impl Fn(&Sent) -> bool + Send + 'static,
        fault: Fault,
    ) {
        self.0
            .lock()
            .unwrap()
            .rules
            .push((Box::new(matches), times, fault));
    }

    /// How often rules still apply: 0 when all faults happened.
    pub(crate) fn left(&self) -> usize {
        self.0
            .lock()
            .unwrap()
            .rules
            .iter()
            .map(|(_, times, _)| times)
            .sum()
    }

    /// Ends all faults.
    pub(crate) fn clear(&self) {
        self.0.lock().unwrap().rules.clear();
    }

    pub(crate) fn sent(&self, matches: impl Fn(&Sent) -> bool) -> Vec<Sent> {
        self.0
            .lock()
            .unwrap()
            .sent
            .iter()
            .filter(|sent| matches(sent))
            .cloned()
            .collect()
    }

    fn note(&self, sent: Sent) -> Option<Fault> {
        let mut state = self.0.lock().unwrap();
        let rule = state
            .rules
            .iter_mut()
            .find(|(matches, times, _)| *times > 0 && matches(&sent));
        let fault = rule.map(|(_, times, fault)| {
            *times -= 1;
            fault.clone()
        });
        state.sent.push(sent);
        fault
    }
}

#[derive(Clone)]
struct Layered {
    inner: Client,
    faults: Faults,
}

impl Service<Request<Body>> for Layered {
    type Response = Response<AnyBody>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let Self { inner, faults } = self.clone();
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect_bytes().await?;
            let fault = faults.note(Sent {
                method: parts.method.clone(),
                path: parts.uri.path().to_owned(),
                query: parts.uri.query().unwrap_or_default().to_owned(),
                body: String::from_utf8_lossy(&body).into_owned(),
            });
            let request = Request::from_parts(parts, Body::from(body));
            match fault {
                None => pass(&inner, request).await,
                Some(fault) => apply(fault, &inner, request).await,
            }
        }
        .boxed()
    }
}

async fn pass(inner: &Client, request: Request<Body>) -> Result<Response<AnyBody>, BoxError> {
    Ok(inner
        .send(request)
        .await?
        .map(|body| body.map_err(BoxError::from).boxed_unsync()))
}

async fn apply(
    fault: Fault,
    inner: &Client,
    request: Request<Body>,
) -> Result<Response<AnyBody>, BoxError> {
    match fault {
        Fault::Delay(time) => {
            tokio::time::sleep(time).await;
            pass(inner, request).await
        }
        Fault::Before(hook) => {
            hook().await;
            pass(inner, request).await
        }
        Fault::Answer {
            status,
            content_type,
            body,
        } => {
            let response = Response::builder()
                .status(status)
                .header("content-type", content_type);
            Ok(response.body(whole(body.into()))?)
        }
        Fault::LoseAnswer => {
            pass(inner, request).await?.into_body().collect().await?;
            Err(reset())
        }
        Fault::Hang => std::future::pending().await,
        Fault::Edit(edit) => {
            let (mut parts, body) = pass(inner, request).await?.into_parts();
            let mut value: Value = serde_json::from_slice(&body.collect().await?.to_bytes())?;
            edit(&mut value);
            parts.headers.remove("content-length");
            Ok(Response::from_parts(parts, whole(value.to_string().into())))
        }
        Fault::CutWatch { broken } => Ok(pass(inner, request).await?.map(|body| cut(body, broken))),
    }
}

fn whole(bytes: Bytes) -> AnyBody {
    Full::new(bytes)
        .map_err(|never| match never {})
        .boxed_unsync()
}

fn reset() -> BoxError {
    std::io::Error::new(
        std::io::ErrorKind::ConnectionReset,
        "connection reset by peer",
    )
    .into()
}

/// Passes on half of the first line, then ends.
fn cut(body: AnyBody, broken: bool) -> AnyBody {
    let half = stream::once(async move {
        let mut data = body.into_data_stream();
        let mut line = BytesMut::new();
        while !line.contains(&b'\n') {
            match data.next().await {
                Some(chunk) => line.extend_from_slice(&chunk?),
                None => break,
            }
        }
        let half = line
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap_or(line.len())
            / 2;
        Ok(Frame::data(line.freeze().slice(..half)))
    });
    let end = stream::iter(broken.then(|| Err(reset())));
    StreamBody::new(half.chain(end)).boxed_unsync()
}
