//! Lists in pages.
#![allow(clippy::unwrap_used)] // Also in the helpers of tests.

mod support;

use std::time::Duration;

use serde_json::json;
use support::*;

/// The watch has expired, and the list that begins anew comes in pages: an object that is new is
/// on the first, and a pass over it can begin only when the last has come.
#[tokio::test(start_paused = true)]
async fn a_new_object_on_a_page_of_a_later_list_gets_its_pass() {
    let (server, notes, ledger) = (Server::default(), Notes::new(), Ledger::new());
    server.config_map("ns", "b");
    let probe = Probe::<NoFinalizer>::answering(|_| done());
    let controller = controller(&server, probe, &notes).with_observer(ledger.clone());
    tokio::spawn(controller.run());
    pass_time(MOMENT).await;
    assert_eq!(notes.take(), ["b apply completed"]);
    ledger.take();

    let (behind, mut expired) = (server.clone(), false);
    server.intercept(move |seen| {
        if seen.is_watch() {
            if std::mem::replace(&mut expired, true) {
                return Reply::Normal;
            }
            let status =
                json!({"kind": "Status", "code": 410, "reason": "Expired", "message": "old"});
            let line = json!({"type": "ERROR", "object": status});
            return Reply::With(200, format!("{line}\n"));
        }
        let get = |name: &str| {
            behind
                .get(&support::server::config_map_path("ns", name))
                .unwrap()
        };
        let (items, metadata) = if seen.query.contains("continue=") {
            (json!([get("b")]), json!({"resourceVersion": "9"}))
        } else {
            let metadata = json!({"resourceVersion": "9", "continue": "more"});
            (json!([get("a")]), metadata)
        };
        let list =
            json!({"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": items});
        Reply::With(200, list.to_string())
    });
    server.cut_watches("");
    server.config_map("ns", "a");
    pass_time(Duration::from_secs(60)).await;
    let mut passes = notes.take();
    passes.sort();
    assert_eq!(passes, ["a apply completed", "b apply completed"]);
    let queue = ledger.take_only("queue");
    assert_eq!(queue.len(), 4, "{queue:?}");
    assert!(queue[3].starts_with("queue -0"), "{queue:?}");
}
