//! An API server that misbehaves on request: answers that a real one can give, but rarely does.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Method, Request, Response, header};
use http_body_util::{Either, Full};
use kube::client::Body;
use kube::core::Status;
use tower::{BoxError, Service};

/// What happens instead of a request.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// The server answers with this code, reason and message.
    Answer(u16, &'static str, &'static str),
    /// The pass that makes the request panics, as if there were a bug in a library it uses.
    Panic(&'static str),
}

#[derive(Debug)]
struct Rule {
    method: Method,
    path_end: String,
    fault: Fault,
    left: u32,
}

/// The armed faults; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Faults(Arc<Mutex<Vec<Rule>>>);

impl Faults {
    /// Hits the next `times` requests that have this method and a path that ends like this.
    pub fn arm(&self, times: u32, method: Method, path_end: impl Into<String>, fault: Fault) {
        let rule = Rule {
            method,
            path_end: path_end.into(),
            fault,
            left: times,
        };
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(rule);
    }

    /// `server`, with these faults in front of it.
    pub fn in_front_of<S>(&self, server: S) -> FaultyServer<S> {
        FaultyServer {
            faults: self.clone(),
            server,
        }
    }

    fn take(&self, method: &Method, path: &str) -> Option<Fault> {
        let mut rules = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = rules
            .iter()
            .position(|r| r.method == method && path.ends_with(&r.path_end))?;
        rules[at].left -= 1;
        let fault = rules[at].fault;
        rules.retain(|rule| rule.left > 0);
        Some(fault)
    }
}

/// A server with faults, ready for `kube::Client::new`.
#[derive(Clone, Debug)]
pub struct FaultyServer<S> {
    faults: Faults,
    server: S,
}

impl<S, B> Service<Request<Body>> for FaultyServer<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes>,
{
    type Response = Response<Either<Full<Bytes>, B>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.server.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        match self.faults.take(request.method(), request.uri().path()) {
            Some(Fault::Answer(code, reason, message)) => Box::pin(async move {
                let status = Status::failure(message, reason).with_code(code);
                let body = Either::Left(Full::from(serde_json::to_vec(&status)?));
                let response = Response::builder().status(code);
                Ok(response
                    .header(header::CONTENT_TYPE, "application/json")
                    .body(body)?)
            }),
            Some(Fault::Panic(message)) => Box::pin(async move { panic!("{message}") }),
            None => {
                let response = self.server.call(request);
                Box::pin(async move { Ok(response.await.map_err(Into::into)?.map(Either::Right)) })
            }
        }
    }
}
