//! What an API server would refuse is told with the field and what was expected.

// In a test, a panic is the failure.
#![allow(clippy::unwrap_used)]

use k8s_controller_conditions::{ConditionStatus, DesiredCondition, InvalidCondition};

fn with(type_: &str, reason: &str, message: &str) -> DesiredCondition {
    DesiredCondition::new(type_, ConditionStatus::True, reason, message)
}

#[test]
fn fine() {
    let longest_type = format!("{}/{}", "p".repeat(252), "N".repeat(63));
    for type_ in [
        "Ready",
        "x",
        "0",
        "a-b_c.D",
        "example.com/Ready",
        "a/B",
        "0-0.a-b/x.y",
        &longest_type,
        &"T".repeat(316),
    ] {
        assert_eq!(with(type_, "R", "").check(), Ok(()), "{type_}");
    }
    for reason in ["R", "r_", "A1", "a,b:c_1", "a::b", &"R".repeat(1024)] {
        assert_eq!(with("Ready", reason, "").check(), Ok(()), "{reason}");
    }
    for message in ["", "a\nb", "\u{0}", &"é".repeat(32_768)] {
        assert_eq!(with("Ready", "R", message).check(), Ok(()));
    }
    for generation in [None, Some(0), Some(i64::MAX)] {
        let wanted = with("Ready", "R", "").observed_generation(generation);
        assert_eq!(wanted.check(), Ok(()));
    }
}

#[test]
fn types() {
    for type_ in [
        "-Ready",
        "Ready-",
        "Ready.",
        "_",
        "not ready",
        "Réady",
        "Ready\n",
        "/Ready",
        "example.com/",
        "a/b/c",
        "Example.com/Ready",
        "example..com/Ready",
        ".com/Ready",
        "-a/Ready",
        "a-/Ready",
        "a_b/Ready",
    ] {
        let error = with(type_, "R", "").check().unwrap_err();
        assert_eq!(error.field(), "type");
        let start = format!("type of a condition is {type_:?}, expected a name such as \"Ready\"");
        assert!(error.to_string().starts_with(&start), "{error}");
    }
    assert!(matches!(
        with("", "R", "").check(),
        Err(InvalidCondition::Empty { field: "type", .. })
    ));
    let error = with(&"T".repeat(317), "R", "").check().unwrap_err();
    assert_eq!(
        error.to_string(),
        "type of a condition has 317 characters, expected at most 316"
    );
}

#[test]
fn reasons() {
    for reason in ["1a", "_a", ",", "a,", "a:", "a b", "a-b", "a.b", "é", "a\n"] {
        let error = with("Ready", reason, "").check().unwrap_err();
        assert_eq!(error.field(), "reason");
        let start = format!("reason of a condition is {reason:?}, expected one word such as");
        assert!(error.to_string().starts_with(&start), "{error}");
    }
    let error = with("Ready", "", "").check().unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("reason of a condition is empty, expected one word")
    );
    let error = with("Ready", &"é".repeat(1025), "").check().unwrap_err();
    assert_eq!(
        error.to_string(),
        "reason of a condition has 1025 characters, expected at most 1024"
    );
}

#[test]
fn messages_and_generations() {
    let error = with("Ready", "R", &"é".repeat(32_769)).check().unwrap_err();
    assert_eq!(
        error.to_string(),
        "message of a condition has 32769 characters, expected at most 32768"
    );
    let error = with("Ready", "R", "")
        .observed_generation(Some(-1))
        .check()
        .unwrap_err();
    assert_eq!(error.field(), "observedGeneration");
    assert_eq!(
        error.to_string(),
        "observedGeneration of a condition is -1, expected 0 or more"
    );
}
