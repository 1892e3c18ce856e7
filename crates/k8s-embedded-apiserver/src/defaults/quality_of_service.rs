//! The class of a Pod by what it asks for.

use std::collections::BTreeMap;

use k8s_api_schema::Quantity;
use serde_json::Value;

use super::pod_resources::amounts;

const COMPUTE: [&str; 2] = ["cpu", "memory"];

/// Guaranteed where CPU and memory are limited to what is requested, BestEffort where none is asked for.
pub(super) fn quality_of_service(pod: &Value) -> &'static str {
    let compute = |holder: &Value, field: &str| -> BTreeMap<String, Quantity> {
        let mut amounts = amounts(holder.pointer(&format!("/resources/{field}")));
        amounts.retain(|resource, amount| {
            COMPUTE.contains(&resource.as_str()) && amount.is_positive()
        });
        amounts
    };
    let whole = pod
        .pointer("/spec")
        .filter(|spec| spec.get("resources").is_some())
        .cloned();
    let holders: Vec<Value> = match whole {
        Some(spec) => vec![spec],
        None => ["/spec/containers", "/spec/initContainers"]
            .iter()
            .filter_map(|list| pod.pointer(list).and_then(Value::as_array))
            .flatten()
            .cloned()
            .collect(),
    };
    let (mut requests, mut limits) = (BTreeMap::new(), BTreeMap::new());
    let mut guaranteed = true;
    for holder in &holders {
        let own = compute(holder, "limits");
        guaranteed &= COMPUTE.iter().all(|resource| own.contains_key(*resource));
        for (resource, amount) in compute(holder, "requests") {
            let sum = requests.entry(resource).or_insert(Quantity::ZERO);
            *sum = *sum + amount;
        }
        for (resource, amount) in own {
            let sum = limits.entry(resource).or_insert(Quantity::ZERO);
            *sum = *sum + amount;
        }
    }
    if requests.is_empty() && limits.is_empty() {
        "BestEffort"
    } else if guaranteed && requests == limits {
        "Guaranteed"
    } else {
        "Burstable"
    }
}
