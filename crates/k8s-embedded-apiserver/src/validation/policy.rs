//! Validation: the group `policy`.

pub(crate) fn pod_disruption_budget(
    _: &serde_json::Value,
    _: Option<&serde_json::Value>,
) -> Vec<k8s_api_schema::FieldError> {
    Vec::new()
}
