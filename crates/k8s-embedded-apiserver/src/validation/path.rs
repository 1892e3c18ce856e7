//! The path of a field, put together only when there is something to say about it.

use std::fmt;

use k8s_api_schema::FieldError;
use serde_json::Value;

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Field(&'a str),
    Index(usize),
    Key(&'a str),
}

/// Where a field is, such as `spec.containers[0].resources.limits[cpu]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

impl<'a> Path<'a> {
    /// A path that begins with these fields, which may be several with dots between.
    pub(crate) fn new(fields: &'a str) -> Self {
        Self {
            parent: None,
            step: Step::Field(fields),
        }
    }

    pub(crate) fn child<'b>(&'b self, field: &'b str) -> Path<'b> {
        Path {
            parent: Some(self),
            step: Step::Field(field),
        }
    }

    pub(crate) fn index(&self, index: usize) -> Path<'_> {
        Path {
            parent: Some(self),
            step: Step::Index(index),
        }
    }

    pub(crate) fn key<'b>(&'b self, key: &'b str) -> Path<'b> {
        Path {
            parent: Some(self),
            step: Step::Key(key),
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Field(field) if self.parent.is_some() => write!(f, ".{field}"),
            Step::Field(field) => f.write_str(field),
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Key(key) => write!(f, "[{key}]"),
        }
    }
}

/// Errors of an object, in the order in which they are found.
#[derive(Debug, Default)]
pub(crate) struct Errors(pub(crate) Vec<FieldError>);

impl Errors {
    pub(crate) fn invalid(
        &mut self,
        path: Path<'_>,
        value: impl Into<Value>,
        why: impl Into<String>,
    ) {
        self.0
            .push(FieldError::invalid(path.to_string(), value, why));
    }

    /// A value that is printed as it comes.
    pub(crate) fn invalid_printed(
        &mut self,
        path: Path<'_>,
        printed: String,
        why: impl Into<String>,
    ) {
        self.0
            .push(FieldError::invalid_printed(path.to_string(), printed, why));
    }

    pub(crate) fn omitted(&mut self, path: Path<'_>, why: impl Into<String>) {
        self.0
            .push(FieldError::invalid_omitted(path.to_string(), why));
    }

    pub(crate) fn required(&mut self, path: Path<'_>, why: &str) {
        self.0.push(FieldError::required(path.to_string(), why));
    }

    pub(crate) fn forbidden(&mut self, path: Path<'_>, why: impl Into<String>) {
        self.0.push(FieldError::forbidden(path.to_string(), why));
    }

    pub(crate) fn duplicate(&mut self, path: Path<'_>, value: impl Into<Value>) {
        self.0.push(FieldError::duplicate(path.to_string(), value));
    }

    pub(crate) fn not_found(&mut self, path: Path<'_>, value: impl Into<Value>) {
        self.0.push(FieldError::not_found(path.to_string(), value));
    }

    pub(crate) fn not_supported(
        &mut self,
        path: Path<'_>,
        value: impl Into<Value>,
        valid: &[&str],
    ) {
        self.0
            .push(FieldError::not_supported(path.to_string(), value, valid));
    }

    pub(crate) fn too_many(&mut self, path: Path<'_>, actual: usize, max: usize) {
        self.0
            .push(FieldError::too_many(path.to_string(), actual, max));
    }

    pub(crate) fn too_long(&mut self, path: Path<'_>, max: usize) {
        self.0.push(FieldError::too_long(path.to_string(), max));
    }

    /// One error for each fault of a text.
    pub(crate) fn faults(&mut self, path: Path<'_>, value: &str, faults: Vec<String>) {
        for fault in faults {
            self.invalid(path, value, fault);
        }
    }

    pub(crate) fn not_negative(&mut self, path: Path<'_>, value: Option<i64>) {
        if let Some(value) = value.filter(|value| *value < 0) {
            self.invalid(path, value, "must be greater than or equal to 0");
        }
    }

    /// A text that is one of these; an empty one is missing.
    pub(crate) fn one_of(&mut self, path: Path<'_>, value: &str, valid: &[&str]) {
        if value.is_empty() {
            self.required(path, "");
        } else {
            self.one_of_or_empty(path, value, valid);
        }
    }

    /// A text that is one of these or empty.
    pub(crate) fn one_of_or_empty(&mut self, path: Path<'_>, value: &str, valid: &[&str]) {
        if !value.is_empty() && !valid.contains(&value) {
            self.not_supported(path, value, valid);
        }
    }

    /// A field that may be left out, and is one of these if it is not, be it empty.
    pub(crate) fn optional_one_of(
        &mut self,
        path: Path<'_>,
        parent: &Value,
        field: &'static str,
        valid: &[&str],
    ) {
        let value = text(parent, field);
        if has(parent, field) && !valid.contains(&value) {
            self.not_supported(path.child(field), value, valid);
        }
    }

    pub(crate) fn in_range(&mut self, path: Path<'_>, value: Option<i64>, min: i64, max: i64) {
        if let Some(value) = value.filter(|value| !(min..=max).contains(value)) {
            let why = format!("must be between {min} and {max}, inclusive");
            self.invalid(path, value, why);
        }
    }
}

/// A text, empty where there is none.
pub(crate) fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// A number, where there is one.
pub(crate) fn int(value: &Value, field: &str) -> Option<i64> {
    value.get(field).and_then(Value::as_i64)
}

/// Whether a field is `true`.
pub(crate) fn flag(value: &Value, field: &str) -> bool {
    value.get(field) == Some(&Value::Bool(true))
}

/// The items of a list; none where there is none.
pub(crate) fn list<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value
        .get(field)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The entries of a map of texts; none where there is none.
pub(crate) fn entries<'v>(
    value: &'v Value,
    field: &str,
) -> impl Iterator<Item = (&'v str, &'v Value)> {
    let map = value.get(field).and_then(Value::as_object);
    map.into_iter()
        .flatten()
        .map(|(key, value)| (key.as_str(), value))
}

/// Whether a field is there and not null.
pub(crate) fn has(value: &Value, field: &str) -> bool {
    value.get(field).is_some_and(|value| !value.is_null())
}
