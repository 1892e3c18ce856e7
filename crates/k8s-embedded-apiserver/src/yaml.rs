//! YAML bodies, of which JSON is the usual one.

use std::collections::BTreeSet;

use serde_json::Value;

/// The value of a YAML text. Of a key that is there twice the last counts.
///
/// # Errors
///
/// Text that says what is wrong.
pub(crate) fn to_json(bytes: &[u8]) -> Result<Value, String> {
    if let Ok(value) = serde_json::from_slice(bytes) {
        return Ok(value);
    }
    let options = serde_saphyr::options! {
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::LastWins,
    };
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(Value::Null);
    }
    serde_saphyr::from_slice_with_options(bytes, options).map_err(|error| {
        tracing::debug!(%error, "YAML not read");
        let text = error.to_string();
        if text.contains("mapping values are not allowed") {
            return "yaml: mapping values are not allowed in this context".into();
        }
        format!("yaml: {}", text.lines().next().unwrap_or_default())
    })
}

/// What is said of keys that a text has twice in one object: `line 1: key "name" already set in map`.
pub(crate) fn duplicate_keys(bytes: &[u8]) -> Vec<String> {
    if serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok() {
        return duplicate_json_keys(bytes);
    }
    let read: Result<Value, _> = serde_saphyr::from_slice(bytes);
    let Err(error) = read else { return Vec::new() };
    let serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } = error.without_snippet()
    else {
        return Vec::new();
    };
    let line = error.location().map_or(1, |location| location.line());
    vec![said(line, key)]
}

fn said(line: impl std::fmt::Display, key: &str) -> String {
    format!(
        "line {line}: key {} already set in map",
        k8s_api_schema::quote(key)
    )
}

/// Scans JSON that is known to be valid.
fn duplicate_json_keys(bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Vec<Option<BTreeSet<String>>> = Vec::new();
    let (mut at, mut line) = (0, 1);
    let mut is_key = false;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' => {
                open.push(Some(BTreeSet::new()));
                is_key = true;
            }
            b'[' => {
                open.push(None);
                is_key = false;
            }
            b'}' | b']' => {
                open.pop();
                is_key = false;
            }
            b',' => is_key = matches!(open.last(), Some(Some(_))),
            b'\n' => line += 1,
            b'"' => {
                let start = at;
                at += 1;
                while bytes.get(at).is_some_and(|byte| *byte != b'"') {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                let text = bytes.get(start..=at).unwrap_or_default();
                if is_key && let Some(Some(keys)) = open.last_mut() {
                    let key: String = serde_json::from_slice(text).unwrap_or_default();
                    if keys.contains(&key) {
                        found.push(said(line, &key));
                    } else {
                        keys.insert(key);
                    }
                    is_key = false;
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn yaml_and_json_are_read() {
        for (text, expected) in [
            ("a: 1\nb: [x, y]", json!({"a": 1, "b": ["x", true]})),
            ("{\"a\": {\"b\": null}}", json!({"a": {"b": null}})),
            ("a: 1\na: 2", json!({"a": 2})),
            ("{\"a\": 1, \"a\": 2}", json!({"a": 2})),
            ("", json!(null)),
            ("[1]", json!([1])),
            (
                "a: yes\nb: 'yes'\nc: ~",
                json!({"a": true, "b": "yes", "c": null}),
            ),
        ] {
            assert_eq!(to_json(text.as_bytes()), Ok(expected), "{text}");
        }
        assert_eq!(
            to_json(b"a: b: c"),
            Err("yaml: mapping values are not allowed in this context".into())
        );
    }

    #[test]
    fn keys_that_are_there_twice() {
        for (text, expected) in [
            ("{\"a\": 1, \"b\": {\"a\": [\"a\", {\"a\": 1}]}}", vec![]),
            (
                "{\"a\": {\"x\\\"\": 1,\n\"x\\\"\": 2}, \"a\": 3}",
                vec![
                    "line 2: key \"x\\\"\" already set in map",
                    "line 2: key \"a\" already set in map",
                ],
            ),
            (
                "a: 1\nb: 2\na: 3",
                vec!["line 3: key \"a\" already set in map"],
            ),
        ] {
            assert_eq!(duplicate_keys(text.as_bytes()), expected, "{text}");
        }
    }
}
