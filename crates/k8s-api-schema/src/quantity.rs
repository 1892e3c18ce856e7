//! Amounts of resources: `100m`, `1.5Gi`, `2e3`.

use std::cmp::Ordering;
use std::fmt;

/// Units in one, the finest that an amount can tell apart.
const NANO: i128 = 1_000_000_000;
/// Greater amounts are cut to this, as the server does.
const MAX: i128 = i64::MAX as i128 * NANO;

/// How an amount was written, and so how it is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// `1k`, `100m`.
    Decimal,
    /// `1Ki`.
    Binary,
    /// `1e3`.
    Exponent,
}

/// An amount of a resource, printed in the one form that the server writes.
///
/// ```
/// use k8s_api_schema::Quantity;
///
/// let half: Quantity = "0.5".parse()?;
/// assert_eq!(half.to_string(), "500m");
/// assert_eq!("1024Mi".parse::<Quantity>()?.to_string(), "1Gi");
/// assert!(half < "1".parse()?);
/// # Ok::<(), k8s_api_schema::QuantityError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    nanos: i128,
    format: Format,
}

/// Why a text is no amount; the texts are the server's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuantityError {
    /// It is not a number with a suffix.
    Format,
    /// The suffix is unknown.
    Suffix,
    /// The number is none.
    Number,
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Format => {
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            }
            Self::Suffix => "unable to parse quantity's suffix",
            Self::Number => "unable to parse numeric part of quantity",
        })
    }
}

impl std::error::Error for QuantityError {}

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self {
        nanos: 0,
        format: Format::Decimal,
    };

    /// Whether it is more than nothing.
    #[must_use]
    pub fn is_positive(&self) -> bool {
        self.nanos > 0
    }

    /// Whether it is less than nothing.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        self.nanos < 0
    }

    /// Whether it is nothing.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.nanos == 0
    }

    /// Whether it is a whole number.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.nanos % NANO == 0
    }

    /// The whole number that is not less.
    #[must_use]
    pub fn value(&self) -> i64 {
        let whole = self.nanos.div_euclid(NANO) + i128::from(self.nanos.rem_euclid(NANO) != 0);
        i64::try_from(whole).unwrap_or(if whole < 0 { i64::MIN } else { i64::MAX })
    }

    /// Rounded up to thousandths, the finest that the amounts of resources have.
    #[must_use]
    pub fn in_thousandths(self) -> Self {
        const MILLI: i128 = NANO / 1000;
        let thousandths =
            self.nanos.div_euclid(MILLI) + i128::from(self.nanos.rem_euclid(MILLI) != 0);
        Self {
            nanos: thousandths * MILLI,
            ..self
        }
    }
}

impl std::ops::Add for Quantity {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            nanos: (self.nanos + other.nanos).clamp(-MAX, MAX),
            // The sum with nothing is printed as the other.
            format: if self.is_zero() {
                other.format
            } else {
                self.format
            },
        }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl std::str::FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(QuantityError::Format);
        }
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let end = unsigned
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        // No digit at all is zero, as on the real server.
        if fraction.contains('.') || !has_form_of_suffix(suffix) {
            return Err(QuantityError::Format);
        }
        let (base, exponent, format) = unit(suffix)?;
        let magnitude = scaled(whole, fraction, base, exponent);
        let nanos = if text.starts_with('-') {
            -magnitude
        } else {
            magnitude
        };
        Ok(Self { nanos, format })
    }
}

/// `[eEinumkKMGTP]*[-+]?[0-9]*`
fn has_form_of_suffix(suffix: &str) -> bool {
    let rest = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let rest = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    rest.chars().all(|c| c.is_ascii_digit())
}

/// Base and exponent of a suffix.
fn unit(suffix: &str) -> Result<(i128, i32, Format), QuantityError> {
    let (base, exponent, format) = match suffix {
        "n" => (10, -9, Format::Decimal),
        "u" => (10, -6, Format::Decimal),
        "m" => (10, -3, Format::Decimal),
        "" => (10, 0, Format::Decimal),
        "k" => (10, 3, Format::Decimal),
        "M" => (10, 6, Format::Decimal),
        "G" => (10, 9, Format::Decimal),
        "T" => (10, 12, Format::Decimal),
        "P" => (10, 15, Format::Decimal),
        "E" => (10, 18, Format::Decimal),
        "Ki" => (2, 10, Format::Binary),
        "Mi" => (2, 20, Format::Binary),
        "Gi" => (2, 30, Format::Binary),
        "Ti" => (2, 40, Format::Binary),
        "Pi" => (2, 50, Format::Binary),
        "Ei" => (2, 60, Format::Binary),
        other => {
            let exponent = other
                .strip_prefix(['e', 'E'])
                .and_then(|digits| digits.parse::<i32>().ok())
                .ok_or(QuantityError::Suffix)?;
            (10, exponent, Format::Exponent)
        }
    };
    Ok((base, exponent, format))
}

