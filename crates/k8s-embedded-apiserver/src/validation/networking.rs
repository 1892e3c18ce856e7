//! Validation: the group `networking.k8s.io`.

use k8s_api_schema::FieldError;
use serde_json::{Value, json};

use super::fields::{
    address, faults, first_of, immutable, legacy_address, legacy_range, list, maybe_one_of, number,
    port, port_name, port_number, range, range_warnings, selector, some, text,
};
use super::names;
use super::services::balancer_host;

const CLASS: &str = "kubernetes.io/ingress.class";
/// What a path that is matched literally may not have inside and at its end.
const BAD_PARTS: &[&str] = &["//", "/./", "/../", "%2f", "%2F"];
const BAD_ENDS: &[&str] = &["/..", "/."];

fn class_annotation(object: &Value) -> Option<&str> {
    object
        .get("metadata")
        .and_then(|metadata| metadata.get("annotations"))
        .and_then(|annotations| annotations.get(CLASS))
        .and_then(Value::as_str)
}

/// An Ingress; `old` is the one that it replaces.
pub(crate) fn ingress(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let empty = json!({});
    let spec = object.get("spec").unwrap_or(&empty);
    let mut errors = Vec::new();
    let rules = list(spec, "rules");
    match some(spec, "defaultBackend") {
        Some(found) => backend("spec.defaultBackend", found, &mut errors),
        None if rules.is_empty() => errors.push(FieldError::invalid(
            "spec",
            Value::Null,
            "either `defaultBackend` or `rules` must be specified",
        )),
        None => {}
    }
    for (index, found) in rules.iter().enumerate() {
        rule(&format!("spec.rules[{index}]"), found, &mut errors);
    }
    for (index, tls) in list(spec, "tls").iter().enumerate() {
        let path = format!("spec.tls[{index}]");
        for (index, found) in crate::metadata::texts(tls.get("hosts")).iter().enumerate() {
            host(&format!("{path}.hosts[{index}]"), found, &mut errors);
        }
        let secret = text(tls, "secretName");
        if !secret.is_empty() {
            let wrong = names::subdomain(secret, "characters");
            faults(&format!("{path}.secretName"), secret, wrong, &mut errors);
        }
    }
    let class = some(spec, "ingressClassName").and_then(Value::as_str);
    if let Some(class) = class {
        let wrong = names::subdomain(class, "characters");
        faults("spec.ingressClassName", class, wrong, &mut errors);
    }
    if old.is_none()
        && let (Some(class), Some(annotation)) = (class, class_annotation(object))
        && class != annotation
    {
        errors.push(FieldError::invalid(
            format!("annotations.{CLASS}"),
            annotation,
            "must match `ingressClassName` when both are specified",
        ));
    }
    balancers(object, &mut errors);
    errors
}

fn balancers(object: &Value, errors: &mut Vec<FieldError>) {
    let ingresses = object
        .pointer("/status/loadBalancer/ingress")
        .and_then(Value::as_array);
    for (index, found) in ingresses.into_iter().flatten().enumerate() {
        let path = format!("status.loadBalancer.ingress[{index}]");
        let ip = text(found, "ip");
        if !ip.is_empty() {
            legacy_address(&format!("{path}.ip"), ip, errors);
        }
        balancer_host(&path, text(found, "hostname"), errors);
    }
}

fn host(path: &str, host: &str, errors: &mut Vec<FieldError>) {
    let wrong = if host.contains('*') {
        names::wildcard_subdomain(host)
    } else {
        names::subdomain(host, "characters")
    };
    faults(path, host, wrong, errors);
}

fn rule(path: &str, rule: &Value, errors: &mut Vec<FieldError>) {
    let name = text(rule, "host");
    if !name.is_empty() {
        let path = format!("{path}.host");
        if address(name).is_some() {
            errors.push(FieldError::invalid(
                path.as_str(),
                name,
                "must be a DNS name, not an IP address",
            ));
        }
        host(&path, name, errors);
    }
    let Some(http) = some(rule, "http") else {
        return;
    };
    let paths = list(http, "paths");
    if paths.is_empty() {
        errors.push(FieldError::required(format!("{path}.http.paths"), ""));
    }
    for (index, found) in paths.iter().enumerate() {
        http_path(&format!("{path}.http.paths[{index}]"), found, errors);
    }
}

