//! Label selectors, and percentages.

use serde_json::{Map, Value};

use super::names;
use super::path::{Errors, Path, entries, has, list, text};
use crate::go_json;

/// The order of the fields of a `LabelSelector`.
const ORDER: &[&str] = &[
    "matchLabels",
    "matchExpressions",
    "key",
    "operator",
    "values",
];

/// As errors show a selector.
pub(super) fn printed(selector: &Value) -> String {
    go_json::print(selector, ORDER)
}

pub(super) fn selector(path: Path<'_>, selector: &Value, errors: &mut Errors) {
    labels(path.child("matchLabels"), selector, "matchLabels", errors);
    let expressions = path.child("matchExpressions");
    for (index, expression) in list(selector, "matchExpressions").iter().enumerate() {
        requirement(expressions.index(index), expression, errors);
    }
}

/// Keys and values of labels in a field.
pub(super) fn labels(path: Path<'_>, holder: &Value, field: &str, errors: &mut Errors) {
    for (key, value) in entries(holder, field) {
        errors.faults(path, key, names::label_key(key));
        let value = value.as_str().unwrap_or_default();
        errors.faults(path, value, names::label_value(value));
    }
}

fn requirement(path: Path<'_>, requirement: &Value, errors: &mut Errors) {
    operator(path, requirement, errors);
    let key = text(requirement, "key");
    errors.faults(path.child("key"), key, names::label_key(key));
    for (index, value) in list(requirement, "values")
        .iter()
        .filter_map(Value::as_str)
        .enumerate()
    {
        errors.faults(
            path.child("values").index(index),
            value,
            names::label_value(value),
        );
    }
}

/// The operator of a requirement, and that there are values where it needs some.
pub(super) fn operator(path: Path<'_>, requirement: &Value, errors: &mut Errors) {
    let values = list(requirement, "values");
    let operator = text(requirement, "operator");
    match operator {
        "In" | "NotIn" => {
            if values.is_empty() {
                errors.required(
                    path.child("values"),
                    "must be specified when `operator` is 'In' or 'NotIn'",
                );
            }
        }
        "Exists" | "DoesNotExist" => {
            if !values.is_empty() {
                errors.forbidden(
                    path.child("values"),
                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                );
            }
        }
        _ => errors.invalid(
            path.child("operator"),
            operator,
            "not a valid selector operator",
        ),
    }
}

/// Whether a selector selects everything.
pub(super) fn is_empty(selector: &Value) -> bool {
    entries(selector, "matchLabels").next().is_none()
        && list(selector, "matchExpressions").is_empty()
}

/// Whether a selector can be made of it at all.
pub(super) fn is_valid(selector: &Value) -> bool {
    let mut errors = Errors::default();
    self::selector(Path::new(""), selector, &mut errors);
    errors.0.is_empty()
}

/// Whether a `LabelSelector` selects the labels. None at all selects nothing.
pub(super) fn selects(selector: &Value, labels: &Map<String, Value>) -> bool {
    if selector.is_null() {
        return false;
    }
    entries(selector, "matchLabels").all(|(key, value)| labels.get(key) == Some(value))
        && list(selector, "matchExpressions").iter().all(|expression| {
            let value = labels.get(text(expression, "key"));
            let listed = value.is_some_and(|value| list(expression, "values").contains(value));
            match text(expression, "operator") {
                "In" => listed,
                "NotIn" => !listed,
                "Exists" => value.is_some(),
                "DoesNotExist" => value.is_none(),
                _ => false,
            }
        })
}

/// A selector that must be there and select something in particular.
pub(super) fn required(path: Path<'_>, spec: &Value, kind: &str, errors: &mut Errors) {
    if !has(spec, "selector") {
        errors.required(path, "");
        return;
    }
    let found = &spec["selector"];
    selector(path, found, errors);
    if is_empty(found) {
        let why = format!("empty selector is invalid for {kind}");
        errors.invalid_printed(path, printed(found), why);
    }
}

/// The labels of a template must be selected.
pub(super) fn matches(path: Path<'_>, selector: &Value, template: &Value, errors: &mut Errors) {
    let empty = Map::new();
    let labels = template.pointer("/metadata/labels");
    let map = labels.and_then(Value::as_object).unwrap_or(&empty);
    if !selects(selector, map) {
        errors.invalid(
            path.child("metadata").child("labels"),
            labels.cloned().unwrap_or_default(),
            "`selector` does not match template `labels`",
        );
    }
}

/// A whole number that is not negative, or a percentage.
pub(super) fn int_or_percent(path: Path<'_>, value: &Value, errors: &mut Errors) {
    match value {
        Value::String(text) if percent(value).is_none() => errors.invalid(
            path,
            text.as_str(),
            "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
        ),
        Value::String(_) => {}
        other => errors.not_negative(path, other.as_i64()),
    }
}

pub(super) fn at_most_100_percent(path: Path<'_>, value: &Value, errors: &mut Errors) {
    if percent(value).is_some_and(|percent| percent > 100) {
        errors.invalid(path, value.clone(), "must not be greater than 100%");
    }
}

fn percent(value: &Value) -> Option<u64> {
    let digits = value.as_str()?.strip_suffix('%')?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(digits.parse().unwrap_or(u64::MAX))
}

/// The number, or the number of percents.
pub(super) fn count(value: &Value) -> i64 {
    match percent(value) {
        Some(percent) => i64::try_from(percent).unwrap_or(i64::MAX),
        None => value
            .as_i64()
            .or_else(|| value.as_str()?.parse().ok())
            .unwrap_or(0),
    }
}
