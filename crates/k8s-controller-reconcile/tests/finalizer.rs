//! The life of an object with a finalizer.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use k8s_controller_reconcile::{Context, Controller};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::controller::Action;
use kube::runtime::watcher;
use serde_json::json;
use support::*;

fn controller<F: support::context::Flavor>(
    server: &Server,
    probe: Probe<F>,
    notes: &Arc<Notes>,
) -> Controller<Probe<F>> {
    Controller::namespaced(server.client(), probe, "ns", watcher::Config::default())
        .with_observer(notes.clone())
        .with_seed(1)
}

fn done() -> Answer {
    Ok(Some(Action::await_change()))
}

#[tokio::test(start_paused = true)]
async fn from_creation_to_the_end() {
    let (server, notes) = (Server::default(), Notes::new());
    let path = server.config_map("ns", "a");
    let left = Arc::new(AtomicU32::new(2));
    let probe = Probe::<WithFinalizer>::answering(|_| done()).cleanup(move |_| {
        let wait = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        Ok(wait.is_ok().then(|| Action::requeue(Duration::from_secs(10))))
    });
    tokio::spawn(controller(&server, probe, &notes).run());

    pass_time(MOMENT).await;
    assert_eq!(notes.take(), ["a init completed", "a apply completed"]);
    assert_eq!(server.finalizers(&path).unwrap(), [OURS]);

    server.delete(&path);
    pass_time(MOMENT).await;
    assert_eq!(notes.take(), ["a cleanup waiting"]);
    assert_eq!(server.finalizers(&path).unwrap(), [OURS], "it asked to be run again");
    pass_time(Duration::from_secs(10)).await;
    assert_eq!(notes.take(), ["a cleanup waiting"]);
    pass_time(Duration::from_secs(10)).await;
    assert_eq!(notes.take(), ["a cleanup completed"]);
    assert_eq!(server.get(&path), None);
    pass_time(Duration::from_secs(7200)).await;
    assert_eq!(notes.take(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn the_default_cleanup_lets_go_and_others_finalizers_stay() {
    let (server, notes) = (Server::default(), Notes::new());
    let path = server.config_map("ns", "a");
    server.change(&path, |object| object["metadata"]["finalizers"] = json!(["other/one", "other/two"]));
    tokio::spawn(controller(&server, Probe::<WithFinalizer>::answering(|_| done()), &notes).run());
    pass_time(MOMENT).await;
    assert_eq!(server.finalizers(&path).unwrap(), ["other/one", "other/two", OURS]);

    server.change(&path, |object| {
        object["metadata"]["finalizers"] = json!(["other/one", OURS, "other/two"]);
    });
    server.delete(&path);
    pass_time(MOMENT).await;
    assert_eq!(server.finalizers(&path).unwrap(), ["other/one", "other/two"]);
    let notes = notes.take();
    assert_eq!(notes.last().unwrap(), "a delete completed", "{notes:?}");
}

#[tokio::test(start_paused = true)]
async fn an_object_deleted_while_nobody_looked_is_cleaned_up() {
    let (server, notes) = (Server::default(), Notes::new());
    let path = server.config_map("ns", "a");
    server.change(&path, |object| object["metadata"]["finalizers"] = json!([OURS]));
    server.delete(&path);
    tokio::spawn(controller(&server, Probe::<WithFinalizer>::answering(|_| done()), &notes).run());
    pass_time(MOMENT).await;
    assert_eq!(notes.take(), ["a cleanup completed"]);
    assert_eq!(server.get(&path), None);
}

/// Somebody adds a finalizer just before ours comes in.
fn interfere_once(server: &Server, path: &str, with: impl Fn(&Server) + Send + 'static) {
    let (interfering, path, mut first) = (server.clone(), path.to_owned(), true);
    server.intercept(move |seen| {
        if seen.is_patch() && seen.path == path && std::mem::take(&mut first) {
            with(&interfering);
        }
        Reply::Normal
    });
}

#[tokio::test(start_paused = true)]
async fn a_concurrent_writer_is_a_conflict_and_retried_at_once() {
    let (server, notes, logs) = (Server::default(), Notes::new(), Logs::capture());
    let path = server.config_map("ns", "a");
    let other = path.clone();
    interfere_once(&server, &path, move |server| {
        server.change(&other, |object| object["metadata"]["finalizers"] = json!(["other/one"]));
    });
    let probe = Probe::<WithFinalizer>::answering(|_| done());
    let asked = probe.asked.clone();
    tokio::spawn(controller(&server, probe, &notes).run());

    pass_time(Duration::from_millis(100)).await;
    assert_eq!(server.finalizers(&path).unwrap(), ["other/one", OURS]);
    assert_eq!(notes.take(), ["a init failed", "a init completed", "a apply completed"]);
    assert!(asked.lock().unwrap().is_empty(), "a conflict is no failure");
    let conflicts = logs.with(&["INFO", "conflict", "class=\"conflict\"", "source=\"failed to add finalizer"]);
    assert_eq!(conflicts.len(), 1, "{:#?}", logs.lines());
    assert!(logs.with(&["ERROR"]).is_empty(), "{:#?}", logs.lines());
}

#[tokio::test(start_paused = true)]
async fn after_a_conflict_the_object_is_fetched_anew() {
    let (server, notes) = (Server::default(), Notes::new());
    let path = server.config_map("ns", "a");
    // The watch never tells of the other's change.
    let (other, interfering, mut first) = (path.clone(), server.clone(), true);
    server.intercept(move |seen| {
        if seen.is_watch() {
            return Reply::Unfinished(200, String::new());
        }
        if seen.is_patch() && std::mem::take(&mut first) {
            interfering.change(&other, |object| object["metadata"]["finalizers"] = json!(["other/one"]));
        }
        Reply::Normal
    });
    tokio::spawn(controller(&server, Probe::<WithFinalizer>::answering(|_| done()), &notes).run());
    pass_time(MOMENT).await;
    assert_eq!(server.finalizers(&path).unwrap(), ["other/one", OURS]);
    assert_eq!(notes.take(), ["a init failed", "a init completed"]);
}

#[tokio::test(start_paused = true)]
async fn a_fresh_copy_that_cannot_be_had_is_done_without() {
    let (server, notes) = (Server::default(), Notes::new());
    let path = server.config_map("ns", "a");
    let (other, interfering, mut first) = (path.clone(), server.clone(), true);
    server.intercept(move |seen| {
        if seen.method == http::Method::GET && seen.path == other {
            return Reply::status(403, "Forbidden", json!({}));
        }
        if seen.is_patch() && std::mem::take(&mut first) {
            interfering.change(&other, |object| object["metadata"]["finalizers"] = json!(["other/one"]));
        }
        Reply::Normal
    });
    tokio::spawn(controller(&server, Probe::<WithFinalizer>::answering(|_| done()), &notes).run());
    pass_time(MOMENT).await;
    assert_eq!(notes.take(), ["a init failed", "a init completed", "a apply completed"]);
    assert_eq!(server.finalizers(&path).unwrap(), ["other/one", OURS]);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_comes_before_our_finalizer_is_no_error() {
    let (server, notes, logs) = (Server::default(), Notes::new(), Logs::capture());
    let path = server.config_map("ns", "a");
    server.change(&path, |object| object["metadata"]["finalizers"] = json!(["other/one"]));
    let other = path.clone();
    interfere_once(&server, &path, move |server| server.delete(&other));
    tokio::spawn(controller(&server, Probe::<WithFinalizer>::answering(|_| done()), &notes).run());
    pass_time(MOMENT).await;
    let notes = notes.take();
    assert_eq!(notes[..2], ["a init failed", "a delete completed"], "{notes:?}");
    assert_eq!(server.finalizers(&path).unwrap(), ["other/one"]);
    assert!(logs.with(&["ERROR"]).is_empty(), "{:#?}", logs.lines());
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_gone_is_done() {
    let (server, notes, logs) = (Server::default(), Notes::new(), Logs::capture());
    let path = server.config_map("ns", "a");
    let other = path.clone();
    interfere_once(&server, &path, move |server| server.delete(&other));
    tokio::spawn(controller(&server, Probe::<WithFinalizer>::answering(|_| done()), &notes).run());
    pass_time(MOMENT).await;
    assert_eq!(notes.take(), ["a init completed"]);
    assert!(logs.with(&["ERROR"]).is_empty(), "{:#?}", logs.lines());
}

#[tokio::test(start_paused = true)]
async fn an_object_made_anew_is_not_mistaken_for_the_old_one() {
    let (server, notes) = (Server::default(), Notes::new());
    let path = server.config_map("ns", "a");
    let other = path.clone();
    interfere_once(&server, &path, move |server| {
        server.delete(&other);
        server.config_map("ns", "a");
    });
    tokio::spawn(controller(&server, Probe::<WithFinalizer>::answering(|_| done()), &notes).run());
    pass_time(MOMENT).await;
    let notes = notes.take();
    assert_eq!(notes[0], "a init failed");
    assert_eq!(notes.last().unwrap(), "a apply completed", "{notes:?}");
    assert_eq!(server.finalizers(&path).unwrap(), [OURS]);
}

#[tokio::test(start_paused = true)]
async fn a_cleanup_that_completed_does_not_run_again() {
    for (name, reply) in [("overload", 503), ("conflict", 0)] {
        let (server, notes) = (Server::default(), Notes::new());
        let path = server.config_map("ns", "a");
        server.change(&path, |object| object["metadata"]["finalizers"] = json!([OURS, "other/one"]));
        server.delete(&path);
        let (other, interfering, mut left) = (path.clone(), server.clone(), 3);
        server.intercept(move |seen| {
            if seen.is_patch() && left > 0 {
                left -= 1;
                if reply != 0 {
                    return Reply::status(reply, "ServiceUnavailable", json!({}));
                }
                // Ours moves to another place each time.
                interfering.change(&other, |object| {
                    object["metadata"]["finalizers"].as_array_mut().unwrap().reverse();
                });
            }
            Reply::Normal
        });
        let cleanups = Arc::new(AtomicU32::new(0));
        let count = cleanups.clone();
        let probe = Probe::<WithFinalizer>::answering(|_| done()).cleanup(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(None)
        });
        tokio::spawn(controller(&server, probe, &notes).run());
        pass_time(Duration::from_secs(60)).await;
        assert_eq!(server.finalizers(&path).unwrap(), ["other/one"], "{name}");
        assert_eq!(cleanups.load(Ordering::Relaxed), 1, "{name}: {:?}", notes.take());
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_finalizer_is_an_error_and_no_conflict() {
    let (server, notes, logs) = (Server::default(), Notes::new(), Logs::capture());
    server.config_map("ns", "a");
    server.intercept(|seen| match seen.is_patch() {
        true => Reply::status(
            422,
            "Invalid",
            json!({"kind": "ConfigMap", "name": "a", "causes": [{"field": "metadata.finalizers"}]}),
        ),
        false => Reply::Normal,
    });
    let probe = Probe::<WithFinalizer>::answering(|_| done());
    let asked = probe.asked.clone();
    tokio::spawn(controller(&server, probe, &notes).run());
    pass_time(Duration::from_secs(20)).await;
    let failures = asked.lock().unwrap().clone();
    assert_eq!(failures[..3], [0, 1, 2], "{failures:?}");
    assert!(logs.with(&["INFO", "conflict"]).is_empty(), "{:#?}", logs.lines());
    assert!(!logs.with(&["ERROR", "class=\"invalid\""]).is_empty(), "{:#?}", logs.lines());
}

struct BadName;
#[async_trait::async_trait]
impl Context for BadName {
    type Resource = ConfigMap;
    type Error = TestError;
    const FINALIZER_NAME: Option<&'static str> = Some("not a name");
    async fn apply(
        &self,
        _: kube::Client,
        _: &ConfigMap,
        _: &mut k8s_controller_reconcile::TraceMetadata,
    ) -> Answer {
        panic!("never called");
    }
}

#[tokio::test(start_paused = true)]
async fn a_finalizer_name_that_is_none_is_named_and_never_sent() {
    let (server, notes, logs) = (Server::default(), Notes::new(), Logs::capture());
    server.config_map("ns", "a");
    let controller = Controller::namespaced_all(server.client(), BadName, watcher::Config::default());
    tokio::spawn(controller.with_observer(notes.clone()).run());
    pass_time(MOMENT).await;
    assert_eq!(notes.take(), ["a init failed"]);
    assert!(!server.seen().iter().any(support::server::Seen::is_patch));
    let lines = logs.with(&["ERROR", "invalid finalizer name \\\"not a name\\\"", "expected a qualified name"]);
    let at_start = logs.with(&["ERROR", "no object can be worked on"]);
    assert!(lines.len() == 1 && at_start.len() == 1, "{:#?}", logs.lines());
}

#[tokio::test(start_paused = true)]
async fn without_a_finalizer_there_is_no_cleanup() {
    let (server, notes) = (Server::default(), Notes::new());
    let path = server.config_map("ns", "a");
    server.change(&path, |object| object["metadata"]["finalizers"] = json!(["other/one"]));
    let probe = Probe::<NoFinalizer>::answering(|_| done()).cleanup(|_| panic!("never called"));
    tokio::spawn(controller(&server, probe, &notes).run());
    pass_time(MOMENT).await;
    assert_eq!(notes.take(), ["a apply completed"]);
    server.delete(&path);
    pass_time(MOMENT).await;
    assert_eq!(notes.take(), ["a delete completed"]);
    assert!(!server.seen().iter().any(support::server::Seen::is_patch));
}
