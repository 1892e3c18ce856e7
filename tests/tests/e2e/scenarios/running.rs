//! How a controller runs: one pass at a time, cancelled passes, observation.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use k8s_controller::events::{Event, EventType};
use k8s_controller::{
    Context, Controller, Outcome, Phase, ReconcileObserver, ReconcileRecord, TraceMetadata,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::controller::Action;
use kube::runtime::watcher;
use kube::{Client, Resource as _, ResourceExt as _};
use serde_json::json;
use tracing::Level;

use crate::harness::cluster::named;
use crate::harness::kinds::RealmSpec;
use crate::harness::{AppError, Cluster, Realm, Records, Script, Widget, Without};

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

/// All namespaces of a server, narrowed by a label.
pub(crate) async fn all_namespaces(cluster: Cluster) {
    let script = Script::<Widget, Without>::new();
    let label = format!("e2e={}", cluster.namespace());
    let controller = Controller::namespaced_all(
        cluster.client(),
        script.clone(),
        watcher::Config::default().labels(&label),
    );
    cluster.run(controller);
    let other = cluster.another_namespace("b").await;
    for namespace in [cluster.namespace(), &other] {
        let api: Api<Widget> = Api::namespaced(cluster.client(), namespace);
        for (name, labelled) in [("with", true), ("without", false)] {
            let mut widget = Widget::new(
                &format!("{name}-{}", namespace.len()),
                crate::harness::kinds::WidgetSpec::default(),
            );
            if labelled {
                widget
                    .labels_mut()
                    .insert("e2e".into(), cluster.namespace().into());
            }
            api.create(&PostParams::default(), &widget).await.unwrap();
        }
    }
    cluster
        .eventually("both namespaces", async || {
            let names: BTreeSet<_> = script
                .calls(Phase::Apply)
                .into_iter()
                .map(|call| call.name)
                .collect();
            if names.len() == 2 {
                Ok(())
            } else {
                Err(format!("{names:?}"))
            }
        })
        .await;
    assert!(
        script
            .calls(Phase::Apply)
            .iter()
            .all(|call| call.name.starts_with("with-")),
        "{:?}",
        script.calls(Phase::Apply)
    );
}

/// However the first list is asked for, all objects are seen, and so are later changes.
pub(crate) async fn ways_to_list(cluster: Cluster) {
    const OBJECTS: usize = 25;
    for index in 0..OBJECTS {
        cluster.create_widget(&format!("w{index}")).await;
    }
    let ways = [
        ("small pages", watcher::Config::default().page_size(7)),
        (
            "pages that just fit",
            watcher::Config::default().page_size(5),
        ),
        ("any version", watcher::Config::default().any_semantic()),
        ("a stream", watcher::Config::default().streaming_lists()),
        (
            "no bookmarks",
            watcher::Config::default().disable_bookmarks(),
        ),
    ];
    for (round, (way, config)) in ways.into_iter().enumerate() {
        let (client, faults) = cluster.faulty();
        let script = Script::<Widget, Without>::new();
        let running = cluster.run(Controller::namespaced(
            client,
            script.clone(),
            cluster.namespace(),
            config,
        ));
        let seen = async |expected: usize| {
            cluster
                .eventually(&format!("{way}: {expected} objects"), async || {
                    let names: BTreeSet<_> = script
                        .calls(Phase::Apply)
                        .into_iter()
                        .map(|call| call.name)
                        .collect();
                    if names.len() == expected {
                        Ok(())
                    } else {
                        Err(format!("{names:?}"))
                    }
                })
                .await;
        };
        seen(OBJECTS + round).await;
        cluster.create_widget(&format!("late-{round}")).await;
        seen(OBJECTS + round + 1).await;
        if way == "small pages" {
            let pages = faults.sent(|sent| sent.is_list("widgets"));
            assert_eq!(pages.len(), OBJECTS.div_ceil(7), "{pages:?}");
        }
        running.kill().await;
        assert!(
            cluster.logs().at(Level::WARN).is_empty(),
            "{way}: {}",
            cluster.logs().tail(20)
        );
    }
}

/// Watches that end every second, as the client asks: the next goes on where the last ended.
pub(crate) async fn short_watches_miss_nothing(cluster: Cluster) {
    let (client, faults) = cluster.faulty();
    let script = Script::<Widget, Without>::new();
    let config = watcher::Config::default().timeout(1);
    cluster.run(Controller::namespaced(
        client,
        script.clone(),
        cluster.namespace(),
        config,
    ));
    cluster.create_widget("w").await;
    const CHANGES: usize = 12;
    for change in 0..CHANGES {
        cluster.pass(Duration::from_millis(250)).await;
        cluster.set_text("w", &change.to_string()).await;
        cluster.create_widget(&format!("w{change}")).await;
    }
    cluster
        .eventually("all objects", async || {
            let names: BTreeSet<_> = script
                .calls(Phase::Apply)
                .into_iter()
                .map(|call| call.name)
                .collect();
            if names.len() == CHANGES + 1 {
                Ok(())
            } else {
                Err(format!("{names:?}"))
            }
        })
        .await;
    let watches = faults.sent(|sent| sent.is_watch()).len();
    assert!((3..=6).contains(&watches), "{watches} watches in 3 s");
    assert_eq!(
        faults.sent(|sent| sent.is_list("widgets")).len(),
        1,
        "no new list"
    );
    assert!(
        cluster.logs().at(Level::WARN).is_empty(),
        "{}",
        cluster.logs().tail(20)
    );
}

/// An object that no longer has the label is no longer worked on, though it failed.
pub(crate) async fn leaving_the_selector(cluster: Cluster) {
    let script = Script::<Widget, Without>::new().apply(|_, _| async { Err("always".into()) });
    let config = watcher::Config::default().labels("e2e=in");
    cluster.run(Controller::namespaced(
        cluster.client(),
        script.clone(),
        cluster.namespace(),
        config,
    ));
    cluster
        .create_widget_with("w", |widget| {
            widget.labels_mut().insert("e2e".into(), "in".into());
        })
        .await;
    let label = async |value: &str| {
        let patch = Patch::Merge(json!({"metadata": {"labels": {"e2e": value}}}));
        cluster
            .widgets()
            .patch("w", &PatchParams::default(), &patch)
            .await
            .unwrap();
    };
    let failures = async |expected: usize| {
        cluster
            .eventually(&format!("{expected} failures"), async || {
                match script.failures().len() {
                    enough if enough >= expected => Ok(()),
                    few => Err(format!("{few}")),
                }
            })
            .await;
    };
    failures(3).await;
    label("out").await;
    cluster.pass(Duration::from_secs(1)).await;
    let before = script.failures().len();
    cluster.pass(Duration::from_secs(1)).await;
    assert_eq!(script.failures().len(), before, "goes on");
    label("in").await;
    failures(before + 1).await;
    assert_eq!(
        script.failures()[before].consecutive,
        0,
        "forgotten meanwhile"
    );
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
