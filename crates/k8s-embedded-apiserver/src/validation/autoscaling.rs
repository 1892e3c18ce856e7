//! The group `autoscaling`, in the form of autoscaling/v2.

use k8s_api_schema::FieldError;
use serde_json::Value;

use super::names;
use super::path::{Errors, Path, has, int, list, text};
use super::resources::{container_resource, quantity};

/// Kinds of metrics and where their source is, in the order in which sources are looked for.
const SOURCES: &[(&str, &str)] = &[
    ("Object", "object"),
    ("External", "external"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
];
const KINDS: &[&str] = &[
    "ContainerResource",
    "External",
    "Object",
    "Pods",
    "Resource",
];

/// A `HorizontalPodAutoscaler`; `old` is the one that it replaces.
pub(crate) fn horizontal_pod_autoscaler(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Errors::default();
    if old.is_some_and(|old| old.get("status") != object.get("status")) {
        let path = Path::new("status");
        for field in ["currentReplicas", "desiredReplicas"] {
            errors.not_negative(path.child(field), int(&object["status"], field));
        }
        return errors.0;
    }
    let (spec, path) = (&object["spec"], Path::new("spec"));
    let (min, max) = (
        int(spec, "minReplicas"),
        int(spec, "maxReplicas").unwrap_or(0),
    );
    if min.is_some_and(|min| max < min) {
        errors.invalid(
            path.child("maxReplicas"),
            max,
            "must be greater than or equal to `minReplicas`",
        );
    }
    reference(
        path.child("scaleTargetRef"),
        &spec["scaleTargetRef"],
        false,
        &mut errors,
    );
    metrics(path.child("metrics"), spec, min, &mut errors);
    let behavior = path.child("behavior");
    for side in ["scaleUp", "scaleDown"] {
        if has(&spec["behavior"], side) {
            rules(behavior.child(side), &spec["behavior"][side], &mut errors);
        }
    }
    // The bounds come last, as the real server has them from the types.
    errors.not_negative(path.child("minReplicas"), min);
    if max == 0 {
        errors.required(path.child("maxReplicas"), "");
    } else if max < 0 {
        errors.invalid(
            path.child("maxReplicas"),
            max,
            "must be greater than or equal to 1",
        );
    }
    errors.0
}

fn reference(path: Path<'_>, reference: &Value, core: bool, errors: &mut Errors) {
    for field in ["kind", "name"] {
        let value = text(reference, field);
        if value.is_empty() {
            errors.required(path.child(field), "");
        } else {
            segment(path.child(field), value, errors);
        }
    }
    let version = text(reference, "apiVersion");
    let path = path.child("apiVersion");
    if version.matches('/').count() > 1 {
        let why = format!("unexpected GroupVersion string: {version}");
        errors.invalid(path, version, why);
    } else if !core && !version.contains('/') {
        errors.invalid(path, version, "apiVersion must specify API group");
    }
}

fn segment(path: Path<'_>, value: &str, errors: &mut Errors) {
    let faults = names::object_name(crate::kinds::NameRule::PathSegment, value, false);
    errors.faults(path, value, faults);
}

fn metrics(path: Path<'_>, spec: &Value, min: Option<i64>, errors: &mut Errors) {
    let all = list(spec, "metrics");
    for (index, metric) in all.iter().enumerate() {
        self::metric(path.index(index), metric, errors);
    }
    let outside = |metric: &Value| matches!(text(metric, "type"), "Object" | "External");
    if min == Some(0) && !all.iter().any(outside) {
        errors.forbidden(
            path,
            "must specify at least one Object or External metric to support scaling to zero replicas",
        );
    }
}

fn metric(path: Path<'_>, metric: &Value, errors: &mut Errors) {
    let kind = text(metric, "type");
    let at = path.child("type");
    if kind.is_empty() {
        errors.required(at, "must specify a metric source type");
    }
    if !KINDS.contains(&kind) {
        errors.not_supported(at, kind, KINDS);
    }
    let found: Vec<&str> = SOURCES
        .iter()
        .map(|(_, field)| *field)
        .filter(|field| has(metric, field))
        .collect();
    if let Some(field) = found.first() {
        source(path.child(field), field, &metric[*field], errors);
    }
    let expected = SOURCES
        .iter()
        .find(|(known, _)| *known == kind)
        .map(|(_, field)| *field);
    match expected {
        Some(field) if !has(metric, field) => errors.required(
            path.child(field),
            "must populate information for the given metric source",
        ),
        Some(_) => {}
        None => errors.not_supported(at, kind, KINDS),
    }
    if found.len() != 1 {
        for field in found.into_iter().filter(|field| Some(*field) != expected) {
            errors.forbidden(
                path.child(field),
                "must populate the given metric source only",
            );
        }
    }
}

fn source(path: Path<'_>, kind: &str, source: &Value, errors: &mut Errors) {
    let at = path.child("target");
    let goal = &source["target"];
    let named = matches!(kind, "object" | "external" | "pods");
    if kind == "object" {
        reference(
            path.child("describedObject"),
            &source["describedObject"],
            true,
            errors,
        );
    }
    if named {
        let name = text(&source["metric"], "name");
        let metric = path.child("metric");
        if name.is_empty() {
            errors.required(metric.child("name"), "must specify a metric name");
        } else {
            segment(metric.child("name"), name, errors);
        }
    } else {
        let name = text(source, "name");
        if name.is_empty() {
            errors.required(path.child("name"), "must specify a resource name");
        } else if kind == "containerResource" {
            container_resource(path.child("name"), name, errors);
        }
        let container = text(source, "container");
        if kind == "containerResource" && container.is_empty() {
            errors.required(path.child("container"), "must specify a container");
        } else if kind == "containerResource" {
            errors.faults(
                path.child("container"),
                container,
                names::label_1123(container),
            );
        }
    }
    target(at, goal, errors);
    let (value, average) = (has(goal, "value"), has(goal, "averageValue"));
    let utilization = has(goal, "averageUtilization");
    match kind {
        "object" if !value && !average => errors.required(
            at.child("averageValue"),
            "must set either a target value or averageValue",
        ),
        "external" if !value && !average => errors.required(
            at.child("averageValue"),
            "must set either a target value for metric or a per-pod target",
        ),
        "external" if value && average => errors.forbidden(
            at.child("value"),
            "may not set both a target value for metric and a per-pod target",
        ),
        "pods" if !average => errors.required(
            at.child("averageValue"),
            "must specify a positive target averageValue",
        ),
        "resource" | "containerResource" if !utilization && !average => errors.required(
            at.child("averageUtilization"),
            "must set either a target raw value or a target utilization",
        ),
        "resource" | "containerResource" if utilization && average => errors.forbidden(
            at.child("averageValue"),
            "may not set both a target raw value and a target utilization",
        ),
        _ => {}
    }
}

fn target(path: Path<'_>, target: &Value, errors: &mut Errors) {
    let kind = text(target, "type");
    if kind.is_empty() {
        errors.required(path.child("type"), "must specify a metric target type");
    }
    if !matches!(kind, "Utilization" | "Value" | "AverageValue") {
        errors.invalid(
            path.child("type"),
            kind,
            "must be either Utilization, Value, or AverageValue",
        );
    }
    for field in ["value", "averageValue"] {
        if let Some(amount) = quantity(&target[field]).filter(|amount| !amount.is_positive()) {
            errors.invalid(path.child(field), amount.to_string(), "must be positive");
        }
    }
    if let Some(percent) = int(target, "averageUtilization").filter(|percent| *percent < 1) {
        errors.invalid(
            path.child("averageUtilization"),
            percent,
            "must be greater than 0",
        );
    }
}

fn rules(path: Path<'_>, rules: &Value, errors: &mut Errors) {
    let window = int(rules, "stabilizationWindowSeconds");
    let at = path.child("stabilizationWindowSeconds");
    if let Some(window) = window.filter(|window| *window < 0) {
        errors.invalid(at, window, "must be greater than or equal to zero");
    }
    if let Some(window) = window.filter(|window| *window > 3600) {
        errors.invalid(at, window, "must be less than or equal to 3600");
    }
    errors.optional_one_of(path, rules, "selectPolicy", &["Disabled", "Max", "Min"]);
    let policies = list(rules, "policies");
    let at = path.child("policies");
    if policies.is_empty() {
        errors.required(at, "must specify at least one Policy");
    }
    for (index, policy) in policies.iter().enumerate() {
        let path = at.index(index);
        let kind = text(policy, "type");
        if !matches!(kind, "Pods" | "Percent") {
            errors.not_supported(path.child("type"), kind, &["Percent", "Pods"]);
        }
        for field in ["value", "periodSeconds"] {
            let number = int(policy, field).unwrap_or(0);
            if number <= 0 {
                errors.invalid(path.child(field), number, "must be greater than zero");
            }
        }
        if let Some(seconds) = int(policy, "periodSeconds").filter(|seconds| *seconds > 1800) {
            errors.invalid(
                path.child("periodSeconds"),
                seconds,
                "must be less than or equal to 1800",
            );
        }
    }
    if let Some(tolerance) = quantity(&rules["tolerance"]) {
        super::resources::not_negative(path.child("tolerance"), tolerance, errors);
    }
}
