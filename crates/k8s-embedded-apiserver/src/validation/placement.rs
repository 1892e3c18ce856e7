//! Where a Pod may run: affinity, tolerations, spread.

use serde_json::Value;

use super::names;
use super::path::{Errors, Path, has, int, list, text};
use super::selectors;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

pub(super) fn affinity(path: Path<'_>, affinity: &Value, errors: &mut Errors) {
    if has(affinity, "nodeAffinity") {
        node_affinity(
            path.child("nodeAffinity"),
            &affinity["nodeAffinity"],
            errors,
        );
    }
    for side in ["podAffinity", "podAntiAffinity"] {
        if has(affinity, side) {
            pod_affinity(path.child(side), &affinity[side], errors);
        }
    }
}

fn weight(path: Path<'_>, term: &Value, errors: &mut Errors) {
    let weight = int(term, "weight").unwrap_or(0);
    if !(1..=100).contains(&weight) {
        errors.invalid(path.child("weight"), weight, "must be in the range 1-100");
    }
}

fn node_affinity(path: Path<'_>, affinity: &Value, errors: &mut Errors) {
    if has(affinity, REQUIRED) {
        node_selector(path.child(REQUIRED), &affinity[REQUIRED], errors);
    }
    let preferred = path.child(PREFERRED);
    for (index, term) in list(affinity, PREFERRED).iter().enumerate() {
        let path = preferred.index(index);
        weight(path, term, errors);
        node_term(path.child("preference"), &term["preference"], false, errors);
    }
}

/// A selector of nodes.
pub(super) fn node_selector(path: Path<'_>, selector: &Value, errors: &mut Errors) {
    let terms = path.child("nodeSelectorTerms");
    let all = list(selector, "nodeSelectorTerms");
    if all.is_empty() {
        errors.required(terms, "must have at least one node selector term");
    }
    for (index, term) in all.iter().enumerate() {
        node_term(terms.index(index), term, true, errors);
    }
}

fn node_term(path: Path<'_>, term: &Value, strict: bool, errors: &mut Errors) {
    let expressions = path.child("matchExpressions");
    for (index, requirement) in list(term, "matchExpressions").iter().enumerate() {
        node_requirement(expressions.index(index), requirement, strict, errors);
    }
    let fields = path.child("matchFields");
    for (index, requirement) in list(term, "matchFields").iter().enumerate() {
        node_field(fields.index(index), requirement, errors);
    }
}

fn node_requirement(path: Path<'_>, requirement: &Value, strict: bool, errors: &mut Errors) {
    let values = list(requirement, "values");
    if !matches!(text(requirement, "operator"), "Gt" | "Lt") {
        selectors::operator(path, requirement, errors);
    } else if values.len() != 1 {
        errors.required(
            path.child("values"),
            "must be specified single value when `operator` is 'Lt' or 'Gt'",
        );
    }
    let key = text(requirement, "key");
    errors.faults(path.child("key"), key, names::label_key(key));
    if strict {
        for (index, value) in values.iter().filter_map(Value::as_str).enumerate() {
            let path = path.child("values");
            errors.faults(path.index(index), value, names::label_value(value));
        }
    }
}

fn node_field(path: Path<'_>, requirement: &Value, errors: &mut Errors) {
    let operator = text(requirement, "operator");
    let values = list(requirement, "values");
    if !matches!(operator, "In" | "NotIn") {
        errors.invalid(
            path.child("operator"),
            operator,
            "not a valid selector operator",
        );
    } else if values.len() != 1 {
        errors.required(
            path.child("values"),
            "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
        );
    }
    let key = text(requirement, "key");
    if key != "metadata.name" {
        errors.invalid(path.child("key"), key, "not a valid field selector key");
    }
}

fn pod_affinity(path: Path<'_>, affinity: &Value, errors: &mut Errors) {
    let required = path.child(REQUIRED);
    for (index, term) in list(affinity, REQUIRED).iter().enumerate() {
        pod_term(required.index(index), term, errors);
    }
    let preferred = path.child(PREFERRED);
    for (index, term) in list(affinity, PREFERRED).iter().enumerate() {
        let path = preferred.index(index);
        weight(path, term, errors);
        pod_term(
            path.child("podAffinityTerm"),
            &term["podAffinityTerm"],
            errors,
        );
    }
}

