//! What a condition shall say.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;

use crate::ConditionStatus;

/// What a condition shall say; all of it but the time, which [`set`](crate::set) knows.
///
/// ```
/// use k8s_controller_conditions::{ConditionStatus, DesiredCondition};
///
/// let generation = Some(7); // `metadata.generation` of the object
/// let degraded = DesiredCondition::new(
///     "Degraded",
///     ConditionStatus::True,
///     "QuotaExceeded",
///     "the namespace has no room for another pod",
/// )
/// .observed_generation(generation);
/// assert_eq!(degraded.check(), Ok(()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesiredCondition {
    /// Which respect it is about, in CamelCase, as `Ready` or `example.com/Ready`.
    pub type_: String,
    /// Whether it is so.
    pub status: ConditionStatus,
    /// Why, in one word in CamelCase, for programs.
    pub reason: String,
    /// Why, for people; may be empty.
    pub message: String,
    /// The `metadata.generation` of the object that this was found out from.
    pub observed_generation: Option<i64>,
}

impl DesiredCondition {
    /// A condition that does not say which generation it was found out from.
    #[must_use]
    pub fn new(
        type_: impl Into<String>,
        status: ConditionStatus,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            type_: type_.into(),
            status,
            reason: reason.into(),
            message: message.into(),
            observed_generation: None,
        }
    }

    /// Says which `metadata.generation` of the object this was found out from.
    ///
    /// Readers tell by it whether the condition knows of the latest change of the `spec`; see
    /// [`find_observed`](crate::find_observed).
    #[must_use]
    pub fn observed_generation(mut self, generation: Option<i64>) -> Self {
        self.observed_generation = generation;
        self
    }

    pub(crate) fn into_condition(self, since: Timestamp) -> Condition {
        Condition {
            last_transition_time: Time(since),
            message: self.message,
            observed_generation: self.observed_generation,
            reason: self.reason,
            status: self.status.as_str().to_owned(),
            type_: self.type_,
        }
    }
}
