//! Conditions, as a controller sets and reads them.

// In a test, a panic is the failure.
#![allow(clippy::unwrap_used)]

use k8s_controller_conditions::{
    ConditionChange, ConditionStatus, DesiredCondition, find, find_observed, remove, set, set_at,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use ConditionChange::{Transitioned, Unchanged, Updated};
use ConditionStatus::{False, True, Unknown};

const EARLY: &str = "2026-01-01T00:00:00Z";
const LATE: &str = "2026-06-01T00:00:00Z";

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn conditions(json: Value) -> Vec<Condition> {
    serde_json::from_value(json).unwrap()
}

fn desired(status: ConditionStatus, reason: &str, message: &str) -> DesiredCondition {
    DesiredCondition::new("Ready", status, reason, message)
}

/// What each kind of difference comes to, when the present one is `True`, `Serving`, `ok`, 4.
#[test]
fn differences() {
    let same = || desired(True, "Serving", "ok").observed_generation(Some(4));
    for (wanted, change) in [
        (same(), Unchanged),
        (
            desired(True, "Other", "ok").observed_generation(Some(4)),
            Updated,
        ),
        (
            desired(True, "Serving", "").observed_generation(Some(4)),
            Updated,
        ),
        (same().observed_generation(Some(5)), Updated),
        (same().observed_generation(Some(3)), Updated),
        (same().observed_generation(None), Updated),
        (
            desired(False, "Serving", "ok").observed_generation(Some(4)),
            Transitioned,
        ),
        (
            desired(Unknown, "Other", "").observed_generation(Some(5)),
            Transitioned,
        ),
    ] {
        let mut stored = conditions(json!([{
            "type": "Ready", "status": "True", "reason": "Serving", "message": "ok",
            "observedGeneration": 4, "lastTransitionTime": EARLY,
        }]));
        assert_eq!(
            set_at(&mut stored, wanted.clone(), time(LATE)),
            change,
            "{wanted:?}"
        );
        assert_eq!(change.is_changed(), change != Unchanged);
        let mut expected = json!([{
            "type": "Ready", "status": wanted.status.as_str(), "reason": wanted.reason,
            "message": wanted.message,
            "lastTransitionTime": if change == Transitioned { LATE } else { EARLY },
        }]);
        if let Some(generation) = wanted.observed_generation {
            expected[0]["observedGeneration"] = generation.into();
        }
        assert_eq!(serde_json::to_value(&stored).unwrap(), expected);
    }
}

/// A status that others wrote and that is none of the three is changed by each of them.
#[test]
fn statuses_that_are_none() {
    for status in ["", "true", "TRUE", "Yes", "True "] {
        for wanted in [True, False, Unknown] {
            let mut stored = conditions(json!([{
                "type": "Ready", "status": status, "reason": "R", "message": "", "lastTransitionTime": EARLY,
            }]));
            assert_eq!(
                set_at(&mut stored, desired(wanted, "R", ""), time(LATE)),
                Transitioned
            );
            assert_eq!(stored[0].status, wanted.as_str());
            assert_eq!(stored[0].last_transition_time.0, time(LATE));
        }
    }
}

/// What a controller of another making leaves out does not come in the way.
#[test]
fn sparse_conditions() {
    let mut stored = conditions(json!([
        {"type": "Ready", "status": "True", "lastTransitionTime": EARLY},
        {"lastTransitionTime": EARLY},
    ]));
    let change = set_at(&mut stored, desired(True, "R", "m"), time(LATE));
    assert_eq!(change, Updated);
    assert_eq!(find(&stored, "Ready").unwrap().reason, "R");
    assert_eq!(stored.len(), 2);
}

#[test]
fn order_is_kept_and_new_ones_go_last() {
    let mut stored = Vec::new();
    for type_ in ["C", "A", "B"] {
        let wanted = DesiredCondition::new(type_, True, "R", "");
        assert_eq!(set(&mut stored, wanted), Transitioned);
    }
    assert_eq!(
        set(&mut stored, DesiredCondition::new("A", False, "R", "")),
        Transitioned
    );
    let types =
        |stored: &[Condition]| -> String { stored.iter().map(|c| c.type_.as_str()).collect() };
    assert_eq!(types(&stored), "CAB");
    assert!(remove(&mut stored, "A"));
    assert!(!remove(&mut stored, "A"));
    assert!(!remove(&mut stored, "c"), "case matters");
    assert_eq!(types(&stored), "CB");
}

/// Several conditions of one type: the first is the one that counts, the others go.
#[test]
fn repeated_types() {
    let twice = || {
        conditions(json!([
            {"type": "Ready", "status": "True", "reason": "R", "message": "", "lastTransitionTime": EARLY},
            {"type": "Other", "status": "True", "reason": "R", "message": "", "lastTransitionTime": EARLY},
            {"type": "Ready", "status": "False", "reason": "R", "message": "", "lastTransitionTime": LATE},
        ]))
    };
    assert_eq!(find(&twice(), "Ready").unwrap().status, "True");
    for (status, change) in [(True, Updated), (False, Transitioned)] {
        let mut stored = twice();
        assert_eq!(set(&mut stored, desired(status, "R", "")), change);
        assert_eq!(stored.len(), 2);
        assert_eq!(
            (stored[0].type_.as_str(), stored[1].type_.as_str()),
            ("Ready", "Other")
        );
        assert_eq!(set(&mut stored, desired(status, "R", "")), Unchanged);
    }
    let mut stored = twice();
    assert!(remove(&mut stored, "Ready"));
    assert_eq!(stored.len(), 1);
}

/// 0 stands for no generation, and a server leaves it out: writing it is no change.
#[test]
fn no_generation_and_zero_are_the_same() {
    for (first, then) in [(None, Some(0)), (Some(0), None)] {
        let mut stored = Vec::new();
        let wanted = desired(True, "R", "");
        assert_eq!(
            set(&mut stored, wanted.clone().observed_generation(first)),
            Transitioned
        );
        assert_eq!(
            set(&mut stored, wanted.observed_generation(then)),
            Unchanged
        );
        assert!(find_observed(&stored, "Ready", then).is_some());
    }
}

#[test]
fn observed_generations() {
    for (observed, asked, found) in [
        (Some(3), Some(3), true),
        (Some(3), Some(4), false),
        (Some(4), Some(3), false),
        (Some(3), None, false),
        (None, Some(3), false),
        (None, None, true),
    ] {
        let mut stored = Vec::new();
        let wanted = desired(True, "R", "").observed_generation(observed);
        assert!(set(&mut stored, wanted).is_changed());
        let condition = find_observed(&stored, "Ready", asked);
        assert_eq!(condition.is_some(), found, "{observed:?} {asked:?}");
        assert!(find_observed(&stored, "Other", asked).is_none());
    }
}

/// Kubernetes writes times in whole seconds; what is in memory is what would be read back.
#[test]
fn times_are_whole_seconds() {
    for (given, kept) in [
        ("2026-01-01T00:00:00.999999999Z", "2026-01-01T00:00:00Z"),
        ("2026-01-01T00:00:01Z", "2026-01-01T00:00:01Z"),
    ] {
        let mut stored = Vec::new();
        assert!(set_at(&mut stored, desired(True, "R", ""), time(given)).is_changed());
        assert_eq!(stored[0].last_transition_time.0, time(kept));
        let json = serde_json::to_string(&stored).unwrap();
        assert_eq!(
            serde_json::from_str::<Vec<Condition>>(&json).unwrap(),
            stored
        );
    }
    for extreme in [Timestamp::MIN, Timestamp::MAX] {
        let mut stored = Vec::new();
        assert!(set_at(&mut stored, desired(True, "R", ""), extreme).is_changed());
        assert_eq!(stored[0].last_transition_time.0.subsec_nanosecond(), 0);
    }
}

#[test]
fn set_takes_the_time_of_the_wall_clock() {
    let wall = || {
        let since = std::time::UNIX_EPOCH.elapsed().unwrap();
        Timestamp::UNIX_EPOCH + SignedDuration::try_from(since).unwrap()
    };
    let before = wall();
    let mut stored = Vec::new();
    assert!(set(&mut stored, desired(True, "R", "")).is_changed());
    let at = stored[0].last_transition_time.0;
    assert_eq!(at.subsec_nanosecond(), 0);
    assert!(
        before - SignedDuration::from_secs(1) < at && at <= wall(),
        "{before} {at}"
    );
}

#[test]
fn status_words() {
    for (status, word) in [(True, "True"), (False, "False"), (Unknown, "Unknown")] {
        assert_eq!((status.as_str(), status.to_string().as_str()), (word, word));
        assert_eq!(word.parse(), Ok(status));
        assert_eq!(format!("{status:>8}|").len(), 9, "padded");
    }
    assert_eq!(ConditionStatus::from(true), True);
    assert_eq!(ConditionStatus::from(false), False);
    for wrong in ["", "true", "TRUE", " True", "True\n", "1", "yes"] {
        let error = wrong.parse::<ConditionStatus>().unwrap_err();
        assert_eq!(error.value(), wrong);
        let expected = format!("status is {wrong:?}, expected \"True\", \"False\" or \"Unknown\"");
        assert_eq!(error.to_string(), expected);
    }
}
