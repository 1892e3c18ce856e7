//! How many passes run at once, over all objects and over one.
#![allow(clippy::unwrap_used)] // Also in the helpers of tests.

mod support;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use k8s_controller_reconcile::{Context, Controller, DEFAULT_CONCURRENCY, TraceMetadata};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::runtime::controller::{Action, Config};
use kube::runtime::watcher;
use kube::{Api, Client};
use serde_json::json;
use support::*;
use tokio::time::sleep;

#[derive(Default)]
struct Gauge {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Gauge {
    async fn during(&self, time: Duration) {
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(now, Ordering::Relaxed);
        sleep(time).await;
        self.now.fetch_sub(1, Ordering::Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn there_is_a_limit_that_can_be_changed() {
    type Sut = Controller<Probe<NoFinalizer>>;
    let most = async |change: fn(Sut) -> Sut| {
        let (server, notes, gauge) = (Server::default(), Notes::new(), Arc::new(Gauge::default()));
        for number in 0..100 {
            server.config_map("ns", &format!("a{number}"));
        }
        let probe = Probe::<NoFinalizer>::new({
            let gauge = gauge.clone();
            move |_, _, _| {
                let gauge = gauge.clone();
                Box::pin(async move {
                    gauge.during(Duration::from_secs(1)).await;
                    done()
                })
            }
        });
        tokio::spawn(change(controller(&server, probe, &notes)).run());
        pass_time(Duration::from_secs(60)).await;
        assert_eq!(notes.take().len(), 100);
        gauge.most.load(Ordering::Relaxed)
    };
    assert_eq!(
        most(|controller| controller).await,
        usize::from(DEFAULT_CONCURRENCY)
    );
    assert_eq!(
        most(|controller| {
            controller
                .with_controller(|runtime| runtime.with_config(Config::default().concurrency(3)))
        })
        .await,
        3
    );
    assert_eq!(most(|controller| controller.with_concurrency(5)).await, 5);
    assert_eq!(most(|controller| controller.with_concurrency(0)).await, 100);
}

/// Counts passes over each Namespace, which take a second each.
#[derive(Clone, Default)]
struct Owner {
    gauges: Arc<Mutex<BTreeMap<String, Arc<Gauge>>>>,
    seen: Arc<Mutex<Vec<String>>>,
}

#[async_trait]
impl Context for Owner {
    type Resource = Namespace;
    type Error = TestError;

    async fn apply(&self, _: Client, object: &Namespace, _: &mut TraceMetadata) -> Answer {
        let name = object.metadata.name.clone().unwrap();
        let version = object.metadata.resource_version.clone().unwrap();
        self.seen.lock().unwrap().push(format!("{name} {version}"));
        let gauge = self.gauges.lock().unwrap().entry(name).or_default().clone();
        gauge.during(Duration::from_secs(1)).await;
        done()
    }
}

fn owned(server: &Server, namespace: &str, owner: &str) -> String {
    let path = support::server::config_map_path(namespace, "child");
    let owner = json!({"apiVersion": "v1", "kind": "Namespace", "name": owner, "uid": "x"});
    let metadata = json!({"name": "child", "namespace": namespace, "ownerReferences": [owner]});
    server.put(&path, json!({"metadata": metadata}));
    path
}

#[tokio::test(start_paused = true)]
async fn an_owner_of_children_in_many_namespaces_has_one_pass_at_a_time() {
    let (server, notes, owner) = (Server::default(), Notes::new(), Owner::default());
    for name in ["x", "y"] {
        server.put(
            &format!("/api/v1/namespaces/{name}"),
            json!({"metadata": {"name": name}}),
        );
    }
    let children: Vec<String> = ["a", "b", "c", "d"]
        .iter()
        .map(|namespace| owned(&server, namespace, "x"))
        .collect();
    let config_maps = Api::<ConfigMap>::all(server.client());
    let controller =
        Controller::cluster(server.client(), owner.clone(), watcher::Config::default())
            .with_observer(notes.clone())
            .with_controller(|controller| controller.owns(config_maps, watcher::Config::default()));
    tokio::spawn(controller.run());
    for _ in 0..20 {
        pass_time(Duration::from_millis(300)).await;
        for child in &children {
            server.touch(child);
        }
    }
    pass_time(Duration::from_secs(20)).await;
    for (name, gauge) in owner.gauges.lock().unwrap().iter() {
        assert_eq!(gauge.most.load(Ordering::Relaxed), 1, "{name}");
    }
    let passes = notes
        .take()
        .iter()
        .filter(|line| *line == "x apply completed")
        .count();
    assert!(
        (6..=10).contains(&passes),
        "{passes} passes of 1 s in 6 s, and some after"
    );
}

#[tokio::test(start_paused = true)]
async fn a_change_during_a_pass_is_not_lost() {
    let (server, notes, owner) = (Server::default(), Notes::new(), Owner::default());
    let path = "/api/v1/namespaces/x";
    server.put(path, json!({"metadata": {"name": "x"}}));
    let config_maps = Api::<ConfigMap>::all(server.client());
    let controller =
        Controller::cluster(server.client(), owner.clone(), watcher::Config::default())
            .with_observer(notes.clone())
            .with_controller(|controller| controller.owns(config_maps, watcher::Config::default()));
    tokio::spawn(controller.run());
    pass_time(MOMENT).await;
    // While the first pass runs, a request from another namespace's point of view.
    owned(&server, "a", "x");
    pass_time(Duration::from_millis(10)).await;
    assert_eq!(owner.seen.lock().unwrap().len(), 1);
    pass_time(Duration::from_secs(10)).await;
    assert_eq!(owner.seen.lock().unwrap().len(), 2);
    assert_eq!(notes.take(), ["x apply completed"; 2]);
}

/// Wants each Namespace to be seen again after a minute, until it is told otherwise.
#[derive(Clone, Default)]
struct Minutely {
    passes: Arc<AtomicUsize>,
    enough: Arc<AtomicBool>,
}

#[async_trait]
impl Context for Minutely {
    type Resource = Namespace;
    type Error = TestError;

    async fn apply(&self, _: Client, _: &Namespace, _: &mut TraceMetadata) -> Answer {
        self.passes.fetch_add(1, Ordering::Relaxed);
        if self.enough.load(Ordering::Relaxed) {
            return done();
        }
        Ok(Some(Action::requeue(Duration::from_secs(60))))
    }
}

#[tokio::test(start_paused = true)]
async fn an_owner_of_children_in_many_namespaces_has_one_time_to_be_run_again() {
    let (server, context) = (Server::default(), Minutely::default());
    let path = "/api/v1/namespaces/x";
    server.put(path, json!({"metadata": {"name": "x"}}));
    let config_maps = Api::<ConfigMap>::all(server.client());
    let controller =
        Controller::cluster(server.client(), context.clone(), watcher::Config::default())
            .with_controller(|controller| controller.owns(config_maps, watcher::Config::default()));
    tokio::spawn(controller.run());
    for namespace in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        pass_time(Duration::from_secs(1)).await;
        owned(&server, namespace, "x");
    }
    pass_time(MOMENT).await;
    let passes_in = async |time| {
        let before = context.passes.load(Ordering::Relaxed);
        pass_time(time).await;
        context.passes.load(Ordering::Relaxed) - before
    };
    let hour = Duration::from_secs(3600);
    let passes = passes_in(hour).await;
    assert!((59..=60).contains(&passes), "{passes} passes in an hour");

    context.enough.store(true, Ordering::Relaxed);
    server.touch(path);
    assert_eq!(passes_in(hour).await, 1, "the change, and no more");

    context.enough.store(false, Ordering::Relaxed);
    server.touch(path);
    pass_time(MOMENT).await;
    server.delete(path);
    assert_eq!(passes_in(hour).await, 0, "it is gone");
}
