//! Errors of one field, printed as the real server prints them.

use std::fmt;

use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Invalid,
    Required,
    NotSupported,
    Duplicate,
    Forbidden,
    TooLong,
    TooMany,
    NotFound,
    WrongType,
    Internal,
}

/// Why the value of a field is refused.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// Path of the field, such as `metadata.finalizers[0]`.
    pub field: String,
    kind: Kind,
    /// The refused value as it is printed; empty where it is not.
    value: String,
    detail: String,
}

impl FieldError {
    fn new(field: impl Into<String>, kind: Kind, value: &Value, detail: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            kind,
            value: print_value(value),
            detail: detail.into(),
        }
    }

    /// The value breaks a rule.
    pub fn invalid(
        field: impl Into<String>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(field, Kind::Invalid, &value.into(), detail)
    }

    /// Like [`FieldError::invalid`] with a value that is printed as it comes.
    pub fn invalid_printed(
        field: impl Into<String>,
        printed: String,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            value: printed,
            ..Self::invalid(field, Value::Null, detail)
        }
    }

    /// The value is missing.
    pub fn required(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(field, Kind::Required, &Value::Null, detail)
    }

    /// The value is none of the valid ones.
    pub fn not_supported(
        field: impl Into<String>,
        value: impl Into<Value>,
        valid: &[&str],
    ) -> Self {
        let detail = if valid.is_empty() {
            String::new()
        } else {
            let quoted: Vec<String> = valid.iter().map(|text| quote(text)).collect();
            format!("supported values: {}", quoted.join(", "))
        };
        Self::new(field, Kind::NotSupported, &value.into(), detail)
    }

    /// The value is there twice.
    pub fn duplicate(field: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::new(field, Kind::Duplicate, &value.into(), "")
    }

    /// The field may not be set so.
    pub fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(field, Kind::Forbidden, &Value::Null, detail)
    }

    /// The text has too many bytes.
    pub fn too_long(field: impl Into<String>, max_bytes: usize) -> Self {
        let unit = if max_bytes == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {max_bytes} {unit}");
        Self::new(field, Kind::TooLong, &Value::Null, detail)
    }

    /// Like [`FieldError::invalid`] without the value.
    pub fn invalid_omitted(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            kind: Kind::Invalid,
            ..Self::forbidden(field, detail)
        }
        .without_value()
    }

    /// Like [`FieldError::not_supported`] with a value that is printed as it comes.
    pub fn not_supported_printed(
        field: impl Into<String>,
        printed: String,
        valid: &[&str],
    ) -> Self {
        Self {
            value: printed,
            ..Self::not_supported(field, Value::Null, valid)
        }
    }

    /// The value names something that is not there.
    pub fn not_found(field: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::new(field, Kind::NotFound, &value.into(), "")
    }

    /// The list has too many items.
    pub fn too_many(field: impl Into<String>, actual: usize, max: usize) -> Self {
        let unit = if max == 1 { "item" } else { "items" };
        let detail = format!("must have at most {max} {unit}");
        Self::new(field, Kind::TooMany, &actual.into(), detail)
    }

    /// The same with the value printed as given.
    #[must_use]
    pub fn printed(mut self, value: String) -> Self {
        self.value = value;
        self
    }

    /// The value is of another type than the schema says.
    pub fn type_invalid(
        field: impl Into<String>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(field, Kind::WrongType, &value.into(), detail)
    }

    /// Like [`FieldError::duplicate`] without the value.
    pub fn duplicate_omitted(field: impl Into<String>) -> Self {
        Self::duplicate(field, Value::Null).without_value()
    }

    /// The server is at fault.
    pub fn internal(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(field, Kind::Internal, &Value::Null, detail)
    }

    /// Whether the value is so wrong that the rules of a schema about it are not checked.
    #[must_use]
    pub fn is_blocking(&self) -> bool {
        matches!(
            self.kind,
            Kind::NotSupported | Kind::Required | Kind::TooLong | Kind::TooMany | Kind::WrongType
        )
    }

    fn without_value(mut self) -> Self {
        self.value.clear();
        self
    }

    /// The cause's reason.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self.kind {
            Kind::Invalid => "FieldValueInvalid",
            Kind::Required => "FieldValueRequired",
            Kind::NotSupported => "FieldValueNotSupported",
            Kind::Duplicate => "FieldValueDuplicate",
            Kind::Forbidden => "FieldValueForbidden",
            Kind::TooLong => "FieldValueTooLong",
            Kind::TooMany => "FieldValueTooMany",
            Kind::NotFound => "FieldValueNotFound",
            Kind::WrongType => "FieldValueTypeInvalid",
            Kind::Internal => "InternalError",
        }
    }

    /// The text without the field: the cause's message.
    #[must_use]
    pub fn body(&self) -> String {
        let word = match self.kind {
            Kind::Invalid | Kind::WrongType => "Invalid value",
            Kind::Required => "Required value",
            Kind::NotSupported => "Unsupported value",
            Kind::Duplicate => "Duplicate value",
            Kind::Forbidden => "Forbidden",
            Kind::TooLong => "Too long",
            Kind::TooMany => "Too many",
            Kind::NotFound => "Not found",
            Kind::Internal => "Internal error",
        };
        let mut text = String::from(word);
        let shows_value = !matches!(
            self.kind,
            Kind::Required | Kind::Forbidden | Kind::TooLong | Kind::Internal
        );
        if shows_value && !self.value.is_empty() {
            text.push_str(": ");
            text.push_str(&self.value);
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

fn print_value(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::String(text) => quote(text),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => print_float(float),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

/// A float as Go's `%v` prints it.
#[must_use]
pub fn print_float(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.into();
    }
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e6).contains(&size) {
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = match exponent.strip_prefix('-') {
            Some(rest) => ('-', rest),
            None => ('+', exponent),
        };
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    format!("{value}")
}

/// `text` in double quotes with the escapes of Go's `%q`.
#[must_use]
pub fn quote(text: &str) -> String {
    use std::fmt::Write as _;

    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            c if u32::from(c) < 0x20 || c == '\u{7f}' => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts() {
        for (error, expected) in [
            (
                FieldError::invalid("a.b", "x\"y", "no"),
                r#"a.b: Invalid value: "x\"y": no"#,
            ),
            (FieldError::invalid("a", 5, "no"), "a: Invalid value: 5: no"),
            (
                FieldError::invalid("a", Value::Null, "no"),
                "a: Invalid value: null: no",
            ),
            (
                FieldError::invalid("a", json!({"a": "b"}), "no"),
                r#"a: Invalid value: {"a":"b"}: no"#,
            ),
            (FieldError::required("a", ""), "a: Required value"),
            (
                FieldError::not_supported("a", "x", &["b", "c"]),
                r#"a: Unsupported value: "x": supported values: "b", "c""#,
            ),
            (
                FieldError::duplicate("a", "x"),
                r#"a: Duplicate value: "x""#,
            ),
            (
                FieldError::too_long("a", 1),
                "a: Too long: may not be more than 1 byte",
            ),
        ] {
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn quoting() {
        assert_eq!(
            quote("a\tb\u{1}\u{7f}\u{85}é\\"),
            r#""a\tb\x01\x7f\u0085é\\""#
        );
    }
}
