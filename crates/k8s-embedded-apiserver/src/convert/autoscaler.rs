//! The two forms of a HorizontalPodAutoscaler. Stored is the one of autoscaling/v2; what autoscaling/v1 has no field
//! for, it keeps in annotations.

use serde_json::{Map, Value, json};

use crate::go_json;
use crate::metadata::{entry_mut, metadata_mut, object_mut};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const SCALE_DOWN_TOLERANCE: &str = "autoscaling.alpha.kubernetes.io/scale-down-tolerance";
const SCALE_UP_TOLERANCE: &str = "autoscaling.alpha.kubernetes.io/scale-up-tolerance";
const ANNOTATIONS: [&str; 6] = [
    METRICS,
    CURRENT_METRICS,
    CONDITIONS,
    BEHAVIOR,
    SCALE_DOWN_TOLERANCE,
    SCALE_UP_TOLERANCE,
];

/// The order of the fields in the annotations.
const ORDER: &[&str] = &[
    "type",
    "status",
    "object",
    "pods",
    "resource",
    "containerResource",
    "external",
    "target",
    "kind",
    "name",
    "apiVersion",
    "metricName",
    "metricSelector",
    "targetValue",
    "currentValue",
    "targetAverageUtilization",
    "currentAverageUtilization",
    "targetAverageValue",
    "currentAverageValue",
    "selector",
    "averageValue",
    "container",
    "matchLabels",
    "matchExpressions",
    "key",
    "operator",
    "values",
    "lastTransitionTime",
    "reason",
    "message",
    "observedGeneration",
    "ScaleUp",
    "ScaleDown",
    "StabilizationWindowSeconds",
    "SelectPolicy",
    "Policies",
    "Type",
    "Value",
    "PeriodSeconds",
    "Tolerance",
];

/// Fields of a source: those of autoscaling/v2 as a path below it, then those of autoscaling/v1.
const FIELDS: &[(&str, &str)] = &[
    ("describedObject", "target"),
    ("metric/name", "metricName"),
    ("metric/selector", "selector"),
    ("name", "name"),
    ("container", "container"),
];
const VALUES: &[(&str, &str)] = &[
    ("value", "Value"),
    ("averageValue", "AverageValue"),
    ("averageUtilization", "AverageUtilization"),
];
const SOURCES: &[&str] = &[
    "object",
    "pods",
    "resource",
    "containerResource",
    "external",
];

/// autoscaling/v1 to autoscaling/v2.
pub(crate) fn to_v2(mut object: Value) -> Value {
    let annotations = object
        .pointer("/metadata/annotations")
        .cloned()
        .unwrap_or_default();
    let kept = |key: &str| -> Option<Value> {
        let text = annotations.get(key).and_then(Value::as_str)?;
        serde_json::from_str(text).ok()
    };
    let map = object_mut(&mut object);
    map.insert("apiVersion".into(), "autoscaling/v2".into());
    let spec = entry_mut(map, "spec");
    let mut metrics: Vec<Value> = match kept(METRICS) {
        Some(Value::Array(list)) => list.iter().map(|metric| widen(metric, "target")).collect(),
        _ => Vec::new(),
    };
    if let Some(percent) = spec.remove("targetCPUUtilizationPercentage") {
        metrics.push(cpu(
            "target",
            &json!({"type": "Utilization", "averageUtilization": percent}),
        ));
    }
    if !metrics.is_empty() {
        spec.insert("metrics".into(), metrics.into());
    }
    if let Some(behavior) = kept(BEHAVIOR).filter(Value::is_object) {
        spec.insert("behavior".into(), lower(&behavior));
    }
    if let Some(Value::Object(status)) = map.get_mut("status") {
        let percent = status.remove("currentCPUUtilizationPercentage");
        if let Some(Value::Array(list)) = kept(CURRENT_METRICS) {
            let list: Vec<Value> = list.iter().map(|metric| widen(metric, "current")).collect();
            status.insert("currentMetrics".into(), list.into());
        } else if let Some(percent) = percent {
            let current = cpu("current", &json!({"averageUtilization": percent}));
            status.insert("currentMetrics".into(), json!([current]));
        }
        if let Some(conditions) = kept(CONDITIONS).filter(Value::is_array) {
            status.insert("conditions".into(), conditions);
        }
    }
    drop_annotations(&mut object);
    object
}

