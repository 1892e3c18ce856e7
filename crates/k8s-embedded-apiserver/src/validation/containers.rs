//! Containers of a Pod.

use std::collections::BTreeSet;

use serde_json::Value;

use super::fields::port_name;
use super::path::{Errors, Path, has, int, list, text};
use super::probes::{self, is_sidecar};
use super::resources::{self, Of};
use super::{environment, names, security, volumes};

const PULL_POLICIES: &[&str] = &["Always", "IfNotPresent", "Never"];
const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];
/// What only a container that stays may have.
const OF_SIDECARS: [&str; 4] = [
    "lifecycle",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
];
/// What a container that is added to a running Pod cannot have.
const NOT_EPHEMERAL: [&str; 8] = [
    "ports",
    "resources",
    "lifecycle",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "resizePolicy",
    "restartPolicy",
];

/// What all containers of a Pod see.
pub(super) struct Pod<'v> {
    pub(super) spec: &'v Value,
    pub(super) volumes: Vec<&'v Value>,
    pub(super) claims: Vec<&'v str>,
}

impl Pod<'_> {
    fn grace(&self) -> Option<i64> {
        int(self.spec, "terminationGracePeriodSeconds")
    }
}

pub(super) fn containers(path: Path<'_>, pod: &Pod<'_>, errors: &mut Errors) {
    let all = list(pod.spec, "containers");
    if all.is_empty() {
        errors.required(path, "");
        return;
    }
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for (index, container) in all.iter().enumerate() {
        let path = path.index(index);
        common(path, container, pod, errors);
        let name = text(container, "name");
        if !names.insert(name) {
            errors.duplicate(path.child("name"), name);
        }
        probes::lifecycle(path, container, pod.spec, errors);
        probes::probes(path, container, pod.grace(), errors);
        restart_policy(path, container, errors);
    }
    host_ports(path, all, 0, errors);
}

pub(super) fn init_containers(path: Path<'_>, pod: &Pod<'_>, errors: &mut Errors) {
    let mut names: BTreeSet<&str> = list(pod.spec, "containers")
        .iter()
        .map(|container| text(container, "name"))
        .collect();
    for (index, container) in list(pod.spec, "initContainers").iter().enumerate() {
        let at = path.index(index);
        common(at, container, pod, errors);
        restart_policy(at, container, errors);
        let name = text(container, "name");
        if !names.insert(name) {
            errors.duplicate(at.child("name"), name);
        }
        host_ports(path, std::slice::from_ref(container), 0, errors);
        if is_sidecar(container) {
            probes::lifecycle(at, container, pod.spec, errors);
            probes::probes(at, container, pod.grace(), errors);
        } else {
            for field in OF_SIDECARS.iter().filter(|field| has(container, field)) {
                errors.forbidden(
                    at.child(field),
                    "may not be set for init containers without restartPolicy=Always",
                );
            }
        }
    }
}

pub(super) fn ephemeral_containers(path: Path<'_>, pod: &Pod<'_>, errors: &mut Errors) {
    let others: BTreeSet<&str> = ["containers", "initContainers"]
        .iter()
        .flat_map(|field| list(pod.spec, field))
        .map(|container| text(container, "name"))
        .collect();
    let mut names = others.clone();
    for (index, container) in list(pod.spec, "ephemeralContainers").iter().enumerate() {
        let at = path.index(index);
        common(at, container, pod, errors);
        image_without_spaces(at, container, errors);
        let name = text(container, "name");
        if !names.insert(name) {
            errors.duplicate(at.child("name"), name);
        }
        let target = text(container, "targetContainerName");
        if !target.is_empty() && !others.contains(target) {
            errors.not_found(at.child("targetContainerName"), target);
        }
        for field in NOT_EPHEMERAL {
            let empty = container.get(field).is_none_or(|value| {
                value.is_null()
                    || *value == serde_json::json!({})
                    || *value == serde_json::json!([])
            });
            if !empty {
                errors.forbidden(at.child(field), "cannot be set for an Ephemeral Container");
            }
        }
        let mounts = at.child("volumeMounts");
        for (index, mount) in list(container, "volumeMounts").iter().enumerate() {
            for field in ["subPath", "subPathExpr"] {
                if !text(mount, field).is_empty() {
                    errors.forbidden(
                        mounts.index(index).child(field),
                        "cannot be set for an Ephemeral Container",
                    );
                }
            }
        }
    }
}

