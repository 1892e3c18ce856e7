//! Validation: Nodes, Namespaces, Endpoints and `RuntimeClass`es.

use k8s_api_schema::FieldError;
use serde_json::{Value, json};

use super::fields::{
    IMMUTABLE, endpoint_address, faults, legacy_address, legacy_range, list, number, one_of,
    port_number, some, text,
};
use super::names;

const EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// A Node; `old` is the one that it replaces.
pub(crate) fn node(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let empty = json!({});
    let spec = object.get("spec").unwrap_or(&empty);
    let mut errors = Vec::new();
    taints(spec, &mut errors);
    let ranges = crate::metadata::texts(spec.get("podCIDRs"));
    for (index, range) in ranges.iter().enumerate() {
        legacy_range(&format!("spec.podCIDRs[{index}]"), range, &mut errors);
    }
    if ranges.len() > 1 {
        let v6 = ranges.iter().filter(|range| range.contains(':')).count();
        if ranges.len() > 2 || v6 != 1 {
            errors.push(FieldError::invalid(
                "spec.podCIDRs",
                spec.get("podCIDRs").cloned().unwrap_or_default(),
                "may specify no more than one CIDR for each IP family",
            ));
        }
    }
    let Some(old) = old.and_then(|old| old.get("spec")) else {
        return errors;
    };
    let before = crate::metadata::texts(old.get("podCIDRs"));
    let changes = match (before.is_empty(), before.len() == ranges.len()) {
        (true, _) => 0,
        (false, true) => before
            .iter()
            .zip(&ranges)
            .filter(|(old, new)| old != new)
            .count(),
        (false, false) => 1,
    };
    for _ in 0..changes {
        errors.push(FieldError::forbidden(
            "spec.podCIDRs",
            "node updates may not change podCIDR except from \"\" to valid",
        ));
    }
    let (before, after) = (text(old, "providerID"), text(spec, "providerID"));
    if !before.is_empty() && before != after {
        let what = if after.is_empty() {
            "cleared"
        } else {
            "modified"
        };
        errors.push(FieldError::invalid(
            "spec.providerID",
            Value::Null,
            format!("field cannot be {what} once set"),
        ));
    }
    errors
}

fn taints(spec: &Value, errors: &mut Vec<FieldError>) {
    let taints = list(spec, "taints");
    for (index, taint) in taints.iter().enumerate() {
        // The real server puts them into the metadata.
        let path = format!("metadata.taints[{index}]");
        let (key, value, effect) = (
            text(taint, "key"),
            text(taint, "value"),
            text(taint, "effect"),
        );
        faults(&format!("{path}.key"), key, names::label_key(key), errors);
        let wrong = names::label_value(value);
        if !wrong.is_empty() {
            errors.push(FieldError::invalid(
                format!("{path}.value"),
                value,
                wrong.join(";"),
            ));
        }
        one_of(&format!("{path}.effect"), effect, EFFECTS, errors);
        let same = |other: &Value| text(other, "key") == key && text(other, "effect") == effect;
        if taints[..index].iter().any(same) {
            let shown = format!(
                "{{\"Key\":{},\"Value\":{},\"Effect\":{},\"TimeAdded\":null}}",
                json!(key),
                json!(value),
                json!(effect)
            );
            errors.push(FieldError::duplicate(path, Value::Null).printed(format!(
                "{shown}: taints must be unique by key and effect pair"
            )));
        }
    }
}

/// A Namespace; `old` is the one that it replaces.
pub(crate) fn namespace(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let known = old.map(|old| crate::metadata::texts(old.pointer("/spec/finalizers")));
    for (index, finalizer) in crate::metadata::texts(object.pointer("/spec/finalizers"))
        .into_iter()
        .enumerate()
    {
        if known
            .as_ref()
            .is_some_and(|known| known.contains(&finalizer))
        {
            continue;
        }
        let path = match old {
            Some(_) => format!("spec.finalizers[{index}]"),
            None => "spec.finalizers".to_owned(),
        };
        faults(&path, finalizer, names::label_key(finalizer), &mut errors);
        if !finalizer.contains('/')
            && !matches!(finalizer, "kubernetes" | "orphan" | "foregroundDeletion")
        {
            errors.push(FieldError::invalid(
                path,
                finalizer,
                "name is neither a standard finalizer name nor is it fully qualified",
            ));
        }
    }
    if old.is_some() {
        let deleting = crate::metadata::is_deleting(object);
        let (wanted, when) = if deleting {
            ("Terminating", "is not empty")
        } else {
            ("Active", "is empty")
        };
        let phase = crate::metadata::text(object, "/status/phase");
        if phase != wanted {
            errors.push(FieldError::invalid(
                "status.Phase",
                phase,
                format!("may only be '{wanted}' if `deletionTimestamp` {when}"),
            ));
        }
    }
    errors
}

/// Endpoints; `old` are those that they replace.
pub(crate) fn endpoints(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if old.is_some_and(|old| old.get("subsets") == object.get("subsets")) {
        return errors;
    }
    for (index, subset) in list(object, "subsets").iter().enumerate() {
        let path = format!("subsets[{index}]");
        let kinds = ["addresses", "notReadyAddresses"];
        if kinds.iter().all(|kind| list(subset, kind).is_empty()) {
            errors.push(FieldError::required(
                path.as_str(),
                "must specify `addresses` or `notReadyAddresses`",
            ));
        }
        for kind in kinds {
            for (index, found) in list(subset, kind).iter().enumerate() {
                endpoint(&format!("{path}.{kind}[{index}]"), found, &mut errors);
            }
        }
        let ports = list(subset, "ports");
        for (index, port) in ports.iter().enumerate() {
            let path = format!("{path}.ports[{index}]");
            let name = text(port, "name");
            if !name.is_empty() {
                faults(
                    &format!("{path}.name"),
                    name,
                    names::label_1123(name),
                    &mut errors,
                );
            } else if ports.len() > 1 {
                errors.push(FieldError::required(format!("{path}.name"), ""));
            }
            port_number(&format!("{path}.port"), number(port, "port"), &mut errors);
            one_of(
                &format!("{path}.protocol"),
                text(port, "protocol"),
                &["SCTP", "TCP", "UDP"],
                &mut errors,
            );
            if let Some(protocol) = some(port, "appProtocol").and_then(Value::as_str) {
                let wrong = names::label_key(protocol);
                faults(&format!("{path}.appProtocol"), protocol, wrong, &mut errors);
            }
        }
    }
    errors
}

fn endpoint(path: &str, found: &Value, errors: &mut Vec<FieldError>) {
    let ip = text(found, "ip");
    let field = format!("{path}.ip");
    legacy_address(&field, ip, errors);
    let host = text(found, "hostname");
    if !host.is_empty() {
        faults(
            &format!("{path}.hostname"),
            host,
            names::label_1123(host),
            errors,
        );
    }
    if let Some(node) = some(found, "nodeName").and_then(Value::as_str) {
        let wrong = names::subdomain(node, "characters");
        faults(&format!("{path}.nodeName"), node, wrong, errors);
    }
    endpoint_address(&field, ip, errors);
}

/// A `RuntimeClass`; `old` is the one that it replaces.
pub(crate) fn runtime_class(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let handler = text(object, "handler");
    match old {
        Some(old) if text(old, "handler") != handler => {
            errors.push(FieldError::invalid("handler", Value::Null, IMMUTABLE));
        }
        Some(_) => {}
        None if handler.is_empty() => errors.push(FieldError::required("handler", "")),
        None => faults("handler", handler, names::label_1123(handler), &mut errors),
    }
    errors
}
