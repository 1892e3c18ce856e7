//! The three values of a condition's status.

use std::{fmt, str::FromStr};

/// The status of a condition.
///
/// ```
/// use k8s_controller_conditions::ConditionStatus;
///
/// assert_eq!(ConditionStatus::from(2 > 1), ConditionStatus::True);
/// assert_eq!(ConditionStatus::Unknown.to_string(), "Unknown");
/// assert_eq!("False".parse(), Ok(ConditionStatus::False));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConditionStatus {
    /// It is so.
    True,
    /// It is not so.
    False,
    /// It cannot be told.
    Unknown,
}

impl ConditionStatus {
    /// The status as it stands in an object.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<bool> for ConditionStatus {
    fn from(is_so: bool) -> Self {
        if is_so { Self::True } else { Self::False }
    }
}

impl fmt::Display for ConditionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for ConditionStatus {
    type Err = InvalidConditionStatus;

    /// Reads the status of a condition in an object. Case matters, as it does to Kubernetes.
    fn from_str(text: &str) -> Result<Self, InvalidConditionStatus> {
        [Self::True, Self::False, Self::Unknown]
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| InvalidConditionStatus(text.to_owned()))
    }
}

/// A text that is no status of a condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("status is {0:?}, expected \"True\", \"False\" or \"Unknown\"")]
pub struct InvalidConditionStatus(String);

impl InvalidConditionStatus {
    /// The text.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.0
    }
}
