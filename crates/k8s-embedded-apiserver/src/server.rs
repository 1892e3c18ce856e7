//! The service: takes HTTP requests, hands them to the verbs, writes the answers.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes};
use futures::StreamExt as _;
use futures::future::{BoxFuture, ready};
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HOST,
    HeaderValue, IF_NONE_MATCH, LOCATION, RETRY_AFTER, USER_AGENT, VARY, WARNING,
};
use http::request::Parts;
use http::uri::{Authority, PathAndQuery};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, Limited};
use serde_json::Value;
use tower::{BoxError, Service};

use crate::admission::{self, Session};
use crate::api_body::ApiBody;
use crate::auth;
use crate::background::{self, Background};
use crate::body;
use crate::builder::Builder;
use crate::discovery::{self, Asked, Reply};
use crate::encoding::{self, Encoding, Format};
use crate::finish::Finish;
use crate::lifecycle::State;
use crate::query::Query;
use crate::routes::{Route, Target, route};
use crate::status::Failure;
use crate::table::{self, IncludeObject, Rendering, Representation};
use crate::validation;
use crate::verbs::{self, Answer, Call};
use crate::watch;

/// How long a read waits for a version that has not been reached, as on a real server.
const VERSION_PATIENCE: Duration = Duration::from_secs(3);

/// How long a request may take to send its body, as on a real server.
const BODY_PATIENCE: Duration = Duration::from_secs(60);

/// A Kubernetes API server inside the process.
///
/// A handle: clones are the same server. It is a [`tower::Service`] that goes behind `kube::Client::new`:
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), kube::Error> {
/// use k8s_embedded_apiserver::EmbeddedApiServer;
/// use k8s_openapi::api::core::v1::Namespace;
/// use kube::{Api, Client};
///
/// let server = EmbeddedApiServer::new();
/// let client = Client::new(server.clone(), "default");
/// let namespaces = Api::<Namespace>::all(client).list(&Default::default()).await?;
/// assert_eq!(namespaces.items.len(), 4);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct EmbeddedApiServer {
    shared: Arc<Shared>,
    webhooks: Arc<admission::Client>,
}

/// The state and its lock.
pub(crate) struct Shared {
    state: Mutex<State>,
    background: Background,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Shared {
    pub(crate) fn background(&self) -> &Background {
        &self.background
    }

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
    /// A server with the objects that every cluster starts with. See [`Builder`] for what can be chosen.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Chooses the clock and the seed, users and what they may, webhooks, controllers and limits.
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(crate) fn with_state(state: State, webhooks: admission::Client) -> Self {
        let state = Mutex::new(state);
        Self {
            shared: Arc::new(Shared {
                state,
                background: Background::default(),
            }),
            webhooks: Arc::new(webhooks),
        }
    }

    async fn answer<B>(self, request: Request<B>) -> Response<ApiBody>
    where
        B: Body,
        B::Data: Buf,
        B::Error: Into<BoxError>,
    {
        let (parts, body) = request.into_parts();
        let header = |name| {
            let value = parts.headers.get(name);
            value.and_then(|value: &HeaderValue| value.to_str().ok())
        };
        let wire = Wire::new(&parts);
        let path = parts.uri.path();
        // The caller first: who may do nothing learns nothing of what there is.
        let routed = self.shared.with(|state| {
            let user = auth::caller(state, &parts)?;
            Ok((user, route(path, &state.registry)))
        });
        let (user, route) = match routed {
            Ok((user, route)) => (Some(user), route),
            Err(failure) => (None, Route::Refused(failure)),
        };
        match route {
            Route::Target(target) if is_unserved(&target) => {
                wire.refuse(&Failure::no_such_resource())
            }
            Route::Target(target) if is_unrouted(&parts.method, &target) => {
                if target.kind.is_custom() {
                    plain_not_found()
                } else {
                    wire.refuse(&Failure::method_not_allowed())
                }
            }
            Route::Target(target) => {
                let writes = !matches!(parts.method, Method::GET | Method::HEAD);
                let named = check_name(&parts.method, &target);
                let body = match named {
                    Ok(()) => read_body(body).await,
                    Err(failure) => Err(failure),
                };
                let call = body.map(|body| Call {
                    method: parts.method.clone(),
                    target,
                    query: Query::parse(parts.uri.query()),
                    // What is no text is no media type, and not the absence of one.
                    content_type: parts
                        .headers
                        .get(CONTENT_TYPE)
                        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()),
                    user_agent: header(USER_AGENT).filter(|_| writes).map(String::from),
                    body,
                    user: user.unwrap_or_default(),
                });
                match call {
                    Ok(call) => self.resource(call, &wire).await,
                    Err(failure) => wire.refuse(&failure),
                }
            }
            Route::Refused(failure) => wire.refuse(&failure),
            Route::PlainNotFound => plain_not_found(),
            Route::Malformed => plain(400, "400 Bad Request".into()),
            Route::Incomplete => incomplete(&parts),
            Route::Other => self.other(&parts, &wire),
        }
    }

