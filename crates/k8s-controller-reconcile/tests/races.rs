//! Others who write to an object while we add or remove our finalizer.
#![allow(clippy::unwrap_used)] // Also in the helpers of tests.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::json;
use support::*;

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
        server.change(&other, |object| {
            object["metadata"]["finalizers"] = json!(["other/one"]);
        });
    });
    let probe = Probe::<WithFinalizer>::answering(|_| done());
    let asked = probe.asked.clone();
    tokio::spawn(controller(&server, probe, &notes).run());

    pass_time(Duration::from_millis(100)).await;
    assert_eq!(server.finalizers(&path).unwrap(), ["other/one", OURS]);
    assert_eq!(
        notes.take(),
        ["a init failed", "a init completed", "a apply completed"]
    );
    assert!(asked.lock().unwrap().is_empty(), "a conflict is no failure");
    let conflicts = logs.with(&[
        "INFO",
        "conflict",
        "class=\"conflict\"",
        "source=\"failed to add finalizer",
    ]);
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
            interfering.change(&other, |object| {
                object["metadata"]["finalizers"] = json!(["other/one"]);
            });
        }
        Reply::Normal
    });
    tokio::spawn(
        controller(
            &server,
            Probe::<WithFinalizer>::answering(|_| done()),
            &notes,
        )
        .run(),
    );
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
            interfering.change(&other, |object| {
                object["metadata"]["finalizers"] = json!(["other/one"]);
            });
        }
        Reply::Normal
    });
    tokio::spawn(
        controller(
            &server,
            Probe::<WithFinalizer>::answering(|_| done()),
            &notes,
        )
        .run(),
    );
    pass_time(MOMENT).await;
    assert_eq!(
        notes.take(),
        ["a init failed", "a init completed", "a apply completed"]
    );
    assert_eq!(server.finalizers(&path).unwrap(), ["other/one", OURS]);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_comes_before_our_finalizer_is_no_error() {
    let (server, notes, logs) = (Server::default(), Notes::new(), Logs::capture());
    let path = server.config_map("ns", "a");
    server.change(&path, |object| {
        object["metadata"]["finalizers"] = json!(["other/one"]);
    });
    let other = path.clone();
    interfere_once(&server, &path, move |server| server.delete(&other));
    tokio::spawn(
        controller(
            &server,
            Probe::<WithFinalizer>::answering(|_| done()),
            &notes,
        )
        .run(),
    );
    pass_time(MOMENT).await;
    let notes = notes.take();
    assert_eq!(
        notes[..2],
        ["a init failed", "a delete completed"],
        "{notes:?}"
    );
    assert_eq!(server.finalizers(&path).unwrap(), ["other/one"]);
    assert!(logs.with(&["ERROR"]).is_empty(), "{:#?}", logs.lines());
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_gone_is_done() {
    let (server, notes, logs) = (Server::default(), Notes::new(), Logs::capture());
    let path = server.config_map("ns", "a");
    let other = path.clone();
    interfere_once(&server, &path, move |server| server.delete(&other));
    tokio::spawn(
        controller(
            &server,
            Probe::<WithFinalizer>::answering(|_| done()),
            &notes,
        )
        .run(),
    );
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
    tokio::spawn(
        controller(
            &server,
            Probe::<WithFinalizer>::answering(|_| done()),
            &notes,
        )
        .run(),
    );
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
        server.change(&path, |object| {
            object["metadata"]["finalizers"] = json!([OURS, "other/one"]);
        });
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
                    object["metadata"]["finalizers"]
                        .as_array_mut()
                        .unwrap()
                        .reverse();
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
        assert_eq!(
            cleanups.load(Ordering::Relaxed),
            1,
            "{name}: {:?}",
            notes.take()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_finalizer_that_is_gone_is_not_removed_again_while_the_watch_lags() {
    let (server, notes) = (Server::default(), Notes::new());
    let path = server.config_map("ns", "a");
    server.change(&path, |object| {
        object["metadata"]["finalizers"] = json!([OURS, "other/one"]);
    });
    server.delete(&path);
    server.intercept(|seen| {
        if seen.is_watch() {
            Reply::Unfinished(200, String::new())
        } else {
            Reply::Normal
        }
    });
    let tick = futures::stream::once(pass_time(Duration::from_secs(1)));
    let controller = controller(
        &server,
        Probe::<WithFinalizer>::answering(|_| done()),
        &notes,
    )
    .with_controller(|controller| controller.reconcile_all_on(tick));
    tokio::spawn(controller.run());
    pass_time(Duration::from_secs(2)).await;
    assert_eq!(notes.take(), ["a cleanup completed", "a delete completed"]);
    assert_eq!(server.finalizers(&path).unwrap(), ["other/one"]);
    let patches = server.seen().iter().filter(|seen| seen.is_patch()).count();
    assert_eq!(patches, 1);
}
