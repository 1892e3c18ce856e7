//! What became of events.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use http::{Request, Response};
use k8s_controller_events::{Event, EventRecorder, EventType, Reporter};
use k8s_controller_prometheus::EventRecorderMetrics;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::client::Body;
use tower::service_fn;

use crate::{assert_line, registry_of};

/// A recorder whose server answers with the code that is set at the time, or never, with 0.
pub(crate) fn recorder(controller: &str) -> (Arc<EventRecorder>, Arc<AtomicU16>) {
    let code = Arc::new(AtomicU16::new(201));
    let answer = code.clone();
    let service = service_fn(move |_: Request<Body>| {
        let code = answer.load(Ordering::Relaxed);
        async move {
            if code == 0 {
                std::future::pending::<()>().await;
            }
            let body = match code {
                201 => r#"{"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {}}"#,
                _ => r#"{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 500}"#,
            };
            let body = Body::from(body.as_bytes().to_vec());
            Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap())
        }
    });
    let reporter = Reporter {
        controller: controller.into(),
        instance: Some("pod-0".into()),
    };
    let client = Client::new(service, "default");
    let recorder = EventRecorder::try_new(client, reporter).unwrap();
    (Arc::new(recorder.with_max_series(1)), code)
}

pub(crate) fn object(name: &str) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.into());
    object.metadata.namespace = Some("team-a".into());
    object.metadata.uid = Some(format!("uid-of-{name}"));
    object
}

pub(crate) fn event(reason: &str) -> Event {
    Event {
        type_: EventType::Warning,
        reason: reason.into(),
        action: "Reconcile".into(),
        note: None,
        related: None,
    }
}

#[tokio::test(start_paused = true)]
async fn each_event_is_counted_where_the_recorder_counts_it() {
    let (recorder, code) = recorder("website");
    let metrics = EventRecorderMetrics::new(recorder.clone());
    let registry = registry_of(&metrics);
    let (another, _) = self::recorder("mail");
    registry
        .register(Box::new(EventRecorderMetrics::new(another)))
        .unwrap();
    let assert_counts = |counts: [u64; 8]| {
        let results = [
            "created",
            "patched",
            "namespace_terminating",
            "refused",
            "timed_out",
            "cancelled",
            "failed",
        ];
        for (result, count) in results.iter().zip(counts) {
            let labels = format!(r#"controller="website",result="{result}""#);
            assert_line(
                &registry,
                &format!("k8s_controller_events_total{{{labels}}} {count}"),
            );
        }
        let evicted = r#"k8s_controller_events_evicted_series_total{controller="website"}"#;
        assert_line(&registry, &format!("{evicted} {}", counts[7]));
    };
    let tracked = r#"k8s_controller_events_tracked_series{controller="website"}"#;

    assert_counts([0; 8]);
    recorder
        .publish(&object("a"), &event("Broken"))
        .await
        .unwrap();
    recorder
        .publish(&object("a"), &event("Broken"))
        .await
        .unwrap();
    assert_counts([1, 1, 0, 0, 0, 0, 0, 0]);
    recorder
        .publish(&object("b"), &event("Broken"))
        .await
        .unwrap();
    recorder
        .publish(&object("b"), &event(""))
        .await
        .unwrap_err();
    assert_counts([2, 1, 0, 1, 0, 0, 0, 1]);
    assert_line(&registry, &format!("{tracked} 1"));

    code.store(500, Ordering::Relaxed);
    recorder
        .publish(&object("b"), &event("Worse"))
        .await
        .unwrap_err();
    code.store(0, Ordering::Relaxed);
    recorder
        .publish(&object("b"), &event("Slow"))
        .await
        .unwrap_err();
    let (object, event) = (object("b"), event("Dropped"));
    let dropped = recorder.publish(&object, &event);
    tokio::time::timeout(Duration::from_millis(1), dropped)
        .await
        .unwrap_err();
    let stats = recorder.stats();
    assert_eq!((stats.timed_out, stats.cancelled, stats.failed), (1, 1, 1));
    assert_counts([2, 1, 0, 1, 1, 1, 1, stats.evicted_series]);
    // Reading twice does not count twice.
    assert_counts([2, 1, 0, 1, 1, 1, 1, stats.evicted_series]);

    tokio::time::advance(k8s_controller_events::SERIES_WINDOW).await;
    assert_line(&registry, &format!("{tracked} 0"));
    assert_line(
        &registry,
        r#"k8s_controller_events_tracked_series{controller="mail"} 0"#,
    );
}
