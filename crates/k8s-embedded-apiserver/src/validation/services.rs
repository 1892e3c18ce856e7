//! Validation: Services.

use std::collections::BTreeSet;

use k8s_api_schema::FieldError;
use serde_json::{Value, json};

use super::fields::{
    address, address_warnings, endpoint_address, faults, legacy_address, legacy_range, list, map,
    maybe_one_of, number, one_of, port, port_number, range_warnings, some, text,
};
use super::{metadata, names};
use crate::defaults::services::needs_health_check;

const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];
const TYPES: &[&str] = &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const TOPOLOGY: &str = "service.kubernetes.io/topology-mode";
/// Longest time that a client stays with a pod, in seconds.
const MAX_AFFINITY: i64 = 86_400;

fn is_headless(spec: &Value) -> bool {
    text(spec, "clusterIP") == "None"
}

fn texts(spec: &Value, key: &str) -> Vec<String> {
    let list = crate::metadata::texts(spec.get(key));
    list.into_iter().map(Into::into).collect()
}

/// A Service; `old` is the one that it replaces.
pub(crate) fn service(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let empty = json!({});
    let spec = object.get("spec").unwrap_or(&empty);
    let mut errors = Vec::new();
    if let Some(old) = old.and_then(|old| old.get("spec")) {
        kept_addresses(spec, old, &mut errors);
        kept_families(spec, old, &mut errors);
        kept_class(spec, old, &mut errors);
        let (before, after) = (map(Some(old)), map(Some(spec)));
        if needs_health_check(&before)
            && needs_health_check(&after)
            && number(old, "healthCheckNodePort") != number(spec, "healthCheckNodePort")
        {
            errors.push(FieldError::forbidden(
                "spec.healthCheckNodePort",
                "field is immutable",
            ));
        }
    }
    annotations(object, &mut errors);
    kind_of(spec, &mut errors);
    let mut seen = BTreeSet::new();
    let ports = list(spec, "ports");
    for (index, port) in ports.iter().enumerate() {
        let path = format!("spec.ports[{index}]");
        service_port(&path, port, ports.len() > 1, &mut seen, &mut errors);
    }
    metadata::labels("spec.selector", spec.get("selector"), &mut errors);
    affinity(spec, &mut errors);
    errors.extend(cluster_ips(&map(Some(spec))));
    external_addresses(spec, old, &mut errors);
    one_of("spec.type", text(spec, "type"), TYPES, &mut errors);
    node_ports(spec, &mut errors);
    source_ranges(object, spec, &mut errors);
    balancer(spec, &mut errors);
    traffic(spec, &mut errors);
    if object.pointer("/status/loadBalancer/ingress").is_some() {
        balancer_status(object, &mut errors);
    }
    errors
}

fn annotations(object: &Value, errors: &mut Vec<FieldError>) {
    let value = |key: &str| {
        object
            .get("metadata")
            .and_then(|metadata| metadata.get("annotations"))
            .and_then(|all| all.get(key))
            .and_then(Value::as_str)
    };
    if let (Some(mode), Some(hints)) = (value(TOPOLOGY), value(HINTS))
        && mode != hints
    {
        errors.push(FieldError::invalid(
            format!("metadata.annotations[{TOPOLOGY}]"),
            mode,
            format!("must match annotations[{HINTS}] when both are specified"),
        ));
    }
}

fn kind_of(spec: &Value, errors: &mut Vec<FieldError>) {
    let kind = text(spec, "type");
    if list(spec, "ports").is_empty() && !is_headless(spec) && kind != "ExternalName" {
        errors.push(FieldError::required("spec.ports", ""));
    }
    match kind {
        "LoadBalancer" | "NodePort" if is_headless(spec) => errors.push(FieldError::invalid(
            "spec.clusterIPs[0]",
            "None",
            format!("may not be set to 'None' for {kind} services"),
        )),
        "ExternalName" => {
            for key in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                let set = match spec.get(key) {
                    Some(Value::Array(list)) => !list.is_empty(),
                    Some(value) => !value.is_null(),
                    None => false,
                };
                if set {
                    errors.push(FieldError::forbidden(
                        format!("spec.{key}"),
                        "may not be set for ExternalName services",
                    ));
                }
            }
            let name = text(spec, "externalName");
            let name = name.strip_suffix('.').unwrap_or(name);
            if name.is_empty() {
                errors.push(FieldError::required("spec.externalName", ""));
            } else {
                let wrong = names::subdomain(name, "characters");
                faults("spec.externalName", name, wrong, errors);
            }
        }
        _ => {}
    }
}

