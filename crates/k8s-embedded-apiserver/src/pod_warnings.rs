//! What the server warns of in Pods and in what makes Pods.

use std::collections::{BTreeMap, BTreeSet};

use k8s_api_schema::{Quantity, quote};
use serde_json::Value;

use crate::metadata::name;
use crate::validation::{dns_label_faults, list, text};

/// Volumes that nothing serves any more, and since when.
const VOLUMES: &[(&str, &str)] = &[
    (
        "photonPersistentDisk",
        "deprecated in v1.11, non-functional in v1.16+",
    ),
    (
        "gitRepo",
        "deprecated in v1.11, and disabled by default in v1.33+",
    ),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
];
const ANNOTATIONS: &[(&str, &str)] = &[
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
];

/// A new Pod.
pub(crate) fn pod(object: &Value, old: Option<&Value>) -> Vec<String> {
    if old.is_some() {
        return Vec::new();
    }
    let mut warnings = of_name(object, "the Pod's hostname");
    template("", object, &mut warnings);
    warnings
}

fn of_name(object: &Value, used: &str) -> Vec<String> {
    let faults = dns_label_faults(name(object));
    if faults.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "metadata.name: this is used in {used}, which can result in surprising behavior; a DNS label is recommended: [{}]",
        faults.join(" ")
    )]
}

/// A Deployment or ReplicaSet.
pub(crate) fn replicated(object: &Value, old: Option<&Value>) -> Vec<String> {
    named(object, old, "spec.template.", "/spec/template")
}

/// A StatefulSet.
pub(crate) fn stateful_set(object: &Value, old: Option<&Value>) -> Vec<String> {
    let mut warnings = unnamed(object, old);
    let limit = object.pointer("/spec/revisionHistoryLimit");
    if limit.and_then(Value::as_i64).is_some_and(|limit| limit < 0) {
        warnings.push("spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended".into());
    }
    warnings
}

/// A DaemonSet.
pub(crate) fn unnamed(object: &Value, old: Option<&Value>) -> Vec<String> {
    let mut warnings = Vec::new();
    if is_changed(object, old) {
        let template = object.pointer("/spec/template").unwrap_or(&Value::Null);
        self::template("spec.template.", template, &mut warnings);
    }
    warnings
}

/// A Job.
pub(crate) fn job(object: &Value, old: Option<&Value>) -> Vec<String> {
    named(object, old, "spec.template.", "/spec/template")
}

/// A CronJob.
pub(crate) fn cron_job(object: &Value, old: Option<&Value>) -> Vec<String> {
    let path = "spec.jobTemplate.spec.template.";
    named(object, old, path, "/spec/jobTemplate/spec/template")
}

fn named(object: &Value, old: Option<&Value>, path: &str, pointer: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    if old.is_none() {
        warnings = of_name(object, "Pod names and hostnames");
    }
    if is_changed(object, old) {
        let found = object.pointer(pointer).unwrap_or(&Value::Null);
        template(path, found, &mut warnings);
    }
    warnings
}

/// An update warns where it raises the generation.
fn is_changed(object: &Value, old: Option<&Value>) -> bool {
    old.is_none_or(|old| {
        old.pointer("/metadata/generation") != object.pointer("/metadata/generation")
    })
}

/// A Pod or the template of one, at a path that is empty or ends with a dot.
fn template(path: &str, template: &Value, warnings: &mut Vec<String>) {
    let spec = &template["spec"];
    spread(path, spec, warnings);
    for (key, why) in ANNOTATIONS {
        if template
            .pointer("/metadata/annotations")
            .is_some_and(|map| map.get(*key).is_some())
        {
            warnings.push(format!("{path}metadata.annotations[{key}]: {why}"));
        }
    }
    for (index, volume) in list(spec, "volumes").iter().enumerate() {
        for (kind, why) in VOLUMES {
            if volume.get(*kind).is_some() {
                let kind = if *kind == "storageos" {
                    "storageOS"
                } else {
                    kind
                };
                warnings.push(format!("{path}spec.volumes[{index}].{kind}: {why}"));
            }
        }
    }
    repeated(path, spec, "hostAliases", "ip", warnings);
    repeated(path, spec, "imagePullSecrets", "name", warnings);
    for (index, secret) in list(spec, "imagePullSecrets").iter().enumerate() {
        if text(secret, "name").is_empty() {
            warnings.push(format!(
                "{path}spec.imagePullSecrets[{index}].name: invalid empty name \"\""
            ));
        }
    }
    amounts(&format!("{path}spec.overhead"), &spec["overhead"], warnings);
    let containers = containers(path, spec);
    for (path, container) in &containers {
        for field in ["limits", "requests"] {
            // Memory first, then storage, as the two lists are looked at.
            let at = format!("{path}.resources.{field}");
            amounts(&at, &container["resources"][field], warnings);
        }
        variables(path, container, warnings);
    }
    ports(&containers, warnings);
    if spec["terminationGracePeriodSeconds"]
        .as_i64()
        .is_some_and(|seconds| seconds < 0)
    {
        warnings.push(format!(
            "{path}spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
        ));
    }
    affinity(path, spec, warnings);
}

