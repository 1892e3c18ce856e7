//! Words of the server's JSON decoder.

use k8s_api_schema::json::MAX_KEPT_DEPTH;

/// The word that the real server uses for the JSON type of `value`.
pub(crate) fn type_name(value: &serde_json::Value) -> &'static str {
    match value {
        serde_json::Value::Null => "null",
        serde_json::Value::Bool(_) => "bool",
        serde_json::Value::Number(_) => "number",
        serde_json::Value::String(_) => "string",
        serde_json::Value::Array(_) => "array",
        serde_json::Value::Object(_) => "object",
    }
}

/// Says that JSON is nested too deep.
pub(crate) fn too_deep() -> String {
    format!("exceeded max depth of {MAX_KEPT_DEPTH}")
}
