//! What the server stores, and how it answers by itself.

use std::collections::BTreeMap;
use std::convert::Infallible;

use bytes::Bytes;
use futures::StreamExt;
use futures::channel::mpsc;
use http::{Method, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use serde_json::{Value, json};

use super::server::{Intercept, Seen};

pub type Answered = Response<UnsyncBoxBody<Bytes, Infallible>>;

#[derive(Default)]
pub struct State {
    version: u64,
    pub uids: u64,
    /// By path.
    pub objects: BTreeMap<String, Value>,
    /// Collection path, resource version, line.
    log: Vec<(String, u64, String)>,
    pub watches: Vec<(String, mpsc::UnboundedSender<String>)>,
    pub seen: Vec<Seen>,
    pub intercept: Option<Intercept>,
}

impl State {
    pub fn store(&mut self, path: &str, mut object: Value, event: &str) {
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

    pub fn serve(&mut self, seen: &Seen) -> Answered {
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
        let items = self
            .objects
            .iter()
            .filter(|(path, _)| is_in(path, &seen.path));
        let items: Vec<&Value> = items.map(|(_, object)| object).collect();
        let metadata = json!({"resourceVersion": self.version.to_string()});
        json_answer(
            200,
            &json!({"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": items}),
        )
    }

    fn watch(&mut self, seen: &Seen) -> Answered {
        let from = seen
            .query
            .split('&')
            .find_map(|part| part.strip_prefix("resourceVersion="));
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
        if object["metadata"]["finalizers"]
            .as_array()
            .is_some_and(Vec::is_empty)
        {
            object["metadata"]
                .as_object_mut()
                .unwrap()
                .remove("finalizers");
        }
        self.store(&seen.path, object.clone(), "MODIFIED");
        json_answer(200, &object)
    }
}

fn not_found() -> Answered {
    json_answer(
        404,
        &status(
            404,
            "NotFound",
            "no such object",
            json!({"kind": "x", "name": "y"}),
        ),
    )
}

/// The last part of a path names a kind rather than an object.
fn is_collection(path: &str) -> bool {
    let parts: Vec<&str> = path.trim_start_matches("/api/v1/").split('/').collect();
    matches!(parts.as_slice(), [_] | ["namespaces", _, _])
}

fn is_in(path: &str, collection: &str) -> bool {
    let Some((parent, _)) = path.rsplit_once('/') else {
        return false;
    };
    if parent == collection {
        return true;
    }
    // All namespaces.
    let kind = |path: &str| path.rsplit('/').next().map(str::to_owned);
    !collection.contains("/namespaces/")
        && parent.contains("/namespaces/")
        && kind(parent) == kind(collection)
}

pub fn respond(code: u16, body: UnsyncBoxBody<Bytes, Infallible>) -> Answered {
    Response::builder().status(code).body(body).unwrap()
}

pub fn full(code: u16, text: String) -> Answered {
    respond(code, Full::new(Bytes::from(text)).boxed_unsync())
}

fn json_answer(code: u16, value: &Value) -> Answered {
    full(code, value.to_string())
}

pub fn status(code: u16, reason: &str, message: &str, details: Value) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "code": code, "reason": reason, "message": message, "details": details,
    })
}
