//! The part of an API server that the recorder talks to, behind a `kube::Client`.
//!
//! It keeps events, answers 409 and 404 with the bodies that a kube-apiserver sends, and refuses
//! times without six fraction digits. It checks nothing else; what a server demands of an event is
//! written down in the tests of validation.

use std::collections::VecDeque;
use std::collections::btree_map::{BTreeMap, Entry};
use std::convert::Infallible;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tower::{BoxError, service_fn};

/// A request that came in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sent {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) content_type: String,
    pub(crate) body: Value,
}

impl Sent {
    /// The count of a patch; none for a new event.
    pub(crate) fn count(&self) -> Option<i64> {
        self.body["series"]["count"].as_i64()
    }

    /// The name of the event that is made or patched.
    pub(crate) fn event_name(&self) -> &str {
        match self.body["metadata"]["name"].as_str() {
            Some(name) => name,
            None => self
                .path
                .rsplit('/')
                .next()
                .expect("a path has a last part"),
        }
    }
}

/// An answer to the next request, in place of the usual one.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// Not done; this Status.
    Refused(Value),
    /// Done; this code and body.
    Body(u16, &'static str),
    /// Done, but the answer never comes.
    Silence,
    /// The usual one, so much later.
    Late(Duration),
    /// The connection breaks before the request is read.
    Broken,
}

#[derive(Clone, Default)]
pub(crate) struct Server(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    requests: Vec<Sent>,
    script: VecDeque<Answer>,
    events: BTreeMap<String, Value>,
}

impl Server {
    pub(crate) fn client(&self) -> Client {
        let server = self.clone();
        let service = service_fn(move |request| server.clone().serve(request));
        Client::new(service, "default")
    }

    /// Answers the next requests so, one each.
    pub(crate) fn script(&self, answers: impl IntoIterator<Item = Answer>) {
        self.0.lock().unwrap().script.extend(answers);
    }

    pub(crate) fn requests(&self) -> Vec<Sent> {
        self.0.lock().unwrap().requests.clone()
    }

    /// For each request `None` for a new event, or the count of a patch.
    pub(crate) fn counts(&self) -> Vec<Option<i64>> {
        self.requests().iter().map(Sent::count).collect()
    }

    /// The events that the server has.
    pub(crate) fn events(&self) -> Vec<Value> {
        self.0.lock().unwrap().events.values().cloned().collect()
    }

    /// What the server does after an hour.
    pub(crate) fn expire_events(&self) {
        self.0.lock().unwrap().events.clear();
    }

    async fn serve(self, request: Request<Body>) -> Result<Response<Body>, BoxError> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let header = parts.headers.get(http::header::CONTENT_TYPE);
        let sent = Sent {
            method: parts.method.to_string(),
            path: parts.uri.path().to_owned(),
            content_type: header.map_or("", |h| h.to_str().unwrap()).to_owned(),
            body: serde_json::from_slice(&body).expect("bodies are JSON"),
        };
        let scripted = {
            let mut state = self.0.lock().unwrap();
            state.requests.push(sent.clone());
            state.script.pop_front()
        };
        let (code, text) = match scripted {
            None => self.handle(&sent),
            Some(Answer::Refused(status)) => (
                u16::try_from(status["code"].as_u64().unwrap())?,
                status.to_string(),
            ),
            Some(Answer::Body(code, text)) => {
                self.handle(&sent);
                (code, text.to_owned())
            }
            Some(Answer::Silence) => {
                self.handle(&sent);
                pending::<Infallible>().await;
                unreachable!()
            }
            Some(Answer::Late(delay)) => {
                tokio::time::sleep(delay).await;
                self.handle(&sent)
            }
            Some(Answer::Broken) => return Err("connection reset by peer".into()),
        };
        Ok(Response::builder()
            .status(code)
            .body(Body::from(text.into_bytes()))?)
    }

    fn handle(&self, sent: &Sent) -> (u16, String) {
        let events = &mut self.0.lock().unwrap().events;
        let name = sent.event_name();
        let answer = match sent.method.as_str() {
            "POST" => {
                check_time(&sent.body["eventTime"]);
                let key = format!("{}/{name}", sent.path);
                match events.entry(key) {
                    Entry::Occupied(_) => already_exists(name),
                    Entry::Vacant(place) => {
                        place.insert(sent.body.clone());
                        json!({ "code": 201, "body": sent.body })
                    }
                }
            }
            "PATCH" => {
                check_time(&sent.body["series"]["lastObservedTime"]);
                match events.get_mut(&sent.path) {
                    None => not_found(name),
                    Some(event) => {
                        event["series"] = sent.body["series"].clone();
                        json!({ "code": 200, "body": event })
                    }
                }
            }
            other => panic!("the recorder sends no {other}"),
        };
        let code = u16::try_from(answer["code"].as_u64().unwrap()).unwrap();
        (code, answer.get("body").unwrap_or(&answer).to_string())
    }
}

/// A server takes exactly six fraction digits.
fn check_time(time: &Value) {
    let time = time.as_str().expect("a time");
    let fraction = time
        .strip_suffix('Z')
        .and_then(|t| t.split_once('.'))
        .expect("a fraction")
        .1;
    assert_eq!(fraction.len(), 6, "{time}");
}

pub(crate) fn already_exists(name: &str) -> Value {
    status(
        409,
        "AlreadyExists",
        &format!("events.events.k8s.io \"{name}\" already exists"),
        &[],
    )
}

fn not_found(name: &str) -> Value {
    status(
        404,
        "NotFound",
        &format!("events.events.k8s.io \"{name}\" not found"),
        &[],
    )
}

pub(crate) fn status(code: u16, reason: &str, message: &str, causes: &[&str]) -> Value {
    let causes: Vec<_> = causes
        .iter()
        .map(|cause| json!({ "reason": cause }))
        .collect();
    json!({
        "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure",
        "code": code, "reason": reason, "message": message,
        "details": { "group": "events.k8s.io", "kind": "events", "causes": causes },
    })
}