/// The number in nanos, rounded up and cut to the greatest amount.
fn scaled(whole: &str, fraction: &str, base: i128, exponent: i32) -> i128 {
    let digits: String = [whole, fraction].concat();
    let digits = digits.trim_start_matches('0');
    let places = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
    let shift = if base == 10 { exponent } else { 0 };
    // Where the last digit is, in powers of ten above a nano.
    let mut power = shift.saturating_sub(places).saturating_add(9);
    let mut value: i128 = 0;
    let mut rounded = false;
    let kept =
        usize::try_from(power.saturating_add(i32::try_from(digits.len()).unwrap_or(i32::MAX)));
    let count = if power < 0 {
        kept.unwrap_or(0)
    } else {
        digits.len()
    };
    for (index, digit) in digits.bytes().enumerate() {
        if index >= count {
            rounded |= digit != b'0';
            continue;
        }
        value = value
            .saturating_mul(10)
            .saturating_add(i128::from(digit - b'0'));
    }
    power = power.max(0);
    while power > 0 && value != 0 && value <= MAX {
        value = value.saturating_mul(10);
        power -= 1;
    }
    value = value.saturating_add(i128::from(rounded));
    if base == 2 {
        value = value.saturating_mul(1_i128 << exponent);
    }
    value.min(MAX)
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanos == 0 {
            return f.write_str("0");
        }
        let whole = self.nanos / NANO;
        if self.format == Format::Binary && self.is_whole() && whole.abs() >= 1024 {
            let (mut number, mut unit) = (whole, 0);
            while number % 1024 == 0 && unit < 6 {
                number /= 1024;
                unit += 1;
            }
            return write!(
                f,
                "{number}{}",
                ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"][unit]
            );
        }
        let (mut number, mut exponent) = (self.nanos, -9);
        while number % 1000 == 0 && exponent < 18 {
            number /= 1000;
            exponent += 3;
        }
        if self.format == Format::Exponent {
            return if exponent == 0 {
                write!(f, "{number}")
            } else {
                write!(f, "{number}e{exponent}")
            };
        }
        let suffix = match exponent {
            -9 => "n",
            -6 => "u",
            -3 => "m",
            3 => "k",
            6 => "M",
            9 => "G",
            12 => "T",
            15 => "P",
            18 => "E",
            _ => "",
        };
        write!(f, "{number}{suffix}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_in_one_form() {
        for (text, printed) in [
            ("0", "0"),
            ("0Mi", "0"),
            ("1000m", "1"),
            ("0.5", "500m"),
            (".5", "500m"),
            ("1.", "1"),
            ("1500m", "1500m"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("0.5Gi", "512Mi"),
            ("512", "512"),
            ("0.5Ki", "512"),
            ("1000Ki", "1000Ki"),
            ("0.1Ki", "102400m"),
            ("1000", "1k"),
            ("100000", "100k"),
            ("1e3", "1e3"),
            ("12E6", "12e6"),
            ("1e-3", "1e-3"),
            ("-1.5", "-1500m"),
            ("+1", "1"),
            ("1n", "1n"),
            ("0.1n", "1n"),
            ("9223372036854775807", "9223372036854775807"),
            ("99999999999999999999", "9223372036854775807"),
            (".", "0"),
            ("+", "0"),
            (" 1", "1"),
        ] {
            assert_eq!(
                text.parse::<Quantity>()
                    .map(|quantity| quantity.to_string()),
                Ok(printed.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn texts_that_are_none() {
        for (text, error) in [
            ("", QuantityError::Format),
            ("x", QuantityError::Format),
            ("1x", QuantityError::Format),
            ("1 Mi", QuantityError::Format),
            ("1.2.3", QuantityError::Format),
            ("..", QuantityError::Format),
            ("1E5i", QuantityError::Format),
            ("1ee", QuantityError::Suffix),
            ("1mi", QuantityError::Suffix),
            ("1K", QuantityError::Suffix),
        ] {
            assert_eq!(text.parse::<Quantity>(), Err(error), "{text}");
        }
    }

    #[test]
    fn sums_and_orders() {
        let of = |text: &str| text.parse::<Quantity>().expect("an amount");
        assert_eq!((of("100m") + of("1")).to_string(), "1100m");
        assert!(of("1Gi") > of("1G"));
        assert_eq!(of("1.5").value(), 2);
        assert_eq!(of("-1.5").value(), -1);
        assert_eq!(of("1u").in_thousandths().to_string(), "1m");
        assert!(!of("100m").is_whole());
    }
}
