//! The group `scheduling.k8s.io`.

use k8s_api_schema::FieldError;
use serde_json::Value;

use super::path::{Errors, Path, flag, int, text};
use crate::metadata::name;

/// The greatest value of a class that is not the system's.
const MAX_VALUE: i64 = 1_000_000_000;
const SYSTEM: &str = "system-";
const SYSTEM_CLASSES: [(&str, i64); 2] = [
    ("system-node-critical", 2_000_001_000),
    ("system-cluster-critical", 2_000_000_000),
];

/// A `PriorityClass`; `old` is the one that it replaces.
pub(crate) fn priority_class(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let value = int(object, "value").unwrap_or(0);
    let policy = text(object, "preemptionPolicy");
    let policy_path = Path::new("preemptionPolicy");
    if let Some(old) = old {
        if int(old, "value").unwrap_or(0) != value {
            errors.forbidden(Path::new("value"), "may not be changed in an update.");
        }
        if text(old, "preemptionPolicy") != policy {
            errors.invalid(policy_path, policy, "field is immutable");
        }
        return errors.0;
    }
    let name = name(object);
    if name.starts_with(SYSTEM) {
        if let Some(why) = not_of_system(name, value, flag(object, "globalDefault")) {
            errors.forbidden(
                Path::new("metadata.name"),
                format!(
                    "priority class names with '{SYSTEM}' prefix are reserved for system use only. error: {why}"
                ),
            );
        }
    } else if value > MAX_VALUE {
        let why = format!("maximum allowed value of a user defined priority is {MAX_VALUE}");
        errors.forbidden(Path::new("value"), why);
    }
    if policy.is_empty() && object.get("preemptionPolicy").is_some() {
        errors.required(policy_path, "");
    }
    errors.one_of_or_empty(policy_path, policy, &["PreemptLowerPriority", "Never"]);
    errors.0
}

fn not_of_system(name: &str, value: i64, default: bool) -> Option<String> {
    let Some((_, known)) = SYSTEM_CLASSES.iter().find(|(known, _)| *known == name) else {
        return Some(format!("{name} is not a known system priority class"));
    };
    if value != *known {
        return Some(format!("value of {name} PriorityClass must be {known}"));
    }
    default.then(|| format!("globalDefault of {name} PriorityClass must be false"))
}
