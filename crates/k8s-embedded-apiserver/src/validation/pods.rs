//! Pods: the rules that a controller's mistakes run into, not the whole of them.

use serde_json::{Map, Value};

use super::names;
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

/// Whether a `LabelSelector` object selects the labels.
pub(super) fn selects(selector: &Value, labels: &Map<String, Value>) -> bool {
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

pub(super) fn pod_spec(path: &str, spec: &Value, errors: &mut Vec<FieldError>) {
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

    #[test]
    fn a_pod_keeps_its_spec_but_for_images() {
        let old = json!({"spec": {"containers": [{"name": "c", "image": "i"}]}});
        let image = json!({"spec": {"containers": [{"name": "c", "image": "j"}]}});
        let more = json!({"spec": {"containers": [{"name": "c", "image": "i", "command": ["x"]}]}});
        assert_eq!(texts(&pod(&image, Some(&old))), Vec::<String>::new());
        assert_eq!(pod(&more, Some(&old))[0].reason(), "FieldValueForbidden");
    }
}

pub(crate) fn pod_template(
    _: &serde_json::Value,
    _: Option<&serde_json::Value>,
) -> Vec<k8s_api_schema::FieldError> {
    Vec::new()
}

pub(crate) fn replication_controller(
    _: &serde_json::Value,
    _: Option<&serde_json::Value>,
) -> Vec<k8s_api_schema::FieldError> {
    Vec::new()
}