/// Rule of a Pod, not of the template of one.
pub(super) fn image_without_spaces(path: Path<'_>, container: &Value, errors: &mut Errors) {
    let image = text(container, "image");
    if image.trim() != image {
        errors.invalid(
            path.child("image"),
            image,
            "must not have leading or trailing whitespace",
        );
    }
}

fn common(path: Path<'_>, container: &Value, pod: &Pod<'_>, errors: &mut Errors) {
    let name = text(container, "name");
    if name.is_empty() {
        errors.required(path.child("name"), "");
    } else {
        errors.faults(path.child("name"), name, names::label_1123(name));
    }
    if text(container, "image").is_empty() {
        errors.required(path.child("image"), "");
    }
    errors.one_of(
        path.child("terminationMessagePolicy"),
        text(container, "terminationMessagePolicy"),
        &["File", "FallbackToLogsOnError"],
    );
    ports(path.child("ports"), container, errors);
    environment::variables(path.child("env"), container, errors);
    environment::sources(path.child("envFrom"), container, errors);
    mounts(path.child("volumeMounts"), container, pod, errors);
    devices(path.child("volumeDevices"), container, pod, errors);
    errors.one_of(
        path.child("imagePullPolicy"),
        text(container, "imagePullPolicy"),
        PULL_POLICIES,
    );
    resources::requirements(
        path.child("resources"),
        &container["resources"],
        Of::Container,
        &pod.claims,
        errors,
    );
    resize_policy(path.child("resizePolicy"), container, pod.spec, errors);
    security::container(
        path.child("securityContext"),
        &container["securityContext"],
        errors,
    );
}

fn ports(path: Path<'_>, container: &Value, errors: &mut Errors) {
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for (index, port) in list(container, "ports").iter().enumerate() {
        let path = path.index(index);
        let name = text(port, "name");
        if !name.is_empty() {
            let faults = port_name(name);
            if faults.is_empty() && !names.insert(name) {
                errors.duplicate(path.child("name"), name);
            }
            errors.faults(path.child("name"), name, faults);
        }
        match int(port, "containerPort").unwrap_or(0) {
            0 => errors.required(path.child("containerPort"), ""),
            number => errors.in_range(path.child("containerPort"), Some(number), 1, 65535),
        }
        let host = int(port, "hostPort").filter(|number| *number != 0);
        errors.in_range(path.child("hostPort"), host, 1, 65535);
        errors.one_of(path.child("protocol"), text(port, "protocol"), PROTOCOLS);
    }
}

/// A port of the host is taken once.
fn host_ports(path: Path<'_>, containers: &[Value], first: usize, errors: &mut Errors) {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for (index, container) in containers.iter().enumerate() {
        let container_path = path.index(first + index);
        let ports = container_path.child("ports");
        for (index, port) in list(container, "ports").iter().enumerate() {
            let Some(number) = int(port, "hostPort").filter(|number| *number != 0) else {
                continue;
            };
            let address = format!(
                "{}/{}/{number}",
                text(port, "protocol"),
                text(port, "hostIP")
            );
            if taken.contains(&address) {
                errors.duplicate(ports.index(index).child("hostPort"), address);
            } else {
                taken.insert(address);
            }
        }
    }
}

fn mounts(path: Path<'_>, container: &Value, pod: &Pod<'_>, errors: &mut Errors) {
    let devices = list(container, "volumeDevices");
    let mut places: BTreeSet<&str> = BTreeSet::new();
    for (index, mount) in list(container, "volumeMounts").iter().enumerate() {
        let at = path.index(index);
        let (name, place) = (text(mount, "name"), text(mount, "mountPath"));
        if name.is_empty() {
            errors.required(at.child("name"), "");
        }
        if !pod
            .volumes
            .iter()
            .any(|volume| text(volume, "name") == name)
        {
            errors.not_found(at.child("name"), name);
        }
        if place.is_empty() {
            errors.required(at.child("mountPath"), "");
        }
        if !places.insert(place) {
            errors.invalid(at.child("mountPath"), place, "must be unique");
        }
        if devices.iter().any(|device| text(device, "name") == name) {
            errors.invalid(
                at.child("name"),
                name,
                "must not already exist in volumeDevices",
            );
        }
        if devices
            .iter()
            .any(|device| text(device, "devicePath") == place)
        {
            errors.invalid(
                at.child("mountPath"),
                place,
                "must not already exist as a path in volumeDevices",
            );
        }
        let (sub, expression) = (text(mount, "subPath"), text(mount, "subPathExpr"));
        volumes::descending(path.child("subPath"), sub, errors);
        if !expression.is_empty() && !sub.is_empty() {
            errors.invalid(
                at.child("subPathExpr"),
                expression,
                "subPathExpr and subPath are mutually exclusive",
            );
        }
        volumes::descending(path.child("subPathExpr"), expression, errors);
        propagation(path, mount, container, errors);
    }
}

