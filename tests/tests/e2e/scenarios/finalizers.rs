//! Finalizers: added, kept while cleanup waits, removed, guarded against concurrent writers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use http::Method;
use k8s_controller::{Controller, Outcome, Phase};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::controller::Action;
use kube::runtime::watcher;
use serde_json::json;
use tracing::Level;

use crate::harness::script::Finalizer as _;
use crate::harness::{Cluster, Fault, Mine, Other, Records, Script, Undomained, Widget};

pub(super) const MINE: &str = Mine::NAME.unwrap();
pub(super) const OTHER: &str = Other::NAME.unwrap();
/// A delay that no scenario waits for: what happens earlier did not come from the error action.
pub(super) const NEVER: Duration = Duration::from_secs(600);

/// A cleanup that asks to be run again so many times before it is done.
fn waiting(
    times: u32,
    delay: Duration,
) -> impl Fn(kube::Client, Widget) -> std::future::Ready<crate::harness::script::Done> {
    let calls = AtomicU32::new(0);
    move |_, _| {
        let wait = calls.fetch_add(1, Ordering::Relaxed) < times;
        std::future::ready(Ok(wait.then(|| Action::requeue(delay))))
    }
}

pub(super) async fn finalizers(cluster: &Cluster, name: &str) -> Vec<String> {
    cluster
        .widgets()
        .get_opt(name)
        .await
        .unwrap()
        .map(|widget| widget.finalizers().to_vec())
        .unwrap_or_default()
}

pub(super) async fn until_finalizers(cluster: &Cluster, name: &str, expected: &[&str]) {
    cluster
        .eventually(&format!("finalizers {expected:?}"), async || {
            let seen = finalizers(cluster, name).await;
            if seen == expected {
                Ok(())
            } else {
                Err(format!("{seen:?}"))
            }
        })
        .await;
}

pub(super) async fn until_applied(cluster: &Cluster, script: &Script<Widget, Mine>) {
    cluster
        .eventually("an apply", async || {
            script
                .calls(Phase::Apply)
                .first()
                .map(drop)
                .ok_or_else(|| "none".into())
        })
        .await;
}

