//! Servers that answer nonsense, and objects that lack what every object has.
#![allow(clippy::unwrap_used)] // Also in the helpers of tests.

mod support;

use std::time::Duration;

use serde_json::json;
use support::server::config_map_path;
use support::*;

#[tokio::test(start_paused = true)]
async fn a_list_that_is_none_is_logged_and_tried_again() {
    let answers: [(&str, u16, &str, &str); 5] = [
        (
            "html with 200",
            200,
            "<html>welcome</html>",
            "expected value",
        ),
        (
            "html with 502",
            502,
            "<html>Bad Gateway</html>",
            "Bad Gateway",
        ),
        ("half a json", 200, "{\"kind\":\"List\",\"items\":[{", "EOF"),
        ("empty with 200", 200, "", "EOF"),
        ("another kind", 200, "{\"kind\":\"Pony\"}", "missing field"),
    ];
    for (name, code, body, told) in answers {
        let (server, notes, logs) = (Server::default(), Notes::new(), Logs::capture());
        server.config_map("ns", "a");
        let mut left = 2;
        server.intercept(move |_| {
            if left == 0 {
                return Reply::Normal;
            }
            left -= 1;
            Reply::With(code, body.into())
        });
        tokio::spawn(
            controller(&server, Probe::<NoFinalizer>::answering(|_| done()), &notes).run(),
        );
        pass_time(Duration::from_secs(30)).await;
        assert_eq!(notes.take(), ["a apply completed"], "{name}");
        let lines = logs.with(&[
            "WARN",
            "watch failed, will be retried",
            "controller=\"ConfigMap\"",
            told,
        ]);
        assert_eq!(lines.len(), 2, "{name}: {:#?}", logs.lines());
        assert!(!lines[0].contains("Status {"), "{name}: {lines:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_cut_in_the_middle_of_a_line_loses_nothing() {
    let (server, notes) = (Server::default(), Notes::new());
    let path = server.config_map("ns", "a");
    tokio::spawn(controller(&server, Probe::<NoFinalizer>::answering(|_| done()), &notes).run());
    pass_time(MOMENT).await;
    notes.take();
    server.cut_watches("{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"na");
    server.touch(&path);
    pass_time(Duration::from_secs(60)).await;
    assert_eq!(notes.take(), ["a apply completed"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_sends_nonsense_is_logged_and_goes_on() {
    let (server, notes, logs) = (Server::default(), Notes::new(), Logs::capture());
    let path = server.config_map("ns", "a");
    tokio::spawn(controller(&server, Probe::<NoFinalizer>::answering(|_| done()), &notes).run());
    pass_time(MOMENT).await;
    notes.take();
    server.cut_watches("<html>\n");
    server.touch(&path);
    pass_time(Duration::from_secs(60)).await;
    assert_eq!(notes.take(), ["a apply completed"]);
    assert_eq!(
        logs.with(&["WARN", "watch failed, will be retried"]).len(),
        1,
        "{:#?}",
        logs.lines()
    );
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_the_finalizer_that_is_none_is_a_failed_pass() {
    let (server, notes, logs) = (Server::default(), Notes::new(), Logs::capture());
    server.config_map("ns", "a");
    let mut left = 1;
    server.intercept(move |seen| {
        if seen.is_patch() && left > 0 {
            left -= 1;
            return Reply::With(200, String::new());
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
    pass_time(Duration::from_secs(10)).await;
    assert_eq!(
        notes.take(),
        ["a init failed", "a init completed", "a apply completed"]
    );
    assert_eq!(
        logs.with(&["ERROR", "failed to add finalizer", "class=\"transient\""])
            .len(),
        1
    );
}

#[tokio::test(start_paused = true)]
async fn objects_that_lack_something_fail_alone_and_say_what() {
    let (server, notes, logs) = (Server::default(), Notes::new(), Logs::capture());
    let put = |name: &str, metadata| {
        server.put(&config_map_path("ns", name), json!({"metadata": metadata}));
    };
    put(
        "no-uid",
        json!({"name": "no-uid", "namespace": "ns", "uid": ""}),
    );
    put("no-namespace", json!({"name": "no-namespace"}));
    put("no-name", json!({"namespace": "ns"}));
    server.config_map("ns", "good");
    tokio::spawn(
        controller(
            &server,
            Probe::<WithFinalizer>::answering(|_| done()),
            &notes,
        )
        .run(),
    );
    pass_time(MOMENT).await;
    let mut told = notes.take();
    told.sort();
    let expected = [
        "good apply completed",
        "good init completed",
        "no-namespace init failed",
        "no-uid init failed",
    ];
    assert_eq!(told, expected);
    for field in ["metadata.uid", "metadata.namespace"] {
        let lines = logs.with(&["ERROR", "without", field]);
        assert_eq!(lines.len(), 1, "{field}: {:#?}", logs.lines());
    }
    let lines = logs.with(&["ERROR", "field=\"metadata.name\"", "kind=\"ConfigMap\""]);
    assert_eq!(lines.len(), 1, "{:#?}", logs.lines());
}

/// A proxy's page, or what an API server says of a kind that it does not know yet.
#[tokio::test(start_paused = true)]
async fn a_404_that_names_no_object_does_not_mean_that_the_object_is_gone() {
    let (server, notes) = (Server::default(), Notes::new());
    let path = server.config_map("ns", "a");
    let mut odd = false;
    server.intercept(move |seen| {
        odd = seen.is_patch() && !odd;
        if odd {
            Reply::With(404, "404 page not found\n".into())
        } else {
            Reply::Normal
        }
    });
    let probe = Probe::<WithFinalizer>::answering(|_| done());
    tokio::spawn(controller(&server, probe, &notes).run());
    pass_time(Duration::from_secs(10)).await;
    assert_eq!(
        notes.take(),
        ["a init failed", "a init completed", "a apply completed"]
    );
    server.delete(&path);
    pass_time(Duration::from_secs(10)).await;
    assert_eq!(notes.take(), ["a cleanup failed", "a cleanup completed"]);
    assert_eq!(server.get(&path), None);
}
