//! Numbers as Go prints them.

use serde_json::{Number, Value};

/// The greatest float that every whole number up to is told apart from its neighbours, with room: beyond it a float stays one.
const WHOLE: f64 = 9.2e18;

/// A float; a whole one is written without a point.
#[allow(
    clippy::cast_possible_truncation,
    clippy::float_cmp,
    reason = "the float is whole and small enough"
)]
pub(crate) fn float(value: f64) -> Value {
    if value.trunc() == value && value.abs() < WHOLE {
        return Value::from(value as i64);
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// A number of no known type; `None` if it is beyond all floats.
pub(super) fn untyped(text: &str) -> Option<Value> {
    if !text.contains('.')
        && let Ok(whole) = text.parse::<i64>()
    {
        return Some(whole.into());
    }
    let value: f64 = text.parse().ok()?;
    value.is_finite().then(|| float(value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_numbers_have_no_point() {
        for (text, expected) in [
            ("1", json!(1)),
            ("-0", json!(0)),
            ("1.0", json!(1)),
            ("1e3", json!(1000)),
            ("1.5", json!(1.5)),
            ("9223372036854775807", json!(i64::MAX)),
            ("1e30", json!(1e30)),
        ] {
            assert_eq!(untyped(text), Some(expected), "{text}");
        }
        assert_eq!(untyped("1e400"), None);
    }
}
