//! The service: takes HTTP requests, hands them to the verbs, writes the answers.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes};
use futures::future::BoxFuture;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WARNING};
use http::{Method, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, Limited};
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use tower::{BoxError, Service};

use crate::api_body::ApiBody;
use crate::body;
use crate::discovery::{self, Reply};
use crate::kinds::Kind;
use crate::lifecycle::{NAMESPACES, State};
use crate::query::Query;
use crate::routes::{Route, Target, route};
use crate::source::Source;
use crate::status::Failure;
use crate::store::{self, Place};
use crate::table::{IncludeObject, Rendering, Representation};
use crate::verbs::{self, Answer, Call};
use crate::watch;

/// The namespaces that every cluster starts with.
const FIRST_NAMESPACES: &[&str] = &["default", "kube-node-lease", "kube-public", "kube-system"];

/// Changes of each collection that are kept for watches.
const HISTORY_LIMIT: usize = 10_000;

/// How long a read waits for a version that has not been reached, as on a real server.
const VERSION_PATIENCE: Duration = Duration::from_secs(3);

/// A Kubernetes API server inside the process.
///
/// A handle: clones are the same server. It is a [`tower::Service`] that goes behind `kube::Client::new`:
///
/// ```
/// use k8s_embedded_apiserver::EmbeddedApiServer;
///
/// let server = EmbeddedApiServer::new();
/// let client = kube::Client::new(server.clone(), "default");
/// # let _ = client;
/// ```
#[derive(Clone, Debug)]
pub struct EmbeddedApiServer {
    shared: Arc<Shared>,
}

/// The state and its lock.
pub(crate) struct Shared {
    state: Mutex<State>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Shared {
    /// Works on the state. A panic elsewhere while the lock was held leaves whole objects behind, since they are
    /// replaced and never changed in place.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Default for EmbeddedApiServer {
    fn default() -> Self {
        Self::new()
    }
}

impl EmbeddedApiServer {
    /// A server with nothing but the first four namespaces. See [`Builder`] for what can be chosen.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Chooses the clock, the seed and limits.
    #[must_use]
    pub fn builder() -> Builder {
        Builder { clock: None, seed: None, garbage_collection: true, history_limit: HISTORY_LIMIT }
    }

    async fn answer<B>(self, request: Request<B>) -> Response<ApiBody>
    where
        B: Body,
        B::Data: Buf,
        B::Error: Into<BoxError>,
    {
        let (parts, body) = request.into_parts();
        let header = |name| parts.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).map(String::from);
        let accept = header(ACCEPT).unwrap_or_default();
        let path = parts.uri.path();
        let mut response = match self.shared.with(|state| route(path, &state.registry)) {
            Route::Target(target) if is_unrouted(&parts.method, &target) => {
                if target.kind.is_custom() { plain_not_found() } else { refusal(&Failure::method_not_allowed()) }
            }
            Route::Target(target) => {
                let call = read_body(body).await.map(|body| Call {
                    method: parts.method.clone(),
                    target,
                    query: Query::parse(parts.uri.query()),
                    content_type: header(CONTENT_TYPE),
                    body,
                });
                match call {
                    Ok(call) => self.resource(call, &accept).await,
                    Err(failure) => refusal(&failure),
                }
            }
            Route::Refused(failure) => refusal(&failure),
            Route::PlainNotFound => plain_not_found(),
            Route::Other => self.other(&parts.method, path, &accept),
        };
        if parts.method == Method::HEAD {
            *response.body_mut() = ApiBody::default();
        }
        response
    }

    /// A request for objects.
    async fn resource(&self, call: Call, accept: &str) -> Response<ApiBody> {
        let warning = call.kind().custom.as_ref().and_then(|custom| custom.warning.clone());
        let mut response = match self.try_resource(&call, accept).await {
            Ok(response) => response,
            Err(failure) => refusal(&failure),
        };
        if let Some(text) = warning {
            warn(&mut response, &text);
        }
        response
    }

