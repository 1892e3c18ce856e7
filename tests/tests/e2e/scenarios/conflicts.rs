//! Conflicts in user code.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::Method;
use k8s_controller::Outcome;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;
use tracing::Level;

use crate::harness::cluster::named;
use crate::harness::{Cluster, Fault, Records, Script, Widget, Without};

/// User code replaces an object that somebody changed meanwhile.
pub(crate) async fn stale_replace_is_a_conflict(cluster: Cluster) {
    let records = Records::default();
    let first = Arc::new(AtomicBool::new(true));
    let namespace = cluster.namespace().to_owned();
    let script = Script::<Widget, Without>::new()
        .retry(Duration::from_secs(600))
        .apply(move |client, mut widget| {
            let (api, first) = (Api::<Widget>::namespaced(client, &namespace), first.clone());
            async move {
                if widget.spec.text == "fail" {
                    return Err("told to fail".into());
                }
                let name = widget.name_any();
                if first.swap(false, Ordering::Relaxed) {
                    let patch = Patch::Merge(json!({"metadata": {"labels": {"somebody": "else"}}}));
                    api.patch(&name, &PatchParams::default(), &patch).await?;
                }
                widget.spec.text = "mine".into();
                api.replace(&name, &PostParams::default(), &widget).await?;
                Ok(None)
            }
        });
    let recorder = cluster.recorder();
    cluster.run(
        cluster
            .controller(cluster.client(), &script)
            .with_observer(records.observer())
            .with_event_recorder(recorder),
    );
    cluster.create_widget("w").await;

    let widget = cluster
        .eventually("the replace", async || {
            let widget = cluster.widgets().get("w").await.unwrap();
            if widget.spec.text == "mine" {
                Ok(widget)
            } else {
                Err(format!("{widget:?}"))
            }
        })
        .await;
    assert_eq!(
        widget.labels()["somebody"],
        "else",
        "the other's change is kept"
    );
    let failed: Vec<_> = records
        .of("w")
        .into_iter()
        .filter(|pass| pass.outcome == Outcome::Failed)
        .collect();
    assert_eq!(failed.len(), 1, "{:?}", records.outline("w"));
    let logs = cluster.logs();
    assert!(
        logs.at(Level::ERROR).is_empty() && logs.at(Level::WARN).is_empty(),
        "{}",
        logs.tail(20)
    );
    let told = logs.at(Level::INFO).into_iter().find(|line| {
        line.field("source")
            .is_some_and(|s| s.contains("the object has been modified"))
    });
    assert!(
        told.is_some(),
        "no info line with the conflict as source:\n{}",
        logs.tail(20)
    );
    assert!(
        script.failures().iter().all(|failure| failure.conflict),
        "{:?}",
        script.failures()
    );

    cluster.set_text("w", "fail").await;
    let failure = cluster
        .eventually("a real failure", async || {
            script
                .failures()
                .into_iter()
                .find(|f| !f.conflict)
                .ok_or_else(|| "none".into())
        })
        .await;
    assert_eq!(failure.consecutive, 0, "a conflict does not count");
}

/// A conflict about another object, so that no change of this one asks for the next pass: it is
/// retried at once all the same, and however many there are, they do not count as failures.
pub(crate) async fn conflicts_about_another_object(cluster: Cluster) {
    const CONFLICTS: usize = 3;
    let records = Records::default();
    let (client, faults) = cluster.faulty();
    let shared: Api<ConfigMap> = cluster.api();
    shared
        .create(&PostParams::default(), &named("shared"))
        .await
        .unwrap();
    let intruder = shared.clone();
    let intrude = move || {
        let intruder = intruder.clone();
        async move {
            let shared = intruder.get("shared").await.unwrap();
            let version = json!({"data": {"after": shared.metadata.resource_version}});
            let patch = Patch::Merge(version);
            intruder
                .patch("shared", &PatchParams::default(), &patch)
                .await
                .unwrap();
        }
    };
    faults.inject(
        CONFLICTS,
        |sent| sent.is(&Method::PUT, "/configmaps/shared"),
        Fault::before(intrude),
    );
    let namespace = cluster.namespace().to_owned();
    let script = Script::<Widget, Without>::new()
        .retry(Duration::from_secs(600))
        .apply(move |client, widget| {
            let shared: Api<ConfigMap> = Api::namespaced(client, &namespace);
            async move {
                let mut map = shared.get("shared").await?;
                map.data
                    .get_or_insert_default()
                    .insert(widget.name_any(), "was here".into());
                shared
                    .replace("shared", &PostParams::default(), &map)
                    .await?;
                Err("told to fail".into())
            }
        });
    cluster.run(
        cluster
            .controller(client, &script)
            .with_observer(records.observer()),
    );
    cluster.create_widget("w").await;
    cluster
        .eventually("the failure after the conflicts", async || {
            match script.failures().len() {
                0 => Err("none".into()),
                _ => Ok(()),
            }
        })
        .await;
    assert_eq!(faults.left(), 0);
    let passes = records.of("w");
    assert_eq!(passes.len(), CONFLICTS + 1, "{passes:?}");
    let took = passes[CONFLICTS].at - passes[0].at;
    assert!(
        took < Duration::from_secs(2),
        "{CONFLICTS} conflicts and their retries: {took:?}"
    );
    assert_eq!(
        script.failures()[0].consecutive,
        0,
        "conflicts do not count"
    );
    assert!(!script.failures()[0].conflict);
    let (told, loud) = (
        cluster.logs().at(Level::INFO),
        cluster.logs().at(Level::ERROR),
    );
    let conflicts = told
        .iter()
        .filter(|line| line.field("class") == Some("conflict"))
        .count();
    assert_eq!(
        (conflicts, loud.len()),
        (CONFLICTS, 1),
        "{}",
        cluster.logs().tail(20)
    );
    let data = cluster
        .api::<ConfigMap>()
        .get("shared")
        .await
        .unwrap()
        .data
        .unwrap();
    assert!(
        data.contains_key("w") && data.contains_key("after"),
        "{data:?}"
    );
}
