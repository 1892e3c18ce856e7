//! Objects that have several forms. Here: an Event, which is stored as the one of core/v1.

pub(crate) mod autoscaler;

use serde_json::{Value, json};

use crate::metadata::object_mut;

/// Fields that the two forms name differently: events.k8s.io/v1, then core/v1.
const NAMES: &[(&str, &str)] = &[
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("deprecatedSource", "source"),
    ("deprecatedCount", "count"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("reportingController", "reportingComponent"),
];

/// events.k8s.io/v1 to core/v1.
pub(crate) fn event_to_core(mut event: Value) -> Value {
    let map = object_mut(&mut event);
    for (new, core) in NAMES {
        if let Some(value) = map.remove(*new) {
            map.insert((*core).into(), value);
        }
    }
    map.insert("apiVersion".into(), json!("v1"));
    event
}

/// core/v1 to events.k8s.io/v1, where an empty reporter is left out.
pub(crate) fn event_from_core(mut event: Value) -> Value {
    let map = object_mut(&mut event);
    for (new, core) in NAMES {
        if let Some(value) = map.remove(*core) {
            map.insert((*new).into(), value);
        }
    }
    for key in ["reportingController", "reportingInstance"] {
        if map.get(key).is_some_and(|value| value == "") {
            map.remove(key);
        }
    }
    map.insert("apiVersion".into(), json!("events.k8s.io/v1"));
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back_is_the_same() {
        let event = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"},
            "regarding": {"kind": "Pod"}, "note": "n", "deprecatedCount": 2, "deprecatedSource": {},
            "deprecatedFirstTimestamp": null, "deprecatedLastTimestamp": null,
            "reportingController": "c", "reason": "R",
        });
        let core = event_to_core(event.clone());
        assert_eq!(core["involvedObject"]["kind"], "Pod");
        assert_eq!(core["apiVersion"], "v1");
        assert_eq!(event_from_core(core), event);
    }
}
