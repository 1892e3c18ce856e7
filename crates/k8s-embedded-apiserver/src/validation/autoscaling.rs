//! Validation: the group `autoscaling`.

pub(crate) fn horizontal_pod_autoscaler(
    _: &serde_json::Value,
    _: Option<&serde_json::Value>,
) -> Vec<k8s_api_schema::FieldError> {
    Vec::new()
}
