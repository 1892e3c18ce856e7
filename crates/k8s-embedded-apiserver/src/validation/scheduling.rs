//! Validation: the group `scheduling.k8s.io`.

pub(crate) fn priority_class(
    _: &serde_json::Value,
    _: Option<&serde_json::Value>,
) -> Vec<k8s_api_schema::FieldError> {
    Vec::new()
}
