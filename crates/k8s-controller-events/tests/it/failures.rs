//! Servers that refuse, break, or talk nonsense.

use std::error::Error;

use k8s_controller_events::PublishError;
use serde_json::Value;

use crate::log::Log;
use crate::server::{Answer, Sent, already_exists, status};
use crate::{config_map, event, set_up};

#[tokio::test(start_paused = true)]
async fn a_taken_name_is_replaced() {
    let (server, recorder) = set_up();
    server.script([
        Answer::Refused(already_exists("web.0")),
        Answer::Refused(already_exists("web.1")),
    ]);
    recorder
        .publish(&config_map("web"), &event("Broke"))
        .await
        .unwrap();
    recorder
        .publish(&config_map("web"), &event("Broke"))
        .await
        .unwrap();
    let requests = server.requests();
    let names: Vec<_> = requests.iter().map(Sent::event_name).collect();
    assert_eq!(names.len(), 4);
    assert!(names[0] != names[1] && names[1] != names[2], "{names:?}");
    assert_eq!(names[3], names[2]);
    assert_eq!(recorder.stats().created, 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_on_which_every_name_is_taken() {
    let (server, recorder) = set_up();
    server.script(vec![Answer::Refused(already_exists("web.0")); 100]);
    let error = recorder
        .publish(&config_map("web"), &event("Broke"))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "event not sent: events.events.k8s.io \"web.0\" already exists: AlreadyExists"
    );
    assert!(server.requests().len() < 10);
}

#[tokio::test(start_paused = true)]
async fn a_terminating_namespace_is_quiet() {
    let log = Log::capture();
    let (server, recorder) = set_up();
    let terminating = status(
        403,
        "Forbidden",
        "events.events.k8s.io \"e\" is forbidden: unable to create new content in namespace team-a \
         because it is being terminated",
        &["NamespaceTerminating"],
    );
    server.script([Answer::Refused(terminating)]);
    recorder
        .publish(&config_map("web"), &event("Broke"))
        .await
        .unwrap();
    let stats = recorder.stats();
    assert_eq!(
        (stats.namespace_terminating, stats.sent(), stats.lost()),
        (1, 0, 1)
    );
    assert_eq!(log.lines("WARN"), Vec::<String>::new());
    let lines = log.lines("DEBUG");
    assert!(
        lines
            .iter()
            .any(|line| line.contains("event dropped") && line.contains("web")),
        "{lines:?}"
    );

    // Nothing is tracked: once the namespace is there again, so is the event.
    recorder
        .publish(&config_map("web"), &event("Broke"))
        .await
        .unwrap();
    assert_eq!(server.counts(), [None, None]);
}

#[tokio::test(start_paused = true)]
async fn a_missing_permission_is_not() {
    let log = Log::capture();
    let (server, recorder) = set_up();
    server.script([Answer::Refused(status(
        403,
        "Forbidden",
        "User \"x\" cannot create events",
        &[],
    ))]);
    let error = recorder
        .publish(&config_map("web"), &event("Broke"))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "event not sent: User \"x\" cannot create events: Forbidden"
    );
    let source = error
        .source()
        .and_then(|source| source.downcast_ref::<kube::Error>());
    assert!(matches!(source, Some(kube::Error::Api(status)) if status.code == 403));
    let lines = log.lines("WARN");
    assert_eq!(lines.len(), 1, "{lines:?}");
    for part in ["web", "team-a", "Broke", "cannot create events"] {
        assert!(lines[0].contains(part), "{}", lines[0]);
    }
    assert_eq!(recorder.stats().failed, 1);
}

#[tokio::test(start_paused = true)]
async fn a_refused_create_leaves_no_series() {
    let (server, recorder) = set_up();
    for code in [400, 404, 409, 422, 429, 500, 503] {
        server.script([Answer::Refused(status(code, "Because", "no", &[]))]);
        let error = recorder
            .publish(&config_map("web"), &event("Broke"))
            .await
            .unwrap_err();
        assert!(
            matches!(error, PublishError::Kube(kube::Error::Api(_))),
            "{error:?}"
        );
    }
    assert_eq!(recorder.tracked_series(), 0);
    recorder
        .publish(&config_map("web"), &event("Broke"))
        .await
        .unwrap();
    assert_eq!(server.counts(), [None; 8]);
    assert_eq!(recorder.stats().failed, 7);
}