    async fn try_resource(&self, call: &Call, accept: &str) -> Result<Response<ApiBody>, Failure> {
        let representation = Representation::negotiate(accept)?;
        let include = IncludeObject::parse(call.query.get("includeObject").unwrap_or_default())?;
        let rendering = Rendering::new(representation, include, call.target.kind.clone());
        let answer = self.handle(call).await?;
        self.write(&call.target, answer, rendering, representation == Representation::Object)
    }

    /// Does what is asked for, after a while if it asks for a version to come.
    async fn handle(&self, call: &Call) -> Result<Answer, Failure> {
        let mut left = None;
        loop {
            let (answer, mut changed) = self.shared.with(|state| {
                let answer = verbs::handle(state, call);
                let changed = match answer {
                    Ok(Answer::NotYet(_)) => Some(state.store.subscribe(&call.kind().storage).changed),
                    _ => None,
                };
                (answer, changed)
            });
            let Ok(Answer::NotYet(wanted)) = answer else { return answer };
            let deadline = *left.get_or_insert_with(|| tokio::time::Instant::now() + VERSION_PATIENCE);
            let in_time = match &mut changed {
                Some(changed) => tokio::time::timeout_at(deadline, changed.changed()).await.is_ok_and(|got| got.is_ok()),
                None => false,
            };
            let current = self.shared.with(|state| state.store.version());
            if !in_time && current < wanted {
                return Err(Failure::version_too_large(wanted, current));
            }
        }
    }

    fn write(
        &self,
        target: &Target,
        answer: Answer,
        rendering: Rendering,
        whole: bool,
    ) -> Result<Response<ApiBody>, Failure> {
        let now = self.shared.with(|state| state.source.now());
        Ok(match answer {
            Answer::Object { code, object, warnings } => {
                let mut response = json(code, &rendering.object(object, now)?);
                for text in warnings {
                    warn(&mut response, &text);
                }
                response
            }
            Answer::List(list) => json(200, &rendering.list(list.to_json(&target.kind, whole), now)?),
            Answer::Other { code, object } => json(code, &object),
            Answer::Watch(plan) => {
                let stream = watch::stream(self.shared.clone(), plan, rendering);
                respond(200, "application/json", ApiBody::stream(stream))
            }
            Answer::NotYet(wanted) => {
                return Err(Failure::version_too_large(wanted, self.shared.with(|state| state.store.version())));
            }
        })
    }

    /// A request for what is no resource: versions, groups, documents.
    fn other(&self, method: &Method, path: &str, accept: &str) -> Response<ApiBody> {
        let resources = self.shared.with(|state| crate::served::resources(&state.registry));
        match discovery::reply(path, accept, &resources) {
            Some(_) if !matches!(*method, Method::GET | Method::HEAD) => refusal(&Failure::method_not_allowed()),
            Some(Reply::Json(content_type, value)) => {
                respond(200, content_type, ApiBody::from(Bytes::from(value.to_string())))
            }
            Some(Reply::Text(text)) => respond(200, "text/plain; charset=utf-8", ApiBody::from(Bytes::from(text))),
            Some(Reply::Failure(failure)) => refusal(&failure),
            None => plain_not_found(),
        }
    }
}

/// Objects of a namespaced kind can be listed over all namespaces, but not written there.
fn is_unrouted(method: &Method, target: &Target) -> bool {
    target.kind.namespaced && target.namespace.is_none() && !matches!(*method, Method::GET | Method::HEAD)
}

async fn read_body<B>(body: B) -> Result<Bytes, Failure>
where
    B: Body,
    B::Data: Buf,
    B::Error: Into<BoxError>,
{
    match Limited::new(body, body::LIMIT).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => Err(Failure::request_too_large(body::LIMIT)),
        Err(error) => Err(Failure::bad_request(format!("the body of the request could not be read: {error}"))),
    }
}