fn propagation(path: Path<'_>, mount: &Value, container: &Value, errors: &mut Errors) {
    let propagation = text(mount, "mountPropagation");
    let at = path.child("mountPropagation");
    let valid = ["Bidirectional", "HostToContainer", "None"];
    errors.optional_one_of(path, mount, "mountPropagation", &valid);
    let privileged = container.pointer("/securityContext/privileged") == Some(&Value::Bool(true));
    if propagation == "Bidirectional" && !privileged {
        errors.forbidden(
            at,
            "Bidirectional mount propagation is available only to privileged containers",
        );
    }
    let at = path.child("recursiveReadOnly");
    let recursive = text(mount, "recursiveReadOnly");
    let valid = ["Disabled", "Enabled", "IfPossible"];
    errors.optional_one_of(path, mount, "recursiveReadOnly", &valid);
    if matches!(recursive, "Enabled" | "IfPossible") {
        if mount.get("readOnly") != Some(&Value::Bool(true)) {
            errors.forbidden(at, "may only be specified when readOnly is true");
        }
        if !matches!(propagation, "" | "None") {
            errors.forbidden(
                at,
                "may only be specified when mountPropagation is None or not specified",
            );
        }
    }
}

fn devices(path: Path<'_>, container: &Value, pod: &Pod<'_>, errors: &mut Errors) {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for (index, device) in list(container, "volumeDevices").iter().enumerate() {
        let at = path.index(index);
        let (name, place) = (text(device, "name"), text(device, "devicePath"));
        if name.is_empty() {
            errors.required(at.child("name"), "");
        }
        if !seen.insert(name) {
            errors.invalid(at.child("name"), name, "must be unique");
        }
        match pod
            .volumes
            .iter()
            .find(|volume| text(volume, "name") == name)
        {
            None => errors.not_found(at.child("name"), name),
            Some(volume) if !has(volume, "persistentVolumeClaim") && !has(volume, "ephemeral") => {
                errors.invalid(
                    at.child("name"),
                    name,
                    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
                );
            }
            Some(_) => {}
        }
        if place.is_empty() {
            errors.required(at.child("devicePath"), "");
        } else if place.split('/').any(|part| part == "..") {
            errors.invalid(
                at.child("devicePath"),
                place,
                "can not contain backsteps ('..')",
            );
        }
    }
}

fn resize_policy(path: Path<'_>, container: &Value, spec: &Value, errors: &mut Errors) {
    let never = text(spec, "restartPolicy") == "Never";
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for (index, policy) in list(container, "resizePolicy").iter().enumerate() {
        let resource = text(policy, "resourceName");
        if !seen.insert(resource) {
            errors.duplicate(path.index(index), resource);
        }
        errors.one_of(path, resource, &["cpu", "memory"]);
        let restart = text(policy, "restartPolicy");
        errors.one_of(path, restart, &["NotRequired", "RestartContainer"]);
        if never && restart != "NotRequired" {
            errors.invalid(
                path,
                restart,
                "must be 'NotRequired' when pod `restartPolicy` is 'Never'",
            );
        }
    }
}

fn restart_policy(path: Path<'_>, container: &Value, errors: &mut Errors) {
    let policy = text(container, "restartPolicy");
    let rules = list(container, "restartPolicyRules");
    let valid = ["Always", "Never", "OnFailure"];
    errors.optional_one_of(path, container, "restartPolicy", &valid);
    if !rules.is_empty() && policy.is_empty() {
        errors.required(
            path.child("restartPolicy"),
            "must specify restartPolicy when restart rules are used",
        );
    }
    if rules.len() > 20 {
        errors.too_many(path.child("restartPolicyRules"), rules.len(), 20);
    }
}
