//! What counts into a series, and what is a new event.

use std::time::Duration;

use k8s_controller_events::{Event, EventType, SERIES_WINDOW, Scope};
use k8s_openapi::api::core::v1::ObjectReference;
use serde_json::json;
use tokio::time::advance;

use crate::{config_map, event, reference, set_up};

#[tokio::test(start_paused = true)]
async fn repeats_count_from_two() {
    let (server, recorder) = set_up();
    for _ in 0..4 {
        recorder
            .publish(&config_map("web"), &event("Broke"))
            .await
            .unwrap();
    }
    assert_eq!(server.counts(), [None, Some(2), Some(3), Some(4)]);

    let requests = server.requests();
    let patch = &requests[1];
    assert_eq!(patch.method, "PATCH");
    assert_eq!(patch.content_type, "application/merge-patch+json");
    assert_eq!(
        patch.path,
        format!("{}/{}", requests[0].path, requests[0].event_name())
    );
    let time = &patch.body["series"]["lastObservedTime"];
    assert_eq!(
        patch.body,
        json!({ "series": { "count": 2, "lastObservedTime": time } })
    );

    let events = server.events();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["series"]["count"], 4);
    let stats = recorder.stats();
    assert_eq!(
        (stats.created, stats.patched, stats.sent(), stats.lost()),
        (1, 3, 4, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn the_window_runs_from_the_last_publish() {
    let (server, recorder) = set_up();
    let publish = || async {
        recorder
            .publish(&config_map("web"), &event("Broke"))
            .await
            .unwrap();
    };
    publish().await;
    advance(Duration::from_secs(10 * 60 - 1)).await;
    publish().await;
    advance(Duration::from_secs(10 * 60 - 1)).await;
    publish().await;
    advance(SERIES_WINDOW).await;
    publish().await;
    publish().await;
    assert_eq!(server.counts(), [None, Some(2), Some(3), None, Some(2)]);
}

#[tokio::test(start_paused = true)]
async fn any_difference_is_a_new_event() {
    let base = event("Broke");
    let related = |name: &str| {
        Some(ObjectReference {
            name: Some(name.into()),
            ..ObjectReference::default()
        })
    };
    let others = [
        (
            "type",
            Event {
                type_: EventType::Normal,
                ..base.clone()
            },
        ),
        (
            "reason",
            Event {
                reason: "Other".into(),
                ..base.clone()
            },
        ),
        (
            "action",
            Event {
                action: "Other".into(),
                ..base.clone()
            },
        ),
        (
            "note",
            Event {
                note: Some("it broke!".into()),
                ..base.clone()
            },
        ),
        (
            "no note",
            Event {
                note: None,
                ..base.clone()
            },
        ),
        (
            "empty note",
            Event {
                note: Some(String::new()),
                ..base.clone()
            },
        ),
        (
            "related",
            Event {
                related: related("a"),
                ..base.clone()
            },
        ),
        (
            "no name",
            Event {
                related: Some(ObjectReference::default()),
                ..base.clone()
            },
        ),
    ];
    for (what, other) in others {
        let (server, recorder) = set_up();
        recorder.publish(&config_map("web"), &base).await.unwrap();
        recorder.publish(&config_map("web"), &other).await.unwrap();
        recorder.publish(&config_map("web"), &other).await.unwrap();
        assert_eq!(server.counts(), [None, None, Some(2)], "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn another_note_in_between_ends_the_series() {
    let (server, recorder) = set_up();
    let other = Event {
        note: Some("other".into()),
        ..event("Broke")
    };
    for event in [&event("Broke"), &other, &event("Broke")] {
        recorder.publish(&config_map("web"), event).await.unwrap();
    }
    assert_eq!(server.counts(), [None, None, None]);
    assert_eq!(recorder.tracked_series(), 1);
}

#[tokio::test(start_paused = true)]
async fn another_reason_in_between_does_not() {
    let (server, recorder) = set_up();
    for reason in ["A", "B", "A", "B"] {
        recorder
            .publish(&config_map("web"), &event(reason))
            .await
            .unwrap();
    }
    assert_eq!(server.counts(), [None, None, Some(2), Some(2)]);
}

#[tokio::test(start_paused = true)]
async fn objects_are_told_apart_by_uid() {
    let (server, recorder) = set_up();
    let mut recreated = config_map("web");
    recreated.metadata.uid = Some("another".into());
    recorder
        .publish(&config_map("web"), &event("Broke"))
        .await
        .unwrap();
    recorder.publish(&recreated, &event("Broke")).await.unwrap();
    recorder
        .publish(&config_map("web"), &event("Broke"))
        .await
        .unwrap();
    assert_eq!(server.counts(), [None, None, Some(2)]);
}

#[tokio::test(start_paused = true)]
async fn without_a_uid_by_name() {
    let (server, recorder) = set_up();
    let nameless = |name: &str| ObjectReference {
        uid: None,
        ..reference(name)
    };
    let elsewhere = ObjectReference {
        namespace: Some("team-b".into()),
        ..nameless("web")
    };
    for reference in [nameless("web"), nameless("db"), elsewhere, nameless("web")] {
        recorder
            .publish_to(&reference, Scope::Ordinary, &event("Broke"))
            .await
            .unwrap();
    }
    recorder.forget_scope(&nameless("web"), Scope::Ordinary);
    recorder
        .publish_to(&nameless("web"), Scope::Ordinary, &event("Broke"))
        .await
        .unwrap();
    assert_eq!(server.counts(), [None, None, None, Some(2), None]);
}

#[tokio::test(start_paused = true)]
async fn a_change_of_the_object_does_not_end_the_series() {
    let (server, recorder) = set_up();
    for version in ["1", "2"] {
        let reference = ObjectReference {
            resource_version: Some(version.into()),
            ..reference("web")
        };
        recorder
            .publish_to(&reference, Scope::Ordinary, &event("Broke"))
            .await
            .unwrap();
    }
    assert_eq!(server.counts(), [None, Some(2)]);
}
