//! Columns and cells: the group `autoscaling`.

use serde_json::{Value, json};

use crate::table::cells::Row;
use crate::table::columns::{Column, age, name, shown};

pub(super) fn columns(kind: &str) -> Option<Vec<Column>> {
    Some(match kind {
        "HorizontalPodAutoscaler" => vec![
            name(),
            shown(
                "Reference",
                "scaleTargetRef points to the target resource to scale, and is used to the pods for which metrics should be collected, as well as to actually change the replica count.",
            ),
            shown(
                "Targets",
                "metrics contains the specifications for which to use to calculate the desired replica count (the maximum replica count across all metrics will be used).  The desired replica count is calculated multiplying the ratio between the target value and the current value by the current number of pods.  Ergo, metrics used must decrease as the pod count is increased, and vice-versa.  See the individual metric source types for more information about how each type of metric must respond. If not set, the default metric will be set to 80% average CPU utilization.",
            ),
            shown(
                "MinPods",
                "minReplicas is the lower limit for the number of replicas to which the autoscaler can scale down.  It defaults to 1 pod.  minReplicas is allowed to be 0 if the alpha feature gate HPAScaleToZero is enabled and at least one Object or External metric is configured.  Scaling is active as long as at least one metric value is available.",
            ),
            shown(
                "MaxPods",
                "maxReplicas is the upper limit for the number of replicas to which the autoscaler can scale up. It cannot be less that minReplicas.",
            ),
            shown(
                "Replicas",
                "currentReplicas is current number of replicas of pods managed by this autoscaler, as last seen by the autoscaler.",
            ),
            age(),
        ],
        "Scale" => vec![
            Column {
                format: String::new(),
                ..name()
            },
            shown(
                "Desired",
                "replicas is the desired number of instances for the scaled object.",
            )
            .of_type("integer"),
            shown(
                "Available",
                "replicas is the actual number of observed instances of the scaled object.",
            )
            .of_type("integer"),
            age(),
        ],
        _ => return None,
    })
}

/// Metrics that are shown; of more there is only their number.
const SHOWN: usize = 2;

pub(super) fn cells(kind: &str, row: &Row<'_>) -> Option<Vec<Value>> {
    if kind == "Scale" {
        let count = |pointer| json!(row.number(pointer));
        let (desired, available) = (count("/spec/replicas"), count("/status/replicas"));
        return Some(vec![row.name(), desired, available, row.age()]);
    }
    if kind != "HorizontalPodAutoscaler" {
        return None;
    }
    // Whatever version is asked for, the metrics are those of autoscaling/v2.
    let object = if row.text("/apiVersion") == "autoscaling/v1" {
        crate::convert::autoscaler::to_v2(row.object.clone())
    } else {
        row.object.clone()
    };
    let target = "/spec/scaleTargetRef";
    let reference = format!(
        "{}/{}",
        row.text(&format!("{target}/kind")),
        row.text(&format!("{target}/name"))
    );
    let least = row.object.pointer("/spec/minReplicas");
    Some(vec![
        row.name(),
        json!(reference),
        json!(metrics(&object)),
        json!(least.map_or("<unset>".into(), Value::to_string)),
        json!(row.number("/spec/maxReplicas")),
        json!(row.number("/status/currentReplicas")),
        row.age(),
    ])
}

fn metrics(object: &Value) -> String {
    let list = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    let (wanted, current) = (list("/spec/metrics"), list("/status/currentMetrics"));
    if wanted.is_empty() {
        return "<none>".into();
    }
    let shown: Vec<String> = wanted
        .iter()
        .enumerate()
        .take(SHOWN)
        .map(|(index, metric)| self::metric(metric, current.get(index).unwrap_or(&Value::Null)))
        .collect();
    let text = shown.join(", ");
    match wanted.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        Some(more) => format!("{text} + {more} more..."),
        None => text,
    }
}

fn metric(metric: &Value, current: &Value) -> String {
    const UNKNOWN: &str = "<unknown>";
    let source = match metric["type"].as_str().unwrap_or_default() {
        "External" => "external",
        "Pods" => "pods",
        "Object" => "object",
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        _ => return "<unknown type>".into(),
    };
    let (goal, now) = (&metric[source]["target"], &current[source]["current"]);
    let value = |holder: &Value, field: &str| holder[field].as_str().map(str::to_owned);
    let percent = |holder: &Value| {
        holder["averageUtilization"]
            .as_i64()
            .map(|percent| format!("{percent}%"))
    };
    let unknown = |found: Option<String>| found.unwrap_or_else(|| UNKNOWN.into());
    let average = value(goal, "averageValue");
    match (source, average) {
        ("external" | "object", Some(goal)) => {
            format!("{}/{goal} (avg)", unknown(value(now, "averageValue")))
        }
        ("external" | "object", None) => format!(
            "{}/{}",
            unknown(value(now, "value")),
            value(goal, "value").unwrap_or_default()
        ),
        ("pods", goal) => format!(
            "{}/{}",
            unknown(value(now, "averageValue")),
            goal.unwrap_or_default()
        ),
        (_, average) => {
            let name = metric[source]["name"].as_str().unwrap_or_default();
            match average {
                Some(goal) => format!("{name}: {}/{goal}", unknown(value(now, "averageValue"))),
                None => format!(
                    "{name}: {}/{}",
                    unknown(percent(now)),
                    percent(goal).unwrap_or_else(|| "<auto>".into())
                ),
            }
        }
    }
}
