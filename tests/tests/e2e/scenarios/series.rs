//! Series: which events are one.

use std::time::Duration;

use futures::future::join_all;
use k8s_controller::events::EventType;
use k8s_openapi::api::events::v1::Event as Stored;
use kube::api::{Api, DeleteParams};
use kube::{Resource, ResourceExt as _};
use tracing::Level;

use crate::harness::{Cluster, Script, Widget, Without};

use super::events::{config_map, count, event};

/// One event whose series counts up; a success ends it; the next failure makes a new one.
pub(crate) async fn failing_apply_is_one_series_until_it_succeeds(cluster: Cluster) {
    let script = Script::<Widget, Without>::new().apply(|_, widget| async move {
        if widget.spec.text == "ok" {
            Ok(None)
        } else {
            Err("no host name".into())
        }
    });
    cluster.run(
        cluster
            .controller(cluster.client(), &script)
            .with_event_recorder(cluster.recorder()),
    );
    let widget = cluster.create_widget("w").await;
    let counted = async |index: usize, at_least: i32| {
        cluster
            .eventually(
                &format!("event {index} counted {at_least} times"),
                async || {
                    let events = cluster.events(&widget).await;
                    match events.get(index) {
                        Some(event) if count(event) >= at_least => Ok(events),
                        _ => Err(format!(
                            "{:?}",
                            events.iter().map(count).collect::<Vec<_>>()
                        )),
                    }
                },
            )
            .await
    };
    let events = counted(0, 4).await;
    assert_eq!(events.len(), 1, "one event and not one for each failure");
    let event = &events[0];
    assert_eq!(event.reason.as_deref(), Some("ReconcileFailed"));
    assert_eq!(event.action.as_deref(), Some("Reconcile"));
    assert_eq!(event.type_.as_deref(), Some("Warning"));
    assert_eq!(event.note.as_deref(), Some("no host name"));
    assert_eq!(
        event.reporting_controller.as_deref(),
        Some("e2e.example.com/tests")
    );
    assert_eq!(event.reporting_instance.as_deref(), Some("tests-0"));
    assert!(event.name_any().starts_with("w."), "{}", event.name_any());
    let about = event.regarding.clone().unwrap();
    assert_eq!(
        (about.kind.as_deref(), about.api_version.as_deref()),
        (Some("Widget"), Some("e2e.example.com/v1"))
    );
    assert_eq!(
        (about.name.as_deref(), about.namespace.as_deref()),
        (Some("w"), Some(cluster.namespace()))
    );
    let series = event.series.clone().unwrap();
    assert!(series.last_observed_time.0 >= event.event_time.clone().unwrap().0);

    cluster.set_text("w", "ok").await;
    cluster
        .eventually("the end of failures", async || {
            let before = script.failures().len();
            cluster.pass(Duration::from_millis(500)).await;
            if script.failures().len() == before {
                Ok(())
            } else {
                Err("goes on".into())
            }
        })
        .await;
    let last = count(&cluster.events(&widget).await[0]);
    cluster.set_text("w", "not ok").await;
    let events = counted(1, 2).await;
    assert_eq!(events.len(), 2);
    assert_eq!(count(&events[0]), last, "the old series has ended");
    assert_ne!(events[0].name_any(), events[1].name_any());
    assert!(
        cluster.logs().at(Level::WARN).is_empty(),
        "{}",
        cluster.logs().tail(20)
    );
}

/// A server forgets events after an hour; so does `kubectl delete`.
pub(crate) async fn deleted_event_is_created_again(cluster: Cluster) {
    let recorder = cluster.recorder();
    let map = config_map(&cluster, "m").await;
    for _ in 0..3 {
        recorder.publish(&map, &event("the same")).await.unwrap();
    }
    let events = cluster.events(&map).await;
    assert_eq!(events.iter().map(count).collect::<Vec<_>>(), [3]);
    let api: Api<Stored> = cluster.api();
    api.delete(&events[0].name_any(), &DeleteParams::default())
        .await
        .unwrap();

    recorder.publish(&map, &event("the same")).await.unwrap();
    let again = cluster.events(&map).await;
    assert_eq!(
        again.iter().map(count).collect::<Vec<_>>(),
        [1],
        "created again, and the count restarts"
    );
    assert_ne!(again[0].name_any(), events[0].name_any());
    recorder.publish(&map, &event("the same")).await.unwrap();
    assert_eq!(
        cluster
            .events(&map)
            .await
            .iter()
            .map(count)
            .collect::<Vec<_>>(),
        [2]
    );
    assert!(
        cluster.logs().at(Level::WARN).is_empty(),
        "{}",
        cluster.logs().tail(20)
    );
}

/// Any difference is a new event; equal ones count up, also when they come at once.
pub(crate) async fn equal_events_are_one_series(cluster: Cluster) {
    let recorder = cluster.recorder();
    let map = config_map(&cluster, "m").await;
    let same = event("the same");
    for result in join_all((0..10).map(|_| recorder.publish(&map, &same))).await {
        result.unwrap();
    }
    assert_eq!(
        cluster
            .events(&map)
            .await
            .iter()
            .map(count)
            .collect::<Vec<_>>(),
        [10]
    );

    let mut other = event("another note");
    recorder.publish(&map, &other).await.unwrap();
    other.type_ = EventType::Warning;
    recorder.publish(&map, &other).await.unwrap();
    other.related = Some(map.object_ref(&()));
    recorder.publish(&map, &other).await.unwrap();
    other.reason = "OtherReason".into();
    recorder.publish(&map, &other).await.unwrap();
    other.action = "OtherAction".into();
    recorder.publish(&map, &other).await.unwrap();
    let events = cluster.events(&map).await;
    assert_eq!(
        events.iter().map(count).collect::<Vec<_>>(),
        [10, 1, 1, 1, 1, 1]
    );
    assert_eq!(
        events[3]
            .related
            .as_ref()
            .and_then(|related| related.name.as_deref()),
        Some("m")
    );

    // The series of the window goes on only from the last published one of its reason and action.
    recorder.publish(&map, &same).await.unwrap();
    assert_eq!(cluster.events(&map).await.len(), 7);
}