fn service_port<'a>(
    path: &str,
    found: &'a Value,
    named: bool,
    seen: &mut BTreeSet<&'a str>,
    errors: &mut Vec<FieldError>,
) {
    let name = text(found, "name");
    let field = format!("{path}.name");
    if !name.is_empty() {
        faults(&field, name, names::label_1123(name), errors);
        if !seen.insert(name) {
            errors.push(FieldError::duplicate(field, name));
        }
    } else if named {
        errors.push(FieldError::required(field, ""));
    }
    port_number(&format!("{path}.port"), number(found, "port"), errors);
    let protocol = text(found, "protocol");
    one_of(&format!("{path}.protocol"), protocol, PROTOCOLS, errors);
    port(
        &format!("{path}.targetPort"),
        found.get("targetPort"),
        errors,
    );
    if let Some(protocol) = some(found, "appProtocol").and_then(Value::as_str) {
        let wrong = names::label_key(protocol);
        faults(&format!("{path}.appProtocol"), protocol, wrong, errors);
    }
}

fn affinity(spec: &Value, errors: &mut Vec<FieldError>) {
    let affinity = text(spec, "sessionAffinity");
    one_of(
        "spec.sessionAffinity",
        affinity,
        &["ClientIP", "None"],
        errors,
    );
    if affinity != "ClientIP" {
        return;
    }
    let seconds = spec.pointer("/sessionAffinityConfig/clientIP/timeoutSeconds");
    let seconds = seconds.and_then(Value::as_i64).unwrap_or(0);
    if seconds <= 0 || seconds > MAX_AFFINITY {
        errors.push(FieldError::invalid(
            "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
            seconds,
            format!("must be greater than 0 and less than {MAX_AFFINITY}"),
        ));
    }
}

/// The addresses, families and their policy, which must go together.
pub(crate) fn cluster_ips(spec: &serde_json::Map<String, Value>) -> Vec<FieldError> {
    let spec = &Value::Object(spec.clone());
    let mut errors = Vec::new();
    if text(spec, "type") == "ExternalName" {
        return errors;
    }
    let all = texts(spec, "clusterIPs");
    let families = texts(spec, "ipFamilies");
    let invalid = |detail: &str| FieldError::invalid("spec.clusterIPs", all.clone(), detail);
    let single = text(spec, "clusterIP");
    if single.is_empty() {
        if !all.is_empty() {
            errors.push(invalid("must be empty when `clusterIP` is not specified"));
        }
    } else if all.is_empty() {
        errors.push(FieldError::required("spec.clusterIPs", ""));
    } else if all[0] != single {
        errors.push(invalid("first value must match `clusterIP`"));
    }
    for (index, family) in families.iter().enumerate() {
        let path = format!("spec.ipFamilies[{index}]");
        maybe_one_of(
            &path,
            Some(&family.as_str().into()),
            &["IPv4", "IPv6"],
            &mut errors,
        );
        if families[..index].contains(family) {
            errors.push(FieldError::duplicate(path, family.as_str()));
        }
    }
    maybe_one_of(
        "spec.ipFamilyPolicy",
        spec.get("ipFamilyPolicy"),
        &["PreferDualStack", "RequireDualStack", "SingleStack"],
        &mut errors,
    );
    let before = errors.len();
    for (index, ip) in all.iter().enumerate() {
        if index == 0 && ip == "None" {
            if all.len() > 1 {
                errors.push(invalid("'None' must be the first and only value"));
            }
            continue;
        }
        legacy_address(&format!("spec.clusterIPs[{index}]"), ip, &mut errors);
    }
    let has_invalid = errors.len() > before;
    if all.len() > 2 {
        errors.push(invalid("may only hold up to 2 values"));
    }
    if has_invalid {
        return errors;
    }
    let is_v6 = |ip: &String| address(ip).is_some_and(|ip| ip.is_ipv6());
    let is_mixed = all.iter().any(is_v6) && all.iter().any(|ip| !is_v6(ip));
    if all.len() > 1 && !is_mixed {
        errors.push(invalid(
            "may specify no more than one IP for each IP family",
        ));
    }
    if !is_headless(spec) {
        for (index, (ip, family)) in all.iter().zip(&families).enumerate() {
            if matches!(family.as_str(), "IPv4" | "IPv6") && is_v6(ip) != (family == "IPv6") {
                errors.push(FieldError::invalid(
                    format!("spec.clusterIPs[{index}]"),
                    ip.as_str(),
                    format!("expected an {family} value as indicated by `ipFamilies[{index}]`"),
                ));
            }
        }
    }
    errors
}

