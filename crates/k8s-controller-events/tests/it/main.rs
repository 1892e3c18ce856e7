//! The recorder as its users see it, on an API server of its own kind, in paused time.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod bounds;
mod concurrent;
mod creating;
mod ending;
mod failures;
mod log;
mod model;
mod series;
mod server;
mod validation;

use k8s_controller_events::{Event, EventRecorder, EventType, Reporter};
use k8s_openapi::api::core::v1::{ConfigMap, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;

use server::Server;

/// A recorder on a new server.
fn set_up() -> (Server, EventRecorder) {
    let server = Server::default();
    let recorder = EventRecorder::try_new(server.client(), reporter()).expect("a good reporter");
    (server, recorder)
}

fn reporter() -> Reporter {
    Reporter {
        controller: "example.com/website".into(),
        instance: Some("pod-0".into()),
    }
}

fn config_map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.into()),
            namespace: Some("team-a".into()),
            uid: Some(format!("uid-of-{name}")),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

fn reference(name: &str) -> ObjectReference {
    config_map(name).object_ref(&())
}

fn event(reason: &str) -> Event {
    Event {
        type_: EventType::Warning,
        reason: reason.into(),
        action: "Reconcile".into(),
        note: Some("it broke".into()),
        related: None,
    }
}
