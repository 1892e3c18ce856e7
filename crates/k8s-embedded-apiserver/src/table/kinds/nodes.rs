//! The row of a Node.

use serde_json::{Value, json};

use crate::table::cells::{Row, or_none};

pub(super) fn row(row: &Row<'_>) -> Vec<Value> {
    let ready = row
        .list("/status/conditions")
        .iter()
        .find(|condition| condition.get("type") == Some(&json!("Ready")));
    let mut status = match ready
        .and_then(|condition| condition.get("status"))
        .and_then(Value::as_str)
    {
        Some("True") => "Ready".to_owned(),
        Some(_) => "NotReady".into(),
        None => "Unknown".into(),
    };
    if row.object.pointer("/spec/unschedulable") == Some(&Value::Bool(true)) {
        status.push_str(",SchedulingDisabled");
    }
    let prefix = "node-role.kubernetes.io/";
    let labels = row
        .object
        .pointer("/metadata/labels")
        .and_then(Value::as_object);
    let roles: Vec<&str> = labels
        .into_iter()
        .flatten()
        .filter_map(|(key, _)| key.strip_prefix(prefix))
        .filter(|role| !role.is_empty())
        .collect();
    let address = |kind: &str| {
        let found = row
            .list("/status/addresses")
            .iter()
            .find(|address| address.get("type") == Some(&json!(kind)));
        or_none(
            found
                .and_then(|address| address.get("address"))
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
        )
    };
    let or_unknown = |pointer: &str| match row.text(pointer) {
        "" => "<unknown>".to_owned(),
        text => text.to_owned(),
    };
    let mut kernel = or_unknown("/status/nodeInfo/kernelVersion");
    let architecture = row.text("/status/nodeInfo/architecture");
    if !architecture.is_empty() {
        kernel = format!("{kernel} ({architecture})");
    }
    vec![
        row.name(),
        json!(status),
        json!(or_none(roles.join(","))),
        row.age(),
        row.cell("/status/nodeInfo/kubeletVersion"),
        json!(address("InternalIP")),
        json!(address("ExternalIP")),
        json!(or_unknown("/status/nodeInfo/osImage")),
        json!(kernel),
        json!(or_unknown("/status/nodeInfo/containerRuntimeVersion")),
    ]
}
