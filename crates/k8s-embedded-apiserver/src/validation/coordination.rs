//! Leases.

use serde_json::Value;

use k8s_api_schema::FieldError;

/// A Lease, new or replaced.
pub(crate) fn lease(object: &Value, _old: Option<&Value>) -> Vec<FieldError> {
    let number = |field: &str| {
        object
            .get("spec")
            .and_then(|spec| spec.get(field))
            .and_then(Value::as_i64)
    };
    let mut errors = Vec::new();
    if let Some(seconds) = number("leaseDurationSeconds").filter(|seconds| *seconds <= 0) {
        errors.push(FieldError::invalid(
            "spec.leaseDurationSeconds",
            seconds,
            "must be greater than 0",
        ));
    }
    if let Some(count) = number("leaseTransitions").filter(|count| *count < 0) {
        errors.push(FieldError::invalid(
            "spec.leaseTransitions",
            count,
            "must be greater than or equal to 0",
        ));
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers() {
        let texts = |spec: Value| -> Vec<String> {
            lease(&json!({ "spec": spec }), None)
                .iter()
                .map(ToString::to_string)
                .collect()
        };
        assert_eq!(
            texts(json!({"leaseDurationSeconds": 1, "leaseTransitions": 0})),
            Vec::<String>::new()
        );
        assert_eq!(
            texts(json!({"leaseDurationSeconds": 0, "leaseTransitions": -1})),
            [
                "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
                "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
            ]
        );
    }
}
