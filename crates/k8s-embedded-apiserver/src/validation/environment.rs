//! Variables of containers, and what downward API files show.

use serde_json::Value;

use super::names;
use super::path::{Errors, Path, has, list, text};
use super::resources::quantity;

const ENV_FIELDS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// Fields that a file can show.
pub(super) const FILE_FIELDS: &[&str] = &[
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];
/// Fields of a Pod that have a label, whether or not they can be shown.
const KNOWN_FIELDS: &[&str] = &[
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
const RESOURCES: &[&str] = &[
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

pub(super) fn variables(path: Path<'_>, container: &Value, errors: &mut Errors) {
    for (index, variable) in list(container, "env").iter().enumerate() {
        let path = path.index(index);
        let name = text(variable, "name");
        if name.is_empty() {
            errors.required(path.child("name"), "");
        } else {
            errors.faults(path.child("name"), name, variable_name(name));
        }
        if has(variable, "valueFrom") {
            value_from(path.child("valueFrom"), variable, errors);
        }
    }
}

fn variable_name(name: &str) -> Vec<String> {
    if name
        .bytes()
        .all(|byte| (0x20..0x7f).contains(&byte) && byte != b'=')
    {
        return Vec::new();
    }
    vec![
        "a valid environment variable name must consist only of printable ASCII characters other than '='"
            .into(),
    ]
}

fn value_from(path: Path<'_>, variable: &Value, errors: &mut Errors) {
    let source = &variable["valueFrom"];
    let mut sources = 0;
    if has(source, "fieldRef") {
        sources += 1;
        field_ref(
            path.child("fieldRef"),
            &source["fieldRef"],
            ENV_FIELDS,
            errors,
        );
    }
    if has(source, "resourceFieldRef") {
        sources += 1;
        let found = &source["resourceFieldRef"];
        resource_ref(path.child("resourceFieldRef"), found, false, errors);
    }
    for field in ["configMapKeyRef", "secretKeyRef"] {
        if has(source, field) {
            sources += 1;
            key_ref(path.child(field), &source[field], errors);
        }
    }
    if has(source, "fileKeyRef") {
        sources += 1;
    }
    if sources == 0 {
        errors.invalid(
            path,
            "",
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
        );
    } else if !text(variable, "value").is_empty() {
        errors.invalid(path, "", "may not be specified when `value` is not empty");
    } else if sources > 1 {
        errors.invalid(
            path,
            "",
            "may not have more than one field specified at a time",
        );
    }
}

fn key_ref(path: Path<'_>, reference: &Value, errors: &mut Errors) {
    let name = text(reference, "name");
    errors.faults(
        path.child("name"),
        name,
        names::subdomain(name, "characters"),
    );
    let key = text(reference, "key");
    if key.is_empty() {
        errors.required(path.child("key"), "");
    } else {
        errors.faults(path.child("key"), key, names::config_map_key(key));
    }
}

/// A field of the Pod itself.
pub(super) fn field_ref(path: Path<'_>, reference: &Value, shown: &[&str], errors: &mut Errors) {
    let (version, field) = (text(reference, "apiVersion"), text(reference, "fieldPath"));
    if version.is_empty() {
        errors.required(path.child("apiVersion"), "");
        return;
    }
    if field.is_empty() {
        errors.required(path.child("fieldPath"), "");
        return;
    }
    let refuse = |errors: &mut Errors, why: String| {
        errors.invalid(
            path.child("fieldPath"),
            field,
            format!("error converting fieldPath: {why}"),
        );
    };
    if version != "v1" {
        refuse(errors, format!("unsupported pod version: {version}"));
        return;
    }
    if let Some((map, key)) = subscript(field) {
        match map {
            "metadata.annotations" => {
                let key = key.to_lowercase();
                errors.faults(path, &key, names::label_key(&key));
            }
            "metadata.labels" => errors.faults(path, key, names::label_key(key)),
            _ => refuse(
                errors,
                format!("field label does not support subscript: {field}"),
            ),
        }
        return;
    }
    let field = if field == "spec.host" {
        "spec.nodeName"
    } else {
        field
    };
    if !KNOWN_FIELDS.contains(&field) {
        refuse(errors, format!("field label not supported: {field}"));
    } else if !shown.contains(&field) {
        errors.not_supported(path.child("fieldPath"), field, shown);
    }
}

/// `map['key']`
fn subscript(field: &str) -> Option<(&str, &str)> {
    let (map, rest) = field.split_once("['")?;
    Some((map, rest.strip_suffix("']")?))
}

/// A resource of a container; a file must say of which.
pub(super) fn resource_ref(path: Path<'_>, reference: &Value, file: bool, errors: &mut Errors) {
    const SIZES: &str = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei";
    let resource = text(reference, "resource");
    let huge = |resource: &str| {
        resource.starts_with("limits.hugepages-") || resource.starts_with("requests.hugepages-")
    };
    if file && text(reference, "containerName").is_empty() {
        errors.required(path.child("containerName"), "");
    } else if resource.is_empty() {
        errors.required(path.child("resource"), "");
    } else if !RESOURCES.contains(&resource) && !huge(resource) {
        errors.not_supported(path.child("resource"), resource, RESOURCES);
    }
    let divisor = quantity(&reference["divisor"]).filter(|divisor| !divisor.is_zero());
    let Some(divisor) = divisor.map(|divisor| divisor.to_string()) else {
        return;
    };
    let (valid, of) = match resource
        .split_once('.')
        .map_or("", |(_, resource)| resource)
    {
        "cpu" => ("1m, 1", "the cpu"),
        "memory" => (SIZES, "the memory"),
        "ephemeral-storage" => (SIZES, "the local ephemeral storage"),
        other if other.starts_with("hugepages-") => (SIZES, "the hugepages"),
        _ => return,
    };
    if !valid.split(", ").any(|valid| valid == divisor) {
        let valid = valid.replace("1m, 1", "1m and 1");
        errors.invalid(
            path.child("divisor"),
            resource,
            format!("only divisor's values {valid} are supported with {of} resource"),
        );
    }
}

/// Variables that are taken from a whole ConfigMap or Secret.
pub(super) fn sources(path: Path<'_>, container: &Value, errors: &mut Errors) {
    for (index, source) in list(container, "envFrom").iter().enumerate() {
        let item = path.index(index);
        let prefix = text(source, "prefix");
        if !prefix.is_empty() {
            errors.faults(item.child("prefix"), prefix, variable_name(prefix));
        }
        let mut sources = 0;
        for field in ["configMapRef", "secretRef"] {
            if !has(source, field) {
                continue;
            }
            sources += 1;
            let name = text(&source[field], "name");
            let path = item.child(field);
            if name.is_empty() {
                errors.required(path.child("name"), "");
            } else {
                let faults = names::object_name(crate::kinds::NameRule::Subdomain, name, true);
                errors.faults(path.child("name"), name, faults);
            }
        }
        if sources == 0 {
            errors.invalid(
                path,
                "",
                "must specify one of: `configMapRef` or `secretRef`",
            );
        } else if sources > 1 {
            errors.invalid(
                path,
                "",
                "may not have more than one field specified at a time",
            );
        }
    }
}
