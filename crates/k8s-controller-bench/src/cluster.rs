//! An API server that lists ConfigMaps, tells of the changes that it is told of, and does nothing.
//!
//! It answers with bytes that were made beforehand: neither time nor memory is spent on keeping
//! objects. A write of any kind is answered with success and changes nothing.

use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use futures::StreamExt;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use http::{Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use crate::events::{EVENT, uid};

/// The finalizer that objects have where a benchmark is about finalizers.
pub const FINALIZER: &str = "bench.example.com/cleanup";

/// The namespace of all objects.
pub const NAMESPACE: &str = "bench";

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// What the watch tells.
#[derive(Debug)]
pub struct Changes(UnboundedSender<Bytes>);

impl Changes {
    /// Sends watch events, as [`watch_events`] makes them. False if nobody watches any more.
    #[must_use]
    pub fn send(&self, events: &Bytes) -> bool {
        self.0.unbounded_send(events.clone()).is_ok()
    }
}

/// A client of a server with `objects`, and what makes the server's watch tell something. There
/// can be one watch.
///
/// Has to be called within a tokio runtime.
#[must_use]
pub fn cluster(objects: &[Value]) -> (Client, Changes) {
    let (changes, watch) = unbounded();
    let server = Server {
        list: list(objects),
        watch: Mutex::new(Some(watch)),
    };
    let service = tower::service_fn(move |request: Request<Body>| {
        let answer = server.answer(&request);
        async move { Ok::<_, Infallible>(answer) }
    });
    (Client::new(service, NAMESPACE), Changes(changes))
}

struct Server {
    list: Bytes,
    watch: Mutex<Option<UnboundedReceiver<Bytes>>>,
}

impl Server {
    fn answer(&self, request: &Request<Body>) -> Answer {
        let watches = request
            .uri()
            .query()
            .is_some_and(|query| query.contains("watch=true"));
        match *request.method() {
            Method::GET if watches => self.watch(),
            Method::GET => once(self.list.clone()),
            // The writer looks at nothing in an object that it gets back.
            _ => once(Bytes::from_static(EVENT)),
        }
    }

    fn watch(&self) -> Answer {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(events) = watch.take() else {
            let mut second = once(Bytes::from_static(b"there can be one watch"));
            *second.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            return second;
        };
        let frames = events.map(|events| Ok(Frame::data(events)));
        Response::new(StreamBody::new(frames).boxed_unsync())
    }
}

fn once(bytes: Bytes) -> Answer {
    Response::new(Full::new(bytes).boxed_unsync())
}

fn list(objects: &[Value]) -> Bytes {
    let list = json!({
        "apiVersion": "v1",
        "kind": "ConfigMapList",
        "metadata": {"resourceVersion": "1"},
        "items": objects,
    });
    Bytes::from(list.to_string())
}

/// A small ConfigMap, of which there is one per number.
#[must_use]
pub fn config_map(number: usize, finalizer: bool) -> Value {
    let finalizers: &[&str] = if finalizer { &[FINALIZER] } else { &[] };
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": format!("object-{number}"),
            "namespace": NAMESPACE,
            "uid": uid(number),
            "resourceVersion": "1",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"app.kubernetes.io/name": "bench"},
            "finalizers": finalizers,
        },
        "data": {"key": "value"},
    })
}

/// Watch events of one type (`ADDED`, `MODIFIED`, `DELETED`) about objects, as they are on the wire.
#[must_use]
pub fn watch_events(type_: &str, objects: &[Value]) -> Bytes {
    let lines = objects
        .iter()
        .map(|object| format!("{}\n", json!({"type": type_, "object": object})));
    Bytes::from(lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use futures::TryStreamExt;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::api::{Api, ListParams, WatchEvent, WatchParams};

    use super::*;

    #[tokio::test]
    async fn it_lists_and_watches_once() {
        let (client, changes) = cluster(&[config_map(0, true), config_map(1, false)]);
        let api = Api::<ConfigMap>::namespaced(client, NAMESPACE);
        let objects = api.list(&ListParams::default()).await.unwrap().items;
        assert_eq!(objects.len(), 2);
        assert_eq!(
            objects[0].metadata.finalizers.as_deref(),
            Some(&[FINALIZER.to_owned()][..])
        );

        let mut watch = Box::pin(api.watch(&WatchParams::default(), "1").await.unwrap());
        assert!(changes.send(&watch_events(
            "MODIFIED",
            &[config_map(0, true), config_map(1, true)]
        )));
        for number in 0..2 {
            let event = watch.try_next().await.unwrap();
            let Some(WatchEvent::Modified(object)) = event else {
                panic!("{event:?}")
            };
            assert_eq!(object.metadata.uid, Some(uid(number)));
        }
        assert!(api.watch(&WatchParams::default(), "1").await.is_err());
    }
}
