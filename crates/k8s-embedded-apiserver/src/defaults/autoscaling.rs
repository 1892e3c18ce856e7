//! Defaults: the group `autoscaling`, in the form of autoscaling/v2.

use serde_json::{Map, Value, json};

use super::{fill, quantity};
use crate::metadata::{entry_mut, object_mut};

/// CPU that Pods are to use, in hundredths of what they request, where no metric is given.
const CPU_UTILIZATION: i32 = 80;

pub(crate) fn horizontal_pod_autoscaler(object: &mut Value) {
    let map = object_mut(object);
    let spec = entry_mut(map, "spec");
    fill(spec, "minReplicas", json!(1));
    fill(spec, "maxReplicas", json!(0));
    let metrics = spec.get("metrics").and_then(Value::as_array);
    if metrics.is_none_or(Vec::is_empty) {
        let cpu = json!({"type": "Resource", "resource": {
            "name": "cpu", "target": {"type": "Utilization", "averageUtilization": CPU_UTILIZATION},
        }});
        spec.insert("metrics".into(), json!([cpu]));
    }
    if let Some(Value::Array(metrics)) = spec.get_mut("metrics") {
        for metric in metrics {
            targets(metric);
        }
    }
    if let Some(Value::Object(behavior)) = spec.get_mut("behavior") {
        rules(
            entry_mut(behavior, "scaleUp"),
            json!([
                {"type": "Pods", "value": 4, "periodSeconds": 15},
                {"type": "Percent", "value": 100, "periodSeconds": 15},
            ]),
        );
        fill(
            entry_mut(behavior, "scaleUp"),
            "stabilizationWindowSeconds",
            json!(0),
        );
        rules(
            entry_mut(behavior, "scaleDown"),
            json!([{"type": "Percent", "value": 100, "periodSeconds": 15}]),
        );
    }
    let status = entry_mut(map, "status");
    fill(status, "desiredReplicas", json!(0));
    fill(status, "currentMetrics", Value::Null);
    super::drop_zeros(status, &["currentReplicas"]);
}

fn rules(rules: &mut Map<String, Value>, policies: Value) {
    fill(rules, "selectPolicy", json!("Max"));
    fill(rules, "policies", policies);
    quantity(rules, "tolerance");
}

fn targets(metric: &mut Value) {
    for source in object_mut(metric).values_mut() {
        if let Some(Value::Object(target)) = source.get_mut("target") {
            quantity(target, "value");
            quantity(target, "averageValue");
        }
    }
}
