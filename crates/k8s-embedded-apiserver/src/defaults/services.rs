//! Defaults: Services. What is allocated comes from [`crate::services`].

use serde_json::{Map, Value, json};

use super::{each_in, fill, fill_text, text};
use crate::metadata::{entry_mut, object_mut};

/// How long a client stays with a pod, in seconds.
const AFFINITY_TIMEOUT: u32 = 10_800;

pub(crate) fn service(object: &mut Value) {
    let map = object_mut(object);
    let spec = entry_mut(map, "spec");
    fill_text(spec, "type", "ClusterIP");
    affinity(spec);
    for port in each_in(spec, "ports") {
        fill_text(port, "protocol", "TCP");
        let number = port.get("port").cloned().unwrap_or_default();
        let target = port.get("targetPort");
        if target.is_none_or(|target| *target == json!(0) || *target == json!("")) {
            port.insert("targetPort".into(), number);
        }
        if port.get("nodePort") == Some(&json!(0)) {
            port.remove("nodePort");
        }
    }
    if is_external(spec) {
        fill_text(spec, "externalTrafficPolicy", "Cluster");
    }
    let is_balanced = text(spec, "type") == "LoadBalancer";
    if matches!(
        text(spec, "type"),
        "ClusterIP" | "NodePort" | "LoadBalancer"
    ) {
        fill(spec, "internalTrafficPolicy", json!("Cluster"));
    }
    if is_balanced {
        fill(spec, "allocateLoadBalancerNodePorts", json!(true));
    }
    let balancer = entry_mut(entry_mut(map, "status"), "loadBalancer");
    if is_balanced {
        for ingress in each_in(balancer, "ingress") {
            if !text(ingress, "ip").is_empty() {
                fill(ingress, "ipMode", json!("VIP"));
            }
        }
    }
}

fn affinity(spec: &mut Map<String, Value>) {
    fill_text(spec, "sessionAffinity", "None");
    match text(spec, "sessionAffinity") {
        "None" => {
            spec.remove("sessionAffinityConfig");
        }
        "ClientIP" => {
            let set = spec
                .get("sessionAffinityConfig")
                .and_then(|config| config.pointer("/clientIP/timeoutSeconds"));
            if set.is_none_or(Value::is_null) {
                let config = json!({"clientIP": {"timeoutSeconds": AFFINITY_TIMEOUT}});
                spec.insert("sessionAffinityConfig".into(), config);
            }
        }
        _ => {}
    }
}

/// Whether traffic comes from outside the cluster.
fn is_external(spec: &Map<String, Value>) -> bool {
    let addresses = spec.get("externalIPs").and_then(Value::as_array);
    match text(spec, "type") {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => addresses.is_some_and(|addresses| !addresses.is_empty()),
        _ => false,
    }
}

fn needs_node_ports(spec: &Map<String, Value>) -> bool {
    matches!(text(spec, "type"), "NodePort" | "LoadBalancer")
}

pub(crate) fn needs_health_check(spec: &Map<String, Value>) -> bool {
    text(spec, "type") == "LoadBalancer" && text(spec, "externalTrafficPolicy") == "Local"
}

/// A change of type drops what belongs to the old type and was not touched.
pub(crate) fn update(new: &mut Value, old: &Value) {
    let empty = Map::new();
    let old = old.get("spec").and_then(Value::as_object).unwrap_or(&empty);
    let map = object_mut(new);
    let spec = entry_mut(map, "spec");
    let named = |spec: &Map<String, Value>| text(spec, "type") == "ExternalName";
    if !named(old) && named(spec) {
        let same = |spec: &Map<String, Value>, key: &str| spec.get(key) == old.get(key);
        if same(spec, "clusterIP") && same(spec, "clusterIPs") {
            spec.remove("clusterIP");
            spec.remove("clusterIPs");
        }
        for key in ["ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"] {
            if same(spec, key) {
                spec.remove(key);
            }
        }
    }
    if needs_node_ports(old) && !needs_node_ports(spec) {
        let before = node_ports(old);
        if node_ports(spec).iter().all(|port| before.contains(port)) {
            for port in each_in(spec, "ports") {
                port.remove("nodePort");
            }
        }
    }
    let balanced = |spec: &Map<String, Value>| text(spec, "type") == "LoadBalancer";
    for (key, was, is) in [
        (
            "healthCheckNodePort",
            needs_health_check(old),
            needs_health_check(spec),
        ),
        (
            "allocateLoadBalancerNodePorts",
            balanced(old),
            balanced(spec),
        ),
        ("loadBalancerClass", balanced(old), balanced(spec)),
        ("externalTrafficPolicy", is_external(old), is_external(spec)),
    ] {
        if was && !is && spec.get(key) == old.get(key) {
            spec.remove(key);
        }
    }
    if balanced(old) && !balanced(spec) {
        let status = entry_mut(map, "status");
        status.insert("loadBalancer".into(), json!({}));
    }
}

fn node_ports(spec: &Map<String, Value>) -> Vec<i64> {
    let ports = spec.get("ports").and_then(Value::as_array);
    ports
        .into_iter()
        .flatten()
        .filter_map(|port| port.get("nodePort").and_then(Value::as_i64))
        .filter(|port| *port != 0)
        .collect()
}