fn containers<'v>(path: &str, spec: &'v Value) -> Vec<(String, &'v Value)> {
    ["initContainers", "containers", "ephemeralContainers"]
        .iter()
        .flat_map(|field| {
            list(spec, field)
                .iter()
                .enumerate()
                .map(move |(index, container)| (format!("{path}spec.{field}[{index}]"), container))
        })
        .collect()
}

fn spread(path: &str, spec: &Value, warnings: &mut Vec<String>) {
    for (index, constraint) in list(spec, "topologySpreadConstraints").iter().enumerate() {
        if constraint.get("labelSelector").is_none() {
            warnings.push(format!(
                "{path}spec.topologySpreadConstraints[{index}].labelSelector: a null labelSelector results in matching no pod"
            ));
        }
    }
}

fn repeated(path: &str, spec: &Value, field: &str, key: &str, warnings: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for (index, item) in list(spec, field).iter().enumerate() {
        let value = text(item, key);
        if !seen.insert(value) {
            warnings.push(format!(
                "{path}spec.{field}[{index}].{key}: duplicate {key} {}",
                quote(value)
            ));
        }
    }
}

fn amounts(path: &str, amounts: &Value, warnings: &mut Vec<String>) {
    for resource in ["memory", "ephemeral-storage"] {
        let amount: Option<Quantity> = text(amounts, resource).parse().ok();
        if let Some(amount) = amount.filter(|amount| !amount.is_whole()) {
            warnings.push(format!(
                "{path}[{resource}]: fractional byte value \"{amount}\" is invalid, must be an integer"
            ));
        }
    }
}

fn variables(path: &str, container: &Value, warnings: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for (index, variable) in list(container, "env").iter().enumerate() {
        let name = text(variable, "name");
        if seen.insert(name) {
            continue;
        }
        let reference = format!("$({name})");
        let value = text(variable, "value");
        let refers = value != reference && value.contains(&reference);
        if variable.get("valueFrom").is_some() || !refers {
            warnings.push(format!(
                "{path}.env[{index}]: hides previous definition of {}, which may be dropped when using apply",
                quote(name)
            ));
        }
    }
}

fn ports(containers: &[(String, &Value)], warnings: &mut Vec<String>) {
    let mut seen: BTreeMap<String, Vec<(String, &str, i64)>> = BTreeMap::new();
    for (path, container) in containers {
        for (index, port) in list(container, "ports").iter().enumerate() {
            let at = format!("{path}.ports[{index}]");
            let number = |field: &str| port[field].as_i64().unwrap_or(0);
            let (address, host) = (text(port, "hostIP"), number("hostPort"));
            if !address.is_empty() && host == 0 {
                warnings.push(format!(
                    "{at}: hostIP set without hostPort: {{Name:{} HostPort:0 ContainerPort:{} Protocol:{} HostIP:{address}}}",
                    text(port, "name"),
                    number("containerPort"),
                    text(port, "protocol"),
                ));
            }
            let key = format!("{}/{}", number("containerPort"), text(port, "protocol"));
            let others = seen.entry(key).or_default();
            for (other, other_address, other_host) in others.iter() {
                if address == *other_address && host == *other_host {
                    warnings.push(format!("{at}: duplicate port definition with {other}"));
                } else if host == 0 || *other_host == 0 {
                    warnings.push(format!("{at}: overlapping port definition with {other}"));
                } else if host == *other_host && (address.is_empty() != other_address.is_empty()) {
                    warnings.push(format!(
                        "{at}: dangerously ambiguous port definition with {other}"
                    ));
                }
            }
            others.push((at, address, host));
        }
    }
    let mut names: BTreeMap<&str, String> = BTreeMap::new();
    for (path, container) in containers {
        for (index, port) in list(container, "ports").iter().enumerate() {
            let name = text(port, "name");
            let at = format!("{path}.ports[{index}]");
            match names.get(name) {
                _ if name.is_empty() => {}
                Some(other) => warnings.push(format!(
                    "{at}: duplicate port name {} with {other}, services and probes that select ports by name will use {other}",
                    quote(name)
                )),
                None => {
                    names.insert(name, at);
                }
            }
        }
    }
}

fn affinity(path: &str, spec: &Value, warnings: &mut Vec<String>) {
    for side in ["podAffinity", "podAntiAffinity"] {
        for (when, inner) in [
            ("requiredDuringSchedulingIgnoredDuringExecution", ""),
            (
                "preferredDuringSchedulingIgnoredDuringExecution",
                ".podAffinityTerm",
            ),
        ] {
            for (index, term) in list(&spec["affinity"][side], when).iter().enumerate() {
                let term = if inner.is_empty() {
                    term
                } else {
                    &term["podAffinityTerm"]
                };
                if term.get("labelSelector").is_none() {
                    warnings.push(format!(
                        "{path}spec.affinity.{side}.{when}[{index}]{inner}.labelSelector: a null labelSelector results in matching no pod"
                    ));
                }
            }
        }
    }
}
