//! What observers are told of the controller, the queue and the begin of passes.
#![allow(clippy::unwrap_used)] // Also in the helpers of tests.

mod support;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use k8s_controller_observe::Outcome;
use k8s_controller_reconcile::{Context, Controller, TraceMetadata};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::runtime::controller::Action;
use kube::runtime::watcher;
use kube::{Api, Client};
use serde_json::json;
use support::*;
use tokio::time::sleep;

const SECOND: Duration = Duration::from_secs(1);

/// Passes of two seconds, one at a time.
fn slow(server: &Server, ledger: &Arc<Ledger>) -> Controller<Probe<NoFinalizer>> {
    let probe = Probe::new(|_, _, _| {
        Box::pin(async {
            sleep(2 * SECOND).await;
            done()
        })
    });
    controller(server, probe, &Notes::new())
        .with_observer(ledger.clone())
        .with_concurrency(1)
}

#[tokio::test(start_paused = true)]
async fn changes_wait_until_their_pass_begins() {
    let (server, ledger) = (Server::default(), Ledger::new());
    for name in ["a", "b", "c"] {
        server.config_map("ns", name);
    }
    tokio::spawn(slow(&server, &ledger).run());
    pass_time(SECOND).await;
    let lines = ledger.take();
    assert_eq!(
        lines[..5],
        [
            "controller ConfigMap ConfigMap 1",
            "queue +1",
            "queue +2",
            "queue +3",
            "queue -2 after 0"
        ]
    );
    assert!(
        lines.len() == 6 && lines[5].starts_with("began "),
        "{lines:?}"
    );
    let running = lines[5].trim_start_matches("began ").to_owned();
    for name in ["a", "b", "c"] {
        server.touch(&support::server::config_map_path("ns", name));
    }
    pass_time(MOMENT).await;
    assert_eq!(
        ledger.take(),
        ["queue +3"],
        "two were waiting, the running one waits anew"
    );
    pass_time(20 * SECOND).await;
    let mut lines = ledger.take();
    assert_eq!(lines[0], format!("ended {running} completed - none"));
    lines.retain(|line| line.starts_with("queue"));
    let depths: Vec<&str> = lines.iter().map(|line| &line[..8]).collect();
    assert_eq!(depths, ["queue -2", "queue -1", "queue -0"], "{lines:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_gone_waits_no_longer() {
    let (server, ledger) = (Server::default(), Ledger::new());
    server.config_map("ns", "a");
    tokio::spawn(slow(&server, &ledger).run());
    pass_time(MOMENT).await;
    let path = server.config_map("ns", "b");
    server.config_map("ns", "c");
    pass_time(MOMENT).await;
    ledger.take();
    server.delete(&path);
    pass_time(MOMENT).await;
    assert_eq!(ledger.take(), ["queue -1 after 1"]);
    pass_time(20 * SECOND).await;
    assert_eq!(ledger.take_only("queue"), ["queue -0 after 2"]);
}

#[tokio::test(start_paused = true)]
async fn what_went_while_the_watch_was_down_waits_no_longer() {
    let (server, ledger) = (Server::default(), Ledger::new());
    server.config_map("ns", "a");
    let probe = Probe::<NoFinalizer>::new(|_, _, _| {
        Box::pin(async {
            sleep(3600 * SECOND).await;
            done()
        })
    });
    let controller = controller(&server, probe, &Notes::new())
        .with_observer(ledger.clone())
        .with_concurrency(1);
    tokio::spawn(controller.run());
    pass_time(MOMENT).await;
    let paths = ["b", "c"].map(|name| server.config_map("ns", name));
    pass_time(MOMENT).await;
    ledger.take();
    let mut expired = false;
    server.intercept(move |seen| {
        if seen.is_watch() && !std::mem::replace(&mut expired, true) {
            let status =
                json!({"kind": "Status", "code": 410, "reason": "Expired", "message": "old"});
            return Reply::With(
                200,
                format!("{}\n", json!({"type": "ERROR", "object": status})),
            );
        }
        Reply::Normal
    });
    server.cut_watches("");
    server.delete(&paths[0]);
    pass_time(30 * SECOND).await;
    let lines = ledger.take();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].starts_with("queue -1"), "{lines:?}");
    // The list tells of `a` again, over which a pass is running.
    assert_eq!(lines[1], "queue +2");
}

#[tokio::test(start_paused = true)]
async fn at_the_end_nothing_waits_and_each_pass_has_ended() {
    let (server, ledger) = (Server::default(), Ledger::new());
    for name in ["a", "b", "c"] {
        server.config_map("ns", name);
    }
    let stopped = slow(&server, &ledger)
        .with_stop_deadline(MOMENT)
        .run_until(sleep(SECOND))
        .await;
    assert_eq!(stopped.abandoned.len(), 1);
    let lines = ledger.take();
    let name = &stopped.abandoned[0].name;
    let queue: Vec<_> = lines
        .iter()
        .filter(|line| line.starts_with("queue -"))
        .collect();
    assert_eq!(
        queue,
        ["queue -2 after 0", "queue -1 after 2", "queue -0 after 2"]
    );
    let passes: Vec<_> = lines
        .iter()
        .filter(|line| line.contains(name.as_str()) && !line.starts_with("controller"))
        .collect();
    assert_eq!(
        passes,
        [
            &format!("began {name}"),
            &format!("ended {name} abandoned - none")
        ]
    );

    let ledger = Ledger::new();
    let task = tokio::spawn(slow(&server, &ledger).run());
    pass_time(MOMENT).await;
    task.abort();
    pass_time(MOMENT).await;
    let lines = ledger.take();
    assert!(lines.iter().any(|line| line.starts_with("queue -0")));
    let count = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
    assert_eq!((count("began"), count("ended")), (1, 1), "{lines:?}");
}

