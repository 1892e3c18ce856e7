//! Which texts are names, label keys and values, and what is said about those that are not.

use crate::kinds::NameRule;

const LABEL_1123: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const LABEL_1035: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const LABEL_KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

/// Longest DNS label, label value and name part of a label key.
const MAX_LABEL: usize = 63;
/// Longest DNS subdomain and ConfigMap key.
const MAX_SUBDOMAIN: usize = 253;

/// The name of an object, or with `prefix` a `generateName`, whose last dash is followed by more.
pub(super) fn object_name(rule: NameRule, name: &str, prefix: bool) -> Vec<String> {
    let masked;
    let masked_name = if prefix && name.len() > 1 && name.ends_with('-') {
        // The real server drops the byte before the dash, too. Half a character is as invalid as a whole one.
        masked = name
            .get(..name.len() - 2)
            .map_or_else(|| name.to_owned(), |kept| format!("{kept}a"));
        masked.as_str()
    } else {
        name
    };
    match rule {
        NameRule::Any => Vec::new(),
        NameRule::Subdomain => subdomain(masked_name, "characters"),
        NameRule::Label => label_1123(masked_name),
        NameRule::PathSegment => path_segment(name, prefix),
    }
}

/// A DNS subdomain. The real server speaks of `characters` or `bytes`, as the caller says.
pub(super) fn subdomain(name: &str, unit: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if name.len() > MAX_SUBDOMAIN {
        errors.push(too_long(MAX_SUBDOMAIN, unit));
    }
    if !is_subdomain(name) {
        errors.push(no_match(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
            &["example.com"],
            &format!(r"{LABEL_1123}(\.{LABEL_1123})*"),
        ));
    }
    errors
}

/// A path to search names in: a DNS subdomain whose labels may have underscores.
pub(super) fn search_path(name: &str) -> Vec<String> {
    let name = match name {
        "." => return Vec::new(),
        name => name.strip_suffix('.').unwrap_or(name),
    };
    let mut errors = Vec::new();
    if name.len() > MAX_SUBDOMAIN {
        errors.push(too_long(MAX_SUBDOMAIN, "characters"));
    }
    // As if underscores before and in labels were what may stand there.
    let plain: Vec<String> = name
        .split('.')
        .map(|label| label.strip_prefix('_').unwrap_or(label).replace('_', "-"))
        .collect();
    if !is_subdomain(&plain.join(".")) {
        errors.push(no_match(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
            &["example.com"],
            r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*",
        ));
    }
    errors
}

/// A DNS label.
pub(super) fn label_1123(name: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if name.len() > MAX_LABEL {
        errors.push(too_long(MAX_LABEL, "characters"));
    }
    if !is_label(name) {
        if is_subdomain(name) {
            errors.push("must not contain dots".into());
        } else {
            errors.push(no_match(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
                &["my-name", "123-abc"],
                LABEL_1123,
            ));
        }
    }
    errors
}

/// A DNS label that starts with a letter.
pub(super) fn label_1035(name: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if name.len() > MAX_LABEL {
        errors.push(too_long(MAX_LABEL, "characters"));
    }
    if !is_label(name) || !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        errors.push(no_match(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
            &["my-name", "abc-123"],
            LABEL_1035,
        ));
    }
    errors
}

/// A DNS subdomain behind `*.`.
pub(super) fn wildcard_subdomain(name: &str) -> Vec<String> {
    if name.strip_prefix("*.").is_some_and(is_subdomain) {
        return Vec::new();
    }
    vec![no_match(
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
        &["*.example.com"],
        &format!(r"\*\.{LABEL_1123}(\.{LABEL_1123})*"),
    )]
}

/// A domain and a path.
pub(super) fn domain_prefixed_path(text: &str) -> Vec<String> {
    let (domain, path) = text.split_once('/').unwrap_or((text, ""));
    if domain.is_empty() || path.is_empty() {
        return vec!["must be a domain-prefixed path (such as \"acme.io/foo\")".into()];
    }
    let mut faults = subdomain(domain, "characters");
    let valid = |c: char| c.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:@".contains(c);
    if !path.chars().all(valid) {
        faults.push("Invalid path".into());
    }
    faults
}

pub(super) fn path_segment(name: &str, prefix: bool) -> Vec<String> {
    if !prefix && (name == "." || name == "..") {
        return vec![format!("may not be '{name}'")];
    }
    ["/", "%"]
        .into_iter()
        .filter(|part| name.contains(part))
        .map(|part| format!("may not contain '{part}'"))
        .collect()
}