fn pod_term(path: Path<'_>, term: &Value, errors: &mut Errors) {
    for field in ["labelSelector", "namespaceSelector"] {
        if has(term, field) {
            selectors::selector(path.child(field), &term[field], errors);
        }
    }
    for namespace in list(term, "namespaces").iter().filter_map(Value::as_str) {
        errors.faults(
            path.child("namespace"),
            namespace,
            names::label_1123(namespace),
        );
    }
    label_keys(path, term, errors);
    let key = text(term, "topologyKey");
    if key.is_empty() {
        errors.required(path.child("topologyKey"), "can not be empty");
    }
    errors.faults(path.child("topologyKey"), key, names::label_key(key));
}

fn label_keys(path: Path<'_>, term: &Value, errors: &mut Errors) {
    for field in ["matchLabelKeys", "mismatchLabelKeys"] {
        let keys = list(term, field);
        if keys.is_empty() {
            continue;
        }
        let at = path.child(field);
        if !has(term, "labelSelector") {
            errors.forbidden(at, "must not be specified when labelSelector is not set");
            continue;
        }
        for (index, key) in keys.iter().filter_map(Value::as_str).enumerate() {
            errors.faults(at.index(index), key, names::label_key(key));
        }
    }
    let mismatched = list(term, "mismatchLabelKeys");
    let at = path.child("matchLabelKeys");
    for (index, key) in list(term, "matchLabelKeys").iter().enumerate() {
        if mismatched.contains(key) {
            errors.invalid(
                at.index(index),
                key.clone(),
                "exists in both matchLabelKeys and mismatchLabelKeys",
            );
        }
    }
}

pub(super) fn tolerations(path: Path<'_>, spec: &Value, errors: &mut Errors) {
    for (index, toleration) in list(spec, "tolerations").iter().enumerate() {
        let path = path.index(index);
        let (key, operator) = (text(toleration, "key"), text(toleration, "operator"));
        let (value, effect) = (text(toleration, "value"), text(toleration, "effect"));
        if !key.is_empty() {
            errors.faults(path.child("key"), key, names::label_key(key));
        } else if operator != "Exists" {
            errors.invalid(
                path.child("operator"),
                operator,
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
            );
        }
        if has(toleration, "tolerationSeconds") && effect != "NoExecute" {
            errors.invalid(
                path.child("effect"),
                effect,
                "effect must be 'NoExecute' when `tolerationSeconds` is set",
            );
        }
        match operator {
            "Equal" | "" => {
                let faults = names::label_value(value);
                if !faults.is_empty() {
                    errors.invalid(path.child("operator"), value, faults.join(";"));
                }
            }
            "Exists" => {
                if !value.is_empty() {
                    errors.invalid(
                        path.child("operator"),
                        value,
                        "value must be empty when `operator` is 'Exists'",
                    );
                }
            }
            _ => errors.not_supported(path.child("operator"), operator, &["Equal", "Exists"]),
        }
        errors.one_of_or_empty(
            path.child("effect"),
            effect,
            &["NoSchedule", "PreferNoSchedule", "NoExecute"],
        );
    }
}

pub(super) fn spread(path: Path<'_>, spec: &Value, errors: &mut Errors) {
    let all = list(spec, "topologySpreadConstraints");
    for (index, constraint) in all.iter().enumerate() {
        let path = path.index(index);
        let skew = int(constraint, "maxSkew").unwrap_or(0);
        if skew <= 0 {
            errors.invalid(path.child("maxSkew"), skew, "must be greater than zero");
        }
        let (key, action) = (
            text(constraint, "topologyKey"),
            text(constraint, "whenUnsatisfiable"),
        );
        if key.is_empty() {
            errors.required(path.child("topologyKey"), "can not be empty");
        }
        if !matches!(action, "DoNotSchedule" | "ScheduleAnyway") {
            errors.not_supported(
                path.child("whenUnsatisfiable"),
                action,
                &["DoNotSchedule", "ScheduleAnyway"],
            );
        }
        let repeated = all[index + 1..].iter().any(|other| {
            text(other, "topologyKey") == key && text(other, "whenUnsatisfiable") == action
        });
        if repeated {
            errors.duplicate(
                path.child("{topologyKey, whenUnsatisfiable}"),
                format!("{{{key}, {action}}}"),
            );
        }
        if let Some(domains) = int(constraint, "minDomains") {
            let path = path.child("minDomains");
            if domains <= 0 {
                errors.invalid(path, domains, "must be greater than zero");
            }
            if action != "DoNotSchedule" {
                let why = format!(
                    "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
                );
                errors.invalid(path, domains, why);
            }
        }
        for field in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            errors.optional_one_of(path, constraint, field, &["Honor", "Ignore"]);
        }
        label_keys(path, constraint, errors);
        if has(constraint, "labelSelector") {
            selectors::selector(
                path.child("labelSelector"),
                &constraint["labelSelector"],
                errors,
            );
        }
    }
}
