//! Validation: the group `storage.k8s.io`.

use k8s_api_schema::FieldError;
use serde_json::{Value, json};

use super::fields::{IMMUTABLE, faults, list, maybe_one_of, members, some, text};
use super::names;

/// A `StorageClass`; `old` is the one that it replaces.
pub(crate) fn storage_class(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let provisioner = text(object, "provisioner");
    if provisioner.is_empty() {
        errors.push(FieldError::required("provisioner", ""));
    } else {
        let lower = provisioner.to_lowercase();
        faults("provisioner", &lower, names::label_key(&lower), &mut errors);
    }
    for (key, _) in members(object, "parameters") {
        if key.is_empty() {
            errors.push(FieldError::invalid(
                "parameters",
                key.as_str(),
                "field can not be empty.",
            ));
        }
    }
    maybe_one_of(
        "reclaimPolicy",
        object.get("reclaimPolicy"),
        &["Delete", "Retain"],
        &mut errors,
    );
    maybe_one_of(
        "volumeBindingMode",
        object.get("volumeBindingMode"),
        &["Immediate", "WaitForFirstConsumer"],
        &mut errors,
    );
    topologies(object, &mut errors);
    if let Some(old) = old {
        for key in [
            "parameters",
            "provisioner",
            "reclaimPolicy",
            "volumeBindingMode",
        ] {
            if some(old, key) != some(object, key) {
                errors.push(FieldError::invalid(key, Value::Null, IMMUTABLE));
            }
        }
    }
    errors
}

fn topologies(object: &Value, errors: &mut Vec<FieldError>) {
    for (index, term) in list(object, "allowedTopologies").iter().enumerate() {
        for (inner, expression) in list(term, "matchLabelExpressions").iter().enumerate() {
            let path = format!("allowedTopologies[{index}].matchLabelExpressions[{inner}]");
            if list(expression, "values").is_empty() {
                errors.push(FieldError::required(format!("{path}.values"), ""));
            }
            let key = text(expression, "key");
            faults(&format!("{path}.key"), key, names::label_key(key), errors);
        }
    }
}

/// A `CSIDriver`.
pub(crate) fn csi_driver(object: &Value, _: Option<&Value>) -> Vec<FieldError> {
    let empty = json!({});
    let spec = object.get("spec").unwrap_or(&empty);
    let mut errors = Vec::new();
    maybe_one_of(
        "spec.fsGroupPolicy",
        spec.get("fsGroupPolicy"),
        &["File", "None", "ReadWriteOnceWithFSType"],
        &mut errors,
    );
    let requests = list(spec, "tokenRequests");
    for (index, request) in requests.iter().enumerate() {
        let audience = text(request, "audience");
        let same = |other: &Value| text(other, "audience") == audience;
        if requests[..index].iter().any(same) {
            errors.push(FieldError::duplicate(
                format!("spec.tokenRequests[{index}].audience"),
                audience,
            ));
        }
    }
    for mode in list(spec, "volumeLifecycleModes") {
        maybe_one_of(
            "spec.volumeLifecycleModes",
            Some(mode),
            &["Persistent", "Ephemeral"],
            &mut errors,
        );
    }
    errors
}