fn http_path(path: &str, found: &Value, errors: &mut Vec<FieldError>) {
    let Some(kind) = some(found, "pathType").and_then(Value::as_str) else {
        errors.push(FieldError::required(
            format!("{path}.pathType"),
            "pathType must be specified",
        ));
        return;
    };
    let value = text(found, "path");
    let mut invalid = |detail: String| {
        errors.push(FieldError::invalid(format!("{path}.path"), value, detail));
    };
    match kind {
        "Exact" | "Prefix" => {
            if !value.starts_with('/') {
                invalid("must be an absolute path".into());
            }
            for part in BAD_PARTS.iter().filter(|part| value.contains(**part)) {
                invalid(format!("must not contain '{part}'"));
            }
            for end in BAD_ENDS.iter().filter(|end| value.ends_with(**end)) {
                invalid(format!("cannot end with '{end}'"));
            }
        }
        "ImplementationSpecific" => {
            if !value.is_empty() && !value.starts_with('/') {
                invalid("must be an absolute path".into());
            }
        }
        _ => errors.push(FieldError::not_supported(
            format!("{path}.pathType"),
            kind,
            &["Exact", "ImplementationSpecific", "Prefix"],
        )),
    }
    let empty = json!({});
    let found = found.get("backend").unwrap_or(&empty);
    backend(&format!("{path}.backend"), found, errors);
}

fn backend(path: &str, backend: &Value, errors: &mut Vec<FieldError>) {
    let invalid = |detail: &str| FieldError::invalid(path, "", detail);
    match (some(backend, "resource"), some(backend, "service")) {
        (Some(_), Some(_)) => {
            errors.push(invalid("cannot set both resource and service backends"));
        }
        (Some(resource), None) => reference(&format!("{path}.resource"), resource, errors),
        (None, None) => errors.push(invalid("resource or service backend is required")),
        (None, Some(service)) => {
            let name = text(service, "name");
            let field = format!("{path}.service.name");
            if name.is_empty() {
                errors.push(FieldError::required(field, ""));
            } else {
                faults(&field, name, names::label_1123(name), errors);
            }
            let empty = json!({});
            let port = service.get("port").unwrap_or(&empty);
            let (name, number) = (text(port, "name"), number(port, "number"));
            match (name.is_empty(), number) {
                (true, 0) => errors.push(FieldError::required(
                    path,
                    "port name or number is required",
                )),
                (true, number) => {
                    port_number(&format!("{path}.service.port.number"), number, errors);
                }
                (false, 0) => {
                    let field = format!("{path}.service.port.name");
                    faults(&field, name, port_name(name), errors);
                }
                (false, _) => errors.push(invalid("cannot set both port name & port number")),
            }
        }
    }
}

/// A reference to an object of whatever kind.
fn reference(path: &str, found: &Value, errors: &mut Vec<FieldError>) {
    if let Some(group) = some(found, "apiGroup").and_then(Value::as_str) {
        let wrong = names::subdomain(group, "characters");
        faults(&format!("{path}.apiGroup"), group, wrong, errors);
    }
    for key in ["kind", "name"] {
        let value = text(found, key);
        let field = format!("{path}.{key}");
        if value.is_empty() {
            errors.push(FieldError::required(field, ""));
        } else {
            faults(&field, value, names::path_segment(value, false), errors);
        }
    }
}

/// The warnings about an Ingress.
pub(crate) fn ingress_warnings(object: &Value, old: Option<&Value>) -> Vec<String> {
    let named = object
        .pointer("/spec/ingressClassName")
        .is_some_and(|class| !class.is_null());
    match class_annotation(object) {
        Some(_) if old.is_none() && !named => vec![format!(
            "annotation \"{CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"
        )],
        _ => Vec::new(),
    }
}

/// An `IngressClass`; `old` is the one that it replaces.
pub(crate) fn ingress_class(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let empty = json!({});
    let spec = object.get("spec").unwrap_or(&empty);
    let mut errors = Vec::new();
    if let Some(old) = old {
        immutable(
            "spec.controller",
            spec.get("controller"),
            old.pointer("/spec/controller"),
            &mut errors,
        );
    }
    let controller = text(spec, "controller");
    if controller.is_empty() {
        errors.push(FieldError::required("spec.controller", ""));
    } else if controller.len() > 250 {
        errors.push(FieldError::too_long("spec.controller", 250));
    } else {
        faults(
            "spec.controller",
            controller,
            names::domain_prefixed_path(controller),
            &mut errors,
        );
    }
    let Some(parameters) = some(spec, "parameters") else {
        return errors;
    };
    let path = "spec.parameters";
    let (scope, namespace) = (text(parameters, "scope"), text(parameters, "namespace"));
    match scope {
        "Namespace" if namespace.is_empty() => errors.push(FieldError::required(
            format!("{path}.namespace"),
            "`parameters.scope` is set to 'Namespace'",
        )),
        "Namespace" => faults(
            &format!("{path}.namespace"),
            namespace,
            names::label_1123(namespace),
            &mut errors,
        ),
        "Cluster" if !namespace.is_empty() => errors.push(FieldError::forbidden(
            format!("{path}.namespace"),
            "`parameters.scope` is set to 'Cluster'",
        )),
        _ => maybe_one_of(
            &format!("{path}.scope"),
            parameters.get("scope"),
            &["Cluster", "Namespace"],
            &mut errors,
        ),
    }
    reference(path, parameters, &mut errors);
    errors
}

