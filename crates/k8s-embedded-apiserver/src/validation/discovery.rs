//! Validation: the group `discovery.k8s.io`.

use std::collections::BTreeSet;

use k8s_api_schema::FieldError;
use serde_json::Value;

use super::fields::{IMMUTABLE, address, endpoint_address, faults, list, maybe_one_of, some, text};
use super::names;

const TYPES: &[&str] = &["FQDN", "IPv4", "IPv6"];

/// An `EndpointSlice`; `old` is the one that it replaces.
pub(crate) fn endpoint_slice(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let (mut errors, mut late) = (Vec::new(), Vec::new());
    let kind = text(object, "addressType");
    let mut seen = BTreeSet::new();
    for (index, port) in list(object, "ports").iter().enumerate() {
        let path = format!("ports[{index}]");
        let name = text(port, "name");
        if !name.is_empty() {
            faults(
                &format!("{path}.name"),
                name,
                names::label_1123(name),
                &mut errors,
            );
        }
        if !seen.insert(name) {
            errors.push(FieldError::duplicate(format!("{path}.name"), name));
        }
        maybe_one_of(
            &format!("{path}.protocol"),
            port.get("protocol"),
            &["SCTP", "TCP", "UDP"],
            &mut errors,
        );
        if let Some(protocol) = some(port, "appProtocol").and_then(Value::as_str) {
            let wrong = names::label_key(protocol);
            faults(&format!("{path}.appProtocol"), protocol, wrong, &mut errors);
        }
    }
    if kind.is_empty() {
        errors.push(FieldError::required("addressType", ""));
    } else if !TYPES.contains(&kind) {
        late.push(FieldError::not_supported("addressType", kind, TYPES));
    }
    for (index, endpoint) in list(object, "endpoints").iter().enumerate() {
        let path = format!("endpoints[{index}]");
        let addresses = crate::metadata::texts(endpoint.get("addresses"));
        if addresses.is_empty() {
            late.push(FieldError::required(format!("{path}.addresses"), ""));
        }
        for (index, found) in addresses.iter().enumerate() {
            slice_address(&path, index, kind, found, &mut errors);
        }
        if let Some(node) = some(endpoint, "nodeName").and_then(Value::as_str) {
            let wrong = names::subdomain(node, "characters");
            faults(&format!("{path}.nodeName"), node, wrong, &mut errors);
        }
        if let Some(host) = some(endpoint, "hostname").and_then(Value::as_str) {
            faults(
                &format!("{path}.hostname"),
                host,
                names::label_1123(host),
                &mut errors,
            );
        }
        zones(&path, endpoint, &mut errors);
    }
    errors.extend(late);
    if let Some(old) = old
        && old.get("addressType") != object.get("addressType")
    {
        errors.push(FieldError::invalid("addressType", Value::Null, IMMUTABLE));
    }
    errors
}

fn zones(path: &str, endpoint: &Value, errors: &mut Vec<FieldError>) {
    let zones = endpoint
        .pointer("/hints/forZones")
        .and_then(Value::as_array);
    let zones: Vec<_> = zones
        .into_iter()
        .flatten()
        .map(|zone| text(zone, "name"))
        .collect();
    for (index, zone) in zones.iter().enumerate() {
        let path = format!("{path}.hints.forZones[{index}].name");
        if zones[..index].contains(zone) {
            errors.push(FieldError::duplicate(path.as_str(), *zone));
        }
        faults(&path, zone, names::label_value(zone), errors);
    }
}

fn slice_address(path: &str, index: usize, kind: &str, found: &str, errors: &mut Vec<FieldError>) {
    let one = format!("{path}.addresses[{index}]");
    if matches!(kind, "IPv4" | "IPv6") && address(found).is_none() {
        let why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        errors.push(FieldError::invalid(one, found, why));
        return;
    }
    let fault = match (kind, address(found)) {
        ("IPv4", Some(ip)) if ip.is_ipv4() => None,
        ("IPv6", Some(ip)) if ip.is_ipv6() => None,
        ("IPv4", _) => Some("must be an IPv4 address"),
        ("IPv6", _) => Some("must be an IPv6 address"),
        ("FQDN", _) => {
            let wrong = names::subdomain(found, "characters");
            faults(&one, found, wrong, errors);
            return;
        }
        _ => return,
    };
    if let Some(fault) = fault {
        errors.push(FieldError::invalid(
            format!("{path}.addresses"),
            found,
            fault,
        ));
    }
    if address(found).is_some() {
        endpoint_address(&one, found, errors);
    }
}

/// The warnings about an `EndpointSlice`.
pub(crate) fn warnings(object: &Value, _: Option<&Value>) -> Vec<String> {
    match text(object, "addressType") {
        "FQDN" => vec!["spec.addressType: FQDN endpoints are deprecated".into()],
        _ => Vec::new(),
    }
}
