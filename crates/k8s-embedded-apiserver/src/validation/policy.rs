//! The group `policy`.

use k8s_api_schema::FieldError;
use serde_json::{Value, json};

use super::path::{Errors, Path, has};
use super::{pod_status, selectors};
use crate::go_json;

/// A `PodDisruptionBudget`; `old` is the one that it replaces.
pub(crate) fn pod_disruption_budget(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Errors::default();
    if old.is_some_and(|old| old.get("status") != object.get("status")) {
        pod_status::replicas(&object["status"], &[], &mut errors);
        return errors.0;
    }
    let (spec, path) = (&object["spec"], Path::new("spec"));
    if has(spec, "minAvailable") && has(spec, "maxUnavailable") {
        errors.invalid_printed(
            path,
            printed(spec),
            "minAvailable and maxUnavailable cannot be both set",
        );
    }
    for field in ["minAvailable", "maxUnavailable"] {
        if has(spec, field) {
            let path = path.child(field);
            selectors::int_or_percent(path, &spec[field], &mut errors);
            selectors::at_most_100_percent(path, &spec[field], &mut errors);
        }
    }
    if has(spec, "selector") {
        selectors::selector(path.child("selector"), &spec["selector"], &mut errors);
    }
    let valid = ["AlwaysAllow", "IfHealthyBudget"];
    errors.optional_one_of(path, spec, "unhealthyPodEvictionPolicy", &valid);
    errors.0
}

/// A spec as errors show it.
fn printed(spec: &Value) -> String {
    let shown = json!({
        "MinAvailable": spec.get("minAvailable"),
        "Selector": spec.get("selector"),
        "MaxUnavailable": spec.get("maxUnavailable"),
        "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
    });
    go_json::print(
        &shown,
        &[
            "MinAvailable",
            "Selector",
            "MaxUnavailable",
            "UnhealthyPodEvictionPolicy",
            "matchLabels",
            "matchExpressions",
            "key",
            "operator",
            "values",
        ],
    )
}
