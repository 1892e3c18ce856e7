//! ConfigMaps and Secrets.

use serde_json::Value;

use super::names;
use k8s_api_schema::FieldError;

/// Most bytes of data that a ConfigMap or Secret may have.
const MAX_BYTES: usize = 1024 * 1024;

const WHEN_IMMUTABLE: &str = "field is immutable when `immutable` is set";

/// A ConfigMap; `old` is the one that it replaces.
pub(crate) fn config_map(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(old) = old {
        kept_if_immutable(old, object, &["data", "binaryData"], &mut errors);
    }
    let mut size = keys("data", object, &mut errors);
    size += keys("binaryData", object, &mut errors);
    for (key, _) in members("data", object) {
        if object
            .get("binaryData")
            .and_then(|data| data.get(key))
            .is_some()
        {
            errors.push(FieldError::invalid(
                format!("data[{key}]"),
                key.as_str(),
                "duplicate of key present in binaryData",
            ));
        }
    }
    if size > MAX_BYTES {
        errors.push(FieldError::too_long("[]", MAX_BYTES));
    }
    errors
}

/// A Secret; `old` is the one that it replaces.
pub(crate) fn secret(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(old) = old {
        if old.get("type") != object.get("type") {
            let value = object.get("type").cloned().unwrap_or_default();
            errors.push(FieldError::invalid("type", value, "field is immutable"));
        }
        kept_if_immutable(old, object, &["data"], &mut errors);
    }
    if keys("data", object, &mut errors) > MAX_BYTES {
        errors.push(FieldError::too_long("data", MAX_BYTES));
    }
    required_by_type(object, &mut errors);
    errors
}

fn required_by_type(object: &Value, errors: &mut Vec<FieldError>) {
    let has = |key: &str| object.get("data").and_then(|data| data.get(key)).is_some();
    let kind = object
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let empty = |key: &str| {
        let value = object.get("data").and_then(|data| data.get(key));
        value.and_then(Value::as_str).unwrap_or_default().is_empty()
    };
    let any: &[&str] = match kind {
        "kubernetes.io/basic-auth" => &["username", "password"],
        _ => &[],
    };
    if !any.is_empty() && !any.iter().any(|key| has(key)) {
        errors.extend(
            any.iter()
                .map(|key| FieldError::required(format!("data[{key}]"), "")),
        );
    }
    let all: &[&str] = match kind {
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/ssh-auth" if empty("ssh-privatekey") => {
            errors.push(FieldError::required("data[ssh-privatekey]", ""));
            &[]
        }
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        _ => &[],
    };
    errors.extend(
        all.iter()
            .filter(|key| !has(key))
            .map(|key| FieldError::required(format!("data[{key}]"), "")),
    );
    for key in all.iter().filter(|key| key.starts_with(".docker")) {
        docker_config(key, object, errors);
    }
    let account = "kubernetes.io/service-account.name";
    if kind == "kubernetes.io/service-account-token"
        && object
            .pointer("/metadata/annotations")
            .and_then(|annotations| annotations.get(account))
            .is_none()
    {
        errors.push(FieldError::required(
            format!("metadata.annotations[{account}]"),
            "",
        ));
    }
}

/// The credentials of registries are a JSON object.
fn docker_config(key: &str, object: &Value, errors: &mut Vec<FieldError>) {
    let data = object.get("data").and_then(|data| data.get(key));
    let Some(encoded) = data.and_then(Value::as_str) else {
        return;
    };
    let bytes = base64::Engine::decode(&base64::prelude::BASE64_STANDARD, encoded);
    let why = match crate::body::parse(&bytes.unwrap_or_default()) {
        Ok(Value::Object(_) | Value::Null) => return,
        Ok(other) => format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            match other {
                Value::Array(_) => "array",
                Value::String(_) => "string",
                Value::Bool(_) => "bool",
                _ => "number",
            }
        ),
        Err(why) => why,
    };
    errors.push(FieldError::invalid(
        format!("data[{key}]"),
        "<secret contents redacted>",
        why,
    ));
}

fn members<'a>(field: &str, object: &'a Value) -> impl Iterator<Item = (&'a String, &'a Value)> {
    object
        .get(field)
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
}

/// Checks the keys of a field and returns the bytes that its values have. Base64 is counted decoded.
fn keys(field: &str, object: &Value, errors: &mut Vec<FieldError>) -> usize {
    let encoded = field == "binaryData" || object.get("kind").is_some_and(|kind| kind == "Secret");
    let mut size = 0;
    for (key, value) in members(field, object) {
        let faults = names::config_map_key(key);
        errors.extend(
            faults
                .into_iter()
                .map(|fault| FieldError::invalid(format!("{field}[{key}]"), key.as_str(), fault)),
        );
        let text = value.as_str().unwrap_or_default();
        size += if encoded {
            text.trim_end_matches('=').len() * 3 / 4
        } else {
            text.len()
        };
    }
    size
}

fn kept_if_immutable(old: &Value, new: &Value, fields: &[&str], errors: &mut Vec<FieldError>) {
    let set = |object: &Value| object.get("immutable") == Some(&Value::Bool(true));
    if !set(old) {
        return;
    }
    if !set(new) {
        errors.push(FieldError::forbidden("immutable", WHEN_IMMUTABLE));
    }
    for field in fields {
        if old.get(*field) != new.get(*field) {
            errors.push(FieldError::forbidden(*field, WHEN_IMMUTABLE));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn keys_of_a_config_map() {
        let map = json!({"data": {"ok.key": "", "bad key": ""}, "binaryData": {"ok.key": ""}});
        let errors = texts(&config_map(&map, None));
        assert_eq!(errors.len(), 2, "{errors:?}");
        assert!(
            errors[0].starts_with("data[bad key]: Invalid value: \"bad key\": a valid config key")
        );
        assert_eq!(
            errors[1],
            "data[ok.key]: Invalid value: \"ok.key\": duplicate of key present in binaryData"
        );
    }

    #[test]
    fn size_of_a_config_map() {
        let map = json!({"data": {"k": "x".repeat(MAX_BYTES + 1)}});
        assert_eq!(
            texts(&config_map(&map, None)),
            ["[]: Too long: may not be more than 1048576 bytes"]
        );
    }

    #[test]
    fn immutable_ones_stay() {
        let old = json!({"immutable": true, "data": {"k": "1"}});
        let new = json!({"data": {"k": "2"}});
        assert_eq!(
            texts(&config_map(&new, Some(&old))),
            [
                "immutable: Forbidden: field is immutable when `immutable` is set",
                "data: Forbidden: field is immutable when `immutable` is set",
            ]
        );
    }

    #[test]
    fn the_type_of_a_secret_asks_for_keys() {
        let secret_of = |kind: &str| texts(&secret(&json!({"kind": "Secret", "type": kind}), None));
        assert_eq!(
            secret_of("kubernetes.io/tls"),
            [
                "data[tls.crt]: Required value",
                "data[tls.key]: Required value"
            ]
        );
        assert_eq!(secret_of("Opaque"), Vec::<String>::new());
    }
}
