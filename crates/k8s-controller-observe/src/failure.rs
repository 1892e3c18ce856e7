//! How a pass failed.

use std::fmt;

/// How a pass failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Failure {
    /// With an error that is none of the others.
    Error,
    /// Somebody else wrote in the meantime; tried again at once, and no failure of the user's.
    Conflict,
    /// With an error that another try cannot mend until the object changes.
    Terminal,
    /// The user's code panicked.
    Panicked,
    /// It took longer than a pass may take.
    TimedOut,
}

impl Failure {
    /// The failure in snake case, as in metric labels.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Conflict => "conflict",
            Self::Terminal => "terminal",
            Self::Panicked => "panicked",
            Self::TimedOut => "timed_out",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
