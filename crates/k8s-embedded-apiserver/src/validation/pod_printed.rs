//! Specs of Pods as errors show them. The real server shows its own types there, in full; here it is the spec as it is
//! stored, and no diff.

use serde_json::Value;

pub(super) fn printed_template(template: &Value) -> String {
    template.to_string()
}

pub(super) fn printed_spec(spec: &Value) -> String {
    spec.to_string()
}
