//! Failed attempts, and how often they are logged.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_controller_error::{ErrorClass, classify, display_chain};
use kube::core::response::reason;
use tokio::time::Instant;
use tracing::{error, warn};

/// A failure that repeats is logged again after this time, then after twice that, and so on.
const FIRST_REPEAT: Duration = Duration::from_secs(10);

/// The longest time between two log lines of a failure that repeats.
const LAST_REPEAT: Duration = Duration::from_secs(600);

/// The cause of a 403 of a namespace that is going away.
const NAMESPACE_TERMINATING: &str = "NamespaceTerminating";

/// The verbs of the requests, as RBAC calls them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verb {
    Get,
    Create,
    Update,
}

impl Verb {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Create => "create",
            Self::Update => "update",
        }
    }
}

/// Why an attempt failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) verb: Verb,
    pub(crate) cause: Cause,
}

#[derive(Debug)]
pub(crate) enum Cause {
    /// No answer in time.
    Timeout,
    Kube(kube::Error),
    /// The answer is none that an API server gives.
    Nonsense(&'static str),
}

impl Failure {
    /// Somebody else wrote first, which is nothing to complain about.
    pub(crate) fn is_lost_race(&self) -> bool {
        matches!(&self.cause, Cause::Kube(error) if lost_race(error))
    }

    pub(crate) fn is_not_found(&self) -> bool {
        let Cause::Kube(error) = &self.cause else {
            return false;
        };
        classify(error) == ErrorClass::NotFound
    }
}

/// 409: the lease changed, or exists, since it was read.
fn lost_race(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else {
        return false;
    };
    matches!(
        (status.code, status.reason.as_str()),
        (409, _) | (_, reason::CONFLICT | reason::ALREADY_EXISTS)
    )
}

/// Logs failures, each kind of them less and less often.
#[derive(Debug, Default)]
pub(crate) struct Complaints {
    /// As many as there are kinds of failure.
    lines: BTreeMap<(Verb, &'static str), Line>,
}

#[derive(Debug)]
struct Line {
    next: Instant,
    interval: Duration,
    suppressed: u64,
}

impl Complaints {
    pub(crate) fn log(&mut self, failure: &Failure, namespace: &str, lease: &str, now: Instant) {
        let class = failure.class();
        if let Some(suppressed) = self.is_due((failure.verb, class), now) {
            failure.log(namespace, lease, suppressed);
        }
    }

    /// How many of the kind were not logged since the last that was, if this one is to be logged.
    fn is_due(&mut self, kind: (Verb, &'static str), now: Instant) -> Option<u64> {
        let line = self.lines.entry(kind).or_insert(Line {
            next: now,
            interval: FIRST_REPEAT,
            suppressed: 0,
        });
        if now < line.next {
            line.suppressed += 1;
            return None;
        }
        if now >= line.next + LAST_REPEAT {
            // It did not happen for a while.
            line.interval = FIRST_REPEAT;
        }
        line.next = now + line.interval;
        line.interval = (line.interval * 2).min(LAST_REPEAT);
        Some(std::mem::take(&mut line.suppressed))
    }
}

impl Failure {
    fn class(&self) -> &'static str {
        match &self.cause {
            Cause::Timeout => "timeout",
            Cause::Nonsense(_) => "nonsense",
            Cause::Kube(error) if is_terminating(error) => NAMESPACE_TERMINATING,
            Cause::Kube(error) => classify(error).as_str(),
        }
    }

    fn log(&self, namespace: &str, lease: &str, suppressed: u64) {
        let verb = self.verb.as_str();
        match &self.cause {
            Cause::Timeout => {
                warn!(lease, verb, suppressed, "no answer in time about the lease");
            }
            Cause::Nonsense(what) => {
                warn!(
                    lease,
                    verb,
                    suppressed,
                    error = what,
                    "cannot use the answer about the lease"
                );
            }
            Cause::Kube(error) if is_terminating(error) => {
                error!(
                    lease,
                    verb, suppressed, namespace, "the namespace of the lease is being deleted"
                );
            }
            Cause::Kube(error) => {
                let class = classify(error);
                let error = display_chain(error);
                match (self.verb, class) {
                    (_, ErrorClass::Forbidden) => error!(
                        lease, verb, suppressed, namespace, %error,
                        rule = r#"apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update"]"#,
                        "not allowed to use the lease: a Role in its namespace has to have the rule"
                    ),
                    (Verb::Create, ErrorClass::NotFound) => error!(
                        lease, verb, suppressed, namespace, %error,
                        "cannot create the lease: its namespace does not exist"
                    ),
                    _ => warn!(lease, verb, suppressed, %error, "request about the lease failed"),
                }
            }
        }
    }
}

fn is_terminating(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else {
        return false;
    };
    (status.details.iter())
        .flat_map(|details| &details.causes)
        .any(|cause| cause.reason == NAMESPACE_TERMINATING)
}
