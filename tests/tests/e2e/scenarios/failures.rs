//! Failing passes: panics, events, texts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use k8s_controller::{Outcome, Phase};
use kube::ResourceExt as _;
use kube::api::Api;
use tracing::Level;

use crate::harness::{AppError, Cluster, Records, Script, Widget, Without};

/// One object's panic is its own failed pass.
pub(crate) async fn panic_in_apply(cluster: Cluster) {
    let records = Records::default();
    let script = Script::<Widget, Without>::new().apply(|_, widget| async move {
        assert!(
            widget.spec.text != "bad",
            "no way to do {}",
            widget.name_any()
        );
        Ok(None)
    });
    let controller = cluster
        .controller(cluster.client(), &script)
        .with_observer(records.observer());
    let running = cluster.run(controller.with_event_recorder(cluster.recorder()));
    let bad = cluster
        .create_widget_with("bad", |widget| widget.spec.text = "bad".into())
        .await;
    cluster
        .eventually("retries", async || match records.outline("bad").len() {
            few @ 0..3 => Err(format!("{few}")),
            _ => Ok(()),
        })
        .await;
    assert!(
        records
            .outline("bad")
            .iter()
            .all(|pass| *pass == (Phase::Apply, Outcome::Failed)),
        "{:?}",
        records.outline("bad")
    );
    assert_eq!(script.failures()[1].consecutive, 1);
    assert!(
        script.failures()[0].chain.contains("no way to do bad"),
        "{}",
        script.failures()[0].chain
    );

    cluster.create_widget("good").await;
    cluster
        .eventually("the other object", async || {
            match records.outline("good").last() {
                Some((Phase::Apply, Outcome::Completed | Outcome::Waiting)) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    let event = cluster.latest_event(&bad).await;
    assert!(
        event.note.as_deref().unwrap().contains("no way to do bad"),
        "{:?}",
        event.note
    );
    assert_eq!(event.type_.as_deref(), Some("Warning"));
    assert!(
        cluster
            .logs()
            .at(Level::ERROR)
            .iter()
            .any(|line| line.mentions("no way to do bad"))
    );

    cluster.set_text("bad", "better").await;
    cluster
        .eventually("recovery", async || match records.outline("bad").last() {
            Some((_, outcome)) if *outcome != Outcome::Failed => Ok(()),
            other => Err(format!("{other:?}")),
        })
        .await;
    assert!(running.is_running());
}

/// A cleanup that panics keeps the finalizer.
pub(crate) async fn panic_in_cleanup(cluster: Cluster) {
    let angry = Arc::new(AtomicBool::new(true));
    let calm = angry.clone();
    let script = Script::<Widget, crate::harness::Mine>::new().cleanup(move |_, _| {
        let angry = angry.clone();
        async move {
            assert!(!angry.load(Ordering::Relaxed), "not yet");
            Ok(None)
        }
    });
    cluster.run(
        cluster
            .controller(cluster.client(), &script)
            .with_event_recorder(cluster.recorder()),
    );
    let widget = cluster.create_widget("w").await;
    cluster
        .eventually("an apply", async || {
            script
                .calls(Phase::Apply)
                .first()
                .map(drop)
                .ok_or_else(|| "none".into())
        })
        .await;
    cluster.delete_widget("w").await;
    let event = cluster.latest_event(&widget).await;
    assert_eq!(
        (event.reason.as_deref(), event.action.as_deref()),
        (Some("CleanupFailed"), Some("Cleanup"))
    );
    assert_eq!(
        cluster.widgets().get("w").await.unwrap().finalizers().len(),
        1
    );
    calm.store(false, Ordering::Relaxed);
    cluster.gone(&cluster.widgets(), "w").await;
}

/// The error of user code is in the event and in the log once and without debug output.
pub(crate) async fn chains_are_readable(cluster: Cluster) {
    let namespace = cluster.namespace().to_owned();
    let script = Script::<Widget, Without>::new().apply(move |client, _| {
        let api: Api<Widget> = Api::namespaced(client, &namespace);
        async move {
            api.get("missing").await?;
            Ok(None)
        }
    });
    cluster.run(
        cluster
            .controller(cluster.client(), &script)
            .with_event_recorder(cluster.recorder()),
    );
    let widget = cluster.create_widget("w").await;
    let event = cluster.latest_event(&widget).await;
    let note = event.note.unwrap();
    assert_eq!(
        note.matches("widgets.e2e.example.com \"missing\" not found")
            .count(),
        1,
        "{note}"
    );
    assert!(note.starts_with("request failed: "), "{note}");
    assert!(
        !note.contains("Status {") && !note.contains("Some("),
        "{note}"
    );
    assert_eq!(script.failures()[0].chain, note);
}

/// The type of user errors appears in nothing that is retried differently.
pub(crate) async fn failure_event_may_be_withheld(cluster: Cluster) {
    let script = Script::<Widget, Without>::new()
        .quiet()
        .apply(|_, _| async { Err(AppError::Text("no".into())) });
    cluster.run(
        cluster
            .controller(cluster.client(), &script)
            .with_event_recorder(cluster.recorder()),
    );
    let widget = cluster.create_widget("w").await;
    cluster
        .eventually("failures", async || match script.failures().len() {
            few @ 0..3 => Err(format!("{few}")),
            _ => Ok(()),
        })
        .await;
    assert!(cluster.events(&widget).await.is_empty());
}
