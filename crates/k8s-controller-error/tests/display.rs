//! `display_chain` says everything once.
#![allow(clippy::unwrap_used)] // Also in the helpers of tests.

mod answers;

use std::error::Error as StdError;
use std::sync::Arc;

use answers::{not_found, status, unreadable};
use k8s_controller_error::{Error, Panic, TerminalError, display_chain};
use kube::runtime::finalizer;
use serde_json::json;

#[derive(Debug, thiserror::Error)]
enum Own {
    #[error("cannot fetch")]
    Silent(#[source] kube::Error),
    #[error("cannot fetch: {0}")]
    Quoting(#[source] kube::Error),
    #[error(transparent)]
    Transparent(kube::Error),
    #[error("cannot fetch: {0}")]
    Boxed(#[source] Box<kube::Error>),
    #[error("cannot fetch: {0}")]
    Shared(#[source] Arc<kube::Error>),
    #[error("outer")]
    Nested(#[source] Box<Own>),
    #[error("not sent: {}", answer_in(.0))]
    Bare(#[source] kube::Error),
    #[error("")]
    Empty(#[source] std::io::Error),
}

/// What the server said without the word of `kube`'s before it.
fn answer_in(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.to_string(),
        other => other.to_string(),
    }
}

fn chain(error: &(dyn StdError + 'static)) -> String {
    display_chain(error).to_string()
}

#[test]
fn an_answer_is_said_once_and_readable() {
    let answer = "ApiError: widgets.example.com \"missing\" not found: NotFound";
    let prefixed = format!("cannot fetch: {answer}");
    let cases: [(Box<dyn StdError>, String); 9] = [
        (Box::new(not_found()), answer.to_owned()),
        (Box::new(Own::Silent(not_found())), prefixed.clone()),
        (Box::new(Own::Quoting(not_found())), prefixed.clone()),
        (Box::new(Own::Transparent(not_found())), answer.to_owned()),
        (
            Box::new(Own::Boxed(Box::new(not_found()))),
            prefixed.clone(),
        ),
        (
            Box::new(Own::Shared(Arc::new(not_found()))),
            prefixed.clone(),
        ),
        (
            Box::new(Own::Nested(Box::new(Own::Quoting(not_found())))),
            format!("outer: {prefixed}"),
        ),
        (
            Box::new(Error::FinalizerError(finalizer::Error::ApplyFailed(
                Own::Quoting(not_found()),
            ))),
            format!("failed to apply object: {prefixed}"),
        ),
        (
            Box::new(Error::<Own>::FinalizerError(
                finalizer::Error::AddFinalizer(not_found()),
            )),
            format!("failed to add finalizer: {answer}"),
        ),
    ];
    for (error, expected) in cases {
        assert_eq!(chain(error.as_ref()), expected, "{error:?}");
    }
}

#[test]
fn an_answer_that_a_wrapper_quotes_bare_is_said_once() {
    assert_eq!(
        chain(&Own::Bare(not_found())),
        "not sent: widgets.example.com \"missing\" not found: NotFound"
    );
}

#[test]
fn parts_that_an_answer_lacks_leave_no_trace() {
    assert_eq!(chain(&status(500, "", "boom", json!({}))), "ApiError: boom");
    assert_eq!(
        chain(&status(500, "InternalError", "", json!({}))),
        "ApiError: InternalError"
    );
    assert_eq!(
        chain(&status(502, "", "", json!({}))),
        "ApiError: HTTP status 502"
    );
    // A JSON body that is no `Status` at all.
    assert_eq!(
        chain(&status(0, "", "", json!({}))),
        "ApiError: no reason given"
    );
}

#[test]
fn an_answer_that_is_no_status_is_its_text() {
    let missing = || unreadable(404, "404 page not found");
    let cases: [(Box<dyn StdError>, &str); 6] = [
        (Box::new(missing()), "ApiError: 404 page not found"),
        (
            Box::new(Own::Quoting(missing())),
            "cannot fetch: ApiError: 404 page not found",
        ),
        (
            Box::new(Own::Silent(missing())),
            "cannot fetch: ApiError: 404 page not found",
        ),
        (
            Box::new(Own::Bare(missing())),
            "not sent: 404 page not found",
        ),
        (
            Box::new(unreadable(502, "<html>Bad Gateway</html>\n")),
            "ApiError: <html>Bad Gateway</html>",
        ),
        (Box::new(unreadable(502, "")), "ApiError: HTTP status 502"),
    ];
    for (error, expected) in cases {
        assert_eq!(chain(error.as_ref()), expected, "{error:?}");
    }
    // What a server itself gives as a message stays.
    assert_eq!(
        chain(&status(500, "", "Failed to parse error data", json!({}))),
        "ApiError: Failed to parse error data"
    );
}

#[test]
fn own_errors_print_as_their_source() {
    let io = || std::io::Error::other("disk on fire");
    assert_eq!(Error::ControllerError(io()).to_string(), "disk on fire");
    assert_eq!(Error::ControllerError(io()).display_chain(), "disk on fire");
    let finalizer = finalizer::Error::CleanupFailed(io());
    assert_eq!(
        Error::FinalizerError(finalizer).to_string(),
        "failed to clean up object: disk on fire"
    );
    assert_eq!(
        Error::<Own>::Panicked(Panic::new("ouch")).display_chain(),
        "panicked: ouch"
    );
    let missing = Error::<Own>::MissingMetadata {
        field: "metadata.uid",
    };
    assert!(missing.display_chain().contains("metadata.uid"));
    let name = Error::<Own>::InvalidFinalizerName { name: "a b".into() };
    assert!(
        name.display_chain()
            .contains("\"a b\": expected a qualified name")
    );
}

#[test]
fn terminal_errors_print_as_what_they_wrap() {
    let error = TerminalError::new(Own::Silent(not_found()));
    assert_eq!(
        chain(&error),
        "cannot fetch: ApiError: widgets.example.com \"missing\" not found: NotFound"
    );
    assert_eq!(chain(&TerminalError::new("no such color")), "no such color");
}

#[test]
fn an_empty_message_is_no_separator() {
    assert_eq!(chain(&Own::Empty(std::io::Error::other("disk"))), "disk");
}

/// An error that is its own cause.
#[derive(Debug, thiserror::Error)]
#[error("round {0}")]
struct Endless(#[source] Box<Endless2>);

#[derive(Debug)]
struct Endless2;

impl std::fmt::Display for Endless2 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("and round")
    }
}

impl StdError for Endless2 {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(self)
    }
}

#[test]
fn a_chain_that_never_ends_is_cut() {
    let error = Endless(Box::new(Endless2));
    assert_eq!(chain(&error), "round and round");
    assert!(!k8s_controller_error::is_conflict(&error));
    assert_eq!(k8s_controller_error::classify(&error).as_str(), "other");
}
