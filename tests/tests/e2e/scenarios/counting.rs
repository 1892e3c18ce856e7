//! Counting failures, and when the next try comes.

use std::time::Duration;

use http::Method;
use k8s_controller::Phase;
use k8s_controller::error::TerminalError;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams};
use serde_json::json;

use crate::harness::script::RETRY;
use crate::harness::{Cluster, Fault, Script, Widget, Without};

pub(crate) async fn recreated_object_starts_at_zero(cluster: Cluster) {
    let script = Script::<Widget, Without>::new().apply(|_, _| async { Err("always".into()) });
    cluster.run(cluster.controller(cluster.client(), &script));
    let first = cluster.create_widget("w").await.uid().unwrap();
    let counts = |uid: &str| -> Vec<u32> {
        script
            .failures()
            .iter()
            .filter(|failure| failure.uid == uid)
            .map(|failure| failure.consecutive)
            .collect()
    };
    let failing = async |uid: &str| {
        cluster
            .eventually("three failures", async || match counts(uid).len() {
                few @ 0..3 => Err(format!("{few}")),
                _ => Ok(()),
            })
            .await;
    };
    failing(&first).await;
    cluster
        .widgets()
        .delete("w", &DeleteParams::default())
        .await
        .unwrap();
    let second = cluster.create_widget("w").await.uid().unwrap();
    assert_ne!(first, second);
    failing(&second).await;
    assert_eq!(counts(&first)[..3], [0, 1, 2]);
    assert_eq!(
        counts(&second)[..3],
        [0, 1, 2],
        "the count belongs to the uid"
    );
}

/// The same when the deletion is never told: it happens while the watch is down, and the server
/// has forgotten it by the next.
pub(crate) async fn recreated_behind_the_watch(cluster: Cluster) {
    let (client, faults) = cluster.faulty();
    let script = Script::<Widget, Without>::new().apply(|_, _| async { Err("always".into()) });
    let first = cluster.create_widget("w").await.uid().unwrap();
    // The first watch breaks as soon as it has something to say, the second cannot go on from there.
    faults.inject(1, |sent| sent.is_watch(), Fault::CutWatch { broken: true });
    faults.inject(1, |sent| sent.is_watch(), Fault::expired_watch());
    cluster.run(cluster.controller(client, &script));
    let counts = |uid: &str| -> Vec<u32> {
        let failures = script.failures().into_iter();
        failures
            .filter(|failure| failure.uid == uid)
            .map(|failure| failure.consecutive)
            .collect()
    };
    let failing = async |uid: &str| {
        cluster
            .eventually("three failures", async || match counts(uid) {
                few if few.len() < 3 => Err(format!("{few:?}")),
                enough => Ok(enough[..3].to_vec()),
            })
            .await
    };
    assert_eq!(failing(&first).await, [0, 1, 2]);
    cluster.delete_widget("w").await;
    let second = cluster.create_widget("w").await.uid().unwrap();
    assert_eq!(failing(&second).await, [0, 1, 2]);
    assert_eq!(faults.left(), 0);
    assert_eq!(
        faults.sent(|sent| sent.is_list("widgets")).len(),
        2,
        "a new list"
    );
}

pub(crate) async fn success_restarts_the_count(cluster: Cluster) {
    let script = Script::<Widget, Without>::new().apply(|_, widget| async move {
        if widget.spec.text == "ok" {
            Ok(None)
        } else {
            Err("not ok".into())
        }
    });
    cluster.run(cluster.controller(cluster.client(), &script));
    cluster.create_widget("w").await;
    let failures = async |at_least: usize| {
        cluster
            .eventually("failures", async || {
                let seen = script.failures();
                if seen.len() >= at_least {
                    Ok(seen)
                } else {
                    Err(format!("{}", seen.len()))
                }
            })
            .await
    };
    failures(2).await;
    cluster.set_text("w", "ok").await;
    cluster.pass(2 * RETRY + Duration::from_millis(300)).await;
    let before = script.failures().len();
    cluster.set_text("w", "again").await;
    let seen = failures(before + 2).await;
    assert_eq!(
        (seen[before].consecutive, seen[before + 1].consecutive),
        (0, 1),
        "{seen:?}"
    );
}

