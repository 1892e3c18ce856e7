//! What is remembered of objects that are gone: nothing.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::support::{
    Answer, MOMENT, Notes, OURS, Probe, Reply, Server, TestError, WithFinalizer, controller, done,
    pass_time,
};
use crate::watch::Memory;

fn fail() -> Answer {
    Err(TestError::Text("no"))
}

fn start(server: &Server, probe: Probe<WithFinalizer>) -> Arc<Memory> {
    let controller = controller(server, probe, &Notes::new());
    let memory = Arc::clone(&controller.memory);
    tokio::spawn(controller.run());
    memory
}

fn with_ours(server: &Server, name: &str) -> String {
    let path = server.config_map("ns", name);
    server.change(&path, |object| {
        object["metadata"]["finalizers"] = json!([OURS]);
    });
    path
}

#[tokio::test(start_paused = true)]
async fn of_ever_new_objects_that_fail() {
    let server = Server::default();
    let memory = start(&server, Probe::answering(|_| fail()));
    for wave in 0..20 {
        let paths: Vec<_> = (0..50)
            .map(|number| with_ours(&server, &format!("a{wave}-{number}")))
            .collect();
        pass_time(Duration::from_secs(3)).await;
        assert_eq!(memory.tracker.len(), 50);
        for path in &paths {
            server.delete(path);
        }
        pass_time(Duration::from_secs(300)).await;
        assert_eq!(memory.tracker.len(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn of_objects_deleted_while_the_watch_was_down() {
    let server = Server::default();
    let path = server.config_map("ns", "a");
    server.config_map("ns", "b");
    let memory = start(&server, Probe::answering(|_| fail()));
    pass_time(MOMENT).await;
    assert_eq!(memory.tracker.len(), 2);
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
    server.change(&path, |object| {
        object["metadata"]["finalizers"] = json!(null);
    });
    server.delete(&path);
    pass_time(Duration::from_secs(30)).await;
    assert_eq!(memory.tracker.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn of_an_object_that_goes_while_a_pass_over_it_fails() {
    let server = Server::default();
    let path = with_ours(&server, "a");
    let probe = Probe::new(|_, _, _| {
        Box::pin(async {
            pass_time(Duration::from_secs(2)).await;
            fail()
        })
    });
    let memory = start(&server, probe);
    pass_time(MOMENT).await;
    server.change(&path, |object| {
        object["metadata"]["finalizers"] = json!(null);
    });
    server.delete(&path);
    pass_time(Duration::from_secs(3)).await;
    assert_eq!(server.get(&path), None);
    assert_eq!(memory.tracker.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn of_a_cleanup_once_the_object_is_gone() {
    let server = Server::default();
    let path = with_ours(&server, "a");
    let other = with_ours(&server, "b");
    let memory = start(&server, Probe::answering(|_| done()));
    server.change(&other, |object| {
        object["metadata"]["finalizers"] = json!([OURS, "other/one"]);
    });
    server.delete(&path);
    server.delete(&other);
    pass_time(MOMENT).await;
    assert_eq!(server.get(&path), None);
    assert_eq!(memory.tracker.len(), 1, "b is still there");
    server.change(&other, |object| {
        object["metadata"]["finalizers"] = json!(null);
    });
    pass_time(MOMENT).await;
    assert_eq!(memory.tracker.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn of_objects_without_a_uid() {
    let server = Server::default();
    let path = crate::support::server::config_map_path("ns", "a");
    server.put(
        &path,
        json!({"metadata": {"name": "a", "namespace": "ns", "uid": ""}}),
    );
    let memory = start(&server, Probe::answering(|_| done()));
    pass_time(MOMENT).await;
    assert_eq!(memory.tracker.len(), 1);
    server.delete(&path);
    pass_time(MOMENT).await;
    assert_eq!(memory.tracker.len(), 0);
}
