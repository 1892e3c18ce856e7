//! An API server in memory, as far as the reconcile loop needs one.
//!
//! Limits: it stores any kind it is asked for, validates nothing, has no selectors, no paging,
//! no subresources, and knows of deletion just finalizers. A `test` for null passes on a missing
//! path and a failed one is a 422 without details, as on a real server. Events are accepted and
//! kept as requests.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Method, Request};
use http_body_util::{BodyExt, StreamBody};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use super::store::{Answered, State, full, respond, status};

pub type Intercept = Box<dyn FnMut(&Seen) -> Reply + Send>;

/// A request as it was received.
#[derive(Clone, Debug)]
pub struct Seen {
    pub method: Method,
    pub path: String,
    pub query: String,
    pub body: Value,
}

impl Seen {
    pub fn is_watch(&self) -> bool {
        self.query.contains("watch=")
    }

    pub fn is_patch(&self) -> bool {
        self.method == Method::PATCH
    }
}

/// What to do with a request.
pub enum Reply {
    /// What the server does.
    Normal,
    /// This status and body.
    With(u16, String),
    /// This status and body, without an end.
    Unfinished(u16, String),
    /// No connection.
    Refused,
    /// Nothing, ever.
    Never,
}

impl Reply {
    pub fn status(code: u16, reason: &str, details: Value) -> Self {
        Self::With(
            code,
            status(code, reason, "as told by the test", details).to_string(),
        )
    }
}

#[derive(Clone, Default)]
pub struct Server(Arc<Mutex<State>>);

impl Server {
    pub fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move { server.handle(request).await }
        });
        Client::new(service, "default")
    }

    /// Decides about each request before the server does.
    pub fn intercept(&self, decide: impl FnMut(&Seen) -> Reply + Send + 'static) {
        self.state().intercept = Some(Box::new(decide));
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.state().seen.clone()
    }

    /// The bodies of the events that were created.
    pub fn events(&self) -> Vec<Value> {
        let is_event = |seen: &&Seen| seen.method == Method::POST && seen.path.ends_with("/events");
        self.seen()
            .iter()
            .filter(is_event)
            .map(|seen| seen.body.clone())
            .collect()
    }

    pub fn config_map(&self, namespace: &str, name: &str) -> String {
        let path = config_map_path(namespace, name);
        self.put(
            &path,
            json!({"metadata": {"name": name, "namespace": namespace}}),
        );
        path
    }

    /// Stores an object as it is, but for a uid and version if it has none.
    pub fn put(&self, path: &str, mut object: Value) {
        let mut state = self.state();
        let known = state.objects.contains_key(path);
        if object["metadata"]["uid"].is_null() && !known {
            state.uids += 1;
            object["metadata"]["uid"] = json!(format!("uid-{}", state.uids));
        }
        state.store(path, object, if known { "MODIFIED" } else { "ADDED" });
    }

    pub fn get(&self, path: &str) -> Option<Value> {
        self.state().objects.get(path).cloned()
    }

    pub fn change(&self, path: &str, change: impl FnOnce(&mut Value)) {
        let mut state = self.state();
        let mut object = state.objects[path].clone();
        change(&mut object);
        state.store(path, object, "MODIFIED");
    }

    pub fn touch(&self, path: &str) {
        self.change(path, |object| {
            let count = object["data"]["touched"]
                .as_str()
                .map_or(0, |text| text.parse().unwrap());
            object["data"]["touched"] = json!((count + 1).to_string());
        });
    }

    pub fn delete(&self, path: &str) {
        let mut state = self.state();
        let mut object = state.objects[path].clone();
        object["metadata"]["deletionTimestamp"] = json!("2024-01-01T00:00:00Z");
        state.store(path, object, "MODIFIED");
    }

    pub fn finalizers(&self, path: &str) -> Option<Vec<String>> {
        let object = self.get(path)?;
        let names = object["metadata"]["finalizers"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        Some(
            names
                .iter()
                .map(|name| name.as_str().unwrap().to_owned())
                .collect(),
        )
    }

    /// Ends all watches, in the middle of this text.
    pub fn cut_watches(&self, text: &str) {
        for (_, watch) in self.state().watches.drain(..) {
            let _ = watch.unbounded_send(text.to_owned());
        }
    }

    async fn handle(&self, request: Request<Body>) -> io::Result<Answered> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let seen = Seen {
            method: parts.method,
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            body: serde_json::from_slice(&body).unwrap_or_default(),
        };
        let intercept = self.state().intercept.take();
        let reply = match intercept {
            Some(mut decide) => {
                // Without the lock: it may want to change objects.
                let reply = decide(&seen);
                self.state().intercept.get_or_insert(decide);
                reply
            }
            None => Reply::Normal,
        };
        self.state().seen.push(seen.clone());
        Ok(match reply {
            Reply::Normal => self.state().serve(&seen),
            Reply::With(code, text) => full(code, text),
            Reply::Unfinished(code, text) => {
                let text = stream::iter([Ok(http_body::Frame::data(Bytes::from(text)))]);
                respond(
                    code,
                    StreamBody::new(text.chain(stream::pending())).boxed_unsync(),
                )
            }
            Reply::Refused => return Err(io::ErrorKind::ConnectionRefused.into()),
            Reply::Never => std::future::pending().await,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

pub fn config_map_path(namespace: &str, name: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps/{name}")
}
