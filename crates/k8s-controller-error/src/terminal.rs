//! Errors that another try cannot mend.

use std::error::Error as StdError;
use std::fmt;

use crate::chain::links;

/// Says of an error that trying again cannot help until the object changes.
///
/// Wrap an error in it, at any depth of your own error's chain of causes: the default
/// `error_action` of a controller then waits for the next change of the object rather than
/// retrying with backoff. Typical for a specification that the API server accepts and the
/// controller cannot carry out. It prints as the error in it.
///
/// ```
/// use k8s_controller_error::{TerminalError, is_terminal};
///
/// #[derive(Debug, thiserror::Error)]
/// enum MyError {
///     #[error(transparent)]
///     Terminal(#[from] TerminalError),
///     #[error("the network is down")]
///     Network,
/// }
///
/// let error = MyError::from(TerminalError::new("spec.color: no such color: blurple"));
/// assert_eq!(error.to_string(), "spec.color: no such color: blurple");
/// assert!(is_terminal(&error));
/// assert!(!is_terminal(&MyError::Network));
/// ```
pub struct TerminalError(Marked);

/// What `TerminalError` gives as its source, so that the mark is found also behind an error
/// that passes itself off as its source (`#[error(transparent)]`).
struct Marked(Box<dyn StdError + Send + Sync + 'static>);

impl TerminalError {
    /// Marks `error`, an error or a message, as one that is not to be retried.
    pub fn new(error: impl Into<Box<dyn StdError + Send + Sync + 'static>>) -> Self {
        Self(Marked(error.into()))
    }

    /// The error that was marked.
    #[must_use]
    pub fn get_ref(&self) -> &(dyn StdError + Send + Sync + 'static) {
        &*self.0.0
    }

    /// The error that was marked.
    #[must_use]
    pub fn into_inner(self) -> Box<dyn StdError + Send + Sync + 'static> {
        self.0.0
    }
}

impl fmt::Debug for TerminalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TerminalError").field(&self.0.0).finish()
    }
}

impl fmt::Display for TerminalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl StdError for TerminalError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.0)
    }
}

impl fmt::Debug for Marked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Marked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl StdError for Marked {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.0)
    }
}

/// Whether the error, or a cause of it, is a [`TerminalError`].
#[must_use]
pub fn is_terminal(error: &(dyn StdError + 'static)) -> bool {
    links(error).any(|link| link.is::<TerminalError>() || link.is::<Marked>())
}
