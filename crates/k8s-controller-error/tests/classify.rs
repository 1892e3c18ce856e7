//! Conflicts and classes, on the answers of a real server.
#![allow(clippy::unwrap_used)] // Also in the helpers of tests.

mod answers;

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use answers::{already_exists, conflict, failed_test, invalid, not_found, status, unreadable};
use k8s_controller_error::{
    Error, ErrorClass, Panic, TerminalError, classify, is_conflict, is_failed_patch_test,
    is_terminal, retry_after,
};
use kube::runtime::finalizer;
use serde_json::json;

type ControllerError = Error<Own>;

#[derive(Debug, thiserror::Error)]
enum Own {
    #[error("own")]
    Kube(#[source] kube::Error),
    #[error(transparent)]
    Transparent(#[from] kube::Error),
    #[error(transparent)]
    Terminal(#[from] TerminalError),
}

fn add(error: kube::Error) -> ControllerError {
    Error::FinalizerError(finalizer::Error::AddFinalizer(error))
}

fn remove(error: kube::Error) -> ControllerError {
    Error::FinalizerError(finalizer::Error::RemoveFinalizer(error))
}

fn apply(error: Own) -> ControllerError {
    Error::FinalizerError(finalizer::Error::ApplyFailed(error))
}

#[test]
fn what_a_conflict_is() {
    let cases = [
        (
            "409 of the user's",
            Error::ControllerError(Own::Kube(conflict())),
            true,
        ),
        (
            "409 of the user's, transparent",
            apply(Own::Transparent(conflict())),
            true,
        ),
        ("409 of the finalizer", add(conflict()), true),
        (
            "a conflict whose body has no code",
            add(status(0, "Conflict", "modified", json!({}))),
            true,
        ),
        ("failed test, adding", add(failed_test()), true),
        ("failed test, removing", remove(failed_test()), true),
        (
            "failed test of the user's",
            apply(Own::Kube(failed_test())),
            false,
        ),
        (
            "failed test of the user's, no finalizer",
            Error::ControllerError(Own::Kube(failed_test())),
            false,
        ),
        ("validation, adding", add(invalid()), false),
        ("validation, removing", remove(invalid()), false),
        (
            "already exists",
            Error::ControllerError(Own::Kube(already_exists())),
            false,
        ),
        ("not found", remove(not_found()), false),
        (
            "conflict in a terminal error",
            apply(Own::Terminal(TerminalError::new(conflict()))),
            true,
        ),
    ];
    for (name, error, expected) in cases {
        assert_eq!(error.is_conflict(), expected, "{name}");
        assert_eq!(error.classify() == ErrorClass::Conflict, expected, "{name}");
    }
}

#[test]
fn the_free_functions_know_no_finalizer() {
    assert!(is_conflict(&conflict()));
    assert!(is_conflict(&Own::Transparent(conflict())));
    assert!(!is_conflict(&failed_test()));
    assert!(is_failed_patch_test(&Own::Kube(failed_test())));
    assert!(!is_failed_patch_test(&invalid()));
    assert!(!is_failed_patch_test(&conflict()));
    // Without a reason, a 409 may be anything.
    assert!(!is_conflict(&status(409, "", "", json!({}))));
}

#[test]
fn classes_of_answers() {
    let throttled = |seconds: u64| ErrorClass::Throttled {
        retry_after: Some(Duration::from_secs(seconds)),
    };
    let cases = [
        (conflict(), ErrorClass::Conflict),
        (not_found(), ErrorClass::NotFound),
        (unreadable(404, "404 page not found"), ErrorClass::NotFound),
        (
            status(401, "Unauthorized", "Unauthorized", json!({})),
            ErrorClass::Forbidden,
        ),
        (
            status(403, "Forbidden", "no", json!({})),
            ErrorClass::Forbidden,
        ),
        (invalid(), ErrorClass::Invalid),
        (failed_test(), ErrorClass::Invalid),
        (
            status(400, "BadRequest", "no", json!({})),
            ErrorClass::Invalid,
        ),
        (
            status(413, "RequestEntityTooLarge", "limit is 3145728", json!({})),
            ErrorClass::Invalid,
        ),
        (
            status(429, "TooManyRequests", "", json!({"retryAfterSeconds": 7})),
            throttled(7),
        ),
        (
            status(429, "TooManyRequests", "", json!({})),
            ErrorClass::Throttled { retry_after: None },
        ),
        (
            status(
                503,
                "ServiceUnavailable",
                "",
                json!({"retryAfterSeconds": 1}),
            ),
            throttled(1),
        ),
        (
            status(503, "ServiceUnavailable", "", json!({})),
            ErrorClass::Transient,
        ),
        (
            status(500, "InternalError", "", json!({})),
            ErrorClass::Transient,
        ),
        (
            status(500, "ServerTimeout", "", json!({"retryAfterSeconds": 1})),
            ErrorClass::TimedOut,
        ),
        (
            status(504, "Timeout", "", json!({"retryAfterSeconds": 1})),
            ErrorClass::TimedOut,
        ),
        (
            status(410, "Expired", "too old", json!({})),
            ErrorClass::Transient,
        ),
        (unreadable(502, "<html>"), ErrorClass::Transient),
        (already_exists(), ErrorClass::Other),
    ];
    for (error, class) in cases {
        assert_eq!(classify(&error), class, "{error}");
        let error = Error::ControllerError(Own::Transparent(error));
        assert_eq!(
            error.classify(),
            class,
            "behind a transparent error: {error}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn classes_of_other_errors() {
    let io = |kind| io::Error::new(kind, "x");
    let service = |error: io::Error| kube::Error::Service(Box::new(error));
    let nonsense = serde_json::from_str::<u8>("<html>").unwrap_err();
    let elapsed = tokio::time::timeout(Duration::ZERO, std::future::pending::<()>())
        .await
        .unwrap_err();
    let cases: [(Box<dyn StdError>, ErrorClass); 9] = [
        (
            Box::new(service(io(io::ErrorKind::ConnectionRefused))),
            ErrorClass::Transient,
        ),
        (
            Box::new(service(io(io::ErrorKind::TimedOut))),
            ErrorClass::TimedOut,
        ),
        (
            Box::new(kube::Error::Service("no route".into())),
            ErrorClass::Transient,
        ),
        (
            Box::new(Own::Transparent(service(io(io::ErrorKind::BrokenPipe)))),
            ErrorClass::Transient,
        ),
        (
            Box::new(kube::Error::SerdeError(nonsense)),
            ErrorClass::Transient,
        ),
        (Box::new(elapsed), ErrorClass::TimedOut),
        (
            Box::new(Error::<Own>::Panicked(Panic::new("x"))),
            ErrorClass::Panicked,
        ),
        (Box::new(io(io::ErrorKind::NotFound)), ErrorClass::Other),
        (
            Box::new(Error::<Own>::MissingMetadata {
                field: "metadata.uid",
            }),
            ErrorClass::Other,
        ),
    ];
    for (error, class) in cases {
        assert_eq!(classify(error.as_ref()), class, "{error:?}");
    }
}

#[test]
fn delays_are_found_and_zero_is_none() {
    let asked = |seconds: u64| status(429, "", "", json!({"retryAfterSeconds": seconds}));
    assert_eq!(
        retry_after(&Own::Transparent(asked(30))),
        Some(Duration::from_secs(30))
    );
    assert_eq!(
        Error::ControllerError(Own::Kube(asked(30))).retry_after(),
        Some(Duration::from_secs(30))
    );
    assert_eq!(retry_after(&asked(0)), None);
    assert_eq!(retry_after(&not_found()), None);
}

#[test]
fn a_terminal_error_is_found_at_any_depth() {
    let terminal = || TerminalError::new("no such color");
    assert!(is_terminal(&terminal()));
    assert!(is_terminal(&Own::from(terminal())));
    assert!(apply(Own::from(terminal())).is_terminal());
    assert!(!apply(Own::from(conflict())).is_terminal());
    // What is in it still counts.
    assert_eq!(
        classify(&TerminalError::new(not_found())),
        ErrorClass::NotFound
    );
    assert_eq!(terminal().get_ref().to_string(), "no such color");
    assert!(
        TerminalError::new(not_found())
            .into_inner()
            .is::<kube::Error>()
    );
}

#[test]
fn the_text_of_a_panic_is_kept() {
    let text = |code: fn()| {
        let payload = std::panic::catch_unwind(code).unwrap_err();
        Panic::from_payload(payload.as_ref()).message().to_owned()
    };
    assert_eq!(text(|| panic!("plain")), "plain");
    assert_eq!(text(|| panic!("{}", 1 + 1)), "2");
    assert_eq!(text(|| std::panic::panic_any(7)), "(no text)");
}