/// An error that another try cannot mend: the object is left alone until it changes.
pub(crate) async fn terminal_error_waits_for_a_change(cluster: Cluster) {
    let script = Script::<Widget, Without>::new()
        .retry(None)
        .apply(|_, widget| async move {
            match widget.spec.text.as_str() {
                "ok" => Ok(None),
                text => {
                    Err(TerminalError::new(format!("spec.text: no such thing as {text:?}")).into())
                }
            }
        });
    cluster.run(
        cluster
            .controller(cluster.client(), &script)
            .with_event_recorder(cluster.recorder()),
    );
    let widget = cluster.create_widget("w").await;
    let event = cluster.latest_event(&widget).await;
    assert_eq!(
        event.note.as_deref(),
        Some("spec.text: no such thing as \"\"")
    );
    // The backoff would try again after 2 s at the latest; nothing tries.
    cluster.pass(Duration::from_secs(3)).await;
    assert_eq!(
        script.calls(Phase::Apply).len(),
        1,
        "{:?}",
        script.calls(Phase::Apply)
    );
    cluster.set_text("w", "ok").await;
    cluster
        .eventually("a pass after the change", async || {
            match script.calls(Phase::Apply).len() {
                2 => Ok(()),
                other => Err(format!("{other}")),
            }
        })
        .await;
    assert_eq!(script.failures().len(), 1);
}

/// The default error action waits as long as the server asks, when that is longer than the backoff.
pub(crate) async fn retry_after_is_honoured(cluster: Cluster) {
    const ASKED: Duration = Duration::from_secs(4);
    let (client, faults) = cluster.faulty();
    for (code, reason, name) in [
        (429, "TooManyRequests", "a"),
        (503, "ServiceUnavailable", "b"),
    ] {
        let details = json!({"retryAfterSeconds": ASKED.as_secs()});
        let wanted = format!("/configmaps/{name}");
        faults.inject(
            1,
            move |sent| sent.path.ends_with(&wanted),
            Fault::status_with(code, reason, "too much to do", &details),
        );
    }
    faults.inject(
        1,
        |sent| sent.path.ends_with("/configmaps/c"),
        Fault::status(500, "InternalError", "bad luck"),
    );
    let namespace = cluster.namespace().to_owned();
    let script = Script::<Widget, Without>::new()
        .retry(None)
        .apply(move |client, widget| {
            let maps: Api<ConfigMap> = Api::namespaced(client, &namespace);
            async move {
                maps.get_opt(&widget.name_any()).await?;
                Ok(None)
            }
        });
    cluster.run(cluster.controller(client, &script));
    for name in ["a", "b", "c"] {
        cluster.create_widget(name).await;
    }
    let waited = async |name: &str| {
        cluster
            .eventually(&format!("a second apply of {name}"), async || {
                let calls: Vec<_> = script
                    .calls(Phase::Apply)
                    .into_iter()
                    .filter(|call| call.name == name)
                    .collect();
                calls
                    .get(1)
                    .map(|second| second.at - calls[0].at)
                    .ok_or_else(|| format!("{calls:?}"))
            })
            .await
    };
    for name in ["a", "b"] {
        let waited = waited(name).await;
        assert!(waited >= ASKED && waited < 2 * ASKED, "{name}: {waited:?}");
    }
    let waited = waited("c").await;
    assert!(
        waited < ASKED,
        "without a word from the server the backoff is 1 to 2 s: {waited:?}"
    );
    assert_eq!(
        faults
            .sent(|sent| sent.is(&Method::GET, "/configmaps/"))
            .len(),
        6
    );
}
