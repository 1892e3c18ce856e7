//! Events, in their core/v1 form.

use serde_json::{Value, json};

use super::names;
use crate::metadata::text;
use k8s_api_schema::{FieldError, quote};

/// Longest reporting instance, action and reason, in bytes, though the message says characters.
const MAX_TEXT: usize = 128;
/// Longest message, in bytes, though the message says characters.
const MAX_MESSAGE: usize = 1024;

const IMMUTABLE: &str = "field is immutable";

/// An Event that came through core/v1: little is asked of it unless it has an event time.
pub(crate) fn core_event(object: &Value, _old: Option<&Value>) -> Vec<FieldError> {
    common(object, "reportingComponent")
}

/// An Event that came through events.k8s.io/v1; `old` is the one that it replaces.
pub(crate) fn event(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = common(object, "reportingController");
    match old {
        None => errors.extend(strict(object)),
        Some(old) => errors.extend(kept(object, old)),
    }
    errors
}

fn is_set(object: &Value, field: &str) -> bool {
    object
        .get(field)
        .is_some_and(|value| !value.is_null() && *value != "" && *value != 0)
}

fn common(object: &Value, controller_field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let namespace = text(object, "/metadata/namespace");
    let involved = text(object, "/involvedObject/namespace");
    let has_time = is_set(object, "eventTime");
    let matches = match (has_time, involved) {
        (false, "") => matches!(namespace, "" | "default"),
        (false, involved) => namespace == involved,
        (true, "") => matches!(namespace, "default" | "kube-system"),
        (true, _) => true,
    };
    if !matches {
        errors.push(FieldError::invalid(
            "involvedObject.namespace",
            involved,
            "does not match event.namespace",
        ));
    }
    if !has_time {
        return errors;
    }
    let controller = text(object, "/reportingComponent");
    if controller.is_empty() {
        errors.push(FieldError::required(controller_field, ""));
    }
    let faults = names::label_key(controller);
    errors.extend(
        faults
            .into_iter()
            .map(|fault| FieldError::invalid(controller_field, controller, fault)),
    );
    for field in ["reportingInstance", "action", "reason"] {
        let value = object
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default();
        if value.is_empty() {
            errors.push(FieldError::required(field, ""));
        }
        at_most(MAX_TEXT, field, value, &mut errors);
    }
    at_most(
        MAX_MESSAGE,
        "message",
        text(object, "/message"),
        &mut errors,
    );
    errors
}

fn at_most(max: usize, field: &str, value: &str, errors: &mut Vec<FieldError>) {
    if value.len() > max {
        errors.push(FieldError::invalid(
            field,
            "",
            format!("can have at most {max} characters"),
        ));
    }
}

/// What events.k8s.io/v1 asks of a new event beside.
fn strict(object: &Value) -> Vec<FieldError> {
    let mut errors = series(object);
    if !is_set(object, "eventTime") {
        errors.push(FieldError::required("eventTime", ""));
    }
    let kind = text(object, "/type");
    if kind != "Normal" && kind != "Warning" {
        errors.push(FieldError::invalid(
            "type",
            "",
            format!("has invalid value: {kind}"),
        ));
    }
    let source = object.get("source").and_then(Value::as_object);
    let has_source = source.is_some_and(|source| {
        source
            .values()
            .any(|value| !value.is_null() && *value != "")
    });
    for (field, set) in [
        ("firstTimestamp", is_set(object, "firstTimestamp")),
        ("lastTimestamp", is_set(object, "lastTimestamp")),
        ("count", is_set(object, "count")),
        ("source", has_source),
    ] {
        if set {
            errors.push(FieldError::invalid(field, "", "needs to be unset"));
        }
    }
    errors
}

fn series(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let Some(series) = object.get("series").filter(|series| !series.is_null()) else {
        return errors;
    };
    if series.get("count").and_then(Value::as_i64).unwrap_or(0) < 2 {
        errors.push(FieldError::invalid(
            "series.count",
            "",
            "should be at least 2",
        ));
    }
    if !is_set(series, "lastObservedTime") {
        errors.push(FieldError::required("series.lastObservedTime", ""));
    }
    errors
}

/// Only the series and the metadata may change.
fn kept(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if new.get("series") != old.get("series") {
        errors.extend(series(new));
    }
    let mut keep = |field: &str, path: &str, show: fn(&Value) -> String| {
        let value = |object: &Value| show(object.get(field).unwrap_or(&Value::Null));
        if value(new) != value(old) {
            errors.push(FieldError::invalid_printed(path, value(new), IMMUTABLE));
        }
    };
    keep("involvedObject", "involvedObject", |value| {
        show_reference(value)
    });
    keep("reason", "reason", show_text);
    keep("message", "message", show_text);
    keep("source", "source", show_source);
    keep("firstTimestamp", "firstTimestamp", Value::to_string);
    keep("lastTimestamp", "lastTimestamp", Value::to_string);
    keep("count", "count", |value| {
        value.as_i64().unwrap_or(0).to_string()
    });
    keep("type", "type", show_text);
    keep("eventTime", "eventTime", Value::to_string);
    keep("action", "action", show_text);
    keep("related", "related", |value| {
        if value.is_null() {
            "null".into()
        } else {
            show_reference(value)
        }
    });
    keep("reportingComponent", "reportingController", show_text);
    keep("reportingInstance", "reportingInstance", show_text);
    errors
}

