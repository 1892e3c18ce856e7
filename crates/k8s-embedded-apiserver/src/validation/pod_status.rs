//! The status of workloads: counts, and what a Pod may not turn to.

use serde_json::Value;

use super::fields;
use super::names;
use super::path::{Errors, Path, has, int, list, text};

/// Which counts of a status may not exceed which other, and what is said then.
type Limits = &'static [(&'static str, &'static str, &'static str)];

const OF_REPLICAS: &str = "cannot be greater than status.replicas";

/// Counts of a ReplicationController, and of a ReplicaSet.
pub(super) const REPLICATION_CONTROLLER: Limits = &[
    ("fullyLabeledReplicas", "replicas", OF_REPLICAS),
    ("readyReplicas", "replicas", OF_REPLICAS),
    ("availableReplicas", "replicas", OF_REPLICAS),
    (
        "availableReplicas",
        "readyReplicas",
        "cannot be greater than readyReplicas",
    ),
];
pub(super) const DEPLOYMENT: Limits = &[
    ("updatedReplicas", "replicas", OF_REPLICAS),
    ("readyReplicas", "replicas", OF_REPLICAS),
    ("availableReplicas", "replicas", OF_REPLICAS),
    (
        "availableReplicas",
        "readyReplicas",
        "cannot be greater than readyReplicas",
    ),
];
pub(super) const STATEFUL_SET: Limits = &[
    ("readyReplicas", "replicas", OF_REPLICAS),
    ("currentReplicas", "replicas", OF_REPLICAS),
    ("updatedReplicas", "replicas", OF_REPLICAS),
    ("availableReplicas", "replicas", OF_REPLICAS),
    (
        "availableReplicas",
        "readyReplicas",
        "cannot be greater than status.readyReplicas",
    ),
];

/// Counts in the order in which they are checked.
const COUNTS: &[&str] = &[
    "replicas",
    "updatedReplicas",
    "fullyLabeledReplicas",
    "readyReplicas",
    "currentReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "observedGeneration",
    "terminatingReplicas",
    "collisionCount",
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "disruptionsAllowed",
    "currentHealthy",
    "desiredHealthy",
    "expectedPods",
    "desiredReplicas",
];

/// No count is negative, and none is more than what it is part of.
pub(super) fn replicas(status: &Value, limits: Limits, errors: &mut Errors) {
    let path = Path::new("status");
    for count in COUNTS {
        errors.not_negative(path.child(count), int(status, count));
    }
    for (part, whole, why) in limits {
        let count = |field: &str| int(status, field).unwrap_or(0);
        if count(part) > count(whole) {
            errors.invalid(path.child(part), count(part), *why);
        }
    }
}

/// The count of collisions only goes up.
pub(super) fn collisions(status: &Value, old: &Value, errors: &mut Errors) {
    let field = "collisionCount";
    let (new, old) = (int(status, field), int(old, field));
    if let Some(before) = old
        && new.unwrap_or(0) < before
    {
        let path = Path::new("status");
        errors.invalid(path.child(field), new.unwrap_or(0), "cannot be decremented");
    }
}

/// A write of the status of a Pod.
pub(super) fn pod(object: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::new("status");
    let (status, before) = (&object["status"], &old["status"]);
    let conditions = path.child("conditions");
    for (index, condition) in list(status, "conditions").iter().enumerate() {
        let path = conditions.index(index);
        let kind = text(condition, "type");
        if int(condition, "observedGeneration").is_some_and(|generation| generation < 0) {
            errors.invalid(
                path.child("observedGeneration"),
                condition["observedGeneration"].clone(),
                "must be a non-negative integer",
            );
        }
        if !matches!(kind, "PodScheduled" | "Ready" | "Initialized") {
            errors.faults(path.child("Type"), kind, names::label_key(kind));
        }
    }
    nominated(path.child("nominatedNodeName"), object, old, errors);
    if let Some(generation) = int(status, "observedGeneration").filter(|generation| *generation < 0)
    {
        errors.invalid(
            path.child("observedGeneration"),
            generation,
            "must be a non-negative integer",
        );
    }
    if text(status, "qosClass") != text(before, "qosClass") {
        let class = text(status, "qosClass");
        errors.invalid(path.child("qosClass"), class, "field is immutable");
    }
    let policy = text(&old["spec"], "restartPolicy");
    if policy != "Always" {
        states(path, status, before, policy, errors);
    }
    for (one, many) in [("podIP", "podIPs"), ("hostIP", "hostIPs")] {
        addresses(path.child(many), (one, many), status, before, errors);
    }
}

/// Addresses are valid unless they were there before, at most one of each family, and the first one is the one that
/// stands alone.
fn addresses(
    path: Path<'_>,
    (one, many): (&str, &str),
    status: &Value,
    old: &Value,
    errors: &mut Errors,
) {
    let of = |status: &Value| -> Vec<String> {
        let items = list(status, many).iter();
        items.map(|item| text(item, "ip").to_owned()).collect()
    };
    let (new, old) = (of(status), of(old));
    let Some(first) = new.first() else {
        return;
    };
    let alone = text(status, one);
    if many == "hostIPs" && alone != first {
        let why = format!("must be equal to `{one}`");
        errors.invalid(path.index(0).child("ip"), first.as_str(), why);
    }
    for (index, address) in new.iter().enumerate() {
        if !old.contains(address) {
            fields::legacy_address(&path.index(index).to_string(), address, &mut errors.0);
        }
    }
    if new.len() < 2 {
        return;
    }
    let families: Vec<_> = new
        .iter()
        .filter_map(|text| fields::address(text))
        .collect();
    let dual = families.iter().any(std::net::IpAddr::is_ipv4)
        && families.iter().any(std::net::IpAddr::is_ipv6);
    if !dual || new.len() > 2 {
        errors.invalid(
            path,
            status[many].clone(),
            "may specify no more than one IP for each IP family",
        );
    }
}

fn nominated(path: Path<'_>, object: &Value, old: &Value, errors: &mut Errors) {
    let name = text(&object["status"], "nominatedNodeName");
    if name.is_empty() || name == text(&old["status"], "nominatedNodeName") {
        return;
    }
    errors.faults(path, name, names::subdomain(name, "characters"));
    if !text(&old["spec"], "nodeName").is_empty() {
        errors.forbidden(
            path,
            "may not be set on pods that are already bound to a node",
        );
    }
}

/// A container that ended for good does not run again.
fn states(path: Path<'_>, status: &Value, old: &Value, policy: &str, errors: &mut Errors) {
    let path = path.child("containerStatuses");
    let ended = |status: &&Value| {
        let code = status.pointer("/state/terminated/exitCode");
        has(&status["state"], "terminated")
            && (policy == "Never" || code.and_then(Value::as_i64) == Some(0))
    };
    for (index, old) in list(old, "containerStatuses").iter().enumerate() {
        if !ended(&old) {
            continue;
        }
        for new in list(status, "containerStatuses") {
            if text(new, "name") == text(old, "name") && !has(&new["state"], "terminated") {
                errors.forbidden(
                    path.index(index).child("state"),
                    "may not be transitioned to non-terminated state",
                );
            }
        }
    }
}
