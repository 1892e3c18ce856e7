//! One registry with all metrics, each with some series.

use std::sync::Arc;
use std::time::Duration;

use k8s_controller_observe::{
    ControllerRecord, DequeueRecord, Failure, Observers, Outcome, Phase, QueueRecord, Requeue,
};
use k8s_controller_prometheus::{
    ClientMetrics, ControllerRuntimeMetrics, EventRecorderMetrics, LeaderMetrics, PrometheusMetrics,
};
use prometheus::Registry;

use crate::events::{event, object, recorder};
use crate::subject;

/// What the dashboard's variable of this name stands for.
pub(crate) const PREFIX: &str = "shop";

pub(crate) async fn registry() -> Registry {
    let registry = Registry::new();
    let runtime = ControllerRuntimeMetrics::new();
    let own = PrometheusMetrics::new(PREFIX).unwrap();
    let requests = ClientMetrics::new();
    let (recorder, _) = recorder("example.com/website");
    registry.register(Box::new(runtime.clone())).unwrap();
    registry.register(Box::new(own.clone())).unwrap();
    registry.register(Box::new(requests.clone())).unwrap();
    let leader = LeaderMetrics::new("website", || true);
    registry.register(Box::new(leader)).unwrap();
    let events = EventRecorderMetrics::new(recorder.clone());
    registry.register(Box::new(events)).unwrap();

    let observers = Observers::default()
        .with(Arc::new(runtime))
        .with(Arc::new(own));
    for (controller, concurrency) in [("website", 32), ("a \"quoted\"\\name", 0)] {
        observe(&observers, controller, concurrency);
    }
    recorder
        .publish(&object("front"), &event("Broken"))
        .await
        .unwrap();
    for code in [200, 503] {
        let client = requests.client(&crate::client::answering(code), "192.0.2.1:6443");
        let request = http::Request::get("/x").body(kube::client::Body::empty());
        client.send(request.unwrap()).await.unwrap();
    }
    registry
}

fn observe(observers: &Observers, controller: &str, concurrency: u16) {
    observers.controller_started(&ControllerRecord::new(controller, "Website", concurrency));
    observers.enqueued(&QueueRecord::new(controller, "Website", 1));
    let waited = Duration::from_millis(3);
    observers.dequeued(&DequeueRecord::new(controller, "Website", 0, waited));
    let front = subject(controller, "front");
    for phase in [Phase::Init, Phase::Apply, Phase::Cleanup, Phase::Delete] {
        observers.pass_started(&front.started());
        let took = Duration::from_millis(70);
        observers.step_finished(&front.step_finished("push", Outcome::Completed, took));
        let record = front.reconciled(phase, Outcome::Completed, took);
        observers.reconciled(&match phase {
            Phase::Apply => record.with_requeue(Requeue::After),
            Phase::Cleanup => record.with_failure(Failure::TimedOut),
            _ => record,
        });
    }
    observers.pass_started(&subject(controller, "shop").started());
}

#[tokio::test]
async fn no_object_is_in_a_label() {
    let text = crate::text(&registry().await);
    for name in ["front", "shop\"", "team-a", "Website"] {
        assert!(!text.contains(name), "{name} is in\n{text}");
    }
}
