//! What a new event looks like on the wire.

use std::collections::BTreeSet;

use k8s_controller_events::{Event, EventRecorder, EventType, MAX_NOTE_BYTES, Reporter, Scope};
use k8s_openapi::api::core::v1::{Namespace, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::Timestamp;
use serde_json::json;

use crate::server::{Sent, Server};
use crate::{config_map, event, reference, reporter, set_up};

#[tokio::test(start_paused = true)]
async fn all_fields_are_sent() {
    let server = Server::default();
    let recorder = EventRecorder::new(server.client(), reporter())
        .with_clock(|| Timestamp::new(1_700_000_000, 120_000_000).expect("in range"))
        .with_seed(7);
    let event = Event {
        type_: EventType::Normal,
        reason: "Deployed".into(),
        action: "Apply".into(),
        note: Some("3 replicas".into()),
        related: Some(ObjectReference {
            kind: Some("Deployment".into()),
            name: Some("web-7".into()),
            ..ObjectReference::default()
        }),
    };
    recorder.publish(&config_map("web"), &event).await.unwrap();

    let requests = server.requests();
    let [request] = requests.as_slice() else {
        panic!("{requests:?}")
    };
    assert_eq!(request.method, "POST");
    assert_eq!(
        request.path,
        "/apis/events.k8s.io/v1/namespaces/team-a/events"
    );
    assert_eq!(request.content_type, "application/json");
    let name = request.event_name();
    let suffix = name.strip_prefix("web.").expect("named after the object");
    assert!(
        suffix.len() == 16 && suffix.bytes().all(|b| b.is_ascii_hexdigit()),
        "{name}"
    );
    assert_eq!(
        request.body,
        json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": { "name": name, "namespace": "team-a" },
            "eventTime": "2023-11-14T22:13:20.120000Z",
            "type": "Normal",
            "reason": "Deployed",
            "action": "Apply",
            "note": "3 replicas",
            "regarding": {
                "apiVersion": "v1", "kind": "ConfigMap", "namespace": "team-a",
                "name": "web", "uid": "uid-of-web",
            },
            "related": { "kind": "Deployment", "name": "web-7" },
            "reportingController": "example.com/website",
            "reportingInstance": "pod-0",
        })
    );
}

#[tokio::test(start_paused = true)]
async fn whole_seconds_have_six_fraction_digits() {
    let server = Server::default();
    let recorder = EventRecorder::new(server.client(), reporter())
        .with_clock(|| Timestamp::new(1_700_000_000, 0).expect("in range"));
    recorder
        .publish(&config_map("web"), &event("Broke"))
        .await
        .unwrap();
    recorder
        .publish(&config_map("web"), &event("Broke"))
        .await
        .unwrap();
    let requests = server.requests();
    assert_eq!(requests[0].body["eventTime"], "2023-11-14T22:13:20.000000Z");
    assert_eq!(
        requests[1].body["series"]["lastObservedTime"],
        "2023-11-14T22:13:20.000000Z"
    );
}

#[tokio::test(start_paused = true)]
async fn cluster_scoped_objects_have_their_events_in_default() {
    let (server, recorder) = set_up();
    let object = Namespace {
        metadata: ObjectMeta {
            name: Some("team-a".into()),
            uid: Some("u".into()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    };
    recorder.publish(&object, &event("Broke")).await.unwrap();
    recorder.publish(&object, &event("Broke")).await.unwrap();
    // An empty namespace is none.
    let empty = ObjectReference {
        namespace: Some(String::new()),
        ..reference("node")
    };
    recorder
        .publish_to(&empty, Scope::Ordinary, &event("Broke"))
        .await
        .unwrap();

    let requests = server.requests();
    assert_eq!(
        requests[0].path,
        "/apis/events.k8s.io/v1/namespaces/default/events"
    );
    assert_eq!(requests[0].body["metadata"]["namespace"], "default");
    assert_eq!(requests[0].body["regarding"].get("namespace"), None);
    assert_eq!(requests[1].count(), Some(2));
    assert_eq!(
        requests[2].path,
        "/apis/events.k8s.io/v1/namespaces/default/events"
    );
    assert_eq!(requests[2].body["regarding"].get("namespace"), None);
}

#[tokio::test(start_paused = true)]
async fn the_controller_stands_in_for_the_instance() {
    let server = Server::default();
    let reporter = Reporter {
        controller: "website".into(),
        instance: None,
    };
    let recorder = EventRecorder::new(server.client(), reporter.clone());
    assert_eq!(recorder.reporter(), &reporter);
    recorder
        .publish(&config_map("web"), &event("Broke"))
        .await
        .unwrap();
    assert_eq!(server.requests()[0].body["reportingInstance"], "website");
}

#[tokio::test(start_paused = true)]
async fn names_that_no_event_may_have() {
    let (server, recorder) = set_up();
    let names = ["system:foo", &"n".repeat(253), "Upper", "a_b", "ü"];
    for name in names {
        recorder
            .publish(&config_map(name), &event("Broke"))
            .await
            .unwrap();
    }
    for (request, object) in server.requests().iter().zip(names) {
        assert!(request.event_name().starts_with("event."), "{object}");
        assert_eq!(request.body["regarding"]["name"], object);
    }
}

#[tokio::test(start_paused = true)]
async fn every_event_has_a_name_of_its_own() {
    let (server, recorder) = set_up();
    for i in 0..100 {
        recorder
            .publish(&config_map("web"), &event(&format!("Reason{i}")))
            .await
            .unwrap();
    }
    let requests = server.requests();
    let names: BTreeSet<_> = requests.iter().map(Sent::event_name).collect();
    assert_eq!(names.len(), 100);
}

#[tokio::test(start_paused = true)]
async fn a_seed_gives_the_same_names_again() {
    let mut runs = Vec::new();
    for _ in 0..2 {
        let server = Server::default();
        let recorder = EventRecorder::new(server.client(), reporter()).with_seed(1);
        recorder
            .publish(&config_map("web"), &event("Broke"))
            .await
            .unwrap();
        runs.push(server.requests()[0].event_name().to_owned());
    }
    assert_eq!(runs[0], runs[1]);
}

#[tokio::test(start_paused = true)]
async fn a_long_note_is_cut() {
    let (server, recorder) = set_up();
    let long = Event {
        note: Some("日本".repeat(833)),
        ..event("Broke")
    };
    recorder.publish(&config_map("web"), &long).await.unwrap();
    // Still the same event, although the server has a shorter note.
    recorder.publish(&config_map("web"), &long).await.unwrap();
    let none = Event {
        note: None,
        ..event("Broke")
    };
    recorder.publish(&config_map("web"), &none).await.unwrap();

    let requests = server.requests();
    let sent = requests[0].body["note"].as_str().expect("a note");
    assert!(
        sent.len() <= MAX_NOTE_BYTES && sent.len() > MAX_NOTE_BYTES - 3,
        "{}",
        sent.len()
    );
    assert!(sent.ends_with("..."));
    assert_eq!(requests[1].count(), Some(2));
    assert_eq!(requests[2].body.get("note"), None);
}
