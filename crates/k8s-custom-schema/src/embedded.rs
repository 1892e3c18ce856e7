//! Whole objects within an object: `x-kubernetes-embedded-resource`.

use k8s_api_schema::FieldError;
use serde_json::Value;

use crate::Metadata;
use crate::path::Path;
use crate::structural::Structural;

/// Brings type and metadata of every embedded object into form, and gives back the unknown fields of the metadata.
///
/// # Errors
///
/// The first that cannot be read.
pub(crate) fn coerce(
    value: &mut Value,
    schema: &Structural,
    path: &Path,
    metadata: &Metadata,
    unknown: &mut Vec<String>,
) -> Result<(), FieldError> {
    match value {
        Value::Object(map) => {
            if schema.embedded {
                for key in ["apiVersion", "kind"] {
                    if let Some(wrong) = map.get(key).filter(|value| !value.is_string()) {
                        let path = path.child(key).text();
                        return Err(FieldError::invalid(path, wrong.clone(), "must be a string"));
                    }
                }
                if let Some(sent) = map.get("metadata") {
                    let path = path.child("metadata").text();
                    let (read, more) = (metadata.read)(sent)
                        .map_err(|why| FieldError::invalid(path.as_str(), sent.clone(), why))?;
                    unknown.extend(more.iter().map(|field| format!("{path}.{field}")));
                    map.insert("metadata".into(), read);
                }
            }
            for (key, value) in map.iter_mut() {
                if let Some(property) = schema.properties.get(key) {
                    coerce(value, property, &path.child(key), metadata, unknown)?;
                } else if let Some(values) = schema.additional_schema() {
                    coerce(value, values, &path.key(key), metadata, unknown)?;
                }
            }
        }
        Value::Array(list) => {
            if let Some(items) = &schema.items {
                for (index, item) in list.iter_mut().enumerate() {
                    coerce(item, items, &path.index(index), metadata, unknown)?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// Every error of the type and metadata of embedded objects.
pub(crate) fn check(
    value: &Value,
    schema: &Structural,
    path: &Path,
    metadata: &Metadata,
    errors: &mut Vec<FieldError>,
) {
    match value {
        Value::Object(map) => {
            if schema.embedded {
                type_and_metadata(value, path, metadata, errors);
            }
            for (key, value) in map {
                if let Some(property) = schema.properties.get(key) {
                    check(value, property, &path.child(key), metadata, errors);
                } else if let Some(values) = schema.additional_schema() {
                    check(value, values, &path.key(key), metadata, errors);
                }
            }
        }
        Value::Array(list) => {
            if let Some(items) = &schema.items {
                for (index, item) in list.iter().enumerate() {
                    check(item, items, &path.index(index), metadata, errors);
                }
            }
        }
        _ => {}
    }
}

/// Every error of the type of whole objects within a default.
pub(crate) fn types(
    value: &Value,
    schema: &Structural,
    is_resource: bool,
    path: &Path,
    errors: &mut Vec<FieldError>,
) {
    match value {
        Value::Object(map) => {
            if is_resource || schema.embedded {
                type_of(value, path, errors);
            }
            for (key, value) in map {
                if let Some(property) = schema.properties.get(key) {
                    types(value, property, false, &path.child(key), errors);
                } else if let Some(values) = schema.additional_schema() {
                    types(value, values, false, &path.key(key), errors);
                }
            }
        }
        Value::Array(list) => {
            if let Some(items) = &schema.items {
                for (index, item) in list.iter().enumerate() {
                    types(item, items, false, &path.index(index), errors);
                }
            }
        }
        _ => {}
    }
}

fn type_of(object: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    for key in ["apiVersion", "kind"] {
        let path = path.child(key).text();
        let Some(value) = object.get(key) else {
            errors.push(FieldError::required(path, ""));
            continue;
        };
        let Some(text) = value.as_str() else {
            errors.push(FieldError::invalid(path, value.clone(), "must be a string"));
            continue;
        };
        if text.is_empty() {
            errors.push(FieldError::invalid(path, text, "must not be empty"));
        } else if key == "apiVersion" {
            if text.matches('/').count() > 1 {
                let why = format!("unexpected GroupVersion string: {text}");
                errors.push(FieldError::invalid(path, text, why));
            }
        } else if let Some(why) = label_1035(&text.to_lowercase()) {
            let why = format!("may have mixed case, but should otherwise match: {why}");
            errors.push(FieldError::invalid(path, text, why));
        }
    }
}

fn type_and_metadata(
    object: &Value,
    path: &Path,
    metadata: &Metadata,
    errors: &mut Vec<FieldError>,
) {
    type_of(object, path, errors);
    if let Some(sent) = object.get("metadata") {
        let path = path.child("metadata").text();
        match (metadata.read)(sent) {
            Err(why) => errors.push(FieldError::invalid(path, sent.clone(), why)),
            Ok((read, _)) => errors.extend((metadata.check)(&read, &path)),
        }
    }
}

/// Why a text is no DNS label that begins with a letter.
pub(crate) fn label_1035(text: &str) -> Option<String> {
    let mut faults = Vec::new();
    if text.len() > 63 {
        faults.push("must be no more than 63 bytes".to_owned());
    }
    let bytes = text.as_bytes();
    let alphanumeric = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let valid = bytes.first().is_some_and(u8::is_ascii_lowercase)
        && bytes.last().is_some_and(alphanumeric)
        && bytes.iter().all(|b| alphanumeric(b) || *b == b'-');
    if !valid {
        faults.push(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
             validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
                .to_owned(),
        );
    }
    (!faults.is_empty()).then(|| faults.join(","))
}
