//! Finds conditions.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

/// The condition of a type; the first, should there be several.
///
/// It may tell of a `spec` that has changed since: see [`find_observed`].
///
/// ```
/// use k8s_controller_conditions::{ConditionStatus, DesiredCondition, find, set};
///
/// let mut conditions = Vec::new();
/// let ready = DesiredCondition::new("Ready", ConditionStatus::True, "Serving", "all is well");
/// assert!(set(&mut conditions, ready).is_changed());
///
/// assert_eq!(find(&conditions, "Ready").map(|ready| &*ready.message), Some("all is well"));
/// assert_eq!(find(&conditions, "ready"), None);
/// ```
#[must_use]
pub fn find<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// The condition of a type, if it was found out from this generation of the object.
///
/// Pass the `metadata.generation` that came with the conditions. A condition of another
/// generation is not found: an older one does not know of the latest change of the `spec`, and a
/// newer one is of a former life of the object, as after a restore from a backup. Where there is
/// no generation (`None`, or 0, which is the same to Kubernetes), a condition is found that tells
/// of none.
///
/// ```
/// use k8s_controller_conditions::{ConditionStatus, DesiredCondition, find_observed, set};
///
/// let mut conditions = Vec::new();
/// let ready = DesiredCondition::new("Ready", ConditionStatus::True, "Serving", "")
///     .observed_generation(Some(3));
/// assert!(set(&mut conditions, ready).is_changed());
///
/// assert!(find_observed(&conditions, "Ready", Some(3)).is_some());
/// // The spec has changed since; whether it is ready is not known.
/// assert!(find_observed(&conditions, "Ready", Some(4)).is_none());
/// ```
#[must_use]
pub fn find_observed<'a>(
    conditions: &'a [Condition],
    type_: &str,
    generation: Option<i64>,
) -> Option<&'a Condition> {
    find(conditions, type_)
        .filter(|condition| same_generation(condition.observed_generation, generation))
}

/// Whether two generations are the same to Kubernetes, which leaves out a generation of 0.
pub(crate) fn same_generation(one: Option<i64>, other: Option<i64>) -> bool {
    one.unwrap_or(0) == other.unwrap_or(0)
}