    /// A request for objects.
    async fn resource(&self, call: Call, wire: &Wire<'_>) -> Response<ApiBody> {
        let kind = call.kind();
        let of_version = kind.custom.as_ref().map(|custom| custom.warning.clone());
        let warning = of_version.unwrap_or_else(|| kind.deprecated.map(String::from));
        let mut session = Session::default();
        let mut response = match self.try_resource(&call, wire, &mut session).await {
            Ok(response) => response,
            Err(failure) => wire.refuse(&failure),
        };
        for text in warning.into_iter().chain(session.take_warnings()) {
            warn(&mut response, &text);
        }
        response
    }

    async fn try_resource(
        &self,
        call: &Call,
        wire: &Wire<'_>,
        session: &mut Session,
    ) -> Result<Response<ApiBody>, Failure> {
        if !call.kind().is_custom() {
            let is_watchable = call.target.name.is_none() || call.target.watch;
            table::route(wire.accept, is_watchable && call.method == Method::GET)?;
        }
        let (encoding, representation) = Representation::negotiate(wire.accept, call.shown_kind())?;
        let answer = self.handle(call, session).await?;
        let include = match representation {
            Representation::Table(_) => {
                IncludeObject::parse(call.query.get("includeObject").unwrap_or_default())?
            }
            _ => IncludeObject::default(),
        };
        let rendering = Rendering::new(representation, include, call.shown_kind().clone());
        self.write(call, answer, rendering, wire, encoding)
    }

    /// Does what is asked for, after a while if it asks for a version to come.
    async fn handle(&self, call: &Call, session: &mut Session) -> Result<Answer, Failure> {
        let mut left = None;
        loop {
            let questions = session.take_open();
            if !questions.is_empty() {
                self.webhooks.ask(questions, session).await;
            }
            let (answer, written) = self.shared.with(|state| {
                let answer = attempt(state, call, session);
                let written = match answer {
                    Ok(Answer::NotYet(_)) => Some(state.store.written()),
                    _ => None,
                };
                (answer, written)
            });
            background::attend(&self.shared);
            if session.waits() {
                continue;
            }
            let (Ok(Answer::NotYet(wanted)), Some(mut written)) = (&answer, written) else {
                return answer;
            };
            let deadline =
                *left.get_or_insert_with(|| tokio::time::Instant::now() + VERSION_PATIENCE);
            let (cached, seen) = self
                .shared
                .with(|state| (state.store.cached_version(), state.store.seen_at(*wanted)));
            if tokio::time::Instant::now() >= deadline {
                let failure = Failure::version_too_large(*wanted, cached);
                return if call.is_watch() {
                    Ok(Answer::WatchFailed(failure))
                } else {
                    Err(failure)
                };
            }
            // Whichever comes first: another write, the watch cache, or the end of patience.
            let until = seen.map_or(deadline, |seen| seen.min(deadline));
            let _ = tokio::time::timeout_at(until, written.changed()).await;
        }
    }

