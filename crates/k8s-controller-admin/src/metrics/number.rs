//! Numbers as OpenMetrics wants them in the labels `le` and `quantile`, and takes them elsewhere.

/// The shortest decimal that reads back as `value`, in the one spelling that OpenMetrics calls canonical.
///
/// That is what Go's `%g` writes, with `.0` after a whole number: `0.005`, `1.0`, `100000.0`, `1e+06`, `5e-05`.
pub(super) fn canonical(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    // `{:e}` of a finite number always has an `e`, and after it a small integer.
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        // Debug writes `.0` after a whole number, and no exponent in this range.
        return format!("{value:?}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::canonical;
    use proptest::prelude::*;

    #[test]
    fn spellings() {
        // The examples of OpenMetrics 1.0, "Considerations: Canonical Numbers", and the edges of its ranges.
        for (value, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (10.0, "10.0"),
            (0.005, "0.005"),
            (0.001, "0.001"),
            (0.0001, "0.0001"),
            (0.000_123, "0.000123"),
            (1e-5, "1e-05"),
            (1e-10, "1e-10"),
            (1.5e-7, "1.5e-07"),
            (0.99, "0.99"),
            (100_000.0, "100000.0"),
            (123_456.789, "123456.789"),
            (999_999.5, "999999.5"),
            (1_000_000.0, "1e+06"),
            (1_234_567.0, "1.234567e+06"),
            (1e10, "1e+10"),
            (1e100, "1e+100"),
            (-2.5, "-2.5"),
            (-1e6, "-1e+06"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(canonical(value), expected);
        }
    }

    proptest! {
        #[test]
        fn reads_back_the_same(value in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL | proptest::num::f64::ZERO) {
            let text = canonical(value);
            prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), value.to_bits());
            prop_assert!(text.contains('.') || text.contains('e'), "{}", text);
        }
    }
}
