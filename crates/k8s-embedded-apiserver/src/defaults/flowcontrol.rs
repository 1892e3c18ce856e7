//! Defaults: the group `flowcontrol.apiserver.k8s.io`.

use serde_json::{Value, json};

use super::{fill, inner};
use crate::metadata::{entry_mut, object_mut};

pub(crate) fn flow_schema(object: &mut Value) {
    let map = object_mut(object);
    let spec = entry_mut(map, "spec");
    if spec
        .get("matchingPrecedence")
        .is_none_or(|value| *value == json!(0))
    {
        spec.insert("matchingPrecedence".into(), json!(1000));
    }
    entry_mut(map, "status");
}

pub(crate) fn priority_level(object: &mut Value) {
    let map = object_mut(object);
    let spec = entry_mut(map, "spec");
    if let Some(limited) = inner(spec, "limited") {
        fill(limited, "nominalConcurrencyShares", json!(30));
        fill(limited, "lendablePercent", json!(0));
        let response = entry_mut(limited, "limitResponse");
        if let Some(queuing) = inner(response, "queuing") {
            fill(queuing, "queues", json!(64));
            fill(queuing, "handSize", json!(8));
            fill(queuing, "queueLengthLimit", json!(50));
        }
    }
    if let Some(exempt) = inner(spec, "exempt") {
        fill(exempt, "nominalConcurrencyShares", json!(0));
        fill(exempt, "lendablePercent", json!(0));
    }
    entry_mut(map, "status");
}
