//! Kinds of failure, for policies and metric labels.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::time::Duration;

use kube::core::{Status, response::reason};

use crate::chain::{as_status, as_type, first_status, links};
use crate::conflict::is_conflict;
use crate::error::Panic;
use crate::leading::is_not_leading;

/// A kind of failure; made by [`classify`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorClass {
    /// Somebody else wrote in the meantime; see [`is_conflict`].
    Conflict,
    /// The API server knows no such object or kind (404).
    NotFound,
    /// The credentials do not allow it (401, 403).
    Forbidden,
    /// The API server refused what was sent (400, 405, 406, 413, 415, 422).
    Invalid,
    /// The API server is overloaded (429, or 503 with a delay).
    Throttled {
        /// How long the server asked to wait, if it did.
        retry_after: Option<Duration>,
    },
    /// The API server is not reachable, went away while answering, or failed (5xx, 410).
    Transient,
    /// The request, the pass, or something else that was waited for, took too long.
    TimedOut,
    /// The user's code panicked.
    Panicked,
    /// A write was not sent, as somebody else may lead; see [`is_not_leading`].
    NotLeading,
    /// Anything else, such as an error of the user's own.
    Other,
}

impl ErrorClass {
    /// The class in snake case, as a metric label.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Conflict => "conflict",
            Self::NotFound => "not_found",
            Self::Forbidden => "forbidden",
            Self::Invalid => "invalid",
            Self::Throttled { .. } => "throttled",
            Self::Transient => "transient",
            Self::TimedOut => "timed_out",
            Self::Panicked => "panicked",
            Self::NotLeading => "not_leading",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which kind of failure the error is, judged by it and its causes.
///
/// A write that was not sent is an [`ErrorClass::NotLeading`], and a conflict anywhere in the
/// chain is an [`ErrorClass::Conflict`]. Otherwise the first link that says something decides.
///
/// ```
/// use std::time::Duration;
///
/// use k8s_controller_error::{ErrorClass, classify};
/// use kube::core::{Status, response::StatusDetails};
///
/// let details: StatusDetails = serde_json::from_str(r#"{"retryAfterSeconds": 7}"#)?;
/// let status = Status::failure("slow down", "TooManyRequests").with_code(429);
/// let error = kube::Error::Api(status.with_details(details).boxed());
/// let retry_after = Some(Duration::from_secs(7));
/// assert_eq!(classify(&error), ErrorClass::Throttled { retry_after });
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn classify(error: &(dyn StdError + 'static)) -> ErrorClass {
    if is_not_leading(error) {
        return ErrorClass::NotLeading;
    }
    if is_conflict(error) {
        return ErrorClass::Conflict;
    }
    links(error)
        .find_map(class_of_link)
        .unwrap_or(ErrorClass::Other)
}

/// How long the API server asked to wait before the next request, if it did.
///
/// It says so in the `Status` of a 429 or 503, and of some timeouts.
#[must_use]
pub fn retry_after(error: &(dyn StdError + 'static)) -> Option<Duration> {
    first_status(error).and_then(retry_after_of)
}

fn retry_after_of(status: &Status) -> Option<Duration> {
    let seconds = status.details.as_ref()?.retry_after_seconds;
    (seconds > 0).then(|| Duration::from_secs(seconds.into()))
}

fn class_of_link(link: &(dyn StdError + 'static)) -> Option<ErrorClass> {
    if let Some(status) = as_status(link) {
        return Some(class_of_status(status));
    }
    if link.is::<Panic>() {
        return Some(ErrorClass::Panicked);
    }
    if link.is::<tokio::time::error::Elapsed>() {
        return Some(ErrorClass::TimedOut);
    }
    if let Some(error) = as_type::<io::Error>(link) {
        return class_of_io(error.kind());
    }
    as_type::<kube::Error>(link).and_then(class_of_kube)
}

fn class_of_status(status: &Status) -> ErrorClass {
    let retry_after = retry_after_of(status);
    match (status.code, status.reason.as_str()) {
        (404, _) | (_, reason::NOT_FOUND) => ErrorClass::NotFound,
        (401 | 403, _) | (_, reason::UNAUTHORIZED | reason::FORBIDDEN) => ErrorClass::Forbidden,
        (429, _) | (_, reason::TOO_MANY_REQUESTS) => ErrorClass::Throttled { retry_after },
        (503, _) if retry_after.is_some() => ErrorClass::Throttled { retry_after },
        (504, _) | (_, reason::TIMEOUT | reason::SERVER_TIMEOUT) => ErrorClass::TimedOut,
        (400 | 405 | 406 | 413 | 415 | 422, _) | (_, reason::INVALID) => ErrorClass::Invalid,
        // 410: a list or watch whose position expired begins anew.
        (410 | 500..=599, _) => ErrorClass::Transient,
        _ => ErrorClass::Other,
    }
}

fn class_of_io(kind: io::ErrorKind) -> Option<ErrorClass> {
    use io::ErrorKind as Kind;
    match kind {
        Kind::TimedOut => Some(ErrorClass::TimedOut),
        Kind::ConnectionRefused
        | Kind::ConnectionReset
        | Kind::ConnectionAborted
        | Kind::NotConnected
        | Kind::HostUnreachable
        | Kind::NetworkUnreachable
        | Kind::NetworkDown
        | Kind::BrokenPipe
        | Kind::UnexpectedEof => Some(ErrorClass::Transient),
        _ => None,
    }
}

/// Errors of the client. Those that wrap another are judged by it first: a service error may
/// be a timeout.
fn class_of_kube(error: &kube::Error) -> Option<ErrorClass> {
    match error {
        kube::Error::HyperError(_) | kube::Error::Service(_) | kube::Error::ReadEvents(_) => {
            let cause = error.source().and_then(|source| {
                links(source).find_map(|link| match as_type::<kube::Error>(link) {
                    None => class_of_link(link),
                    Some(_) => None,
                })
            });
            Some(cause.unwrap_or(ErrorClass::Transient))
        }
        // An answer that is no JSON, or cut: a proxy in between, or a server that is going away.
        kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => Some(ErrorClass::Transient),
        _ => None,
    }
}
