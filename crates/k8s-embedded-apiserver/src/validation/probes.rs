//! Probes and hooks of containers.

use serde_json::Value;

use super::fields::port_name;
use super::path::{Errors, Path, has, int, list, text};

const KINDS: [&str; 5] = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];

/// Which of the three probes it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    Liveness,
    Readiness,
    Startup,
}

/// All probes of a container.
pub(super) fn probes(path: Path<'_>, container: &Value, grace: Option<i64>, errors: &mut Errors) {
    for (field, kind) in [
        ("livenessProbe", Probe::Liveness),
        ("readinessProbe", Probe::Readiness),
        ("startupProbe", Probe::Startup),
    ] {
        if has(container, field) {
            probe(path.child(field), &container[field], kind, grace, errors);
        }
    }
}

fn probe(path: Path<'_>, probe: &Value, kind: Probe, grace: Option<i64>, errors: &mut Errors) {
    handler(path, probe, &KINDS[..4], grace, errors);
    for field in [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ] {
        errors.not_negative(path.child(field), int(probe, field));
    }
    let field = "terminationGracePeriodSeconds";
    if let Some(seconds) = int(probe, field).filter(|seconds| *seconds <= 0) {
        errors.invalid(path.child(field), seconds, "must be greater than 0");
    }
    match kind {
        Probe::Readiness => {
            if let Some(seconds) = int(probe, field) {
                errors.invalid(
                    path.child(field),
                    seconds,
                    "must not be set for readinessProbes",
                );
            }
        }
        Probe::Liveness | Probe::Startup => {
            let threshold = int(probe, "successThreshold").unwrap_or(0);
            if threshold != 1 {
                errors.invalid(path.child("successThreshold"), threshold, "must be 1");
            }
        }
    }
}

/// The hooks of a container.
pub(super) fn lifecycle(path: Path<'_>, container: &Value, pod: &Value, errors: &mut Errors) {
    let lifecycle = &container["lifecycle"];
    if lifecycle.is_null() {
        return;
    }
    let path = path.child("lifecycle");
    let grace = int(pod, "terminationGracePeriodSeconds");
    for hook in ["postStart", "preStop"] {
        if has(lifecycle, hook) {
            let kinds = ["exec", "httpGet", "tcpSocket", "sleep"];
            handler(path.child(hook), &lifecycle[hook], &kinds, grace, errors);
        }
    }
    if has(lifecycle, "stopSignal") && !has(pod, "os") {
        errors.forbidden(
            path.child("stopSignal"),
            "may not be set for containers with empty `spec.os.name`",
        );
    }
}

fn handler(
    path: Path<'_>,
    handler: &Value,
    kinds: &[&str],
    grace: Option<i64>,
    errors: &mut Errors,
) {
    let mut found = false;
    for kind in kinds {
        if !has(handler, kind) {
            continue;
        }
        let (path, action) = (path.child(kind), &handler[*kind]);
        if found {
            errors.forbidden(path, "may not specify more than 1 handler type");
            continue;
        }
        found = true;
        match *kind {
            "exec" => {
                if list(action, "command").is_empty() {
                    errors.required(path.child("command"), "");
                }
            }
            "httpGet" => http_get(path, action, errors),
            "sleep" => sleep(path, action, grace, errors),
            _ => port(path.child("port"), &action["port"], errors),
        }
    }
    if !found {
        errors.required(path, "must specify a handler type");
    }
}

fn sleep(path: Path<'_>, action: &Value, grace: Option<i64>, errors: &mut Errors) {
    let seconds = int(action, "seconds").unwrap_or(0);
    if let Some(grace) = grace.filter(|grace| seconds < 0 || seconds > *grace) {
        let why =
            format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
        errors.invalid(path, seconds, why);
    }
}

fn http_get(path: Path<'_>, action: &Value, errors: &mut Errors) {
    if text(action, "path").is_empty() {
        errors.required(path.child("path"), "");
    }
    port(path.child("port"), &action["port"], errors);
    let scheme = text(action, "scheme");
    if !matches!(scheme, "HTTP" | "HTTPS") {
        errors.not_supported(path.child("scheme"), scheme, &["HTTP", "HTTPS"]);
    }
    for header in list(action, "httpHeaders") {
        let name = text(header, "name");
        let letters = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if name.is_empty() || !name.chars().all(letters) {
            errors.invalid(
                path.child("httpHeaders"),
                name,
                "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
            );
        }
    }
}

/// A number or the name of a port.
pub(super) fn port(path: Path<'_>, port: &Value, errors: &mut Errors) {
    match port {
        Value::String(name) => errors.faults(path, name, port_name(name)),
        other => errors.in_range(path, Some(other.as_i64().unwrap_or(0)), 1, 65535),
    }
}

/// Whether a container of the list before the others stays on beside them.
pub(super) fn is_sidecar(container: &Value) -> bool {
    text(container, "restartPolicy") == "Always"
}