fn external_addresses(spec: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    let known = old
        .and_then(|old| old.get("spec"))
        .map(|spec| texts(spec, "externalIPs"))
        .unwrap_or_default();
    for (index, ip) in texts(spec, "externalIPs").iter().enumerate() {
        let path = format!("spec.externalIPs[{index}]");
        let before = errors.len();
        if !known.contains(ip) {
            legacy_address(&path, ip, errors);
        }
        if errors.len() == before {
            endpoint_address(&path, ip, errors);
        }
    }
}

fn node_ports(spec: &Value, errors: &mut Vec<FieldError>) {
    let ports = list(spec, "ports");
    let cluster = text(spec, "type") == "ClusterIP";
    for (index, port) in ports.iter().enumerate() {
        if cluster && number(port, "nodePort") != 0 {
            errors.push(FieldError::forbidden(
                format!("spec.ports[{index}].nodePort"),
                "may not be used when `type` is 'ClusterIP'",
            ));
        }
    }
    let key = |port: &Value, field: &str| (text(port, "protocol").to_owned(), number(port, field));
    for (index, port) in ports.iter().enumerate() {
        let node = key(port, "nodePort");
        if node.1 != 0
            && ports[..index]
                .iter()
                .any(|other| key(other, "nodePort") == node)
        {
            errors.push(FieldError::duplicate(
                format!("spec.ports[{index}].nodePort"),
                node.1,
            ));
        }
    }
    for (index, port) in ports.iter().enumerate() {
        let own = key(port, "port");
        if ports[..index].iter().any(|other| key(other, "port") == own) {
            // The real server prints the key that it compares by, in its internal form.
            let value = format!(
                "{{\"Name\":\"\",\"Protocol\":\"{}\",\"AppProtocol\":null,\"Port\":{},\"TargetPort\":0,\"NodePort\":0}}",
                own.0, own.1
            );
            let shown: Value = serde_json::from_str(&value).unwrap_or_default();
            errors
                .push(FieldError::duplicate(format!("spec.ports[{index}]"), shown).printed(value));
        }
    }
}

fn source_ranges(object: &Value, spec: &Value, errors: &mut Vec<FieldError>) {
    const ONLY: &str = "may only be used when `type` is 'LoadBalancer'";
    let balanced = text(spec, "type") == "LoadBalancer";
    let ranges = texts(spec, "loadBalancerSourceRanges");
    if !ranges.is_empty() {
        // The real server writes this field with a capital letter.
        let path = "spec.LoadBalancerSourceRanges";
        if !balanced {
            errors.push(FieldError::forbidden(path, ONLY));
        }
        for (index, range) in ranges.iter().enumerate() {
            legacy_range(&format!("{path}[{index}]"), range.trim(), errors);
        }
        return;
    }
    let annotation = object
        .get("metadata")
        .and_then(|metadata| metadata.get("annotations"))
        .and_then(|annotations| annotations.get(SOURCE_RANGES))
        .and_then(Value::as_str);
    if let Some(value) = annotation {
        let path = format!("metadata.annotations[{SOURCE_RANGES}]");
        if !balanced {
            errors.push(FieldError::forbidden(path.as_str(), ONLY));
        }
        if !value.trim().is_empty() {
            for range in value.trim().split(',') {
                legacy_range(&path, range.trim(), errors);
            }
        }
    }
}

