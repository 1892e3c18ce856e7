//! Validation: the group `batch`.

pub(crate) fn job(
    _: &serde_json::Value,
    _: Option<&serde_json::Value>,
) -> Vec<k8s_api_schema::FieldError> {
    Vec::new()
}

pub(crate) fn cron_job(
    _: &serde_json::Value,
    _: Option<&serde_json::Value>,
) -> Vec<k8s_api_schema::FieldError> {
    Vec::new()
}
