//! What is logged of watches that fail.

use std::sync::Arc;
use std::time::Duration;

use k8s_controller_error::display_chain;
use kube::core::Status;
use kube::runtime::watcher;
use tokio::time::Instant;

/// So many lines about the same failure are logged as they come.
const AT_FIRST: u32 = 10;

/// The time between two later ones.
const LATER: Duration = Duration::from_secs(60);

/// After this much time without the failure, it is news again.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(120);

/// How many failures are told apart. A controller has few watches, and in one state of the server
/// they mostly fail for the same reason.
const MAX_FAILURES: usize = 16;

/// Logs the failures of watches, those that go on just once in a while: a server that is away for
/// a day, or a kind that is never installed, is no flood of lines.
#[derive(Debug)]
pub(crate) struct WatchLog {
    controller: Arc<str>,
    kind: Arc<str>,
    failures: Vec<Failure>,
}

#[derive(Debug)]
struct Failure {
    text: String,
    lines: u32,
    left_out: u32,
    logged: Instant,
    seen: Instant,
}

impl WatchLog {
    pub(crate) fn new(controller: Arc<str>, kind: Arc<str>) -> Self {
        Self {
            controller,
            kind,
            failures: Vec::new(),
        }
    }

    /// Of which watch an error is, the runtime does not tell; the main one notes its own.
    pub(crate) fn failed(&mut self, error: &watcher::Error, is_main: bool) {
        let source = display_chain(error).to_string();
        let admitted = self.admit(&source);
        let controller = &*self.controller;
        let kind = is_main.then_some(&*self.kind);
        if let Some(left_out) = admitted {
            tracing::warn!(
                controller,
                kind,
                source,
                hint = hint(error, is_main),
                left_out = Some(left_out).filter(|count| *count > 0),
                "watch failed, will be retried"
            );
        } else {
            tracing::debug!(controller, kind, source, "watch failed again");
        }
    }

    /// Whether to log it, and then how many were left out since the last line.
    fn admit(&mut self, text: &str) -> Option<u32> {
        let now = Instant::now();
        self.failures
            .retain(|failure| now - failure.seen < FORGOTTEN_AFTER);
        let Some(failure) = self
            .failures
            .iter_mut()
            .find(|failure| failure.text == text)
        else {
            if self.failures.len() == MAX_FAILURES {
                self.failures.remove(0);
            }
            self.failures.push(Failure {
                text: text.to_owned(),
                lines: 1,
                left_out: 0,
                logged: now,
                seen: now,
            });
            return Some(0);
        };
        failure.seen = now;
        if failure.lines >= AT_FIRST && now - failure.logged < LATER {
            failure.left_out = failure.left_out.saturating_add(1);
            return None;
        }
        failure.lines = failure.lines.saturating_add(1);
        failure.logged = now;
        Some(std::mem::take(&mut failure.left_out))
    }
}

/// What to do about it, where the error does not say it.
fn hint(error: &watcher::Error, is_main: bool) -> Option<&'static str> {
    let status = status_of(error)?;
    match (status.code, is_main) {
        (404, true) => {
            Some("the server does not serve this kind: is its CustomResourceDefinition installed?")
        }
        (404, false) => Some(
            "the server does not serve a kind that is owned or watched: is its \
             CustomResourceDefinition installed?",
        ),
        // A message of RBAC names the verb and the resource.
        (403, _) if status.message.contains("cannot ") => None,
        (403, true) => Some("the permissions to list and watch this kind are needed"),
        (403, false) => {
            Some("the permissions to list and watch each kind that is owned or watched are needed")
        }
        _ => None,
    }
}

fn status_of(error: &watcher::Error) -> Option<&Status> {
    use watcher::Error;
    match error {
        Error::InitialListFailed(kube::Error::Api(status))
        | Error::WatchStartFailed(kube::Error::Api(status))
        | Error::WatchFailed(kube::Error::Api(status))
        | Error::WatchError(status) => Some(status),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn log() -> WatchLog {
        WatchLog::new("c".into(), "K".into())
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_that_goes_on_is_logged_once_a_minute() {
        let mut log = log();
        let mut lines = Vec::new();
        for _ in 0..310 {
            lines.extend(log.admit("refused"));
            advance(Duration::from_secs(1)).await;
        }
        assert_eq!(lines[..10], [0; 10]);
        assert_eq!(lines[10..], [59; 5]);
        assert_eq!(log.admit("another"), Some(0), "is news");
        advance(FORGOTTEN_AFTER).await;
        assert_eq!(log.admit("refused"), Some(0), "is news again");
        assert_eq!(log.failures.len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn failures_that_are_always_new_take_up_no_memory() {
        let mut log = log();
        for number in 0..1000 {
            assert_eq!(log.admit(&number.to_string()), Some(0));
        }
        assert_eq!(log.failures.len(), MAX_FAILURES);
    }
}
