//! What an API server refuses is refused before it is sent, and nothing else is.
//!
//! Both halves of the table were tried on kube-apiserver 1.37.2.

use k8s_controller_events::{Event, EventRecorder, PublishError, Reporter, Scope};
use k8s_openapi::api::core::v1::ObjectReference;

use crate::server::Server;
use crate::{config_map, event, reference, reporter, set_up};

async fn publish(
    reporter: Reporter,
    reference: ObjectReference,
    event: Event,
) -> (Server, Result<(), PublishError>) {
    let server = Server::default();
    let recorder = EventRecorder::new(server.client(), reporter);
    let result = recorder
        .publish_to(&reference, Scope::Ordinary, &event)
        .await;
    (server, result)
}

fn good() -> (Reporter, ObjectReference, Event) {
    (reporter(), reference("web"), event("Broke"))
}

#[tokio::test(start_paused = true)]
async fn fields_of_events() {
    let good_texts = [
        "R".to_owned(),
        "r".repeat(128),
        "é".repeat(64),
        "any text at all \n".to_owned(),
    ];
    for text in good_texts {
        let (reporter, reference, event) = good();
        let event = Event {
            reason: text.clone(),
            action: text.clone(),
            ..event
        };
        let (server, result) = publish(reporter, reference, event).await;
        assert!(result.is_ok(), "{text}: {result:?}");
        assert_eq!(server.requests().len(), 1);
    }
    let bad_texts = [
        (String::new(), "is empty, expected 1 to 128 bytes"),
        ("r".repeat(129), "has 129 bytes, expected at most 128"),
        ("é".repeat(65), "has 130 bytes, expected at most 128"),
    ];
    for (text, expected) in bad_texts {
        for field in ["reason", "action"] {
            let (reporter, reference, mut event) = good();
            *(if field == "reason" {
                &mut event.reason
            } else {
                &mut event.action
            }) = text.clone();
            let (server, result) = publish(reporter, reference, event).await;
            let error = result.unwrap_err();
            assert_eq!(error.to_string(), format!("{field} {expected}"));
            assert_eq!(error.field(), Some(field));
            assert!(server.requests().is_empty());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn fields_of_references() {
    let name = |name: Option<&str>| ObjectReference {
        name: name.map(Into::into),
        ..reference("web")
    };
    let namespace = |namespace: &str| ObjectReference {
        namespace: Some(namespace.into()),
        ..reference("web")
    };
    for (bad, field) in [
        (name(None), "regarding.name"),
        (name(Some("")), "regarding.name"),
        (namespace("a/b"), "regarding.namespace"),
        (namespace("Team"), "regarding.namespace"),
        (namespace("a.b"), "regarding.namespace"),
        (namespace(&"n".repeat(64)), "regarding.namespace"),
    ] {
        let (reporter, _, event) = good();
        let (server, result) = publish(reporter, bad, event).await;
        assert_eq!(result.unwrap_err().field(), Some(field));
        assert!(server.requests().is_empty());
    }
    let bare = ObjectReference {
        name: Some("web".into()),
        ..ObjectReference::default()
    };
    let (reporter, _, event) = good();
    let (_, result) = publish(reporter, bare, event).await;
    assert!(result.is_ok(), "{result:?}");
}

/// Controller, instance, and the field that is refused.
fn reporters() -> Vec<(String, Option<String>, Option<&'static str>)> {
    let controller = Some("reportingController");
    let instance = Some("reportingInstance");
    vec![
        ("simple".into(), None, None),
        ("example.com/name".into(), None, None),
        ("c".repeat(63), None, None),
        ("simple".into(), Some("i".repeat(128)), None),
        ("simple".into(), Some("any text \n é".into()), None),
        (String::new(), None, controller),
        ("a/b/c".into(), None, controller),
        ("-x".into(), None, controller),
        ("with space".into(), None, controller),
        ("c".repeat(64), None, controller),
        ("Example.com/Name".into(), None, controller),
        ("example.com/".into(), None, controller),
        ("/name".into(), None, controller),
        ("simple".into(), Some(String::new()), instance),
        ("simple".into(), Some("i".repeat(129)), instance),
        ("simple".into(), Some("é".repeat(65)), instance),
        // Good for the controller, and too long where it stands in for the instance.
        (format!("{}/name", "d".repeat(124)), None, instance),
        (format!("{}/name", "d".repeat(124)), Some("i".into()), None),
    ]
}

#[tokio::test(start_paused = true)]
async fn fields_of_reporters() {
    for (controller, instance, refused) in reporters() {
        let reporter = Reporter {
            controller,
            instance,
        };
        let server = Server::default();
        let checked = EventRecorder::try_new(server.client(), reporter.clone());
        let checked = checked.err().and_then(|error| error.field());
        assert_eq!(checked, refused, "{reporter:?}");

        let (_, reference, event) = good();
        let (server, result) = publish(reporter.clone(), reference, event).await;
        let published = result.err().and_then(|error| error.field());
        assert_eq!(published, refused, "{reporter:?}");
        assert_eq!(
            server.requests().is_empty(),
            refused.is_some(),
            "{reporter:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_bad_reporter_is_logged_at_once() {
    let log = crate::log::Log::capture();
    let server = Server::default();
    let reporter = Reporter {
        controller: "a b".into(),
        instance: None,
    };
    let recorder = EventRecorder::new(server.client(), reporter);
    let lines = log.lines("ERROR");
    assert!(
        lines.len() == 1 && lines[0].contains("reportingController"),
        "{lines:?}"
    );
    recorder
        .publish(&config_map("web"), &event("Broke"))
        .await
        .unwrap_err();
    assert_eq!(recorder.stats().refused, 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_does_not_end_a_series() {
    let (server, recorder) = set_up();
    recorder
        .publish(&config_map("web"), &event("Broke"))
        .await
        .unwrap();
    recorder
        .publish(&config_map("web"), &event(""))
        .await
        .unwrap_err();
    recorder
        .publish(&config_map("web"), &event("Broke"))
        .await
        .unwrap();
    assert_eq!(server.counts(), [None, Some(2)]);
}
