//! What holds for any conditions, in any order of calls.

// In a test, a panic is the failure.
#![allow(clippy::unwrap_used)]

use k8s_controller_conditions::{
    ConditionChange, ConditionStatus, DesiredCondition, find, find_observed, remove, set_at,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use proptest::prelude::*;

fn status() -> impl Strategy<Value = ConditionStatus> {
    prop_oneof![
        Just(ConditionStatus::True),
        Just(ConditionStatus::False),
        Just(ConditionStatus::Unknown),
    ]
}

/// Few types, reasons and messages, so that some meet.
fn desired() -> impl Strategy<Value = DesiredCondition> {
    (
        "[AB]",
        status(),
        "[RS]",
        "[mn]?",
        prop::option::of(1_i64..4),
    )
        .prop_map(|(type_, status, reason, message, generation)| {
            DesiredCondition::new(type_, status, reason, message).observed_generation(generation)
        })
}

/// Conditions as anybody may have left them.
fn stored() -> impl Strategy<Value = Vec<Condition>> {
    let status = prop_oneof![status().prop_map(|s| s.to_string()), "[Tt]rue|".boxed()];
    let one = (
        "[ABC]",
        status,
        "[RS]?",
        "[mn]?",
        prop::option::of(0_i64..4),
        0_i64..5,
    );
    let one = one.prop_map(
        |(type_, status, reason, message, observed_generation, at)| Condition {
            last_transition_time: Time(Timestamp::from_second(at).unwrap()),
            message,
            observed_generation,
            reason,
            status,
            type_,
        },
    );
    prop::collection::vec(one, 0..6)
}

fn others<'a>(conditions: &'a [Condition], type_: &'a str) -> Vec<&'a Condition> {
    conditions
        .iter()
        .filter(|condition| condition.type_ != type_)
        .collect()
}

proptest! {
    #[test]
    fn set_then_find(mut conditions in stored(), wanted in desired(), at in 10_i64..20) {
        let before = conditions.clone();
        let at = Timestamp::from_second(at).unwrap();
        let change = set_at(&mut conditions, wanted.clone(), at);

        prop_assert_eq!(change.is_changed(), conditions != before);
        let found = find(&conditions, &wanted.type_).unwrap();
        prop_assert_eq!(found.status.parse(), Ok(wanted.status));
        prop_assert_eq!(&found.reason, &wanted.reason);
        prop_assert_eq!(&found.message, &wanted.message);
        prop_assert_eq!(
            find_observed(&conditions, &wanted.type_, wanted.observed_generation),
            Some(found)
        );
        let previous = find(&before, &wanted.type_);
        let moves = previous.is_none_or(|previous| previous.status != found.status);
        prop_assert_eq!(change == ConditionChange::Transitioned, moves);
        let expected = previous.filter(|_| !moves).map_or(at, |previous| previous.last_transition_time.0);
        prop_assert_eq!(found.last_transition_time.0, expected);

        prop_assert_eq!(others(&conditions, &wanted.type_), others(&before, &wanted.type_));
        prop_assert_eq!(conditions.iter().filter(|c| c.type_ == wanted.type_).count(), 1);
    }

    #[test]
    fn setting_again_changes_not_a_byte(
        mut conditions in stored(),
        wanted in prop::collection::vec(desired(), 1..4),
    ) {
        let last_of_type = |index: usize| {
            !wanted[index + 1..].iter().any(|later| later.type_ == wanted[index].type_)
        };
        for (index, one) in wanted.iter().enumerate().filter(|(index, _)| last_of_type(*index)) {
            let at = Timestamp::from_second(10 + i64::try_from(index).unwrap()).unwrap();
            let _ = set_at(&mut conditions, one.clone(), at);
        }
        // As a pass does that reads the object back.
        let written = serde_json::to_string(&conditions).unwrap();
        let mut read: Vec<Condition> = serde_json::from_str(&written).unwrap();
        for (_, one) in wanted.iter().enumerate().filter(|(index, _)| last_of_type(*index)) {
            let at = Timestamp::from_second(99).unwrap();
            prop_assert_eq!(set_at(&mut read, one.clone(), at), ConditionChange::Unchanged);
        }
        prop_assert_eq!(serde_json::to_string(&read).unwrap(), written);
    }

    #[test]
    fn removed_is_gone(mut conditions in stored(), type_ in "[ABC]") {
        let before = conditions.clone();
        prop_assert_eq!(remove(&mut conditions, &type_), find(&before, &type_).is_some());
        prop_assert_eq!(find(&conditions, &type_), None);
        prop_assert_eq!(conditions.iter().collect::<Vec<_>>(), others(&before, &type_));
    }

    #[test]
    fn words_of_statuses_go_round(text in "\\PC{0,8}|True|False|Unknown") {
        match text.parse::<ConditionStatus>() {
            Ok(status) => prop_assert_eq!(status.as_str(), text),
            Err(error) => prop_assert_eq!(error.value(), text),
        }
    }

    /// What the patterns of the schema make.
    #[test]
    fn words_of_the_schema_are_fine(
        type_ in "([a-z0-9]([-a-z0-9]{0,4}[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]{0,4}[a-z0-9])?){0,3}/)?\
            (([A-Za-z0-9][-A-Za-z0-9_.]{0,9})?[A-Za-z0-9])",
        reason in "[A-Za-z]([A-Za-z0-9_,:]{0,9}[A-Za-z0-9_])?",
    ) {
        let wanted = DesiredCondition::new(type_, ConditionStatus::True, reason, "");
        prop_assert_eq!(wanted.check(), Ok(()));
    }

    #[test]
    fn any_text_is_checked(type_ in any::<String>(), reason in any::<String>(), message in any::<String>()) {
        let wanted = DesiredCondition::new(type_, ConditionStatus::True, reason, message);
        if let Err(error) = wanted.check() {
            prop_assert!(error.to_string().starts_with(error.field()));
        }
    }
}
