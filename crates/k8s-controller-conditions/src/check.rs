//! What an API server demands of a condition.
//!
//! The limits are those that apimachinery writes at the fields of meta/v1 `Condition`, from which
//! controller-gen makes the schemas of custom resources.

use crate::DesiredCondition;

/// The most characters of `type`.
const MAX_TYPE: usize = 316;
/// The most characters of `reason`.
const MAX_REASON: usize = 1024;
/// The most characters of `message`.
const MAX_MESSAGE: usize = 32_768;

const TYPE: &str = "a name such as \"Ready\" or \"example.com/Ready\": letters, digits, '-', '_' and \
                    '.', a letter or digit at both ends; before the slash a DNS subdomain";
const REASON: &str = "one word such as \"PodsReady\": letters, digits, '_', ',' and ':', a letter at \
                      the start and no ',' or ':' at the end";

/// A field of a condition that an API server would refuse.
///
/// Fields have the names that they have in the object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidCondition {
    /// A field that must have a value has none.
    #[error("{field} of a condition is empty, expected {expected}")]
    #[non_exhaustive]
    Empty {
        /// The field.
        field: &'static str,
        /// What it may be.
        expected: &'static str,
    },

    /// A field is too long.
    #[error("{field} of a condition has {characters} characters, expected at most {max}")]
    #[non_exhaustive]
    TooLong {
        /// The field.
        field: &'static str,
        /// How long it is, in characters.
        characters: usize,
        /// How long it may be, in characters.
        max: usize,
    },

    /// A field is not of the form that it must have.
    #[error("{field} of a condition is {value:?}, expected {expected}")]
    #[non_exhaustive]
    Malformed {
        /// The field.
        field: &'static str,
        /// What it is.
        value: String,
        /// What it may be.
        expected: &'static str,
    },

    /// A generation is negative.
    #[error("{field} of a condition is {value}, expected 0 or more")]
    #[non_exhaustive]
    Negative {
        /// The field.
        field: &'static str,
        /// What it is.
        value: i64,
    },
}

impl InvalidCondition {
    /// The field that an API server would refuse.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        match self {
            Self::Empty { field, .. }
            | Self::TooLong { field, .. }
            | Self::Malformed { field, .. }
            | Self::Negative { field, .. } => field,
        }
    }
}

impl DesiredCondition {
    /// Tells whether an API server would accept the condition, so that a mistake shows in a test
    /// and not in a controller whose status is never written.
    ///
    /// The demands are those of the schema that Kubernetes has for conditions, and that most
    /// custom resource definitions carry: `type` up to 316 characters, a reason of 1 to 1024, a
    /// message of up to 32768, no negative generation. A definition that has no such schema
    /// accepts more, and one may demand more.
    ///
    /// ```
    /// use k8s_controller_conditions::{ConditionStatus, DesiredCondition};
    ///
    /// let ready = DesiredCondition::new("Ready", ConditionStatus::False, "not ready", "");
    /// let error = ready.check().unwrap_err();
    /// assert_eq!(error.field(), "reason");
    /// assert!(error.to_string().starts_with("reason of a condition is \"not ready\", expected"));
    /// ```
    ///
    /// # Errors
    /// The first field that would be refused.
    pub fn check(&self) -> Result<(), InvalidCondition> {
        word("type", &self.type_, MAX_TYPE, TYPE, is_type)?;
        word("reason", &self.reason, MAX_REASON, REASON, is_reason)?;
        at_most("message", &self.message, MAX_MESSAGE)?;
        match self.observed_generation {
            Some(value) if value < 0 => Err(InvalidCondition::Negative {
                field: "observedGeneration",
                value,
            }),
            _ => Ok(()),
        }
    }
}

fn word(
    field: &'static str,
    value: &str,
    max: usize,
    expected: &'static str,
    is_fine: impl FnOnce(&str) -> bool,
) -> Result<(), InvalidCondition> {
    if value.is_empty() {
        return Err(InvalidCondition::Empty { field, expected });
    }
    at_most(field, value, max)?;
    if is_fine(value) {
        return Ok(());
    }
    Err(InvalidCondition::Malformed {
        field,
        value: value.to_owned(),
        expected,
    })
}

/// A schema counts characters, not bytes.
fn at_most(field: &'static str, value: &str, max: usize) -> Result<(), InvalidCondition> {
    let characters = value.chars().count();
    if characters <= max {
        return Ok(());
    }
    Err(InvalidCondition::TooLong {
        field,
        characters,
        max,
    })
}

/// `^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`
fn is_type(text: &str) -> bool {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    prefix.is_none_or(|prefix| prefix.split('.').all(is_label))
        && is_made_of(
            name,
            |b| b.is_ascii_alphanumeric(),
            |b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'),
            |b| b.is_ascii_alphanumeric(),
        )
}

/// `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
fn is_label(text: &str) -> bool {
    let alphanumeric = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    is_made_of(
        text,
        alphanumeric,
        |b| alphanumeric(b) || b == b'-',
        alphanumeric,
    )
}

/// `^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`
fn is_reason(text: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    is_made_of(
        text,
        |b| b.is_ascii_alphabetic(),
        |b| word(b) || matches!(b, b',' | b':'),
        word,
    )
}

/// Whether a text has a first byte, others and a last one of these sorts; the first may be the
/// last as well.
fn is_made_of(
    text: &str,
    first: impl Fn(u8) -> bool,
    inner: impl Fn(u8) -> bool,
    last: impl Fn(u8) -> bool,
) -> bool {
    match text.as_bytes() {
        [] => false,
        [one] => first(*one),
        [start, middle @ .., end] => {
            first(*start) && middle.iter().all(|b| inner(*b)) && last(*end)
        }
    }
}
