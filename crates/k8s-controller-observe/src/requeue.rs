//! Whether a pass asked for another.

use std::fmt;
use std::time::Duration;

use kube::runtime::controller::Action;

/// Whether the user's code asked for another pass when it succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Requeue {
    /// It did not: it left that to the controller, or wants to wait for a change.
    #[default]
    None,
    /// At once.
    Now,
    /// After some time.
    After,
}

impl Requeue {
    /// The wish in snake case, as in metric labels.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Now => "now",
            Self::After => "after",
        }
    }

    /// What the user's code asked for by returning this.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use k8s_controller_observe::Requeue;
    /// use kube::runtime::controller::Action;
    ///
    /// let of = |action: Option<Action>| Requeue::of(action.as_ref());
    /// assert_eq!(of(None), Requeue::None);
    /// assert_eq!(of(Some(Action::await_change())), Requeue::None);
    /// assert_eq!(of(Some(Action::requeue(Duration::ZERO))), Requeue::Now);
    /// assert_eq!(of(Some(Action::requeue(Duration::from_secs(9)))), Requeue::After);
    /// ```
    #[must_use]
    pub fn of(returned: Option<&Action>) -> Self {
        // An action can only be compared.
        match returned {
            Some(action) if *action == Action::requeue(Duration::ZERO) => Self::Now,
            Some(action) if *action != Action::await_change() => Self::After,
            _ => Self::None,
        }
    }
}

impl fmt::Display for Requeue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