    fn write(
        &self,
        call: &Call,
        answer: Answer,
        rendering: Rendering,
        wire: &Wire<'_>,
        encoding: Encoding,
    ) -> Result<Response<ApiBody>, Failure> {
        let whole = rendering.is_whole() && encoding.is_plain();
        let now = || self.shared.with(|state| state.source.now());
        Ok(match answer {
            Answer::Object {
                code,
                object,
                warnings,
            } => {
                let mut response = match object {
                    item if whole => respond(code, encoding, ApiBody::from(item.line())),
                    item => written(code, encoding, &rendering.object(item.into_value(), now())?),
                };
                for text in warnings {
                    warn(&mut response, &text);
                }
                response
            }
            Answer::List(list) if whole => {
                respond(200, encoding, ApiBody::from(list.text(&call.target.kind)))
            }
            Answer::List(list) => written(200, encoding, &rendering.list(list, now())?),
            Answer::Other { code, object } => written(code, encoding, &object),
            Answer::Watch(_) | Answer::WatchFailed(_) if !encoding.format.streams() => {
                return Err(Failure::not_acceptable(table::STREAM_TYPES));
            }
            Answer::Watch(plan) => {
                // Of watches only those that begin with a list are compressed.
                let compressed = wire.gzip && plan.end_told;
                let stream = watch::stream(self.shared.clone(), plan, rendering, encoding);
                if !compressed {
                    return Ok(streamed(encoding, ApiBody::stream(stream)));
                }
                let mut gzip = encoding::GzipStream::new();
                let pieces = stream
                    .map(Some)
                    .chain(futures::stream::once(async { None }))
                    .filter_map(move |frame| ready(gzip.next(frame.as_ref())));
                let mut response = streamed(encoding, ApiBody::stream(pieces));
                tell_gzip(&mut response);
                response
            }
            Answer::WatchFailed(failure) => {
                streamed(encoding, ApiBody::stream(watch::failed(&failure, encoding)))
            }
            Answer::NotYet(wanted) => {
                return Err(Failure::version_too_large(
                    wanted,
                    self.shared.with(|state| state.store.version()),
                ));
            }
        })
    }

    /// A request for what is no resource: versions, groups, documents.
    fn other(&self, parts: &Parts, wire: &Wire<'_>) -> Response<ApiBody> {
        let resources = || {
            self.shared
                .with(|state| crate::served::resources(&state.registry))
        };
        let text = |name| {
            parts
                .headers
                .get(name)
                .and_then(|value| value.to_str().ok())
        };
        let asked = Asked {
            method: &parts.method,
            path: parts.uri.path(),
            query: parts.uri.query(),
            accept: wire.accept,
            // HTTP/2 has it in the URI.
            host: parts
                .uri
                .authority()
                .map(Authority::as_str)
                .or_else(|| text(HOST))
                .unwrap_or_default(),
        };
        match discovery::reply(&asked, resources) {
            Some(Reply::Tagged(content_type, value)) => {
                tagged(content_type, &value, text(IF_NONE_MATCH))
            }
            Some(Reply::Indented(content_type, value)) => typed(
                200,
                content_type,
                ApiBody::from(Bytes::from(format!("{value:#}"))),
            ),
            Some(Reply::Metrics(text)) => typed(
                200,
                "text/plain; version=0.0.4; charset=utf-8; escaping=underscores",
                ApiBody::from(Bytes::from(text)),
            ),
            Some(Reply::Object(encoding, value)) => written(200, encoding, &value),
            Some(Reply::Moved(to)) => {
                let mut response = typed(301, "application/json", ApiBody::default());
                if let Ok(to) = HeaderValue::from_str(&to) {
                    response.headers_mut().insert(LOCATION, to);
                }
                response
            }
            Some(Reply::Nothing) => {
                let mut response = Response::new(ApiBody::default());
                *response.status_mut() = StatusCode::NOT_FOUND;
                response
            }
            Some(Reply::Json(content_type, value)) => typed(
                200,
                content_type,
                ApiBody::from(Bytes::from(value.to_string())),
            ),
            Some(Reply::Text(text)) => typed(
                200,
                "text/plain; charset=utf-8",
                ApiBody::from(Bytes::from(text)),
            ),
            Some(Reply::Protobuf(content_type, bytes)) => {
                typed(200, content_type, ApiBody::from(Bytes::from(bytes)))
            }
            Some(Reply::Failure(failure)) => wire.refuse(&failure),
            None => plain_not_found(),
        }
    }
}