fn cpu(field: &str, target: &Value) -> Value {
    json!({"type": "Resource", "resource": {"name": "cpu", field: target}})
}

/// autoscaling/v2 to autoscaling/v1.
pub(crate) fn to_v1(mut object: Value) -> Value {
    drop_annotations(&mut object);
    let mut added = Map::new();
    let map = object_mut(&mut object);
    map.insert("apiVersion".into(), "autoscaling/v1".into());
    let spec = entry_mut(map, "spec");
    let metrics = spec.remove("metrics");
    let metrics = metrics.as_ref().and_then(Value::as_array);
    let (cpu, others): (Vec<&Value>, Vec<&Value>) =
        metrics.into_iter().flatten().partition(|metric| {
            metric["type"] == "Resource"
                && metric.pointer("/resource/name") == Some(&json!("cpu"))
                && percent(metric, "target").is_some()
        });
    if let Some(percent) = cpu.first().and_then(|metric| percent(metric, "target")) {
        spec.insert("targetCPUUtilizationPercentage".into(), percent.clone());
    }
    if !others.is_empty() {
        let list: Vec<Value> = others
            .iter()
            .map(|metric| narrow(metric, "target"))
            .collect();
        added.insert(METRICS.into(), go_json::print(&list.into(), ORDER).into());
    }
    if let Some(behavior) = spec.remove("behavior") {
        let text = go_json::print(&upper_behavior(&behavior), ORDER);
        added.insert(BEHAVIOR.into(), text.into());
    }
    let status = entry_mut(map, "status");
    if !status.contains_key("currentReplicas") {
        status.insert("currentReplicas".into(), json!(0));
    }
    if let Some(Value::Array(list)) = status.remove("currentMetrics")
        && !list.is_empty()
    {
        let found = list.iter().rev().find(|metric| {
            metric.pointer("/resource/name") == Some(&json!("cpu"))
                && percent(metric, "current").is_some()
        });
        if let Some(percent) = found.and_then(|metric| percent(metric, "current")) {
            status.insert("currentCPUUtilizationPercentage".into(), percent.clone());
        }
        let list: Vec<Value> = list
            .iter()
            .map(|metric| narrow(metric, "current"))
            .collect();
        added.insert(
            CURRENT_METRICS.into(),
            go_json::print(&list.into(), ORDER).into(),
        );
    }
    if let Some(conditions) = status.remove("conditions") {
        let text = go_json::print(&conditions, ORDER);
        added.insert(CONDITIONS.into(), text.into());
    }
    if !added.is_empty() {
        entry_mut(metadata_mut(&mut object), "annotations").extend(added);
    }
    object
}

fn percent<'a>(metric: &'a Value, side: &str) -> Option<&'a Value> {
    metric.pointer(&format!("/resource/{side}/averageUtilization"))
}

fn drop_annotations(object: &mut Value) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    let Some(annotations) = metadata
        .get_mut("annotations")
        .and_then(Value::as_object_mut)
    else {
        return;
    };
    annotations.retain(|key, _| !ANNOTATIONS.contains(&key.as_str()));
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
}

/// The name in autoscaling/v1 of a value of a source; a value of an object that is an average has no side in it.
fn value_name(source: &str, side: &str, name: &str) -> String {
    if source == "object" && name == "AverageValue" {
        "averageValue".into()
    } else {
        format!("{side}{name}")
    }
}

fn field_name<'a>(source: &str, name: &'a str) -> &'a str {
    if source == "external" && name == "selector" {
        "metricSelector"
    } else {
        name
    }
}

/// A metric of autoscaling/v2 as one of autoscaling/v1.
fn narrow(metric: &Value, side: &str) -> Value {
    let mut out = json!({"type": metric["type"]});
    for source in SOURCES {
        let Some(from) = metric.get(*source) else {
            continue;
        };
        let mut to = Map::new();
        for (path, name) in FIELDS {
            if let Some(value) = from.pointer(&format!("/{path}")) {
                to.insert(field_name(source, name).into(), value.clone());
            }
        }
        for (key, name) in VALUES {
            let value = from.pointer(&format!("/{side}/{key}")).cloned();
            let always = side == "current"
                && match *source {
                    "object" | "external" => *name == "Value",
                    _ => *name == "AverageValue",
                };
            match value {
                Some(value) => to.insert(value_name(source, side, name), value),
                None if always => to.insert(value_name(source, side, name), json!("0")),
                None => None,
            };
        }
        out[*source] = to.into();
    }
    out
}

