//! How a pass or a step ended.

use std::fmt;

use kube::runtime::controller::Action;

/// How a pass or a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// Done; nothing is left to do until something changes.
    Completed,
    /// Went well, but asked to be run again later.
    Waiting,
    /// Found that there was nothing to do, or that it was not its turn.
    Skipped,
    /// Returned an error or panicked.
    Failed,
    /// Dropped before it ended.
    Abandoned,
}

impl Outcome {
    /// The outcome in lower case, as in metric labels and span fields.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Waiting => "waiting",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
            Self::Abandoned => "abandoned",
        }
    }

    /// The outcome that a result stands for: an error is [`Failed`](Self::Failed), an action
    /// that asks to be run again is [`Waiting`](Self::Waiting), anything else
    /// [`Completed`](Self::Completed).
    ///
    /// ```
    /// use std::{fmt::Error, time::Duration};
    ///
    /// use k8s_controller_observe::Outcome;
    /// use kube::runtime::controller::Action;
    ///
    /// let again = Action::requeue(Duration::from_secs(5));
    /// assert_eq!(Outcome::of_result::<Error>(&Ok(Some(again))), Outcome::Waiting);
    /// assert_eq!(Outcome::of_result::<Error>(&Ok(Some(Action::await_change()))), Outcome::Completed);
    /// assert_eq!(Outcome::of_result::<Error>(&Ok(None)), Outcome::Completed);
    /// assert_eq!(Outcome::of_result(&Err(Error)), Outcome::Failed);
    /// ```
    pub fn of_result<E>(result: &Result<Option<Action>, E>) -> Self {
        match result {
            Ok(Some(action)) if *action != Action::await_change() => Self::Waiting,
            Ok(_) => Self::Completed,
            Err(_) => Self::Failed,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
