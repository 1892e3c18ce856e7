//! How objects and their changes are seen.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_controller::{Controller, Phase};
use kube::ResourceExt as _;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::watcher;
use serde_json::json;
use tracing::Level;

use crate::harness::{Cluster, Script, Widget, Without};

use crate::harness::Fault;

use super::nonsense::{loud, until_applied};

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
    let started = tokio::time::Instant::now();
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
    // On a busy machine it takes longer than the three seconds of the pauses.
    let seconds = started.elapsed().as_secs();
    let most = usize::try_from(seconds).unwrap() + 3;
    assert!(
        (3..=most).contains(&watches),
        "{watches} watches in {seconds} s"
    );
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

/// A watch ends or breaks in the middle of a line: what it was about to say is not missed.
async fn watch_cut(cluster: &Cluster, broken: bool) {
    let (client, faults) = cluster.faulty();
    faults.inject(
        1,
        |sent| sent.is_watch() && sent.path.ends_with("/widgets"),
        Fault::CutWatch { broken },
    );
    let script = Script::<Widget, Without>::new();
    let running = cluster.run(cluster.controller(client, &script));
    cluster
        .eventually("a watch", async || match faults.left() {
            0 => Ok(()),
            left => Err(format!("{left} left")),
        })
        .await;
    for name in ["w", "x"] {
        cluster.create_widget(name).await;
        until_applied(cluster, &script, name).await;
    }
    assert!(running.is_running());
    let watches = faults.sent(|sent| sent.is_watch()).len();
    assert!((2..=3).contains(&watches), "{watches} watches");
}

/// Clients take a stream that just ends for the end of a watch, which servers do all the time.
pub(crate) async fn watch_that_ends_in_the_middle_of_a_line(cluster: Cluster) {
    watch_cut(&cluster, false).await;
    assert!(cluster.logs().at(Level::ERROR).is_empty());
}

pub(crate) async fn watch_that_breaks_in_the_middle_of_a_line(cluster: Cluster) {
    watch_cut(&cluster, true).await;
    let told = loud(&cluster);
    assert!(
        told.iter()
            .any(|line| line.mentions("connection reset by peer")),
        "said nowhere:\n{}",
        cluster.logs().tail(20)
    );
}

/// The server no longer has what the watch asks for: a new list finds what was missed.
pub(crate) async fn expired_watch(cluster: Cluster) {
    let (client, faults) = cluster.faulty();
    let missed = cluster.clone();
    faults.inject(
        1,
        |sent| sent.is_list("widgets"),
        Fault::Delay(Duration::ZERO),
    );
    faults.inject(1, |sent| sent.is_watch(), Fault::expired_watch());
    let create = move || {
        let cluster = missed.clone();
        async move { drop(cluster.create_widget("w").await) }
    };
    faults.inject(1, |sent| sent.is_list("widgets"), Fault::before(create));
    let script = Script::<Widget, Without>::new();
    let running = cluster.run(cluster.controller(client, &script));
    until_applied(&cluster, &script, "w").await;
    assert_eq!(faults.left(), 0);
    assert!(running.is_running());
}
