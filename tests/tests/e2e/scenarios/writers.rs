//! Writers that change an object between our read of it and our patch of its finalizers.

use std::time::Duration;

use http::Method;
use k8s_controller::{Outcome, Phase};
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tracing::Level;

use crate::harness::{Cluster, Fault, Mine, Records, Script, Widget};

use super::finalizers::{MINE, NEVER, finalizers, set_finalizers, until_applied, until_finalizers};

/// Another writer changes the list of finalizers between our read and our patch.
pub(crate) async fn concurrent_writer_while_adding(cluster: Cluster) {
    let records = Records::default();
    let (client, faults) = cluster.faulty();
    let writer = cluster.widgets();
    let intrude = move || {
        let writer = writer.clone();
        async move {
            let patch =
                Patch::Merge(json!({"metadata": {"finalizers": ["e2e.example.com/intruder"]}}));
            writer
                .patch("w", &PatchParams::default(), &patch)
                .await
                .unwrap();
        }
    };
    faults.inject(
        1,
        |sent| sent.is(&Method::PATCH, "/widgets/w"),
        Fault::before(intrude),
    );
    let script = Script::<Widget, Mine>::new().retry(NEVER);
    cluster.run(
        cluster
            .controller(client, &script)
            .with_observer(records.observer()),
    );
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
    assert_eq!(faults.left(), 0, "the conflict was provoked");
    assert_eq!(
        finalizers(&cluster, "w").await,
        ["e2e.example.com/intruder", MINE],
        "nobody's entry is lost"
    );
    assert_conflict_was_quiet(&cluster, &records, &script, Phase::Init);

    cluster.delete_widget("w").await;
    until_finalizers(&cluster, "w", &["e2e.example.com/intruder"]).await;
    let patch = Patch::Merge(json!({"metadata": {"finalizers": []}}));
    cluster
        .widgets()
        .patch("w", &PatchParams::default(), &patch)
        .await
        .unwrap();
    cluster.gone(&cluster.widgets(), "w").await;
}

/// Another writer removes its own entry between our read and our patch, so that ours moves and
/// a third one's takes its place.
pub(crate) async fn concurrent_writer_while_removing(cluster: Cluster) {
    const FIRST: &str = "e2e.example.com/first";
    const LAST: &str = "e2e.example.com/last";
    let records = Records::default();
    let (client, faults) = cluster.faulty();
    let script = Script::<Widget, Mine>::new().retry(NEVER);
    cluster.run(
        cluster
            .controller(client, &script)
            .with_observer(records.observer()),
    );
    cluster
        .create_widget_with("w", |widget| {
            widget.metadata.finalizers = Some(vec![FIRST.into(), MINE.into(), LAST.into()]);
        })
        .await;
    until_applied(&cluster, &script).await;

    let writer = cluster.clone();
    let intrude = move || {
        let writer = writer.clone();
        async move { set_finalizers(&writer, "w", &[MINE, LAST]).await }
    };
    faults.inject(
        1,
        |sent| sent.is(&Method::PATCH, "/widgets/w"),
        Fault::before(intrude),
    );
    cluster.delete_widget("w").await;
    until_finalizers(&cluster, "w", &[LAST]).await;
    assert_eq!(faults.left(), 0, "the conflict was provoked");
    set_finalizers(&cluster, "w", &[]).await;
    cluster.gone(&cluster.widgets(), "w").await;
    let cleanups = script.calls(Phase::Cleanup);
    assert_eq!(
        cleanups.len(),
        1,
        "a cleanup that completed is not run again: {cleanups:?}"
    );
    assert_conflict_was_quiet(&cluster, &records, &script, Phase::Cleanup);
}

/// One failed pass, classified as conflict, logged at info, followed at once by one that is fine.
fn assert_conflict_was_quiet(
    cluster: &Cluster,
    records: &Records,
    script: &Script<Widget, Mine>,
    phase: Phase,
) {
    let passes = records.of("w");
    let failed: Vec<_> = passes
        .iter()
        .filter(|pass| pass.outcome == Outcome::Failed)
        .collect();
    assert_eq!(failed.len(), 1, "{passes:?}");
    assert_eq!(failed[0].phase, phase, "{passes:?}");
    let next = passes.iter().find(|pass| {
        pass.at > failed[0].at || (pass.at == failed[0].at && pass.outcome != Outcome::Failed)
    });
    let next = next.unwrap_or_else(|| panic!("no pass after the conflict: {passes:?}"));
    assert!(
        next.at - failed[0].at < Duration::from_secs(2),
        "retried at once: {passes:?}"
    );
    assert!(
        script.failures().iter().all(|failure| failure.conflict),
        "{:?}",
        script.failures()
    );
    assert!(
        cluster.logs().at(Level::ERROR).is_empty() && cluster.logs().at(Level::WARN).is_empty(),
        "{}",
        cluster.logs().tail(20)
    );
    let told = cluster.logs().at(Level::INFO).into_iter().find(|line| {
        line.field("source")
            .is_some_and(|s| s.contains("finalizer"))
    });
    assert!(
        told.is_some(),
        "no info line with the conflict as source:\n{}",
        cluster.logs().tail(20)
    );
}

