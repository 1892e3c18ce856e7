//! Passes that take longer than they may.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::Method;
use k8s_controller::observe::Failure;
use k8s_controller::{Outcome, Phase};
use kube::ResourceExt as _;
use kube::runtime::controller::Action;

use crate::harness::{Cluster, Fault, Mine, Records, Script, Widget, Without};

const LIMIT: Duration = Duration::from_millis(600);

/// It fails with an event and a record and is retried; meanwhile others go on, also when there
/// is room for no more than two passes.
pub(crate) async fn hanging_pass_fails_and_is_retried(cluster: Cluster) {
    let records = Records::default();
    let script = Script::<Widget, Without>::new().apply(|_, widget| async move {
        if widget.spec.text == "hang" {
            pending::<()>().await;
        }
        Ok(Some(Action::await_change()))
    });
    let controller = cluster
        .controller(cluster.client(), &script)
        .with_observer(records.observer())
        .with_concurrency(2)
        .with_pass_timeout(LIMIT);
    let running = cluster.run(controller.with_event_recorder(cluster.recorder()));
    let bad = cluster
        .create_widget_with("bad", |widget| widget.spec.text = "hang".into())
        .await;
    cluster
        .eventually("a pass that hangs", async || {
            let calls = script.calls(Phase::Apply).len();
            (calls > 0).then_some(()).ok_or_else(|| "none".into())
        })
        .await;
    for name in ["a", "b", "c"] {
        cluster.create_widget(name).await;
        cluster
            .eventually("the other objects", async || {
                match records.outline(name).last() {
                    Some((Phase::Apply, Outcome::Completed)) => Ok(()),
                    other => Err(format!("{name}: {other:?}")),
                }
            })
            .await;
    }
    cluster
        .eventually("retries", async || match script.failures().len() {
            few @ 0..2 => Err(format!("{few}")),
            _ => Ok(()),
        })
        .await;
    let passes = records.of("bad");
    for pass in &passes {
        assert_eq!(
            (pass.phase, pass.outcome, pass.failure),
            (Phase::Apply, Outcome::Failed, Some(Failure::TimedOut))
        );
        assert!(pass.duration >= LIMIT, "{:?}", pass.duration);
    }
    assert_eq!(script.failures()[1].consecutive, 1);
    let event = cluster.latest_event(&bad).await;
    assert_eq!(
        (event.type_.as_deref(), event.reason.as_deref()),
        (Some("Warning"), Some("ReconcileTimedOut"))
    );
    assert_eq!(
        event.note.as_deref(),
        Some("the pass did not end within 600ms")
    );

    cluster.set_text("bad", "").await;
    cluster
        .eventually("recovery", async || match records.of("bad").last() {
            Some(pass) if pass.outcome == Outcome::Completed => Ok(()),
            other => Err(format!("{other:?}")),
        })
        .await;
    assert_eq!(cluster.events(&bad).await.len(), 1, "a series");
    assert!(running.is_running());
}

/// The finalizer stays until a cleanup has completed.
pub(crate) async fn hanging_cleanup_keeps_the_finalizer(cluster: Cluster) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let script = Script::<Widget, Mine>::new().cleanup(move |_, _| {
        let hangs = counter.fetch_add(1, Ordering::Relaxed) < 2;
        async move {
            if hangs {
                pending::<()>().await;
            }
            Ok(None)
        }
    });
    let controller = cluster
        .controller(cluster.client(), &script)
        .with_pass_timeout(LIMIT);
    cluster.run(controller.with_event_recorder(cluster.recorder()));
    let widget = cluster.create_widget("w").await;
    cluster
        .eventually("an apply", async || {
            let calls = script.calls(Phase::Apply).len();
            (calls > 0).then_some(()).ok_or_else(|| "none".into())
        })
        .await;
    cluster.delete_widget("w").await;
    let event = cluster.latest_event(&widget).await;
    assert_eq!(
        (event.reason.as_deref(), event.action.as_deref()),
        (Some("CleanupTimedOut"), Some("Cleanup"))
    );
    let finalizers = cluster.widgets().get("w").await.unwrap().finalizers().len();
    assert_eq!(finalizers, 1);
    cluster.gone(&cluster.widgets(), "w").await;
    assert_eq!(calls.load(Ordering::Relaxed), 3);
}

/// A request of the loop itself that is never answered is no end of the controller, and a
/// cleanup that has completed is not run again for it.
pub(crate) async fn hanging_finalizer_requests_time_out(cluster: Cluster) {
    let (client, faults) = cluster.faulty();
    let records = Records::default();
    let script = Script::<Widget, Mine>::new();
    let controller = cluster
        .controller(client, &script)
        .with_observer(records.observer())
        .with_pass_timeout(LIMIT);
    cluster.run(controller);
    let patches = |sent: &crate::harness::faults::Sent| sent.is(&Method::PATCH, "/widgets/");
    faults.inject(1, patches, Fault::Hang);
    cluster.create_widget("w").await;
    cluster
        .eventually("an apply", async || {
            let calls = script.calls(Phase::Apply).len();
            (calls > 0).then_some(()).ok_or_else(|| "none".into())
        })
        .await;
    assert_eq!(records.outline("w")[0], (Phase::Init, Outcome::Failed));
    assert_eq!(records.of("w")[0].failure, Some(Failure::TimedOut));

    faults.inject(2, patches, Fault::Hang);
    cluster.delete_widget("w").await;
    cluster.gone(&cluster.widgets(), "w").await;
    assert_eq!(script.calls(Phase::Cleanup).len(), 1);
    let timed_out = records.of("w").into_iter();
    let timed_out = timed_out
        .filter(|pass| (pass.phase, pass.failure) == (Phase::Cleanup, Some(Failure::TimedOut)));
    assert_eq!(timed_out.count(), 2);
}
