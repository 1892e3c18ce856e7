//! An API server that takes every event at once, and objects to publish events about.

use std::convert::Infallible;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::client::Body;

/// What it answers to all there is: an event with next to nothing in it.
pub(crate) const EVENT: &[u8] =
    br#"{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"e","namespace":"bench"}}"#;

const FORBIDDEN: &[u8] = br#"{"apiVersion":"v1","kind":"Status","metadata":{},"status":"Failure","message":"events.events.k8s.io is forbidden","reason":"Forbidden","code":403}"#;

/// A client of a server that accepts all events and keeps none.
///
/// Has to be called within a tokio runtime.
#[must_use]
pub fn client() -> Client {
    let service = tower::service_fn(|_: Request<Body>| async {
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(EVENT))))
    });
    Client::new(service, "bench")
}

/// A client of a server that refuses all events, as one whose administrator forgot to allow them.
///
/// Has to be called within a tokio runtime.
#[must_use]
pub fn refusing_client() -> Client {
    let service = tower::service_fn(|_: Request<Body>| async {
        let mut refusal = Response::new(Full::new(Bytes::from_static(FORBIDDEN)));
        *refusal.status_mut() = StatusCode::FORBIDDEN;
        Ok::<_, Infallible>(refusal)
    });
    Client::new(service, "bench")
}

/// A ConfigMap of which there is one per number.
#[must_use]
pub fn reference(number: usize) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("ConfigMap".to_owned()),
        namespace: Some("bench".to_owned()),
        name: Some(format!("object-{number}")),
        uid: Some(uid(number)),
        ..ObjectReference::default()
    }
}

/// A uid as a server would give it, of which there is one per number.
#[must_use]
pub fn uid(number: usize) -> String {
    format!("0b6e1f6c-6f0f-4b0e-8a53-{number:012x}")
}
