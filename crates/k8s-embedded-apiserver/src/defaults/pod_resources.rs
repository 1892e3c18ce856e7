//! Defaults: what containers and Pods ask for.

use std::collections::BTreeMap;

use k8s_api_schema::Quantity;
use serde_json::{Map, Value};

use crate::metadata::entry_mut;

/// Amounts by resource.
type Amounts = BTreeMap<String, Quantity>;

/// A container that limits a resource asks for as much.
pub(super) fn limits_are_requests(container: &mut Map<String, Value>) {
    let resources = entry_mut(container, "resources");
    let Some(Value::Object(limits)) = resources.get("limits").cloned() else {
        return;
    };
    if limits.is_empty() {
        return;
    }
    let requests = entry_mut(resources, "requests");
    for (resource, limit) in limits {
        requests.entry(resource).or_insert(limit);
    }
}

/// A Pod that limits resources as a whole asks for what its containers ask for, else for what it limits.
pub(super) fn pod_level(spec: &mut Map<String, Value>) {
    let Some(own) = spec.get("resources") else {
        return;
    };
    let mut limits = amounts(own.get("limits"));
    let mut requests = amounts(own.get("requests"));
    if limits.is_empty() && requests.is_empty() {
        return;
    }
    for (resource, limit) in aggregate(spec, "limits") {
        if is_huge_pages(&resource) && !requests.contains_key(&resource) {
            limits.entry(resource).or_insert(limit);
        }
    }
    if !limits.is_empty() {
        for (resource, request) in aggregate(spec, "requests") {
            if matches!(resource.as_str(), "cpu" | "memory") {
                requests.entry(resource).or_insert(request);
            }
        }
        for (resource, limit) in &limits {
            if matches!(resource.as_str(), "cpu" | "memory") || is_huge_pages(resource) {
                requests.entry(resource.clone()).or_insert(*limit);
            }
        }
    }
    let resources = entry_mut(spec, "resources");
    for (field, amounts) in [("limits", limits), ("requests", requests)] {
        if !amounts.is_empty() {
            let map: Map<String, Value> = amounts
                .into_iter()
                .map(|(resource, amount)| (resource, amount.to_string().into()))
                .collect();
            resources.insert(field.into(), map.into());
        }
    }
}

fn is_huge_pages(resource: &str) -> bool {
    resource.starts_with("hugepages-")
}

/// A list of resources; what is no amount is left out.
pub(super) fn amounts(list: Option<&Value>) -> Amounts {
    list.and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter_map(|(resource, amount)| {
            let amount = amount.as_str()?.parse().ok()?;
            Some((resource.clone(), amount))
        })
        .collect()
}

/// What the containers need at once: the sum of those that run side by side, or the most that one before them needs.
fn aggregate(spec: &Map<String, Value>, field: &str) -> Amounts {
    let containers = |list: &str| {
        spec.get(list)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    let of = |container: &Value| {
        let resources = container.get("resources");
        amounts(resources.and_then(|resources| resources.get(field)))
    };
    let mut sum = Amounts::new();
    for container in containers("containers") {
        add(&mut sum, of(&container));
    }
    let (mut beside, mut most) = (Amounts::new(), Amounts::new());
    for container in containers("initContainers") {
        let mut needs = of(&container);
        if container.get("restartPolicy").and_then(Value::as_str) == Some("Always") {
            add(&mut sum, needs.clone());
            add(&mut beside, needs);
            needs = beside.clone();
        } else {
            add(&mut needs, beside.clone());
        }
        for (resource, amount) in needs {
            let entry = most.entry(resource).or_insert(amount);
            *entry = (*entry).max(amount);
        }
    }
    for (resource, amount) in most {
        let entry = sum.entry(resource).or_insert(amount);
        *entry = (*entry).max(amount);
    }
    sum
}

fn add(sum: &mut Amounts, more: Amounts) {
    for (resource, amount) in more {
        let entry = sum.entry(resource).or_insert(Quantity::ZERO);
        *entry = *entry + amount;
    }
}
