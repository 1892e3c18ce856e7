//! What a pass does.

use std::fmt;

/// What a pass does, decided by the state of the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Adds the finalizer; no code of the user runs.
    Init,
    /// Applies the desired state.
    Apply,
    /// Cleans up: the object is being deleted, and the finalizer is on it.
    Cleanup,
    /// Nothing: the object is being deleted, and there is no finalizer to wait for.
    Delete,
}

impl Phase {
    /// The phase in lower case, as in metric labels and span fields.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Apply => "apply",
            Self::Cleanup => "cleanup",
            Self::Delete => "delete",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
