//! The row of a Pod, whose status sums up its containers.

use serde_json::{Value, json};

use crate::table::cells::{Row, or_none};
use crate::table::columns::{Column, age, name, shown, wide};

pub(super) fn columns(kind: &str) -> Option<Vec<Column>> {
    Some(match kind {
        "Pod" => vec![
            name(),
            shown(
                "Ready",
                "The aggregate readiness state of this pod for accepting traffic.",
            ),
            shown(
                "Status",
                "The aggregate status of the containers in this pod.",
            ),
            shown(
                "Restarts",
                "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.",
            ),
            age(),
            wide("IP", "Address of the pod."),
            wide("Node", "Node that the pod is scheduled to."),
            wide(
                "Nominated Node",
                "Node that pods are being preempted on for this one.",
            ),
            wide(
                "Readiness Gates",
                "Conditions that must hold, and how many of them do.",
            ),
        ],
        _ => return None,
    })
}

pub(super) fn cells(kind: &str, row: &Row<'_>) -> Option<Vec<Value>> {
    Some(match kind {
        "Pod" => self::row(row),
        _ => return None,
    })
}

fn row(row: &Row<'_>) -> Vec<Value> {
    let statuses = row.list("/status/containerStatuses");
    let total = row.list("/spec/containers").len();
    let ready = statuses
        .iter()
        .filter(|status| {
            status.get("ready") == Some(&Value::Bool(true))
                && status.pointer("/state/running").is_some()
        })
        .count();
    let restarts: i64 = statuses
        .iter()
        .filter_map(|status| status.get("restartCount"))
        .filter_map(Value::as_i64)
        .sum();
    let first_ip = row
        .object
        .pointer("/status/podIPs/0/ip")
        .and_then(Value::as_str)
        .unwrap_or_default();
    vec![
        row.name(),
        json!(format!("{ready}/{total}")),
        json!(status(row, statuses)),
        json!(restarts.to_string()),
        row.age(),
        json!(or_none(first_ip.into())),
        json!(or_none(row.text("/spec/nodeName").into())),
        json!(or_none(row.text("/status/nominatedNodeName").into())),
        json!(readiness_gates(row)),
    ]
}

fn status(row: &Row<'_>, statuses: &[Value]) -> String {
    let phase = row.text("/status/phase");
    let mut reason = match row.text("/status/reason") {
        "" => phase.to_owned(),
        reason => reason.to_owned(),
    };
    if let Some(waiting) = init_reason(row) {
        reason = waiting;
    } else if let Some(found) = statuses
        .iter()
        .rev()
        .filter_map(container_reason)
        .next_back()
    {
        reason = found;
    }
    let deleting = row
        .object
        .pointer("/metadata/deletionTimestamp")
        .is_some_and(|time| !time.is_null());
    if deleting && !matches!(phase, "Succeeded" | "Failed") {
        reason = "Terminating".into();
    }
    reason
}

/// Why a container does not run; the first one of a Pod wins.
fn container_reason(status: &Value) -> Option<String> {
    let text = |pointer: &str| {
        status
            .pointer(pointer)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    if let Some(reason) = text("/state/waiting/reason").or_else(|| text("/state/terminated/reason"))
    {
        return Some(reason.into());
    }
    let code = status.pointer("/state/terminated/exitCode")?;
    match status
        .pointer("/state/terminated/signal")
        .and_then(Value::as_i64)
    {
        Some(signal) if signal != 0 => Some(format!("Signal:{signal}")),
        _ => Some(format!("ExitCode:{code}")),
    }
}

fn init_reason(row: &Row<'_>) -> Option<String> {
    let total = row.list("/spec/initContainers").len();
    for (index, status) in row.list("/status/initContainerStatuses").iter().enumerate() {
        if status.pointer("/state/terminated/exitCode") == Some(&json!(0)) {
            continue;
        }
        return Some(match container_reason(status) {
            Some(reason) if reason != "PodInitializing" => format!("Init:{reason}"),
            _ => format!("Init:{index}/{total}"),
        });
    }
    None
}

fn readiness_gates(row: &Row<'_>) -> String {
    let gates = row.list("/spec/readinessGates");
    if gates.is_empty() {
        return "<none>".into();
    }
    let holds = |gate: &&Value| {
        row.list("/status/conditions").iter().any(|condition| {
            condition.get("type") == gate.get("conditionType")
                && condition.get("status") == Some(&json!("True"))
        })
    };
    format!("{}/{}", gates.iter().filter(holds).count(), gates.len())
}
