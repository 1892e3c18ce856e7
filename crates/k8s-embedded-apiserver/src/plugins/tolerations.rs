//! DefaultTolerationSeconds: how long a Pod stays on a node that is not ready or cannot be reached.

use serde_json::{Value, json};

use crate::metadata::{entry_mut, object_mut, text};

const TAINTS: [&str; 2] = [
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
];
const SECONDS: i64 = 300;

/// Adds the tolerations that the Pod has none for.
pub(super) fn add(pod: &mut Value) {
    let spec = entry_mut(object_mut(pod), "spec");
    let mut tolerations = match spec.get("tolerations") {
        Some(Value::Array(list)) => list.clone(),
        _ => Vec::new(),
    };
    let sent = tolerations.clone();
    for taint in TAINTS {
        let tolerated = sent.iter().any(|toleration| {
            matches!(text(toleration, "/key"), key if key == taint || key.is_empty())
                && matches!(text(toleration, "/effect"), "NoExecute" | "")
        });
        if !tolerated {
            tolerations.push(json!({
                "key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": SECONDS,
            }));
        }
    }
    if !tolerations.is_empty() {
        spec.insert("tolerations".into(), tolerations.into());
    }
}
