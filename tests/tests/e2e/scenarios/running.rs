//! How a controller runs: one pass at a time, not too many at once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_controller::{Controller, Outcome, Phase};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::watcher;
use kube::{Resource as _, ResourceExt as _};
use serde_json::json;

use crate::harness::cluster::named;
use crate::harness::kinds::RealmSpec;
use crate::harness::{Cluster, Realm, Records, Script, Widget, Without};

/// A pass that is dropped half-way is reported by its drop.
pub(crate) async fn cancelled_pass_is_abandoned(cluster: Cluster) {
    let records = Records::default();
    let script = Script::<Widget, Without>::new().apply(|_, _| std::future::pending());
    let running = cluster.run(
        cluster
            .controller(cluster.client(), &script)
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
    assert!(records.of("w").is_empty());
    cluster.pass(Duration::from_millis(300)).await;
    running.kill().await;
    assert_eq!(records.outline("w"), [(Phase::Apply, Outcome::Abandoned)]);
    let pass = &records.of("w")[0];
    assert!(pass.duration >= Duration::from_millis(300), "{pass:?}");
    assert_eq!(
        (pass.kind.as_str(), pass.namespace.as_deref()),
        ("Widget", Some(cluster.namespace()))
    );
    let spans = cluster.logs().spans("reconcile");
    assert!(
        spans
            .iter()
            .any(|span| span.field("outcome") == Some("abandoned")),
        "{spans:?}"
    );
}

/// A cluster-scoped object whose namespaced children change all at once is not reconciled by
/// several passes at once.
pub(crate) async fn owner_of_namespaced_children_runs_one_pass_at_a_time(cluster: Cluster) {
    let label = format!("e2e={}", cluster.namespace());
    let namespaces = vec![
        cluster.namespace().to_owned(),
        cluster.another_namespace("b").await,
        cluster.another_namespace("c").await,
    ];
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (inside, peak) = (now.clone(), most.clone());
    let script = Script::<Realm, Without>::new().apply(move |_, _| {
        let (inside, peak) = (inside.clone(), peak.clone());
        async move {
            peak.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(150)).await;
            inside.fetch_sub(1, Ordering::SeqCst);
            Ok(None)
        }
    });
    let labelled = watcher::Config::default().labels(&label);
    let children: Api<ConfigMap> = cluster.all();
    let controller = Controller::cluster(cluster.client(), script.clone(), labelled.clone())
        .with_controller(move |controller| controller.owns(children, labelled));
    cluster.run(controller);

    let mut realm = Realm::new(
        &cluster.unique("realm"),
        RealmSpec {
            namespaces: namespaces.clone(),
        },
    );
    realm
        .labels_mut()
        .insert("e2e".into(), cluster.namespace().into());
    let realm = cluster.create_realm(&realm).await;
    for namespace in &namespaces {
        let mut child: ConfigMap = named("child");
        child
            .labels_mut()
            .insert("e2e".into(), cluster.namespace().into());
        child.metadata.owner_references = Some(vec![realm.controller_owner_ref(&()).unwrap()]);
        let api: Api<ConfigMap> = Api::namespaced(cluster.client(), namespace);
        api.create(&PostParams::default(), &child).await.unwrap();
    }
    for round in 0..4 {
        let before = script.calls(Phase::Apply).len();
        for namespace in &namespaces {
            let api: Api<ConfigMap> = Api::namespaced(cluster.client(), namespace);
            let patch = Patch::Merge(json!({"data": {"round": round.to_string()}}));
            api.patch("child", &PatchParams::default(), &patch)
                .await
                .unwrap();
        }
        cluster
            .eventually("a pass for the children", async || {
                let calls = script.calls(Phase::Apply).len();
                if calls > before {
                    Ok(())
                } else {
                    Err(format!("{calls}"))
                }
            })
            .await;
    }
    cluster.pass(Duration::from_secs(1)).await;
    assert_eq!(now.load(Ordering::SeqCst), 0);
    assert_eq!(most.load(Ordering::SeqCst), 1, "passes at once");
}

/// Many objects are not reconciled all at once.
pub(crate) async fn concurrency_is_finite(cluster: Cluster) {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (inside, peak) = (now.clone(), most.clone());
    let script = Script::<Widget, Without>::new().apply(move |_, _| {
        let (inside, peak) = (inside.clone(), peak.clone());
        async move {
            peak.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(300)).await;
            inside.fetch_sub(1, Ordering::SeqCst);
            Ok(None)
        }
    });
    const OBJECTS: usize = 120;
    for index in 0..OBJECTS {
        cluster.create_widget(&format!("w{index}")).await;
    }
    cluster.run(cluster.controller(cluster.client(), &script));
    cluster
        .eventually("all of them", async || {
            let names: BTreeSet<_> = script
                .calls(Phase::Apply)
                .into_iter()
                .map(|call| call.name)
                .collect();
            if names.len() == OBJECTS {
                Ok(())
            } else {
                Err(format!("{}", names.len()))
            }
        })
        .await;
    let most = most.load(Ordering::SeqCst);
    assert!(most > 1, "some at once");
    assert!(most < OBJECTS, "not all at once");
}

/// The status a controller writes wakes it once and not for ever.
pub(crate) async fn status_updates_settle(cluster: Cluster) {
    let namespace = cluster.namespace().to_owned();
    let script = Script::<Widget, Without>::new().apply(move |client, widget| {
        let api: Api<Widget> = Api::namespaced(client, &namespace);
        async move {
            let status = json!({"status": {"seen": widget.spec.text, "observedGeneration": widget.metadata.generation}});
            api.patch_status(&widget.name_any(), &PatchParams::default(), &Patch::Merge(status)).await?;
            Ok(None)
        }
    });
    cluster.run(cluster.controller(cluster.client(), &script));
    cluster.create_widget("w").await;
    for (generation, text) in [(2, "one"), (3, "two")] {
        cluster.set_text("w", text).await;
        cluster
            .eventually("the status", async || {
                let widget = cluster.widgets().get("w").await.unwrap();
                let status = widget.status.clone().unwrap_or_default();
                if status.seen.as_deref() == Some(text)
                    && status.observed_generation == Some(generation)
                {
                    Ok(())
                } else {
                    Err(format!("{widget:?}"))
                }
            })
            .await;
    }
    cluster.pass(Duration::from_millis(500)).await;
    let calls = script.calls(Phase::Apply).len();
    assert!(
        (3..=9).contains(&calls),
        "{calls} passes for three generations"
    );
    assert_eq!(
        cluster
            .widgets()
            .get("w")
            .await
            .unwrap()
            .metadata
            .generation,
        Some(3)
    );
}