/// A `NetworkPolicy`.
pub(crate) fn network_policy(object: &Value, _: Option<&Value>) -> Vec<FieldError> {
    let empty = json!({});
    let spec = object.get("spec").unwrap_or(&empty);
    let mut errors = Vec::new();
    let pods = spec.get("podSelector").unwrap_or(&empty);
    selector("spec.podSelector", pods, &mut errors);
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        for (index, rule) in list(spec, direction).iter().enumerate() {
            let path = format!("spec.{direction}[{index}]");
            for (index, port) in list(rule, "ports").iter().enumerate() {
                policy_port(&format!("{path}.ports[{index}]"), port, &mut errors);
            }
            for (index, found) in list(rule, peers).iter().enumerate() {
                peer(&format!("{path}.{peers}[{index}]"), found, &mut errors);
            }
        }
    }
    let types = list(spec, "policyTypes");
    if types.len() > 2 {
        errors.push(FieldError::invalid(
            "spec.policyTypes",
            types.to_vec(),
            "may not specify more than two policyTypes",
        ));
        return errors;
    }
    for (index, kind) in types.iter().enumerate() {
        maybe_one_of(
            &format!("spec.policyTypes[{index}]"),
            Some(kind),
            &["Ingress", "Egress"],
            &mut errors,
        );
    }
    errors
}

fn policy_port(path: &str, found: &Value, errors: &mut Vec<FieldError>) {
    maybe_one_of(
        &format!("{path}.protocol"),
        found.get("protocol"),
        &["TCP", "UDP", "SCTP"],
        errors,
    );
    let end = some(found, "endPort").and_then(Value::as_i64);
    let field = format!("{path}.endPort");
    let mut end_fault = |detail: &str| {
        if let Some(end) = end {
            errors.push(FieldError::invalid(field.as_str(), end, detail));
        }
    };
    match some(found, "port") {
        None => end_fault("may not be specified when `port` is not specified"),
        Some(name @ Value::String(_)) => {
            end_fault("may not be specified when `port` is non-numeric");
            port(&format!("{path}.port"), Some(name), errors);
        }
        Some(value) => {
            port(&format!("{path}.port"), Some(value), errors);
            if let Some(end) = end {
                if end < value.as_i64().unwrap_or(0) {
                    errors.push(FieldError::invalid(
                        field.as_str(),
                        end,
                        "must be greater than or equal to `port`",
                    ));
                }
                port_number(&field, end, errors);
            }
        }
    }
}

fn peer(path: &str, peer: &Value, errors: &mut Vec<FieldError>) {
    let mut count = 0;
    for key in ["podSelector", "namespaceSelector"] {
        if let Some(found) = some(peer, key) {
            count += 1;
            selector(&format!("{path}.{key}"), found, errors);
        }
    }
    let block = some(peer, "ipBlock");
    if let Some(block) = block {
        count += 1;
        ip_block(&format!("{path}.ipBlock"), block, errors);
    }
    if count == 0 {
        errors.push(FieldError::required(path, "must specify a peer"));
    } else if count > 1 && block.is_some() {
        errors.push(FieldError::forbidden(
            path,
            "may not specify both ipBlock and another peer",
        ));
    }
}

fn ip_block(path: &str, block: &Value, errors: &mut Vec<FieldError>) {
    let whole = text(block, "cidr");
    if whole.is_empty() {
        errors.push(FieldError::required(format!("{path}.cidr"), ""));
        return;
    }
    legacy_range(&format!("{path}.cidr"), whole, errors);
    let Some((ip, bits)) = range(whole) else {
        return;
    };
    for (index, except) in crate::metadata::texts(block.get("except"))
        .into_iter()
        .enumerate()
    {
        let path = format!("{path}.except[{index}]");
        legacy_range(&path, except, errors);
        let Some((inner, inner_bits)) = range(except) else {
            continue;
        };
        let within = ip.is_ipv4() == inner.is_ipv4()
            && inner_bits > bits
            && first_of(inner, bits) == first_of(ip, bits);
        if !within {
            errors.push(FieldError::invalid(
                path,
                except,
                "must be a strict subset of `cidr`",
            ));
        }
    }
}

/// The warnings about a `NetworkPolicy`: ranges that are not written as they should be.
pub(crate) fn network_policy_warnings(object: &Value, _: Option<&Value>) -> Vec<String> {
    let empty = json!({});
    let spec = object.get("spec").unwrap_or(&empty);
    let mut all = Vec::new();
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        for (index, rule) in list(spec, direction).iter().enumerate() {
            for (peer, found) in list(rule, peers).iter().enumerate() {
                let path = format!("spec.{direction}[{index}].{peers}[{peer}].ipBlock");
                let Some(block) = some(found, "ipBlock") else {
                    continue;
                };
                all.extend(range_warnings(&format!("{path}.cidr"), text(block, "cidr")));
                for (index, except) in crate::metadata::texts(block.get("except"))
                    .into_iter()
                    .enumerate()
                {
                    all.extend(range_warnings(&format!("{path}.except[{index}]"), except));
                }
            }
        }
    }
    all
}
