//! Failing passes: conflicts of user code, panics, backoff, counting, terminal errors.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::Method;
use k8s_controller::error::TerminalError;
use k8s_controller::{Outcome, Phase};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;
use tracing::Level;

use crate::harness::cluster::named;
use crate::harness::script::RETRY;
use crate::harness::{AppError, Cluster, Fault, Records, Script, Widget, Without};

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
    let event = cluster
        .eventually("an event", async || {
            cluster
                .events(&bad)
                .await
                .pop()
                .ok_or_else(|| "none".into())
        })
        .await;
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
    let event = cluster
        .eventually("an event", async || {
            cluster
                .events(&widget)
                .await
                .pop()
                .ok_or_else(|| "none".into())
        })
        .await;
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
    let event = cluster
        .eventually("an event", async || {
            cluster
                .events(&widget)
                .await
                .pop()
                .ok_or_else(|| "none".into())
        })
        .await;
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
    let event = cluster
        .eventually("an event", async || {
            cluster
                .events(&widget)
                .await
                .pop()
                .ok_or_else(|| "none".into())
        })
        .await;
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