/// The object goes between our read and our patch: done, without an error.
pub(crate) async fn gone_while_adding(cluster: Cluster) {
    let records = Records::default();
    let (client, faults) = cluster.faulty();
    let deleter = cluster.clone();
    let delete = move || {
        let cluster = deleter.clone();
        async move { cluster.delete_widget("w").await }
    };
    faults.inject(
        1,
        |sent| sent.is(&Method::PATCH, "/widgets/w"),
        Fault::before(delete),
    );
    let script = Script::<Widget, Mine>::new();
    cluster.run(
        cluster
            .controller(client, &script)
            .with_observer(records.observer()),
    );
    cluster.create_widget("w").await;
    cluster
        .eventually("a pass", async || {
            records.of("w").pop().ok_or_else(|| "none".into())
        })
        .await;
    cluster.pass(Duration::from_secs(1)).await;
    assert_eq!(faults.left(), 0);
    assert!(cluster.widgets().get_opt("w").await.unwrap().is_none());
    assert_eq!(records.outline("w"), [(Phase::Init, Outcome::Completed)]);
    assert!(
        cluster.logs().at(Level::ERROR).is_empty() && cluster.logs().at(Level::WARN).is_empty()
    );
    assert!(script.calls(Phase::Apply).is_empty() && script.failures().is_empty());
}

/// The object begins to be deleted between our read and our patch: no finalizer may be added
/// then, and none is needed.
pub(crate) async fn deleted_while_adding(cluster: Cluster) {
    let records = Records::default();
    let (client, faults) = cluster.faulty();
    let deleter = cluster.clone();
    let delete = move || {
        let cluster = deleter.clone();
        async move { cluster.delete_widget("w").await }
    };
    faults.inject(
        1,
        |sent| sent.is(&Method::PATCH, "/widgets/w"),
        Fault::before(delete),
    );
    let script = Script::<Widget, Mine>::new().retry(NEVER);
    cluster.run(
        cluster
            .controller(client, &script)
            .with_observer(records.observer()),
    );
    let held = vec!["e2e.example.com/hold".to_owned()];
    cluster
        .create_widget_with("w", |widget| {
            widget.metadata.finalizers = Some(held.clone());
        })
        .await;
    cluster
        .eventually("a pass that has nothing to do", async || {
            match records.outline("w").last() {
                Some((Phase::Delete, Outcome::Completed)) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    assert_eq!(records.outline("w")[0], (Phase::Init, Outcome::Failed));
    assert_eq!(finalizers(&cluster, "w").await, held);
    assert!(
        cluster.logs().at(Level::ERROR).is_empty(),
        "a conflict: {}",
        cluster.logs().tail(20)
    );
    assert!(script.calls(Phase::Apply).is_empty() && script.calls(Phase::Cleanup).is_empty());
}

/// Another object has the name between our read and our patch: it is not taken for ours.
pub(crate) async fn recreated_while_adding(cluster: Cluster) {
    let records = Records::default();
    let (client, faults) = cluster.faulty();
    let other = cluster.clone();
    let recreate = move || {
        let cluster = other.clone();
        async move {
            cluster.delete_widget("w").await;
            cluster.create_widget("w").await;
        }
    };
    faults.inject(
        1,
        |sent| sent.is(&Method::PATCH, "/widgets/w"),
        Fault::before(recreate),
    );
    let script = Script::<Widget, Mine>::new().retry(NEVER);
    cluster.run(
        cluster
            .controller(client, &script)
            .with_observer(records.observer()),
    );
    let first = cluster.create_widget("w").await.uid().unwrap();
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
    assert_eq!(records.outline("w")[0], (Phase::Init, Outcome::Failed));
    assert!(
        script
            .calls(Phase::Apply)
            .iter()
            .all(|call| call.uid != first),
        "{:?}",
        script.calls(Phase::Apply)
    );
    assert!(
        cluster.logs().at(Level::ERROR).is_empty(),
        "a conflict: {}",
        cluster.logs().tail(20)
    );
}