fn show_text(value: &Value) -> String {
    quote(value.as_str().unwrap_or_default())
}

/// The real server prints its internal type, whose fields have no JSON names.
fn show_fields(value: &Value, fields: &[(&str, &str)]) -> String {
    let shown: Vec<String> = fields
        .iter()
        .map(|(shown, field)| {
            let text = value
                .get(*field)
                .and_then(Value::as_str)
                .unwrap_or_default();
            format!("\"{shown}\":{}", json!(text))
        })
        .collect();
    format!("{{{}}}", shown.join(","))
}

fn show_reference(value: &Value) -> String {
    show_fields(
        value,
        &[
            ("Kind", "kind"),
            ("Namespace", "namespace"),
            ("Name", "name"),
            ("UID", "uid"),
            ("APIVersion", "apiVersion"),
            ("ResourceVersion", "resourceVersion"),
            ("FieldPath", "fieldPath"),
        ],
    )
}

fn show_source(value: &Value) -> String {
    show_fields(value, &[("Component", "component"), ("Host", "host")])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    fn good() -> Value {
        json!({
            "metadata": {"name": "e", "namespace": "ns"}, "involvedObject": {"kind": "ConfigMap", "name": "a", "namespace": "ns"},
            "eventTime": "2020-01-01T00:00:00.000000Z", "type": "Normal", "reason": "R", "action": "A",
            "reportingComponent": "example.com/c", "reportingInstance": "i", "source": {}, "firstTimestamp": null,
        })
    }

    fn with(changes: &Value) -> Value {
        let mut event = good();
        json_patch::merge(&mut event, changes);
        event
    }

    #[test]
    fn what_the_new_group_asks() {
        assert_eq!(texts(&event(&good(), None)), Vec::<String>::new());
        for (changes, expected) in [
            (json!({"action": null}), "action: Required value"),
            (
                json!({"reason": "r".repeat(129)}),
                "reason: Invalid value: \"\": can have at most 128 characters",
            ),
            (
                json!({"message": "é".repeat(513)}),
                "message: Invalid value: \"\": can have at most 1024 characters",
            ),
            (
                json!({"type": "Odd"}),
                "type: Invalid value: \"\": has invalid value: Odd",
            ),
            (
                json!({"count": 1}),
                "count: Invalid value: \"\": needs to be unset",
            ),
            (
                json!({"series": {"count": 1, "lastObservedTime": "2020-01-01T00:00:00.000000Z"}}),
                "series.count: Invalid value: \"\": should be at least 2",
            ),
            (
                json!({"series": {"count": 2}}),
                "series.lastObservedTime: Required value",
            ),
            (
                json!({"involvedObject": {"namespace": null}}),
                "involvedObject.namespace: Invalid value: \"\": does not match event.namespace",
            ),
        ] {
            assert_eq!(
                texts(&event(&with(&changes), None)),
                [expected],
                "{changes}"
            );
        }
    }

    #[test]
    fn core_asks_little_without_a_time() {
        let sparse =
            json!({"metadata": {"namespace": "ns"}, "involvedObject": {"namespace": "ns"}});
        assert_eq!(texts(&core_event(&sparse, None)), Vec::<String>::new());
        let timed = with(&json!({"reportingComponent": ""}));
        assert_eq!(
            texts(&core_event(&timed, None))[0],
            "reportingComponent: Required value"
        );
    }

    #[test]
    fn only_the_series_changes() {
        let old = good();
        let series =
            json!({"series": {"count": 2, "lastObservedTime": "2020-01-01T00:00:00.000000Z"}});
        assert_eq!(
            texts(&event(&with(&series), Some(&old))),
            Vec::<String>::new()
        );
        let changed = with(&json!({"involvedObject": {"name": "b"}, "action": "B"}));
        assert_eq!(
            texts(&event(&changed, Some(&old))),
            [
                "involvedObject: Invalid value: {\"Kind\":\"ConfigMap\",\"Namespace\":\"ns\",\"Name\":\"b\",\"UID\":\"\",\"APIVersion\":\"\",\"ResourceVersion\":\"\",\"FieldPath\":\"\"}: field is immutable",
                "action: Invalid value: \"B\": field is immutable",
            ]
        );
    }
}
