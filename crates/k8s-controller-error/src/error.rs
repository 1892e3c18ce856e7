//! The error of one pass.

use std::any::Any;
use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use kube::runtime::finalizer;

use crate::class::{ErrorClass, classify, retry_after};
use crate::conflict::{is_conflict, is_failed_patch_test};
use crate::display::display_chain;
use crate::terminal::is_terminal;

/// Why a pass over an object failed. `E` is the user's error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error<E>
where
    E: StdError + 'static,
{
    /// The user's code failed, in a controller without a finalizer.
    #[error("{0}")]
    ControllerError(#[source] E),

    /// The user's code, or adding or removing the finalizer, failed in a controller with one.
    #[error("{0}")]
    FinalizerError(#[source] finalizer::Error<E>),

    /// The user's code panicked.
    #[error("{0}")]
    Panicked(#[source] Panic),

    /// The pass took longer than a pass may take, and what it was doing was dropped.
    #[error("the pass did not end within {after:?}")]
    TimedOut {
        /// How long a pass may take.
        after: Duration,
    },

    /// The API server sent an object without a field that every stored object has.
    #[error("the API server sent an object without {field}, which every stored object has")]
    MissingMetadata {
        /// The path of the field, such as `metadata.uid`.
        field: &'static str,
    },

    /// The name of the finalizer is none that an API server accepts.
    #[error(
        "invalid finalizer name {name:?}: expected a qualified name such as \
         `example.com/cleanup`: an optional DNS subdomain and `/`, then 1 to 63 letters, digits, \
         `-`, `_` or `.`, beginning and ending with a letter or digit"
    )]
    InvalidFinalizerName {
        /// The name as given.
        name: String,
    },
}

impl<E> Error<E>
where
    E: StdError + 'static,
{
    /// The message, then each cause after `": "`; see [`display_chain`].
    #[must_use]
    pub fn display_chain(&self) -> String {
        display_chain(self).to_string()
    }

    /// Whether the pass failed only because somebody else wrote in the meantime.
    ///
    /// That is what [`is_conflict`] says, and a failed `test` of the JSON patch that adds or
    /// removes the finalizer.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        let failed_test = match self {
            Self::FinalizerError(
                finalizer::Error::AddFinalizer(error) | finalizer::Error::RemoveFinalizer(error),
            ) => is_failed_patch_test(error),
            _ => false,
        };
        failed_test || is_conflict(self)
    }

    /// Which kind of failure this is; see [`classify`].
    #[must_use]
    pub fn classify(&self) -> ErrorClass {
        if self.is_conflict() {
            return ErrorClass::Conflict;
        }
        match self {
            Self::InvalidFinalizerName { .. } => ErrorClass::Invalid,
            Self::TimedOut { .. } => ErrorClass::TimedOut,
            _ => classify(self),
        }
    }

    /// How long the API server asked to wait; see [`retry_after`].
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        retry_after(self)
    }

    /// Whether trying again cannot help until the object changes; see [`is_terminal`].
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        is_terminal(self)
    }
}

/// A panic that was caught.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panic {
    message: String,
}

impl Panic {
    /// A panic with this text.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }

    /// The panic whose payload [`std::panic::catch_unwind`] returned.
    #[must_use]
    pub fn from_payload(payload: &(dyn Any + Send)) -> Self {
        let message = payload
            .downcast_ref::<&'static str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "(no text)".to_owned());
        Self { message }
    }

    /// The text of the panic.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "panicked: {}", self.message)
    }
}

impl StdError for Panic {}