fn balancer(spec: &Value, errors: &mut Vec<FieldError>) {
    const ONLY: &str = "may only be used when `type` is 'LoadBalancer'";
    let balanced = text(spec, "type") == "LoadBalancer";
    if some(spec, "allocateLoadBalancerNodePorts").is_some() && !balanced {
        errors.push(FieldError::forbidden(
            "spec.allocateLoadBalancerNodePorts",
            ONLY,
        ));
    }
    if let Some(class) = some(spec, "loadBalancerClass").and_then(Value::as_str) {
        if balanced {
            let wrong = names::label_key(class);
            faults("spec.loadBalancerClass", class, wrong, errors);
        } else {
            errors.push(FieldError::forbidden("spec.loadBalancerClass", ONLY));
        }
    }
}

fn traffic(spec: &Value, errors: &mut Vec<FieldError>) {
    let external = match text(spec, "type") {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => !list(spec, "externalIPs").is_empty(),
        _ => false,
    };
    let policy = text(spec, "externalTrafficPolicy");
    if external {
        one_of(
            "spec.externalTrafficPolicy",
            policy,
            &["Cluster", "Local"],
            errors,
        );
    } else if !policy.is_empty() {
        errors.push(FieldError::invalid(
            "spec.externalTrafficPolicy",
            policy,
            "may only be set for externally-accessible services",
        ));
    }
    let check = number(spec, "healthCheckNodePort");
    if !needs_health_check(&map(Some(spec))) && check != 0 {
        errors.push(FieldError::invalid(
            "spec.healthCheckNodePort",
            check,
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
        ));
    } else if check != 0 {
        port_number("spec.healthCheckNodePort", check, errors);
    }
    maybe_one_of(
        "spec.internalTrafficPolicy",
        spec.get("internalTrafficPolicy"),
        &["Cluster", "Local"],
        errors,
    );
    maybe_one_of(
        "spec.trafficDistribution",
        spec.get("trafficDistribution"),
        &["PreferClose", "PreferSameZone", "PreferSameNode"],
        errors,
    );
}

fn balancer_status(object: &Value, errors: &mut Vec<FieldError>) {
    let ingresses = object
        .pointer("/status/loadBalancer/ingress")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let kind = crate::metadata::text(object, "/spec/type");
    if kind != "LoadBalancer" && !ingresses.is_empty() {
        errors.push(FieldError::forbidden(
            "status.loadBalancer.ingress",
            "may only be used when `spec.type` is 'LoadBalancer'",
        ));
        return;
    }
    for (index, ingress) in ingresses.iter().enumerate() {
        let path = format!("status.loadBalancer.ingress[{index}]");
        let ip = text(ingress, "ip");
        if !ip.is_empty() {
            legacy_address(&format!("{path}.ip"), ip, errors);
        }
        let mode = some(ingress, "ipMode");
        if mode.is_some() && ip.is_empty() {
            errors.push(FieldError::forbidden(
                format!("{path}.ipMode"),
                "may not be specified when `ip` is not set",
            ));
        } else {
            maybe_one_of(&format!("{path}.ipMode"), mode, &["Proxy", "VIP"], errors);
        }
        balancer_host(&path, text(ingress, "hostname"), errors);
    }
}

/// The host name of a load balancer.
pub(super) fn balancer_host(path: &str, host: &str, errors: &mut Vec<FieldError>) {
    if host.is_empty() {
        return;
    }
    let path = format!("{path}.hostname");
    let wrong = names::subdomain(host, "characters");
    faults(&path, host, wrong, errors);
    if address(host).is_some() {
        errors.push(FieldError::invalid(
            path,
            host,
            "must be a DNS name, not an IP address",
        ));
    }
}

