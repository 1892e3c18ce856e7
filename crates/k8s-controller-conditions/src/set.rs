//! Sets and removes conditions.

use std::mem;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;

use crate::{DesiredCondition, clock, find::same_generation};

/// What [`set`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "the conditions need to be written only if they changed"]
pub enum ConditionChange {
    /// The conditions said this already; they are as they were.
    Unchanged,
    /// The status is the one that it was, and something else changed: the reason, the message, the
    /// observed generation, or a second condition of the type went. `lastTransitionTime` stays.
    Updated,
    /// The status changed, or the condition is new. `lastTransitionTime` is now.
    Transitioned,
}

impl ConditionChange {
    /// Whether the conditions need to be written.
    #[must_use]
    pub const fn is_changed(&self) -> bool {
        !matches!(self, Self::Unchanged)
    }
}

/// Makes the condition of a type say what is desired, and tells whether that changed anything.
///
/// - A type that is not there is added at the end; the others stay as and where they are.
/// - `lastTransitionTime`, in whole seconds as Kubernetes writes it, moves only if the status
///   does. A status that is none of the three, written by somebody else, differs from each.
/// - An observed generation of `None` clears the one that was there, since the condition was not
///   found out from it. 0 counts as none: kube-apiserver leaves it out of its own kinds.
/// - Of several conditions of the type, which no server with the usual schema accepts, the first
///   stays and the others go.
///
/// Nothing is checked here: [`DesiredCondition::check`] tells what a server would refuse.
///
/// ```
/// use k8s_controller_conditions::{ConditionChange, ConditionStatus, DesiredCondition, set};
///
/// let mut conditions = Vec::new();
/// let ready = |status, message| DesiredCondition::new("Ready", status, "Pods", message);
///
/// let change = set(&mut conditions, ready(ConditionStatus::False, "1 of 3"));
/// assert_eq!(change, ConditionChange::Transitioned);
/// let change = set(&mut conditions, ready(ConditionStatus::False, "2 of 3"));
/// assert_eq!(change, ConditionChange::Updated);
/// let change = set(&mut conditions, ready(ConditionStatus::True, "3 of 3"));
/// assert_eq!(change, ConditionChange::Transitioned);
/// ```
pub fn set(conditions: &mut Vec<Condition>, desired: DesiredCondition) -> ConditionChange {
    set_at(conditions, desired, clock::now())
}

/// As [`set`], at a time of the caller's choice: for tests, and for a transition that is known to
/// have been earlier. A fraction of a second is dropped.
///
/// ```
/// use k8s_controller_conditions::{ConditionStatus, DesiredCondition, set_at};
/// use k8s_openapi::jiff::Timestamp;
///
/// let time: Timestamp = "2026-01-31T12:00:00.7Z".parse()?;
/// let mut conditions = Vec::new();
/// let ready = DesiredCondition::new("Ready", ConditionStatus::True, "Serving", "");
/// assert!(set_at(&mut conditions, ready, time).is_changed());
/// assert_eq!(conditions[0].last_transition_time.0.to_string(), "2026-01-31T12:00:00Z");
/// # Ok::<(), k8s_openapi::jiff::Error>(())
/// ```
pub fn set_at(
    conditions: &mut Vec<Condition>,
    desired: DesiredCondition,
    time: Timestamp,
) -> ConditionChange {
    let time = whole_seconds(time);
    let repeated = drop_repeated(conditions, &desired.type_);
    let present = conditions
        .iter_mut()
        .find(|condition| condition.type_ == desired.type_);
    let Some(condition) = present else {
        conditions.push(desired.into_condition(time));
        return ConditionChange::Transitioned;
    };
    match update(condition, desired, time) {
        ConditionChange::Unchanged if repeated => ConditionChange::Updated,
        change => change,
    }
}

/// Removes the condition of a type, and tells whether there was one.
///
/// ```
/// use k8s_controller_conditions::{ConditionStatus, DesiredCondition, remove, set};
///
/// let mut conditions = Vec::new();
/// let paused = DesiredCondition::new("Paused", ConditionStatus::True, "Asked", "");
/// assert!(set(&mut conditions, paused).is_changed());
/// assert!(remove(&mut conditions, "Paused"));
/// assert!(!remove(&mut conditions, "Paused"), "there is nothing to write");
/// ```
pub fn remove(conditions: &mut Vec<Condition>, type_: &str) -> bool {
    let before = conditions.len();
    conditions.retain(|condition| condition.type_ != type_);
    conditions.len() < before
}

/// Leaves the first condition of a type, and tells whether there were more.
fn drop_repeated(conditions: &mut Vec<Condition>, type_: &str) -> bool {
    let before = conditions.len();
    let mut seen = false;
    conditions.retain(|condition| condition.type_ != type_ || !mem::replace(&mut seen, true));
    conditions.len() < before
}

fn update(
    condition: &mut Condition,
    desired: DesiredCondition,
    time: Timestamp,
) -> ConditionChange {
    let transitioned = condition.status != desired.status.as_str();
    let rest_is_same = condition.reason == desired.reason
        && condition.message == desired.message
        && same_generation(condition.observed_generation, desired.observed_generation);
    if !transitioned && rest_is_same {
        return ConditionChange::Unchanged;
    }
    desired.status.as_str().clone_into(&mut condition.status);
    condition.reason = desired.reason;
    condition.message = desired.message;
    condition.observed_generation = desired.observed_generation;
    if transitioned {
        condition.last_transition_time = Time(time);
        ConditionChange::Transitioned
    } else {
        ConditionChange::Updated
    }
}

fn whole_seconds(time: Timestamp) -> Timestamp {
    // The same second without its fraction is in range too.
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}