#[tokio::test(start_paused = true)]
async fn a_refused_patch_does_not_count() {
    let (server, recorder) = set_up();
    recorder
        .publish(&config_map("web"), &event("Broke"))
        .await
        .unwrap();
    for code in [403, 409, 422, 429, 500, 503] {
        server.script([Answer::Refused(status(code, "Because", "no", &[]))]);
        recorder
            .publish(&config_map("web"), &event("Broke"))
            .await
            .unwrap_err();
    }
    recorder
        .publish(&config_map("web"), &event("Broke"))
        .await
        .unwrap();
    assert_eq!(server.counts()[1..], [Some(2); 7]);
    assert_eq!(server.events().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_failed_difference_leaves_the_series_as_it_was() {
    let (server, recorder) = set_up();
    let mut other = event("Broke");
    other.note = Some("other".into());
    recorder
        .publish(&config_map("web"), &event("Broke"))
        .await
        .unwrap();
    server.script([Answer::Refused(status(500, "InternalError", "no", &[]))]);
    recorder
        .publish(&config_map("web"), &other)
        .await
        .unwrap_err();
    recorder
        .publish(&config_map("web"), &event("Broke"))
        .await
        .unwrap();
    assert_eq!(server.counts(), [None, None, Some(2)]);
}

/// Answers that are no event, with what the error must say.
const NONSENSE: [(Answer, &str); 8] = [
    (
        Answer::Body(200, "<html><body>Login</body></html>"),
        "Error deserializing response: expected value",
    ),
    (
        Answer::Body(201, "{\"apiVersion\":\"events.k8s.io/v1\",\"ki"),
        "Error deserializing response: EOF",
    ),
    (Answer::Body(200, ""), "Error deserializing response: EOF"),
    (
        Answer::Body(200, "null"),
        "Error deserializing response: invalid type: null",
    ),
    (
        Answer::Body(200, "{\"apiVersion\":\"v1\",\"kind\":\"Status\"}"),
        "Error deserializing response",
    ),
    (
        Answer::Body(502, "<html>Bad Gateway</html>"),
        "<html>Bad Gateway</html>",
    ),
    (Answer::Body(500, ""), "Failed to parse error data"),
    (Answer::Broken, "connection reset by peer"),
];

#[tokio::test(start_paused = true)]
async fn nonsense_for_a_new_event() {
    for (answer, expected) in NONSENSE {
        let log = Log::capture();
        let (server, recorder) = set_up();
        server.script([answer.clone()]);
        let error = recorder
            .publish(&config_map("web"), &event("Broke"))
            .await
            .unwrap_err();
        assert!(matches!(error, PublishError::Kube(_)), "{error:?}");
        assert!(error.to_string().contains(expected), "{answer:?}: {error}");
        assert_eq!(log.lines("WARN").len(), 1, "{answer:?}");

        recorder
            .publish(&config_map("web"), &event("Broke"))
            .await
            .unwrap();
        recorder
            .publish(&config_map("web"), &event("Broke"))
            .await
            .unwrap();
        assert_eq!(server.counts(), [None, None, Some(2)], "{answer:?}");
        assert_eq!(recorder.stats().failed, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn nonsense_for_a_repeat() {
    for (answer, _) in NONSENSE {
        let (server, recorder) = set_up();
        recorder
            .publish(&config_map("web"), &event("Broke"))
            .await
            .unwrap();
        server.script([answer.clone()]);
        recorder
            .publish(&config_map("web"), &event("Broke"))
            .await
            .unwrap_err();
        recorder
            .publish(&config_map("web"), &event("Broke"))
            .await
            .unwrap();
        let counts = server.counts();
        // An error status says that it was not counted; after anything else it may have been.
        let refused = matches!(answer, Answer::Body(400.., _));
        let next = if refused { 2 } else { 3 };
        assert_eq!(counts, [None, Some(2), Some(next)], "{answer:?}");
        assert_eq!(server.events()[0]["series"]["count"], Value::from(next));
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_caller_gives_up_is_logged() {
    let log = Log::capture();
    let (server, recorder) = set_up();
    server.script([Answer::Silence]);
    let (web, broke) = (config_map("web"), event("Broke"));
    tokio::select! {
        biased;
        result = recorder.publish(&web, &broke) => panic!("{result:?}"),
        () = tokio::task::yield_now() => {}
    }
    let lines = log.lines("WARN");
    assert!(
        lines.len() == 1 && lines[0].contains("cancelled by the caller"),
        "{lines:?}"
    );
    assert_eq!(recorder.stats().cancelled, 1);
}

#[derive(Debug)]
struct Outer(std::io::Error);

impl std::fmt::Display for Outer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("client error (Connect)")
    }
}

impl std::error::Error for Outer {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

#[tokio::test(start_paused = true)]
async fn the_log_says_why_a_server_is_out_of_reach() {
    let log = Log::capture();
    let service = tower::service_fn(|_: http::Request<kube::client::Body>| async {
        let refused = std::io::Error::other("connection refused");
        Err::<http::Response<kube::client::Body>, _>(Outer(refused))
    });
    let recorder = k8s_controller_events::EventRecorder::new(
        kube::Client::new(service, "default"),
        crate::reporter(),
    );
    recorder
        .publish(&config_map("web"), &event("Broke"))
        .await
        .unwrap_err();
    let lines = log.lines("WARN");
    assert!(
        lines.len() == 1 && lines[0].contains("connection refused"),
        "{lines:?}"
    );
}