fn kept_addresses(new: &Value, old: &Value, errors: &mut Vec<FieldError>) {
    const FIRST: &str = "spec.clusterIPs[0]";
    const CHANGED: &str = "may not change once set";
    let named = |spec: &Value| text(spec, "type") == "ExternalName";
    if named(new) || named(old) || (is_headless(new) && is_headless(old)) {
        return;
    }
    let (before, after) = (texts(old, "clusterIPs"), texts(new, "clusterIPs"));
    if before.len() == after.len() {
        for (index, (old, new)) in before.iter().zip(&after).enumerate() {
            if old != new {
                errors.push(FieldError::invalid(
                    format!("spec.clusterIPs[{index}]"),
                    after.clone(),
                    CHANGED,
                ));
            }
        }
        return;
    }
    if after.is_empty() {
        errors.push(FieldError::invalid(
            FIRST,
            Value::Null,
            "primary clusterIP can not be unset",
        ));
    }
    if let (Some(old), Some(new)) = (before.first(), after.first())
        && old != new
    {
        errors.push(FieldError::invalid(FIRST, after.clone(), CHANGED));
    }
    if before.len() > after.len() && after.len() == 1 {
        let policy = new.get("ipFamilyPolicy").cloned().unwrap_or_default();
        if policy != "SingleStack" {
            errors.push(FieldError::invalid(
                "spec.ipFamilyPolicy",
                policy,
                "must be set to 'SingleStack' when releasing the secondary clusterIP",
            ));
        }
    }
}

fn kept_families(new: &Value, old: &Value, errors: &mut Vec<FieldError>) {
    let named = |spec: &Value| text(spec, "type") == "ExternalName";
    if named(new) || named(old) || is_headless(new) || is_headless(old) {
        return;
    }
    let (before, after) = (texts(old, "ipFamilies"), texts(new, "ipFamilies"));
    let changed = if before.len() == after.len() {
        before
            .iter()
            .zip(&after)
            .filter(|(old, new)| old != new)
            .count()
    } else {
        usize::from(!before.is_empty() && !after.is_empty() && before.first() != after.first())
    };
    for _ in 0..changed {
        errors.push(FieldError::invalid(
            "spec.ipFamilies[0]",
            after.clone(),
            "may not change once set",
        ));
    }
}

fn kept_class(new: &Value, old: &Value, errors: &mut Vec<FieldError>) {
    let balanced = |spec: &Value| text(spec, "type") == "LoadBalancer";
    let (before, after) = (
        some(old, "loadBalancerClass"),
        some(new, "loadBalancerClass"),
    );
    if balanced(old) && balanced(new) && before != after {
        errors.push(FieldError::invalid(
            "spec.loadBalancerClass",
            after.cloned().unwrap_or_default(),
            "may not change once set",
        ));
    }
}

/// What is allowed but does not do what one may think.
pub(crate) fn warnings(object: &Value, _: Option<&Value>) -> Vec<String> {
    let empty = json!({});
    let spec = object.get("spec").unwrap_or(&empty);
    let mut all = Vec::new();
    let annotations = object.pointer("/metadata/annotations");
    if annotations.is_some_and(|annotations| annotations.get(HINTS).is_some()) {
        all.push(format!(
            "annotation {HINTS} is deprecated, please use {TOPOLOGY} instead"
        ));
    }
    let named = text(spec, "type") == "ExternalName";
    let external = texts(spec, "externalIPs");
    let balancer = text(spec, "loadBalancerIP");
    for (index, ip) in texts(spec, "clusterIPs").iter().enumerate() {
        if ip != "None" {
            all.extend(address_warnings(&format!("spec.clusterIPs[{index}]"), ip));
        }
    }
    if is_headless(spec) {
        if !balancer.is_empty() {
            all.push("spec.loadBalancerIP is ignored for headless services".into());
        }
        if !external.is_empty() {
            all.push("spec.externalIPs is ignored for headless services".into());
        }
        if text(spec, "sessionAffinity") != "None" {
            all.push("spec.SessionAffinity is ignored for headless services".into());
        }
    }
    for (index, ip) in external.iter().enumerate() {
        all.extend(address_warnings(&format!("spec.externalIPs[{index}]"), ip));
    }
    if !external.is_empty() && !is_headless(spec) && !named {
        all.push(
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
                .into(),
        );
    }
    if !balancer.is_empty() {
        all.extend(address_warnings("spec.loadBalancerIP", balancer));
    }
    for (index, range) in texts(spec, "loadBalancerSourceRanges").iter().enumerate() {
        let path = format!("spec.loadBalancerSourceRanges[{index}]");
        all.extend(range_warnings(&path, range));
    }
    if named && !external.is_empty() {
        all.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".into());
    }
    if !named && !text(spec, "externalName").is_empty() {
        all.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".into());
    }
    if text(spec, "trafficDistribution") == "PreferClose" {
        all.push(
            "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\""
                .into(),
        );
    }
    all
}
