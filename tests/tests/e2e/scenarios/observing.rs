//! What spans, observers and events tell of passes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use k8s_controller::events::{Event, EventType};
use k8s_controller::{
    Context, Controller, Outcome, Phase, ReconcileObserver, ReconcileRecord, TraceMetadata,
};
use kube::runtime::controller::Action;
use kube::runtime::watcher;
use kube::{Client, ResourceExt as _};
use serde_json::json;
use tracing::Level;

use crate::harness::{AppError, Cluster, Records, Script, Widget, Without};

/// A controller that uses all of its metadata.
struct Chatty;

#[async_trait]
impl Context for Chatty {
    type Resource = Widget;
    type Error = AppError;

    async fn apply(
        &self,
        _: Client,
        widget: &Widget,
        metadata: &mut TraceMetadata,
    ) -> Result<Option<Action>, AppError> {
        metadata.annotate("widget", widget.name_any());
        metadata.annotate("attempt", 1);
        let step = metadata.step("plan");
        tokio::time::sleep(Duration::from_millis(10)).await;
        step.finish(Outcome::Completed);
        let result: Result<Option<Action>, AppError> =
            Ok(Some(Action::requeue(Duration::from_secs(60))));
        metadata.step("wait").finish_with(&result);
        drop(metadata.step("forgotten"));
        metadata
            .publish_event(Event {
                type_: EventType::Normal,
                reason: "Planned".into(),
                action: "Plan".into(),
                note: Some("all is planned".into()),
                related: None,
            })
            .await;
        metadata.set_outcome(Outcome::Skipped);
        Ok(Some(Action::await_change()))
    }
}

pub(crate) async fn metadata_reaches_span_observer_and_events(cluster: Cluster) {
    let records = Records::default();
    let controller = Controller::namespaced(
        cluster.client(),
        Chatty,
        cluster.namespace(),
        watcher::Config::default(),
    );
    let controller = controller
        .with_name("chatty")
        .with_observer(records.observer());
    cluster.run(controller.with_event_recorder(cluster.recorder()));
    let widget = cluster.create_widget("w").await;
    let event = cluster.latest_event(&widget).await;
    assert_eq!(
        (event.reason.as_deref(), event.note.as_deref()),
        (Some("Planned"), Some("all is planned"))
    );
    cluster
        .eventually("the pass", async || {
            records.of("w").pop().ok_or_else(|| "none".into())
        })
        .await;

    assert_eq!(records.outline("w"), [(Phase::Apply, Outcome::Skipped)]);
    assert_eq!(records.of("w")[0].controller, "chatty");
    let steps = records.steps();
    let expected = [
        ("plan", Outcome::Completed),
        ("wait", Outcome::Waiting),
        ("forgotten", Outcome::Abandoned),
    ];
    assert_eq!(
        steps,
        expected.map(|(step, outcome)| (step.to_owned(), outcome))
    );
    let spans = cluster.logs().spans("reconcile");
    let span = spans
        .iter()
        .find(|span| span.field("resource_name") == Some("w"))
        .unwrap_or_else(|| panic!("{spans:?}"));
    assert_eq!(span.level, Level::INFO);
    for (field, value) in [
        ("resource_type", "Widget"),
        ("controller", "chatty"),
        ("event_type", "apply"),
        ("outcome", "skipped"),
        ("success", "true"),
    ] {
        assert_eq!(span.field(field), Some(value), "{field}: {span}");
    }
    assert!(
        span.field("duration_seconds")
            .unwrap()
            .parse::<f64>()
            .unwrap()
            >= 0.01,
        "{span}"
    );
    let metadata: serde_json::Value =
        serde_json::from_str(span.field("metadata").unwrap()).unwrap();
    assert_eq!(metadata, json!({"widget": "w", "attempt": "1"}));
}

struct Clumsy;

impl ReconcileObserver for Clumsy {
    fn reconciled(&self, _: &ReconcileRecord<'_>) {
        panic!("an observer that panics");
    }
}

pub(crate) async fn panicking_observer_takes_nothing_down(cluster: Cluster) {
    let script = Script::<Widget, crate::harness::Mine>::new();
    let running = cluster.run(
        cluster
            .controller(cluster.client(), &script)
            .with_observer(Arc::new(Clumsy)),
    );
    for name in ["a", "b"] {
        cluster.create_widget(name).await;
        cluster
            .eventually("an apply", async || {
                script
                    .calls(Phase::Apply)
                    .iter()
                    .find(|call| call.name == name)
                    .map(drop)
                    .ok_or_else(|| "none".into())
            })
            .await;
        cluster.delete_widget(name).await;
        cluster.gone(&cluster.widgets(), name).await;
    }
    assert!(running.is_running());
}

/// The name of a controller is its finalizer, else its kind.
pub(crate) async fn default_names(cluster: Cluster) {
    let records = Records::default();
    let with = Script::<Widget, crate::harness::Mine>::new();
    let without = Script::<Widget, Without>::new();
    cluster.run(
        cluster
            .controller(cluster.client(), &with)
            .with_observer(records.observer()),
    );
    cluster.run(
        cluster
            .controller(cluster.client(), &without)
            .with_observer(records.observer()),
    );
    cluster.create_widget("w").await;
    cluster
        .eventually("passes of both", async || {
            let names: BTreeSet<_> = records
                .of("w")
                .into_iter()
                .map(|pass| pass.controller)
                .collect();
            if names.iter().eq(["Widget", "e2e.example.com/mine"]) {
                Ok(())
            } else {
                Err(format!("{names:?}"))
            }
        })
        .await;
}