/// A document that clients keep: not sent again to one that names its tag.
fn tagged(content_type: &'static str, value: &Value, known: Option<&str>) -> Response<ApiBody> {
    let text = if content_type.starts_with("application/yaml") {
        let yaml = Encoding {
            format: Format::Yaml,
            pretty: false,
        };
        yaml.write(value)
    } else {
        Bytes::from(value.to_string())
    };
    let tag = format!("\"{:016X}\"", discovery::fingerprint(&text));
    let mut response = if known.is_some_and(|known| known == tag) {
        let mut response = Response::new(ApiBody::default());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        typed(200, content_type, ApiBody::from(text))
    };
    let headers = response.headers_mut();
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public"));
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    response
}

/// Does what is asked for, as far as it gets without asking webhooks.
fn attempt(state: &mut State, call: &Call, session: &mut Session) -> Result<Answer, Failure> {
    let writes = !matches!(call.method, Method::GET | Method::HEAD);
    if !writes || !admission::has_webhooks(state) {
        return verbs::handle(state, call);
    }
    session.restart();
    let fixed = *session.fixed.get_or_insert_with(|| state.source.fix());
    let rng = state.source.begin(fixed);
    std::mem::swap(&mut state.admission.session, session);
    let answer = verbs::handle(state, call);
    std::mem::swap(&mut state.admission.session, session);
    state.source.resume(rng);
    answer
}

/// How the answer to a request is to be written.
struct Wire<'a> {
    accept: &'a str,
    gzip: bool,
}

impl<'a> Wire<'a> {
    fn new(parts: &'a Parts) -> Self {
        let header = |name| {
            let value = parts.headers.get(name);
            value
                .and_then(|value: &HeaderValue| value.to_str().ok())
                .unwrap_or_default()
        };
        Self {
            accept: header(ACCEPT),
            gzip: asks_for_gzip(&parts.headers),
        }
    }

    fn refuse(&self, failure: &Failure) -> Response<ApiBody> {
        let encoding = table::for_errors(self.accept);
        let mut response = written(failure.code, encoding, &failure.to_json());
        for text in &failure.warnings {
            warn(&mut response, text);
        }
        if let Some(seconds) = failure.retry_after() {
            let seconds = HeaderValue::from(seconds);
            response.headers_mut().insert(RETRY_AFTER, seconds);
        }
        response
    }
}

/// Objects of a namespaced kind can be listed over all namespaces, but not written there. Only custom resources know
/// HEAD.
fn is_unrouted(method: &Method, target: &Target) -> bool {
    match *method {
        Method::GET => false,
        Method::HEAD => !target.kind.is_custom(),
        _ => target.kind.namespaced && target.namespace.is_none(),
    }
}

/// What is made in a namespace and never kept, such as bindings and reviews, is not served over all namespaces.
fn is_unserved(target: &Target) -> bool {
    let is_made_alone = target.kind.verbs == ["create"];
    is_made_alone && target.kind.namespaced && target.namespace.is_none()
}