pub(super) async fn set_finalizers(cluster: &Cluster, name: &str, finalizers: &[&str]) {
    let patch = Patch::Merge(json!({"metadata": {"finalizers": finalizers}}));
    cluster
        .widgets()
        .patch(name, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

pub(crate) async fn added_then_cleanup_waits_twice_then_gone(cluster: Cluster) {
    let records = Records::default();
    let script = Script::<Widget, Mine>::new().cleanup(waiting(2, Duration::from_millis(300)));
    cluster.run(
        cluster
            .controller(cluster.client(), &script)
            .with_observer(records.observer()),
    );

    cluster.create_widget("w").await;
    until_finalizers(&cluster, "w", &[MINE]).await;
    cluster
        .eventually("an apply", async || {
            script
                .calls(Phase::Apply)
                .first()
                .map(drop)
                .ok_or_else(|| "none".into())
        })
        .await;
    assert!(script.calls(Phase::Cleanup).is_empty());

    cluster.delete_widget("w").await;
    cluster
        .eventually("a waiting cleanup", async || {
            match script.calls(Phase::Cleanup).len() {
                0 => Err("no cleanup".into()),
                _ => Ok(()),
            }
        })
        .await;
    assert_eq!(
        finalizers(&cluster, "w").await,
        [MINE],
        "a cleanup that is not done keeps the finalizer"
    );
    cluster.gone(&cluster.widgets(), "w").await;

    cluster.pass(Duration::from_secs(1)).await;
    let cleanups = script.calls(Phase::Cleanup);
    assert_eq!(
        cleanups.len(),
        3,
        "two that wait and one that is done: {cleanups:?}"
    );
    let spread = cleanups[2].at - cleanups[0].at;
    assert!(
        spread >= Duration::from_millis(600),
        "each wait is honoured: {spread:?}"
    );
    let outline = records.outline("w");
    assert_eq!(outline[0], (Phase::Init, Outcome::Completed), "{outline:?}");
    // No time was given for the next apply: the default is a requeue in the far future, which is waiting.
    let applied = outline
        .iter()
        .filter(|(phase, _)| *phase == Phase::Apply)
        .collect::<Vec<_>>();
    assert!(
        !applied.is_empty()
            && applied
                .iter()
                .all(|(_, outcome)| *outcome != Outcome::Failed),
        "{outline:?}"
    );
    let cleaned: Vec<_> = outline
        .iter()
        .filter(|(phase, _)| *phase == Phase::Cleanup)
        .map(|(_, outcome)| *outcome)
        .collect();
    assert_eq!(
        cleaned,
        [Outcome::Waiting, Outcome::Waiting, Outcome::Completed]
    );
    assert!(
        cluster.logs().at(Level::ERROR).is_empty() && cluster.logs().at(Level::WARN).is_empty()
    );
    assert!(script.failures().is_empty(), "{:?}", script.failures());
}

pub(crate) async fn deletion_while_the_controller_is_down(cluster: Cluster) {
    let first = Script::<Widget, Mine>::new();
    let running = cluster.run(cluster.controller(cluster.client(), &first));
    cluster.create_widget("w").await;
    cluster
        .eventually("an apply", async || {
            first
                .calls(Phase::Apply)
                .first()
                .map(drop)
                .ok_or_else(|| "none".into())
        })
        .await;
    running.kill().await;

    cluster.delete_widget("w").await;
    cluster.pass(Duration::from_millis(500)).await;
    let widget = cluster.widgets().get("w").await.unwrap();
    assert!(widget.metadata.deletion_timestamp.is_some());
    assert_eq!(widget.finalizers(), [MINE]);

    let second = Script::<Widget, Mine>::new();
    cluster.run(cluster.controller(cluster.client(), &second));
    cluster.gone(&cluster.widgets(), "w").await;
    assert_eq!(second.calls(Phase::Cleanup).len(), 1);
    assert!(
        second.calls(Phase::Apply).is_empty(),
        "no apply on what is being deleted"
    );
    assert!(first.calls(Phase::Cleanup).is_empty());
}

pub(crate) async fn two_controllers_with_different_finalizers(cluster: Cluster) {
    let slow = Script::<Widget, Mine>::new().cleanup(waiting(3, Duration::from_millis(200)));
    let quick = Script::<Widget, Other>::new();
    cluster.run(
        cluster
            .controller(cluster.client(), &slow)
            .with_name("slow"),
    );
    cluster.run(
        cluster
            .controller(cluster.client(), &quick)
            .with_name("quick"),
    );

    cluster.create_widget("w").await;
    cluster
        .eventually("both finalizers", async || {
            let mut seen = finalizers(&cluster, "w").await;
            seen.sort();
            if seen == [MINE, OTHER] {
                Ok(())
            } else {
                Err(format!("{seen:?}"))
            }
        })
        .await;
    cluster
        .eventually("both apply", async || {
            let (slow, quick) = (
                slow.calls(Phase::Apply).len(),
                quick.calls(Phase::Apply).len(),
            );
            if slow > 0 && quick > 0 {
                Ok(())
            } else {
                Err(format!("{slow} and {quick}"))
            }
        })
        .await;

    cluster.delete_widget("w").await;
    until_finalizers(&cluster, "w", &[MINE]).await;
    cluster.gone(&cluster.widgets(), "w").await;
    cluster.pass(Duration::from_millis(500)).await;
    // A change by the other controller wakes this one early, so the number of waits has no upper bound of 3.
    assert!(
        slow.calls(Phase::Cleanup).len() >= 4,
        "{:?}",
        slow.calls(Phase::Cleanup)
    );
    assert_eq!(
        quick.calls(Phase::Cleanup).len(),
        1,
        "{:?}",
        quick.calls(Phase::Cleanup)
    );
    assert!(cluster.logs().at(Level::ERROR).is_empty());
}

/// A refusal by validation is an error and not a conflict.
pub(crate) async fn refused_by_validation(cluster: Cluster) {
    let records = Records::default();
    let script = Script::<ConfigMap, Undomained>::new();
    let labelled = watcher::Config::default().labels("e2e=yes");
    let controller = Controller::namespaced(
        cluster.client(),
        script.clone(),
        cluster.namespace(),
        labelled,
    );
    let recorder = cluster.recorder();
    cluster.run(
        controller
            .with_observer(records.observer())
            .with_event_recorder(recorder),
    );
    let mut map = ConfigMap::default();
    map.metadata.name = Some("m".into());
    map.labels_mut().insert("e2e".into(), "yes".into());
    let map = cluster
        .api::<ConfigMap>()
        .create(&PostParams::default(), &map)
        .await
        .unwrap();

    cluster
        .eventually("failures", async || match script.failures().len() {
            few @ 0..3 => Err(format!("{few}")),
            _ => Ok(()),
        })
        .await;
    let failures = script.failures();
    assert!(
        failures.iter().all(|failure| !failure.conflict),
        "{failures:?}"
    );
    assert_eq!(failures[2].consecutive, 2, "counted: {failures:?}");
    assert!(
        failures[0].chain.contains("undomained"),
        "the chain names the finalizer: {}",
        failures[0].chain
    );
    assert!(
        records
            .outline("m")
            .iter()
            .all(|pass| *pass == (Phase::Init, Outcome::Failed)),
        "{:?}",
        records.outline("m")
    );
    assert!(
        script.calls(Phase::Apply).is_empty(),
        "no user code without the finalizer"
    );
    assert!(
        cluster
            .api::<ConfigMap>()
            .get("m")
            .await
            .unwrap()
            .finalizers()
            .is_empty()
    );
    let errors = cluster.logs().at(Level::ERROR);
    assert!(
        errors.iter().any(|line| line
            .field("source")
            .is_some_and(|s| s.contains("undomained"))),
        "{errors:?}"
    );
    let event = cluster.latest_event(&map).await;
    assert_eq!(event.reason.as_deref(), Some("ReconcileFailed"));
}

/// The server adds the finalizer, but the answer gets lost: it is not added twice.
pub(crate) async fn answer_to_adding_is_lost(cluster: Cluster) {
    let (client, faults) = cluster.faulty();
    faults.inject(
        1,
        |sent| sent.is(&Method::PATCH, "/widgets/w"),
        Fault::LoseAnswer,
    );
    let script = Script::<Widget, Mine>::new();
    cluster.run(cluster.controller(client, &script));
    cluster.create_widget("w").await;
    cluster
        .eventually("an apply", async || {
            script
                .calls(Phase::Apply)
                .first()
                .map(drop)
                .ok_or_else(|| "none".into())
        })
        .await;
    assert_eq!(faults.left(), 0);
    assert_eq!(finalizers(&cluster, "w").await, [MINE]);
    cluster.delete_widget("w").await;
    cluster.gone(&cluster.widgets(), "w").await;
}

/// The server removes the finalizer and with it the object, but the answer gets lost: done.
pub(crate) async fn answer_to_removing_is_lost(cluster: Cluster) {
    let (client, faults) = cluster.faulty();
    let script = Script::<Widget, Mine>::new();
    let running = Arc::new(cluster.run(cluster.controller(client, &script)));
    cluster.create_widget("w").await;
    cluster
        .eventually("an apply", async || {
            script
                .calls(Phase::Apply)
                .first()
                .map(drop)
                .ok_or_else(|| "none".into())
        })
        .await;
    faults.inject(
        1,
        |sent| sent.is(&Method::PATCH, "/widgets/w"),
        Fault::LoseAnswer,
    );
    cluster.delete_widget("w").await;
    cluster.gone(&cluster.widgets(), "w").await;
    assert_eq!(faults.left(), 0);
    cluster.pass(Duration::from_secs(2)).await;
    assert_eq!(
        script.calls(Phase::Cleanup).len(),
        1,
        "{:?}",
        script.calls(Phase::Cleanup)
    );
    assert!(running.is_running());
}
