//! Why an event was not published.

use std::time::Duration;

/// Why an event was not published.
///
/// The variants other than [`Kube`](Self::Kube) and [`Timeout`](Self::Timeout) tell of a field that
/// an API server would refuse; nothing was sent. Fields have their names in `events.k8s.io/v1`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// The API server refused the event, could not be reached, or gave an answer that is no event.
    #[error("event not sent: {}", readable(.0))]
    Kube(#[from] kube::Error),

    /// Waiting for a concurrent publish of the same event, or for the answers of the API server,
    /// took longer than the recorder's timeout. The server may have got the event all the same.
    #[error("event not sent within {0:?}")]
    Timeout(Duration),

    /// A field that must have a value has none.
    #[error("{field} is empty, expected {expected}")]
    #[non_exhaustive]
    Empty {
        /// The field.
        field: &'static str,
        /// What it may be.
        expected: &'static str,
    },

    /// A field is too long. The API server counts bytes, although its message says characters.
    #[error("{field} has {bytes} bytes, expected at most {max}")]
    #[non_exhaustive]
    TooLong {
        /// The field.
        field: &'static str,
        /// How long it is, in bytes.
        bytes: usize,
        /// How long it may be, in bytes.
        max: usize,
    },

    /// A field is not of the form that it must have.
    #[error("{field} is {value:?}, expected {expected}")]
    #[non_exhaustive]
    Malformed {
        /// The field.
        field: &'static str,
        /// What it is.
        value: String,
        /// What it may be.
        expected: &'static str,
    },
}

impl PublishError {
    /// The field that an API server would refuse; none if the event was sent, or tried to be.
    #[must_use]
    pub fn field(&self) -> Option<&'static str> {
        match self {
            Self::Empty { field, .. }
            | Self::TooLong { field, .. }
            | Self::Malformed { field, .. } => Some(field),
            Self::Kube(_) | Self::Timeout(_) => None,
        }
    }
}

/// Says what the server said without the dump that `kube::Error` adds to it.
fn readable(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.to_string(),
        other => other.to_string(),
    }
}
