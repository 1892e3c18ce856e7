//! What a Pod and the template of one have in common.

use std::net::IpAddr;

use serde_json::Value;

use super::containers::{self, Pod};
use super::path::{Errors, Path, entries, flag, has, int, list, text};
use super::resources::{self, Of};
use super::{names, placement, security, selectors, volumes};
use crate::kinds::NameRule;

const DNS_POLICIES: &[&str] = &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];

/// Whether it is a Pod that is checked, by its name, or the template of one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Checked<'a> {
    Pod(&'a str),
    Template,
}

pub(super) fn pod_spec(path: Path<'_>, spec: &Value, of: Checked<'_>, errors: &mut Errors) {
    let pod_name = match of {
        Checked::Pod(name) => name,
        Checked::Template => "",
    };
    let volumes = volumes::volumes(path.child("volumes"), spec, pod_name, errors);
    let claims = list(spec, "resourceClaims");
    let pod = Pod {
        spec,
        volumes,
        claims: claims.iter().map(|claim| text(claim, "name")).collect(),
    };
    containers::containers(path.child("containers"), &pod, errors);
    containers::init_containers(path.child("initContainers"), &pod, errors);
    containers::ephemeral_containers(path.child("ephemeralContainers"), &pod, errors);
    if has(spec, "resources") {
        let path = path.child("resources");
        resources::requirements(path, &spec["resources"], Of::Pod, &[], errors);
    }
    host_network(path.child("containers"), spec, of, errors);
    errors.one_of(
        path.child("restartPolicy"),
        text(spec, "restartPolicy"),
        &["Always", "OnFailure", "Never"],
    );
    errors.one_of(
        path.child("dnsPolicy"),
        text(spec, "dnsPolicy"),
        DNS_POLICIES,
    );
    selectors::labels(path.child("nodeSelector"), spec, "nodeSelector", errors);
    security::pod(
        path.child("securityContext"),
        &spec["securityContext"],
        errors,
    );
    if flag(spec, "shareProcessNamespace") && flag(spec, "hostPID") {
        errors.invalid(
            path.child("shareProcessNamespace"),
            true,
            "ShareProcessNamespace and HostPID cannot both be enabled",
        );
    }
    placement::affinity(path.child("affinity"), &spec["affinity"], errors);
    dns_config(path.child("dnsConfig"), spec, errors);
    gates(path, spec, errors);
    placement::spread(path.child("topologySpreadConstraints"), spec, errors);
    names_of(path, spec, errors);
    errors.in_range(
        path.child("activeDeadlineSeconds"),
        int(spec, "activeDeadlineSeconds"),
        1,
        i64::from(i32::MAX),
    );
    for field in ["hostname", "subdomain"] {
        let name = text(spec, field);
        if !name.is_empty() {
            errors.faults(path.child(field), name, names::label_1123(name));
        }
    }
    placement::tolerations(path.child("tolerations"), spec, errors);
    host_aliases(path.child("hostAliases"), spec, errors);
    subdomains(
        path,
        spec,
        &["priorityClassName", "runtimeClassName"],
        errors,
    );
    let valid = ["PreemptLowerPriority", "Never"];
    errors.optional_one_of(path, spec, "preemptionPolicy", &valid);
    if entries(spec, "overhead").next().is_some() {
        let limits = serde_json::json!({"limits": spec["overhead"]});
        resources::requirements(path.child("overhead"), &limits, Of::Container, &[], errors);
    }
}

fn names_of(path: Path<'_>, spec: &Value, errors: &mut Errors) {
    subdomains(path, spec, &["serviceAccountName", "nodeName"], errors);
}

fn subdomains(path: Path<'_>, spec: &Value, fields: &[&str], errors: &mut Errors) {
    for field in fields {
        let name = text(spec, field);
        if !name.is_empty() {
            let faults = names::object_name(NameRule::Subdomain, name, false);
            errors.faults(path.child(field), name, faults);
        }
    }
}

/// On the network of the host, a port is the same outside as inside.
fn host_network(path: Path<'_>, spec: &Value, of: Checked<'_>, errors: &mut Errors) {
    if !flag(spec, "hostNetwork") {
        return;
    }
    for (index, container) in list(spec, "containers").iter().enumerate() {
        let container_path = path.index(index);
        let ports = container_path.child("ports");
        for (index, port) in list(container, "ports").iter().enumerate() {
            let (host, inside) = (
                int(port, "hostPort").unwrap_or(0),
                int(port, "containerPort").unwrap_or(0),
            );
            if (host != 0 || matches!(of, Checked::Pod(_))) && host != inside {
                errors.invalid(
                    ports.index(index).child("hostPort"),
                    host,
                    "must match `containerPort` when `hostNetwork` is true",
                );
            }
        }
    }
}