/// A metric of autoscaling/v1 as one of autoscaling/v2.
fn widen(metric: &Value, side: &str) -> Value {
    let mut out = json!({"type": metric["type"]});
    for source in SOURCES {
        let Some(from) = metric.get(*source) else {
            continue;
        };
        let mut to = Map::new();
        for (path, name) in FIELDS {
            let Some(value) = from.get(field_name(source, name)) else {
                continue;
            };
            match path.split_once('/') {
                Some((outer, inner)) => {
                    entry_mut(&mut to, outer).insert(inner.into(), value.clone());
                }
                None => {
                    to.insert((*path).into(), value.clone());
                }
            }
        }
        let values = entry_mut(&mut to, side);
        for (key, name) in VALUES {
            if let Some(value) = from.get(value_name(source, side, name)) {
                values.insert((*key).into(), value.clone());
            }
        }
        if side == "target" {
            let kind = if values.contains_key("averageUtilization") {
                "Utilization"
            } else if values.contains_key("averageValue") {
                "AverageValue"
            } else {
                "Value"
            };
            values.insert("type".into(), kind.into());
        }
        out[*source] = to.into();
    }
    out
}

/// A behavior with the names of the server's own type, all of them.
fn upper_behavior(behavior: &Value) -> Value {
    let rules = |field: &str| match behavior.get(field) {
        None => Value::Null,
        Some(rules) => {
            let policies = rules.get("policies").and_then(Value::as_array).map(|list| {
                list.iter()
                    .map(|policy| {
                        json!({
                            "Type": policy["type"], "Value": policy["value"],
                            "PeriodSeconds": policy["periodSeconds"],
                        })
                    })
                    .collect::<Vec<Value>>()
            });
            json!({
                "StabilizationWindowSeconds": rules.get("stabilizationWindowSeconds"),
                "SelectPolicy": rules.get("selectPolicy"),
                "Policies": policies,
                "Tolerance": rules.get("tolerance"),
            })
        }
    };
    json!({"ScaleUp": rules("scaleUp"), "ScaleDown": rules("scaleDown")})
}

/// Names that begin with a small letter; what is null is left out.
fn lower(value: &Value) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| {
                let mut letters = key.chars();
                let first = letters.next().map(|c| c.to_ascii_lowercase());
                (first.into_iter().chain(letters).collect(), lower(value))
            })
            .collect::<Map<String, Value>>()
            .into(),
        Value::Array(list) => list.iter().map(lower).collect::<Vec<Value>>().into(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_v1_has_no_field_for_is_kept_in_annotations() {
        let v2 = json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"},
            "spec": {
                "maxReplicas": 5,
                "metrics": [
                    {"type": "Pods", "pods": {"metric": {"name": "m", "selector": {"matchLabels": {"a": "b"}}}, "target": {"type": "AverageValue", "averageValue": "1"}}},
                    {"type": "External", "external": {"metric": {"name": "m", "selector": {}}, "target": {"type": "Value", "value": "30"}}},
                    {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}},
                ],
                "behavior": {"scaleDown": {"selectPolicy": "Max", "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}]}},
            },
            "status": {"currentReplicas": 2, "desiredReplicas": 3, "conditions": [{"type": "AbleToScale", "status": "True"}]},
        });
        let v1 = to_v1(v2.clone());
        assert_eq!(
            v1["spec"],
            json!({"maxReplicas": 5, "targetCPUUtilizationPercentage": 60})
        );
        assert_eq!(
            v1["metadata"]["annotations"][METRICS],
            r#"[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"1","selector":{"matchLabels":{"a":"b"}}}},{"type":"External","external":{"metricName":"m","metricSelector":{},"targetValue":"30"}}]"#
        );
        assert_eq!(
            v1["metadata"]["annotations"][BEHAVIOR],
            r#"{"ScaleUp":null,"ScaleDown":{"StabilizationWindowSeconds":null,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15}],"Tolerance":null}}"#
        );
        assert_eq!(to_v2(v1), v2);
    }
}
