//! Order and equality of JSON values as the server sees them: a number is a number, whole or not.

use std::cmp::Ordering;

use serde_json::{Number, Value};

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

/// A total order: numbers, texts, booleans, lists, objects, null.
pub(crate) fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let differing = a.iter().zip(b).map(|(a, b)| compare(a, b));
            differing
                .into_iter()
                .find(|order| *order != Ordering::Equal)
                .unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => {
            let differing = a
                .iter()
                .zip(b)
                .map(|((key_a, a), (key_b, b))| key_a.cmp(key_b).then_with(|| compare(a, b)));
            differing
                .into_iter()
                .find(|order| *order != Ordering::Equal)
                .unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        _ => rank(a).cmp(&rank(b)),
    }
}

fn compare_numbers(a: &Number, b: &Number) -> Ordering {
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64()) {
        return a.cmp(&b);
    }
    if let (Some(a), Some(b)) = (a.as_u64(), b.as_u64()) {
        return a.cmp(&b);
    }
    let float = |number: &Number| number.as_f64().unwrap_or_default();
    float(a).total_cmp(&float(b))
}

/// Equality of values; the order of keys does not count.
pub(crate) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || compare_numbers(a, b) == Ordering::Equal,
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_equal_whatever_their_form() {
        assert!(equal(&json!({"a": [1, 2.0]}), &json!({"a": [1.0, 2]})));
        assert!(!equal(&json!(1), &json!("1")));
        assert!(!equal(&json!({"a": 1}), &json!({"b": 1})));
        assert!(equal(&json!(u64::MAX), &json!(u64::MAX)));
    }
}