fn dns_config(path: Path<'_>, spec: &Value, errors: &mut Errors) {
    let config = &spec["dnsConfig"];
    if text(spec, "dnsPolicy") == "None" {
        if config.is_null() {
            errors.required(path, "must provide `dnsConfig` when `dnsPolicy` is None");
            return;
        }
        if list(config, "nameservers").is_empty() {
            errors.required(
                path.child("nameservers"),
                "must provide at least one DNS nameserver when `dnsPolicy` is None",
            );
            return;
        }
    }
    let servers = list(config, "nameservers");
    if servers.len() > 3 {
        errors.invalid(
            path.child("nameservers"),
            servers.to_vec(),
            "must not have more than 3 nameservers",
        );
    }
    let at = path.child("nameservers");
    for (index, server) in servers.iter().filter_map(Value::as_str).enumerate() {
        address(at.index(index), server, errors);
    }
    let searches = list(config, "searches");
    if searches.len() > 32 {
        errors.invalid(
            path.child("searches"),
            searches.to_vec(),
            "must not have more than 32 search paths",
        );
    }
    let at = path.child("searches");
    for (index, search) in searches.iter().filter_map(Value::as_str).enumerate() {
        errors.faults(at.index(index), search, names::search_path(search));
    }
    let at = path.child("options");
    for (index, option) in list(config, "options").iter().enumerate() {
        if text(option, "name").is_empty() {
            errors.required(at.index(index), "must not be empty");
        }
    }
}

fn address(path: Path<'_>, address: &str, errors: &mut Errors) {
    if address.parse::<IpAddr>().is_err() {
        errors.invalid(
            path,
            address,
            "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        );
    }
}

fn gates(path: Path<'_>, spec: &Value, errors: &mut Errors) {
    let at = path.child("readinessGates");
    for (index, gate) in list(spec, "readinessGates").iter().enumerate() {
        let name = text(gate, "conditionType");
        let item = at.index(index);
        errors.faults(item.child("conditionType"), name, names::label_key(name));
    }
    let at = path.child("schedulingGates");
    let mut seen: Vec<&str> = Vec::new();
    for (index, gate) in list(spec, "schedulingGates").iter().enumerate() {
        let name = text(gate, "name");
        errors.faults(at.index(index), name, names::label_key(name));
        if seen.contains(&name) {
            errors.duplicate(at.index(index), name);
        }
        seen.push(name);
    }
}

fn host_aliases(path: Path<'_>, spec: &Value, errors: &mut Errors) {
    for (index, alias) in list(spec, "hostAliases").iter().enumerate() {
        let path = path.index(index);
        address(path.child("ip"), text(alias, "ip"), errors);
        let hosts = path.child("hostnames");
        for (index, host) in list(alias, "hostnames").iter().enumerate() {
            let host = host.as_str().unwrap_or_default();
            errors.faults(
                hosts.index(index),
                host,
                names::subdomain(host, "characters"),
            );
        }
    }
}

/// The template of Pods in a spec.
pub(super) fn template(path: Path<'_>, template: &Value, errors: &mut Errors) {
    let metadata = &template["metadata"];
    selectors::labels(path.child("labels"), metadata, "labels", errors);
    let annotations = path.child("annotations");
    for (key, _) in entries(metadata, "annotations") {
        errors.faults(annotations, key, names::label_key(&key.to_lowercase()));
    }
    let spec = &template["spec"];
    pod_spec(path.child("spec"), spec, Checked::Template, errors);
    if !list(spec, "ephemeralContainers").is_empty() {
        errors.forbidden(
            path.child("spec").child("ephemeralContainers"),
            "ephemeral containers not allowed in pod template",
        );
    }
}

/// Its Pods are restarted and have no deadline.
pub(super) fn always_running(path: Path<'_>, template: &Value, kind: &str, errors: &mut Errors) {
    let spec = &template["spec"];
    let path = path.child("spec");
    let policy = text(spec, "restartPolicy");
    if policy != "Always" {
        errors.not_supported(path.child("restartPolicy"), policy, &["Always"]);
    }
    if has(spec, "activeDeadlineSeconds") {
        let why = format!("activeDeadlineSeconds in {kind} is not Supported");
        errors.forbidden(path.child("activeDeadlineSeconds"), why);
    }
}
