//! Conditions, as somebody's `apply` sets them.

use std::fmt::{Debug, Display};
use std::hash::Hash;

use k8s_controller::conditions::{
    self, ConditionChange, ConditionStatus, DesiredCondition, InvalidConditionStatus, find,
    find_observed, remove, set,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

#[test]
fn signatures() {
    let _: fn(&mut Vec<Condition>, DesiredCondition) -> ConditionChange = conditions::set;
    let _: for<'a> fn(&'a [Condition], &str) -> Option<&'a Condition> = conditions::find;
    let _: for<'a> fn(&'a [Condition], &str, Option<i64>) -> Option<&'a Condition> =
        conditions::find_observed;
    let _: fn(&mut Vec<Condition>, &str) -> bool = conditions::remove;
    let _: fn(DesiredCondition, Option<i64>) -> DesiredCondition =
        DesiredCondition::observed_generation;
    fn value<T: Copy + Debug + Eq + Send + Sync + 'static>() {}
    value::<ConditionStatus>();
    value::<ConditionChange>();
    fn word<T: Display + Hash + From<bool> + std::str::FromStr<Err = InvalidConditionStatus>>() {}
    word::<ConditionStatus>();
    fn std_error<T: std::error::Error + Send + Sync + 'static>() {}
    std_error::<InvalidConditionStatus>();
    fn plain<T: Clone + Debug + PartialEq>() {}
    plain::<DesiredCondition>();
}

#[test]
fn fields() {
    let built = DesiredCondition::new("Ready", true.into(), String::from("Serving"), "all well")
        .observed_generation(Some(2));
    let written = DesiredCondition {
        type_: "Ready".into(),
        status: ConditionStatus::True,
        reason: "Serving".into(),
        message: "all well".into(),
        observed_generation: Some(2),
    };
    assert_eq!(built, written);
}

#[test]
fn life_of_a_condition() {
    let mut conditions: Vec<Condition> = Vec::new();
    let ready = |status, message: &str| {
        DesiredCondition::new("Ready", status, "Pods", message).observed_generation(Some(1))
    };
    let change = set(&mut conditions, ready(ConditionStatus::Unknown, "asking"));
    assert_eq!(change, ConditionChange::Transitioned);
    let change = set(
        &mut conditions,
        ready(ConditionStatus::Unknown, "still asking"),
    );
    assert_eq!(change, ConditionChange::Updated);
    let change = set(
        &mut conditions,
        ready(ConditionStatus::Unknown, "still asking"),
    );
    assert!(!change.is_changed(), "nothing to write");
    let found = find(&conditions, "Ready").expect("set");
    assert_eq!(found.status.parse(), Ok(ConditionStatus::Unknown));
    assert!(find_observed(&conditions, "Ready", Some(1)).is_some());
    assert!(find_observed(&conditions, "Ready", Some(2)).is_none());
    assert!(remove(&mut conditions, "Ready"));
    assert!(conditions.is_empty());
}