/// A qualified name: a label key, an annotation key, a finalizer, a reporting controller.
pub(crate) fn label_key(key: &str) -> Vec<String> {
    const CHARACTERS: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
    const EXAMPLES: &[&str] = &["MyName", "my.name", "123-abc"];
    let mut errors = Vec::new();
    let name = match key.split_once('/') {
        None => key,
        Some((prefix, name)) if !name.contains('/') => {
            if prefix.is_empty() {
                errors.push("prefix part must be non-empty".into());
            } else {
                errors.extend(
                    subdomain(prefix, "bytes")
                        .into_iter()
                        .map(|error| format!("prefix part {error}")),
                );
            }
            name
        }
        _ => {
            errors.push(format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                no_match(CHARACTERS, EXAMPLES, LABEL_KEY)
            ));
            return errors;
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".into());
    } else if name.len() > MAX_LABEL {
        errors.push(format!("name part {}", too_long(MAX_LABEL, "bytes")));
    }
    if !is_key_part(name) {
        errors.push(format!(
            "name part {}",
            no_match(CHARACTERS, EXAMPLES, LABEL_KEY)
        ));
    }
    errors
}

/// The value of a label.
pub(crate) fn label_value(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > MAX_LABEL {
        errors.push(too_long(MAX_LABEL, "bytes"));
    }
    if !value.is_empty() && !is_key_part(value) {
        errors.push(no_match(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
            &["MyValue", "my_value", "12345"],
            &format!("({LABEL_KEY})?"),
        ));
    }
    errors
}

/// A key of a ConfigMap or Secret.
pub(super) fn config_map_key(key: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if key.len() > MAX_SUBDOMAIN {
        errors.push(too_long(MAX_SUBDOMAIN, "characters"));
    }
    if key.is_empty() || !key.bytes().all(is_key_byte) {
        errors.push(no_match(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            &["key.name", "KEY_NAME", "key-name"],
            "[-._a-zA-Z0-9]+",
        ));
    }
    match key {
        "." | ".." => errors.push(format!("must not be '{key}'")),
        _ if key.starts_with("..") => errors.push("must not start with '..'".into()),
        _ => {}
    }
    errors
}

fn is_label(name: &str) -> bool {
    let edge = |byte: Option<&u8>| {
        byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    let bytes = name.as_bytes();
    edge(bytes.first())
        && edge(bytes.last())
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-')
}

fn is_subdomain(name: &str) -> bool {
    name.split('.').all(is_label)
}

fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
}

fn is_key_part(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().copied().all(is_key_byte)
}

fn too_long(max: usize, unit: &str) -> String {
    format!("must be no more than {max} {unit}")
}

fn no_match(message: &str, examples: &[&str], pattern: &str) -> String {
    let examples: Vec<String> = examples
        .iter()
        .map(|example| format!("'{example}', "))
        .collect();
    format!(
        "{message} (e.g. {}regex used for validation is '{pattern}')",
        examples.join(" or ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_names_may_end_in_a_dash_only() {
        assert_eq!(
            object_name(NameRule::Subdomain, "cm-", true),
            Vec::<String>::new()
        );
        assert_eq!(object_name(NameRule::Subdomain, "cm-", false).len(), 1);
        assert_eq!(object_name(NameRule::Subdomain, "cm.", true).len(), 1);
        assert_eq!(object_name(NameRule::Subdomain, "é-", true).len(), 1);
    }

    #[test]
    fn texts_of_the_real_server() {
        assert_eq!(
            label_key("-bad"),
            [
                "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
            ]
        );
        assert_eq!(
            label_key("Up.Per/name"),
            [
                r"prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
            ]
        );
        assert_eq!(
            label_value("not ok"),
            [
                "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
            ]
        );
        assert_eq!(label_1123("a.b"), ["must not contain dots"]);
        assert_eq!(config_map_key("..x"), ["must not start with '..'"]);
        assert_eq!(
            object_name(NameRule::PathSegment, "system:foo", false),
            Vec::<String>::new()
        );
        assert_eq!(
            object_name(NameRule::PathSegment, "a/b", false),
            ["may not contain '/'"]
        );
        assert_eq!(
            object_name(NameRule::Subdomain, &"n".repeat(254), false),
            ["must be no more than 253 characters"]
        );
    }
}
