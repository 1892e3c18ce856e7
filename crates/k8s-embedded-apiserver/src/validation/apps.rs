//! Deployments: the rules that a controller's mistakes run into, not the whole of them.

use serde_json::{Map, Value};

use super::metadata;
use super::pods::{pod_spec, selects};
use k8s_api_schema::FieldError;

/// A Deployment; `old` is the one that it replaces.
pub(crate) fn deployment(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let empty = Value::Null;
    let spec = object.get("spec").unwrap_or(&empty);
    let mut errors = Vec::new();
    let not_negative = |field: &str, errors: &mut Vec<FieldError>| {
        if let Some(value) = spec
            .get(field)
            .and_then(Value::as_i64)
            .filter(|value| *value < 0)
        {
            errors.push(FieldError::invalid(
                format!("spec.{field}"),
                value,
                "must be greater than or equal to 0",
            ));
        }
    };
    not_negative("replicas", &mut errors);
    // A selector that was left out reads as an empty one.
    let selector = spec
        .get("selector")
        .filter(|selector| !is_empty_selector(selector));
    if selector.is_none() {
        errors.push(FieldError::required("spec.selector", ""));
    }
    let template = spec.get("template").unwrap_or(&empty);
    template_of(selector, template, &mut errors);
    for field in [
        "minReadySeconds",
        "revisionHistoryLimit",
        "progressDeadlineSeconds",
    ] {
        not_negative(field, &mut errors);
    }
    if let Some(old_selector) = old.and_then(|old| old.pointer("/spec/selector"))
        && selector != Some(old_selector)
    {
        let value = selector.cloned().unwrap_or_default();
        errors.push(FieldError::invalid(
            "spec.selector",
            value,
            "field is immutable",
        ));
    }
    errors
}

fn is_empty_selector(selector: &Value) -> bool {
    let empty = |field: &str| match selector.get(field) {
        Some(Value::Object(map)) => map.is_empty(),
        Some(Value::Array(list)) => list.is_empty(),
        _ => true,
    };
    empty("matchLabels") && empty("matchExpressions")
}

fn template_of(selector: Option<&Value>, template: &Value, errors: &mut Vec<FieldError>) {
    let empty = Map::new();
    let labels = template.pointer("/metadata/labels");
    let label_map = labels.and_then(Value::as_object).unwrap_or(&empty);
    if !selector.is_some_and(|selector| selects(selector, label_map)) {
        errors.push(FieldError::invalid(
            "spec.template.metadata.labels",
            labels.cloned().unwrap_or_default(),
            "`selector` does not match template `labels`",
        ));
    }
    metadata::labels("spec.template.labels", labels, errors);
    let spec = template.get("spec").unwrap_or(&Value::Null);
    pod_spec("spec.template.spec", spec, errors);
    let policy = spec
        .get("restartPolicy")
        .and_then(Value::as_str)
        .unwrap_or("Always");
    if policy != "Always" && ["OnFailure", "Never"].contains(&policy) {
        errors.push(FieldError::not_supported(
            "spec.template.spec.restartPolicy",
            policy,
            &["Always"],
        ));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    fn good() -> Value {
        json!({"spec": {
            "replicas": 1, "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        }})
    }

    #[test]
    fn deployments() {
        assert_eq!(texts(&deployment(&good(), None)), Vec::<String>::new());
        for (changes, expected) in [
            (
                json!({"replicas": -1}),
                vec!["spec.replicas: Invalid value: -1: must be greater than or equal to 0"],
            ),
            (
                json!({"selector": null}),
                vec![
                    "spec.selector: Required value",
                    "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`",
                ],
            ),
            (
                json!({"template": {"spec": {"containers": [{"name": "c"}]}}}),
                vec!["spec.template.spec.containers[0].image: Required value"],
            ),
        ] {
            let mut changed = good();
            json_patch::merge(&mut changed["spec"], &changes);
            assert_eq!(texts(&deployment(&changed, None)), expected, "{changes}");
        }
        let mut moved = good();
        moved["spec"]["selector"]["matchLabels"] = json!({"c": "d"});
        moved["spec"]["template"]["metadata"]["labels"] = json!({"c": "d"});
        assert_eq!(
            texts(&deployment(&moved, Some(&good()))),
            ["spec.selector: Invalid value: {\"matchLabels\":{\"c\":\"d\"}}: field is immutable"]
        );
    }
}

pub(crate) fn replica_set(
    _: &serde_json::Value,
    _: Option<&serde_json::Value>,
) -> Vec<k8s_api_schema::FieldError> {
    Vec::new()
}

pub(crate) fn stateful_set(
    _: &serde_json::Value,
    _: Option<&serde_json::Value>,
) -> Vec<k8s_api_schema::FieldError> {
    Vec::new()
}

pub(crate) fn daemon_set(
    _: &serde_json::Value,
    _: Option<&serde_json::Value>,
) -> Vec<k8s_api_schema::FieldError> {
    Vec::new()
}

pub(crate) fn controller_revision(
    _: &serde_json::Value,
    _: Option<&serde_json::Value>,
) -> Vec<k8s_api_schema::FieldError> {
    Vec::new()
}