fn respond(code: u16, content_type: &'static str, body: ApiBody) -> Response<ApiBody> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn json(code: u16, object: &Value) -> Response<ApiBody> {
    let mut text = object.to_string();
    text.push('\n');
    respond(code, "application/json", ApiBody::from(Bytes::from(text)))
}

fn warn(response: &mut Response<ApiBody>, text: &str) {
    if let Ok(value) = HeaderValue::from_str(&format!("299 - {}", crate::field_error::quote(text))) {
        response.headers_mut().append(WARNING, value);
    }
}

fn refusal(failure: &Failure) -> Response<ApiBody> {
    let mut response = json(failure.code, &failure.to_json());
    if let Some(seconds) = failure.retry_after() {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn plain_not_found() -> Response<ApiBody> {
    respond(404, "text/plain; charset=utf-8", ApiBody::from(Bytes::from_static(b"404 page not found\n")))
}

impl<B> Service<Request<B>> for EmbeddedApiServer
where
    B: Body + Send + 'static,
    B::Data: Buf + Send,
    B::Error: Into<BoxError>,
{
    type Response = Response<ApiBody>;
    type Error = Infallible;
    type Future = ApiFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> ApiFuture {
        ApiFuture(Box::pin(self.clone().answer(request)))
    }
}

/// The answer to one request. The work is done when it is polled; dropped before, nothing happens.
#[must_use = "futures do nothing unless polled"]
pub struct ApiFuture(BoxFuture<'static, Response<ApiBody>>);

impl fmt::Debug for ApiFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiFuture").finish_non_exhaustive()
    }
}

impl Future for ApiFuture {
    type Output = Result<Response<ApiBody>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx).map(Ok)
    }
}

type Clock = Box<dyn Fn() -> Timestamp + Send + Sync>;

/// What can be chosen about an [`EmbeddedApiServer`].
#[must_use = "a builder does nothing until `build`"]
pub struct Builder {
    clock: Option<Clock>,
    seed: Option<u64>,
    garbage_collection: bool,
    history_limit: usize,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("seed", &self.seed)
            .field("garbage_collection", &self.garbage_collection)
            .field("history_limit", &self.history_limit)
            .finish_non_exhaustive()
    }
}

impl Builder {
    /// Where timestamps come from.
    ///
    /// By default it is the wall clock at the time of [`build`](Self::build), moved on by tokio's clock: under paused
    /// time an hour of virtual time moves timestamps by an hour. Outside a tokio runtime tokio's clock is the
    /// system's, so that a server may be built before the runtime is.
    pub fn clock(mut self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.clock = Some(Box::new(clock));
        self
    }

    /// Fixes uids and generated names. By default every server has its own random seed.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Whether dependents go when their owners do (by default they do).
    pub fn garbage_collection(mut self, collect: bool) -> Self {
        self.garbage_collection = collect;
        self
    }

    /// How many changes of each kind of object are kept for watches (by default 10,000). A watch from an older version
    /// is answered with 410 Expired.
    pub fn history_limit(mut self, changes: usize) -> Self {
        self.history_limit = changes;
        self
    }

    /// A server of its own.
    #[must_use]
    pub fn build(self) -> EmbeddedApiServer {
        let source = Source::new(self.clock, self.seed);
        let mut state = State::new(source, self.history_limit, self.garbage_collection);
        for name in FIRST_NAMESPACES {
            first_namespace(&mut state, name);
        }
        EmbeddedApiServer { shared: Arc::new(Shared { state: Mutex::new(state) }) }
    }
}

fn first_namespace(state: &mut State, name: &str) {
    let Some(kind) = state.registry.find("", "v1", NAMESPACES) else { return };
    let mut object = json!({
        "apiVersion": "v1",
        "kind": Kind::clone(&kind).kind,
        "metadata": {"name": name, "uid": state.source.uid(), "creationTimestamp": state.source.stamp()},
    });
    (kind.default)(&mut object);
    (kind.on_create)(&mut object);
    let place = Place { storage: NAMESPACES.into(), key: store::key(None, name) };
    state.put(&place, object);
    state.settle();
}
