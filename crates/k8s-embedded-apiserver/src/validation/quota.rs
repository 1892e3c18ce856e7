//! Validation: what limits the resources of a namespace.

use std::collections::BTreeSet;

use k8s_api_schema::{FieldError, Quantity};
use serde_json::{Map, Value, json};

use super::fields::{faults, list, map, some, text};
use super::names;

/// Resources that a quota may limit by a name without a domain.
pub(super) const RESOURCES: &[&str] = &[
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
];
/// Those of them that are counted in whole objects.
const COUNTED: &[&str] = &[
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];
const SCOPES: &[&str] = &[
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
];
const OPPOSITES: [[&str; 2]; 2] = [
    ["BestEffort", "NotBestEffort"],
    ["Terminating", "NotTerminating"],
];
/// Resources of pods, which most scopes select.
const OF_PODS: &[&str] = &[
    "pods",
    "cpu",
    "memory",
    "requests.cpu",
    "requests.memory",
    "limits.cpu",
    "limits.memory",
];

fn amount(value: Option<&Value>) -> Option<Quantity> {
    value.and_then(Value::as_str)?.parse().ok()
}

fn zero() -> Option<Quantity> {
    "0".parse().ok()
}

/// A `ResourceQuota`; `old` is the one that it replaces.
pub(crate) fn resource_quota(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let empty = json!({});
    let spec = object.get("spec").unwrap_or(&empty);
    let mut errors = Vec::new();
    hard("spec.hard", spec.get("hard"), &mut errors);
    let names: Vec<String> = map(spec.get("hard")).keys().cloned().collect();
    scopes(spec, &names, &mut errors);
    scope_selector(spec, &names, &mut errors);
    for key in ["hard", "used"] {
        let values = object.get("status").and_then(|status| status.get(key));
        hard(&format!("status.{key}"), values, &mut errors);
    }
    if let Some(old) = old {
        let set = |object: &Value| -> BTreeSet<String> {
            let scopes = crate::metadata::texts(object.pointer("/spec/scopes"));
            scopes.into_iter().map(Into::into).collect()
        };
        if set(old) != set(object) {
            let value = spec.get("scopes").cloned().unwrap_or_default();
            errors.push(FieldError::invalid(
                "spec.scopes",
                value,
                "field is immutable",
            ));
        }
    }
    errors
}

fn hard(path: &str, values: Option<&Value>, errors: &mut Vec<FieldError>) {
    for (name, value) in map(values) {
        let path = format!("{path}[{name}]");
        faults(&path, &name, names::label_key(&name), errors);
        if !name.contains('/') && !RESOURCES.contains(&name.as_str()) {
            for detail in [
                "must be a standard resource type or fully qualified",
                "must be a standard resource for quota",
            ] {
                errors.push(FieldError::invalid(path.as_str(), name.as_str(), detail));
            }
        }
        let parsed = amount(Some(&value));
        if parsed < zero() {
            errors.push(FieldError::invalid(
                path.as_str(),
                value.clone(),
                "must be greater than or equal to 0",
            ));
        }
        let counted = COUNTED.contains(&name.as_str()) || name.starts_with("count/");
        if counted
            && value
                .as_str()
                .is_some_and(|text| text.ends_with(['m', 'u', 'n']))
        {
            errors.push(FieldError::invalid(path, value, "must be an integer"));
        }
    }
}

fn fits(scope: &str, resource: &str) -> bool {
    match scope {
        "BestEffort" => resource == "pods",
        "Terminating"
        | "NotTerminating"
        | "NotBestEffort"
        | "PriorityClass"
        | "CrossNamespacePodAffinity" => OF_PODS.contains(&resource),
        "VolumeAttributesClass" => {
            matches!(resource, "persistentvolumeclaims" | "requests.storage")
        }
        _ => true,
    }
}

fn opposites(found: &[&str], scopes: &Value, errors: &mut Vec<FieldError>) {
    for pair in OPPOSITES {
        if pair.iter().all(|scope| found.contains(scope)) {
            errors.push(FieldError::invalid(
                "spec.scopes",
                scopes.clone(),
                "conflicting scopes",
            ));
        }
    }
}

fn scopes(spec: &Value, hard: &[String], errors: &mut Vec<FieldError>) {
    let all = spec.get("scopes").cloned().unwrap_or_default();
    let found = crate::metadata::texts(spec.get("scopes"));
    let invalid = |detail: &str| FieldError::invalid("spec.scopes", all.clone(), detail);
    for scope in &found {
        if !SCOPES.contains(scope) {
            errors.push(invalid("unsupported scope"));
        }
        for resource in hard {
            if RESOURCES.contains(&resource.as_str()) && !fits(scope, resource) {
                errors.push(invalid("unsupported scope applied to resource"));
            }
        }
    }
    opposites(&found, &all, errors);
}