/// Names that a path cannot tell from its parts lead to no object.
fn check_name(method: &Method, target: &Target) -> Result<(), Failure> {
    let is_looked_up = matches!(
        *method,
        Method::GET | Method::PUT | Method::PATCH | Method::DELETE
    );
    let name = target.name.as_deref().filter(|_| is_looked_up);
    let wrong = name.map(validation::path_segment).unwrap_or_default();
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Failure::bad_request(format!(
        "Name parameter invalid: {}: {}",
        k8s_api_schema::quote(name.unwrap_or_default()),
        wrong.join(";")
    )))
}

async fn read_body<B>(body: B) -> Result<Bytes, Failure>
where
    B: Body,
    B::Data: Buf,
    B::Error: Into<BoxError>,
{
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    if body.size_hint().lower() > body::LIMIT as u64 {
        return Err(Failure::request_too_large(body::LIMIT));
    }
    let read = Limited::new(body, body::LIMIT).collect();
    let Ok(read) = tokio::time::timeout(BODY_PATIENCE, read).await else {
        return Err(Failure::not_in_time());
    };
    match read {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => {
            Err(Failure::request_too_large(body::LIMIT))
        }
        Err(error) => Err(Failure::bad_request(format!(
            "the body of the request could not be read: {error}"
        ))),
    }
}

fn typed(code: u16, content_type: &'static str, body: ApiBody) -> Response<ApiBody> {
    let mut response = Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn respond(code: u16, encoding: Encoding, body: ApiBody) -> Response<ApiBody> {
    typed(code, encoding.format.media_type(), body)
}

fn streamed(encoding: Encoding, body: ApiBody) -> Response<ApiBody> {
    typed(200, encoding.format.stream_type(), body)
}

fn written(code: u16, encoding: Encoding, object: &Value) -> Response<ApiBody> {
    respond(code, encoding, ApiBody::from(encoding.write(object)))
}

fn asks_for_gzip(headers: &HeaderMap) -> bool {
    let value = headers.get(ACCEPT_ENCODING);
    let text = value.and_then(|value| value.to_str().ok());
    text.is_some_and(encoding::is_asked_for)
}

/// Compresses an answer that is large.
fn compress(response: &mut Response<ApiBody>) {
    let Some(compressed) = response.body().full().and_then(encoding::gzip) else {
        return;
    };
    *response.body_mut() = ApiBody::from(compressed);
    tell_gzip(response);
}

fn tell_gzip(response: &mut Response<ApiBody>) {
    let headers = response.headers_mut();
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
}

fn warn(response: &mut Response<ApiBody>, text: &str) {
    if let Ok(value) = HeaderValue::from_str(&format!("299 - {}", k8s_api_schema::quote(text))) {
        response.headers_mut().append(WARNING, value);
    }
}

fn plain_not_found() -> Response<ApiBody> {
    plain(404, "404 page not found\n".into())
}

/// What the real server makes of a path that ends with the prefix of watches.
fn incomplete(parts: &Parts) -> Response<ApiBody> {
    let asked = parts.uri.path_and_query().map_or("", PathAndQuery::as_str);
    let told = format!(
        "Internal Server Error: {}: failed to create RequestInfo: unable to determine kind and namespace from url, {asked}\n",
        k8s_api_schema::quote(asked)
    );
    let told = told
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    plain(500, told)
}

fn plain(code: u16, text: String) -> Response<ApiBody> {
    typed(
        code,
        "text/plain; charset=utf-8",
        ApiBody::from(Bytes::from(text)),
    )
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
        let (server, finish) = (self.clone(), Finish::of(&request));
        let gzip = asks_for_gzip(request.headers());
        ApiFuture(Box::pin(async move {
            let shared = server.shared.clone();
            let response = server.answer(request).await;
            let mut response =
                finish.apply(response, || shared.with(|state| state.source.audit_id()));
            if gzip {
                compress(&mut response);
            }
            response
        }))
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