/// Passes of two seconds over a cluster-scoped kind.
struct Owner;

#[async_trait]
impl Context for Owner {
    type Resource = Namespace;
    type Error = TestError;

    async fn apply(&self, _: Client, _: &Namespace, _: &mut TraceMetadata) -> Answer {
        sleep(2 * SECOND).await;
        done()
    }
}

/// A child asks for its owner "in" its own namespace.
#[tokio::test(start_paused = true)]
async fn a_pass_that_a_child_asked_for_is_one_for_the_owner() {
    let (server, ledger) = (Server::default(), Ledger::new());
    let path = "/api/v1/namespaces/x";
    server.put(path, json!({"metadata": {"name": "x"}}));
    let config_maps = Api::<ConfigMap>::all(server.client());
    let controller = Controller::cluster(server.client(), Owner, watcher::Config::default())
        .with_observer(ledger.clone())
        .with_controller(|controller| controller.owns(config_maps, watcher::Config::default()));
    tokio::spawn(controller.run());
    pass_time(MOMENT).await;
    let start = ["controller Namespace Namespace 32", "queue +1"];
    assert_eq!(ledger.take()[..2], start);

    // While a pass runs: a request that is sent away, then a change.
    let child = support::server::config_map_path("a", "child");
    let owner = json!({"apiVersion": "v1", "kind": "Namespace", "name": "x", "uid": "x"});
    let metadata = json!({"name": "child", "namespace": "a", "ownerReferences": [owner]});
    server.put(&child, json!({"metadata": metadata}));
    pass_time(MOMENT).await;
    assert!(ledger.take().is_empty(), "what owns asks for is not seen");
    server.touch(path);
    pass_time(MOMENT).await;
    assert_eq!(ledger.take(), ["queue +1"], "it waits for the next pass");
    pass_time(SECOND).await;
    let lines = ledger.take();
    assert_eq!(
        lines,
        ["ended x completed - none", "queue -0 after 1", "began x"]
    );
}

#[tokio::test(start_paused = true)]
async fn records_say_what_the_code_asked_for_and_how_it_failed() {
    type Case = (&'static str, fn() -> Answer, &'static str);
    let cases: [Case; 7] = [
        ("nothing", || Ok(None), "completed - none"),
        ("change", done, "completed - none"),
        (
            "later",
            || Ok(Some(Action::requeue(9999 * SECOND))),
            "waiting - after",
        ),
        ("error", || Err(TestError::Text("no")), "failed error none"),
        (
            "terminal",
            || {
                let error = k8s_controller_error::TerminalError::new("no");
                Err(TestError::Terminal(error))
            },
            "failed terminal none",
        ),
        ("panic", || panic!("no"), "failed panicked none"),
        (
            "conflict",
            || {
                let status = kube::core::Status::failure("no", "Conflict").with_code(409);
                Err(kube::Error::Api(status.boxed()).into())
            },
            "failed conflict none",
        ),
    ];
    for (name, answer, expected) in cases {
        let (server, ledger) = (Server::default(), Ledger::new());
        server.config_map("ns", name);
        let probe = Probe::<NoFinalizer>::answering(move |_| answer());
        let controller = controller(&server, probe, &Notes::new());
        tokio::spawn(controller.with_observer(ledger.clone()).run());
        pass_time(Duration::from_millis(1)).await;
        let ended = ledger.take_only("ended");
        assert_eq!(ended, [format!("ended {name} {expected}")]);
    }
}

/// Asked to be run again at once, as long as the object says so.
#[tokio::test(start_paused = true)]
async fn a_requeue_at_once_is_told_as_such() {
    let (server, ledger) = (Server::default(), Ledger::new());
    server.config_map("ns", "a");
    let first = std::sync::atomic::AtomicBool::new(true);
    let probe = Probe::<NoFinalizer>::new(move |_, _, metadata| {
        metadata.set_outcome(Outcome::Skipped);
        let first = first.swap(false, std::sync::atomic::Ordering::Relaxed);
        Box::pin(async move {
            if first {
                Ok(Some(Action::requeue(Duration::ZERO)))
            } else {
                done()
            }
        })
    });
    let controller = controller(&server, probe, &Notes::new());
    tokio::spawn(controller.with_observer(ledger.clone()).run());
    pass_time(MOMENT).await;
    assert_eq!(
        ledger.take_only("ended"),
        ["ended a skipped - now", "ended a skipped - none"]
    );
}
