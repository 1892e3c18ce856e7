//! Pods and Deployments: the rules that a controller's mistakes run into, not the whole of them.

use serde_json::{Map, Value};

use super::{metadata, names};
use k8s_api_schema::FieldError;

/// A Pod; `old` is the one that it replaces.
pub(crate) fn pod(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let empty = Value::Null;
    let spec = object.get("spec").unwrap_or(&empty);
    let mut errors = Vec::new();
    pod_spec("spec", spec, &mut errors);
    if let Some(old) = old {
        kept_spec(old.get("spec").unwrap_or(&empty), spec, &mut errors);
    }
    errors
}

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

/// Whether a `LabelSelector` object selects the labels.
fn selects(selector: &Value, labels: &Map<String, Value>) -> bool {
    let wanted = selector.get("matchLabels").and_then(Value::as_object);
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    wanted
        .into_iter()
        .flatten()
        .all(|(key, value)| labels.get(key) == Some(value))
        && expressions.into_iter().flatten().all(|expression| {
            let value = expression
                .get("key")
                .and_then(Value::as_str)
                .and_then(|key| labels.get(key));
            let values = expression.get("values").and_then(Value::as_array);
            let listed =
                value.is_some_and(|value| values.is_some_and(|values| values.contains(value)));
            match expression.get("operator").and_then(Value::as_str) {
                Some("In") => listed,
                Some("NotIn") => !listed,
                Some("Exists") => value.is_some(),
                Some("DoesNotExist") => value.is_none(),
                _ => false,
            }
        })
}

fn pod_spec(path: &str, spec: &Value, errors: &mut Vec<FieldError>) {
    let containers = spec.get("containers").and_then(Value::as_array);
    if containers.is_none_or(Vec::is_empty) {
        errors.push(FieldError::required(format!("{path}.containers"), ""));
    }
    let mut seen: Vec<&str> = Vec::new();
    for field in ["initContainers", "containers"] {
        for (index, container) in spec
            .get(field)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .enumerate()
        {
            let path = format!("{path}.{field}[{index}]");
            let name = container
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or_default();
            if name.is_empty() {
                errors.push(FieldError::required(format!("{path}.name"), ""));
            } else if seen.contains(&name) {
                errors.push(FieldError::duplicate(format!("{path}.name"), name));
            } else {
                let faults = names::label_1123(name);
                errors.extend(
                    faults
                        .into_iter()
                        .map(|fault| FieldError::invalid(format!("{path}.name"), name, fault)),
                );
                seen.push(name);
            }
            if container
                .get("image")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .is_empty()
            {
                errors.push(FieldError::required(format!("{path}.image"), ""));
            }
        }
    }
    let policy = spec
        .get("restartPolicy")
        .and_then(Value::as_str)
        .unwrap_or("Always");
    if !["Always", "OnFailure", "Never"].contains(&policy) {
        errors.push(FieldError::not_supported(
            format!("{path}.restartPolicy"),
            policy,
            &["Always", "OnFailure", "Never"],
        ));
    }
}

/// Of the spec of a Pod only images, deadlines and added tolerations may change.
fn kept_spec(old: &Value, new: &Value, errors: &mut Vec<FieldError>) {
    let fixed = |spec: &Value| {
        let mut spec = spec.clone();
        if let Value::Object(map) = &mut spec {
            for field in [
                "activeDeadlineSeconds",
                "terminationGracePeriodSeconds",
                "tolerations",
                "schedulingGates",
                "nodeName",
            ] {
                map.remove(field);
            }
            for field in ["containers", "initContainers"] {
                for container in map
                    .get_mut(field)
                    .and_then(Value::as_array_mut)
                    .into_iter()
                    .flatten()
                {
                    container
                        .as_object_mut()
                        .map(|container| container.remove("image"));
                }
            }
        }
        spec
    };
    if fixed(old) != fixed(new) || old.get("nodeName") != new.get("nodeName") {
        errors.push(FieldError::forbidden(
            "spec",
            "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
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

    #[test]
    fn a_pod_keeps_its_spec_but_for_images() {
        let old = json!({"spec": {"containers": [{"name": "c", "image": "i"}]}});
        let image = json!({"spec": {"containers": [{"name": "c", "image": "j"}]}});
        let more = json!({"spec": {"containers": [{"name": "c", "image": "i", "command": ["x"]}]}});
        assert_eq!(texts(&pod(&image, Some(&old))), Vec::<String>::new());
        assert_eq!(pod(&more, Some(&old))[0].reason(), "FieldValueForbidden");
    }
}
