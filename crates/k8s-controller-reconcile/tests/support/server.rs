//! An API server in memory, as far as the reconcile loop needs one.
//!
//! Limits: it stores any kind it is asked for, validates nothing, has no selectors, no paging,
//! no subresources, and knows of deletion just finalizers. A `test` for null passes on a missing
//! path and a failed one is a 422 without details, as on a real server. Events are accepted and
//! kept as requests.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use futures::channel::mpsc;
use futures::{StreamExt, stream};
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

type Answered = Response<UnsyncBoxBody<Bytes, Infallible>>;
type Intercept = Box<dyn FnMut(&Seen) -> Reply + Send>;

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
    /// Nothing, ever.
    Never,
}

impl Reply {
    pub fn status(code: u16, reason: &str, details: Value) -> Self {
        Self::With(code, status(code, reason, "as told by the test", details).to_string())
    }
}

fn status(code: u16, reason: &str, message: &str, details: Value) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "code": code, "reason": reason, "message": message, "details": details,
    })
}

#[derive(Default)]
struct State {
    version: u64,
    uids: u64,
    /// By path.
    objects: BTreeMap<String, Value>,
    /// Collection path, resource version, line.
    log: Vec<(String, u64, String)>,
    watches: Vec<(String, mpsc::UnboundedSender<String>)>,
    seen: Vec<Seen>,
    intercept: Option<Intercept>,
}

#[derive(Clone, Default)]
pub struct Server(Arc<Mutex<State>>);

impl Server {
    pub fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move { Ok::<_, Infallible>(server.handle(request).await) }
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
        self.seen().iter().filter(is_event).map(|seen| seen.body.clone()).collect()
    }

    pub fn config_map(&self, namespace: &str, name: &str) -> String {
        let path = config_map_path(namespace, name);
        self.put(&path, json!({"metadata": {"name": name, "namespace": namespace}}));
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
            let count = object["data"]["touched"].as_str().map_or(0, |text| text.parse().unwrap());
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
        let names = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        Some(names.iter().map(|name| name.as_str().unwrap().to_owned()).collect())
    }

    /// Ends all watches, in the middle of this text.
    pub fn cut_watches(&self, text: &str) {
        for (_, watch) in self.state().watches.drain(..) {
            let _ = watch.unbounded_send(text.to_owned());
        }
    }

    async fn handle(&self, request: Request<Body>) -> Answered {
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
        match reply {
            Reply::Normal => self.state().serve(&seen),
            Reply::With(code, text) => full(code, text),
            Reply::Unfinished(code, text) => {
                let text = stream::iter([Ok(http_body::Frame::data(Bytes::from(text)))]);
                respond(code, StreamBody::new(text.chain(stream::pending())).boxed_unsync())
            }
            Reply::Never => std::future::pending().await,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

pub fn config_map_path(namespace: &str, name: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps/{name}")
}

fn respond(code: u16, body: UnsyncBoxBody<Bytes, Infallible>) -> Answered {
    Response::builder().status(code).body(body).unwrap()
}

fn full(code: u16, text: String) -> Answered {
    respond(code, Full::new(Bytes::from(text)).boxed_unsync())
}

fn json_answer(code: u16, value: &Value) -> Answered {
    full(code, value.to_string())
}

impl State {
    fn store(&mut self, path: &str, mut object: Value, event: &str) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let meta = &object["metadata"];
        let gone = !meta["deletionTimestamp"].is_null()
            && meta["finalizers"].as_array().is_none_or(Vec::is_empty);
        if gone {
            self.objects.remove(path);
        } else {
            self.objects.insert(path.to_owned(), object.clone());
        }
        let event = if gone { "DELETED" } else { event };
        let line = format!("{}\n", json!({"type": event, "object": object}));
        self.log.push((path.to_owned(), self.version, line.clone()));
        self.watches.retain(|(collection, watch)| {
            !is_in(path, collection) || watch.unbounded_send(line.clone()).is_ok()
        });
    }

    fn serve(&mut self, seen: &Seen) -> Answered {
        match seen.method {
            Method::POST => json_answer(201, &seen.body),
            Method::PATCH if seen.path.contains("/events/") => json_answer(200, &seen.body),
            Method::PATCH => self.patch(seen),
            Method::GET if seen.is_watch() => self.watch(seen),
            Method::GET if is_collection(&seen.path) => self.list(seen),
            Method::GET => match self.objects.get(&seen.path) {
                Some(object) => json_answer(200, object),
                None => not_found(),
            },
            _ => json_answer(405, &status(405, "MethodNotAllowed", "not here", json!({}))),
        }
    }

    fn list(&self, seen: &Seen) -> Answered {
        let items = self.objects.iter().filter(|(path, _)| is_in(path, &seen.path));
        let items: Vec<&Value> = items.map(|(_, object)| object).collect();
        let metadata = json!({"resourceVersion": self.version.to_string()});
        json_answer(200, &json!({"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": items}))
    }

    fn watch(&mut self, seen: &Seen) -> Answered {
        let from = seen.query.split('&').find_map(|part| part.strip_prefix("resourceVersion="));
        let from: u64 = from.and_then(|text| text.parse().ok()).unwrap_or_default();
        let (sender, receiver) = mpsc::unbounded();
        for (path, version, line) in &self.log {
            if *version > from && is_in(path, &seen.path) {
                sender.unbounded_send(line.clone()).unwrap();
            }
        }
        self.watches.push((seen.path.clone(), sender));
        let frames = receiver.map(|line| Ok(http_body::Frame::data(Bytes::from(line))));
        respond(200, StreamBody::new(frames).boxed_unsync())
    }

    fn patch(&mut self, seen: &Seen) -> Answered {
        let Some(mut object) = self.objects.get(&seen.path).cloned() else {
            return not_found();
        };
        let mut operations = seen.body.as_array().cloned().unwrap_or_default();
        operations.retain(|operation| {
            let missing = |pointer: &str| object.pointer(pointer).is_none_or(Value::is_null);
            !(operation["op"] == "test"
                && operation["value"].is_null()
                && missing(operation["path"].as_str().unwrap()))
        });
        let patch: json_patch::Patch = serde_json::from_value(json!(operations)).unwrap();
        if json_patch::patch(&mut object, &patch).is_err() {
            let message = "the server rejected our request due to an error in our request";
            return json_answer(422, &status(422, "Invalid", message, json!({})));
        }
        if object["metadata"]["finalizers"].as_array().is_some_and(Vec::is_empty) {
            object["metadata"].as_object_mut().unwrap().remove("finalizers");
        }
        self.store(&seen.path, object.clone(), "MODIFIED");
        json_answer(200, &object)
    }
}

fn not_found() -> Answered {
    json_answer(404, &status(404, "NotFound", "no such object", json!({"kind": "x", "name": "y"})))
}

/// The last part of a path names a kind rather than an object.
fn is_collection(path: &str) -> bool {
    let parts: Vec<&str> = path.trim_start_matches("/api/v1/").split('/').collect();
    matches!(parts.as_slice(), [_] | ["namespaces", _, _])
}

fn is_in(path: &str, collection: &str) -> bool {
    let Some((parent, _)) = path.rsplit_once('/') else { return false };
    if parent == collection {
        return true;
    }
    // All namespaces.
    let kind = |path: &str| path.rsplit('/').next().map(str::to_owned);
    !collection.contains("/namespaces/")
        && parent.contains("/namespaces/")
        && kind(parent) == kind(collection)
}
