//! Security contexts.

use serde_json::Value;

use super::path::{Errors, Path, flag, has, int, list, text};
use super::volumes;

/// Greatest id of a user or group.
const MAX_ID: i64 = i32::MAX as i64;

pub(super) fn container(path: Path<'_>, context: &Value, errors: &mut Errors) {
    if context.is_null() {
        return;
    }
    if flag(context, "privileged") {
        errors.forbidden(path.child("privileged"), "disallowed by cluster policy");
    }
    ids(path, context, &["runAsUser", "runAsGroup"], errors);
    errors.optional_one_of(path, context, "procMount", &["Default", "Unmasked"]);
    seccomp(
        path.child("seccompProfile"),
        &context["seccompProfile"],
        errors,
    );
    escalation(path, context, errors);
}

/// Whoever has all rights cannot be kept from getting more.
fn escalation(path: Path<'_>, context: &Value, errors: &mut Errors) {
    if context.get("allowPrivilegeEscalation") != Some(&Value::Bool(false)) {
        return;
    }
    let mut fault = |what: &str| {
        let why = format!("cannot set `allowPrivilegeEscalation` to false and {what}");
        errors.invalid_printed(path, printed(context), why);
    };
    if flag(context, "privileged") {
        fault("`privileged` to true");
    }
    for added in list(&context["capabilities"], "add") {
        if added == "CAP_SYS_ADMIN" {
            fault("`capabilities.Add` CAP_SYS_ADMIN");
        }
    }
}

/// A container's context as errors show it.
fn printed(context: &Value) -> String {
    const FIELDS: [&str; 12] = [
        "capabilities",
        "privileged",
        "seLinuxOptions",
        "windowsOptions",
        "runAsUser",
        "runAsGroup",
        "runAsNonRoot",
        "readOnlyRootFilesystem",
        "allowPrivilegeEscalation",
        "procMount",
        "seccompProfile",
        "appArmorProfile",
    ];
    let show = |field: &&str| {
        let value = match &context[*field] {
            Value::Object(map) if *field == "capabilities" => {
                serde_json::json!({"Add": map.get("add"), "Drop": map.get("drop")})
            }
            value => value.clone(),
        };
        let name = match *field {
            "seLinuxOptions" => "SELinuxOptions".to_owned(),
            field => format!("{}{}", field[..1].to_uppercase(), &field[1..]),
        };
        format!("\"{name}\":{value}")
    };
    let members: Vec<_> = FIELDS.iter().map(show).collect();
    format!("{{{}}}", members.join(","))
}

pub(super) fn pod(path: Path<'_>, context: &Value, errors: &mut Errors) {
    if context.is_null() {
        return;
    }
    ids(
        path,
        context,
        &["fsGroup", "runAsUser", "runAsGroup"],
        errors,
    );
    let groups = path.child("supplementalGroups");
    for (index, group) in list(context, "supplementalGroups").iter().enumerate() {
        errors.in_range(groups.index(index), group.as_i64(), 0, MAX_ID);
    }
    sysctls(path.child("sysctls"), context, errors);
    let valid = ["Always", "OnRootMismatch"];
    errors.optional_one_of(path, context, "fsGroupChangePolicy", &valid);
    seccomp(
        path.child("seccompProfile"),
        &context["seccompProfile"],
        errors,
    );
    let valid = ["Merge", "Strict"];
    errors.optional_one_of(path, context, "supplementalGroupsPolicy", &valid);
}

fn ids(path: Path<'_>, context: &Value, fields: &[&str], errors: &mut Errors) {
    for field in fields {
        errors.in_range(path.child(field), int(context, field), 0, MAX_ID);
    }
}

fn sysctls(path: Path<'_>, context: &Value, errors: &mut Errors) {
    let mut seen: Vec<&str> = Vec::new();
    for (index, sysctl) in list(context, "sysctls").iter().enumerate() {
        let path = path.index(index);
        let name = text(sysctl, "name");
        if name.is_empty() {
            errors.required(path.child("name"), "");
        } else if !is_sysctl(name) {
            errors.invalid(
                path.child("name"),
                name,
                r"must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$",
            );
        } else if seen.contains(&name) {
            errors.duplicate(path.child("name"), name);
        }
        seen.push(name);
    }
}

fn is_sysctl(name: &str) -> bool {
    let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.len() <= 253
        && name.split(['.', '/']).all(|part| {
            part.starts_with(edge)
                && part.ends_with(edge)
                && part.chars().all(|c| edge(c) || matches!(c, '-' | '_'))
        })
}

fn seccomp(path: Path<'_>, profile: &Value, errors: &mut Errors) {
    if profile.is_null() {
        return;
    }
    let kind = text(profile, "type");
    match kind {
        "" => errors.required(
            path.child("type"),
            "type is required when seccompProfile is set",
        ),
        "Localhost" | "RuntimeDefault" | "Unconfined" => {}
        _ => errors.not_supported(
            path.child("type"),
            kind,
            &["Localhost", "RuntimeDefault", "Unconfined"],
        ),
    }
    let at = path.child("localhostProfile");
    if kind == "Localhost" {
        if has(profile, "localhostProfile") {
            volumes::descending(at, text(profile, "localhostProfile"), errors);
        } else {
            errors.required(at, "must be set when seccomp type is Localhost");
        }
    } else if has(profile, "localhostProfile") {
        errors.invalid(
            at,
            profile.clone(),
            "can only be set when seccomp type is Localhost",
        );
    }
}