fn scope_selector(spec: &Value, hard: &[String], errors: &mut Vec<FieldError>) {
    const PATH: &str = "spec.scopeSelector.matchExpressions";
    let Some(selector) = some(spec, "scopeSelector") else {
        return;
    };
    let mut found = Vec::new();
    for term in list(selector, "matchExpressions") {
        let (scope, operator) = (text(term, "scopeName"), text(term, "operator"));
        let values = list(term, "values");
        found.push(scope);
        if !SCOPES.contains(&scope) {
            errors.push(FieldError::invalid(
                format!("{PATH}.scopeName"),
                scope,
                "unsupported scope",
            ));
        }
        for resource in hard {
            if RESOURCES.contains(&resource.as_str()) && !fits(scope, resource) {
                errors.push(FieldError::invalid(
                    PATH,
                    selector.clone(),
                    "unsupported scope applied to resource",
                ));
            }
        }
        let of_values = matches!(scope, "PriorityClass" | "VolumeAttributesClass");
        if !of_values && SCOPES.contains(&scope) && operator != "Exists" {
            errors.push(FieldError::invalid(
                format!("{PATH}.operator"),
                operator,
                "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
            ));
        }
        match operator {
            "In" | "NotIn" if values.is_empty() => errors.push(FieldError::required(
                format!("{PATH}.values"),
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
            )),
            "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(FieldError::invalid(
                format!("{PATH}.values"),
                values.to_vec(),
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
            )),
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => errors.push(FieldError::invalid(
                format!("{PATH}.operator"),
                operator,
                "not a valid selector operator",
            )),
        }
    }
    let scopes = spec.get("scopes").cloned().unwrap_or_default();
    opposites(&found, &scopes, errors);
}

/// A `LimitRange`.
pub(crate) fn limit_range(object: &Value, _: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let limits = object
        .pointer("/spec/limits")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    for (index, limit) in limits.iter().enumerate() {
        let path = format!("spec.limits[{index}]");
        let kind = text(limit, "type");
        let field = format!("{path}.type");
        faults(&field, kind, names::label_key(kind), &mut errors);
        if limits[..index]
            .iter()
            .any(|other| text(other, "type") == kind)
        {
            errors.push(FieldError::duplicate(field, kind));
        }
        one_limit(&path, kind, limit, &mut errors);
    }
    errors
}

fn one_limit(path: &str, kind: &str, limit: &Value, errors: &mut Vec<FieldError>) {
    let of = |key: &str| map(limit.get(key));
    let (mut default, mut request) = (of("default"), of("defaultRequest"));
    if kind == "Pod" {
        for (key, values) in [("default", &mut default), ("defaultRequest", &mut request)] {
            if !values.is_empty() {
                errors.push(FieldError::forbidden(
                    format!("{path}.{key}"),
                    "may not be specified when `type` is 'Pod'",
                ));
                values.clear();
            }
        }
    }
    let (min, max) = (of("min"), of("max"));
    if kind == "PersistentVolumeClaim"
        && !min.contains_key("storage")
        && !max.contains_key("storage")
    {
        errors.push(FieldError::required(
            format!("{path}.limits"),
            "either minimum or maximum storage value is required, but neither was provided",
        ));
    }
    let names: BTreeSet<&String> = [&min, &max, &default, &request]
        .into_iter()
        .flat_map(Map::keys)
        .collect();
    let words = [
        (("min", "min", &min), ("max", &max), "min"),
        (
            ("defaultRequest", "min", &min),
            ("default request", &request),
            "greater",
        ),
        (
            ("defaultRequest", "default request", &request),
            ("max", &max),
            "less",
        ),
        (
            ("defaultRequest", "default request", &request),
            ("default limit", &default),
            "less",
        ),
        (("default", "min", &min), ("default", &default), "min"),
        (("default", "default", &default), ("max", &max), "max"),
    ];
    for name in names {
        for ((field, low_word, low), (high_word, high), shown) in &words {
            let (Some(low_text), Some(high_text)) = (low.get(name), high.get(name)) else {
                continue;
            };
            if amount(Some(low_text)) <= amount(Some(high_text)) {
                continue;
            }
            // Which of the two values is shown follows no rule in the real server.
            let value = match *shown {
                "min" | "less" => low_text,
                _ => high_text,
            };
            errors.push(FieldError::invalid(
                format!("{path}.{field}[{name}]"),
                value.clone(),
                format!(
                    "{low_word} value {} is greater than {high_word} value {}",
                    low_text.as_str().unwrap_or_default(),
                    high_text.as_str().unwrap_or_default()
                ),
            ));
        }
    }
}
