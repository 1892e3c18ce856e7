//! What an API server demands of an event, checked before anything is sent.

use kube::runtime::events::Reporter;

use crate::PublishError;
use crate::name::is_subdomain;

/// The most bytes of `reason`, `action` and `reportingInstance`.
///
/// From the validation of `events.k8s.io/v1` in kube-apiserver.
const MAX_FIELD_BYTES: usize = 128;

/// The most bytes of a DNS label (a namespace) and of the name part of a qualified name.
const MAX_LABEL_BYTES: usize = 63;

/// Checks a text that must have 1 to 128 bytes.
pub(crate) fn short_text(field: &'static str, value: &str) -> Result<(), PublishError> {
    match value.len() {
        0 => Err(PublishError::Empty {
            field,
            expected: "1 to 128 bytes",
        }),
        1..=MAX_FIELD_BYTES => Ok(()),
        bytes => Err(PublishError::TooLong {
            field,
            bytes,
            max: MAX_FIELD_BYTES,
        }),
    }
}

/// Checks the name of the controller, and the name of its instance or what stands in for it.
pub(crate) fn reporter(reporter: &Reporter) -> Result<(), PublishError> {
    qualified_name("reportingController", &reporter.controller)?;
    short_text("reportingInstance", instance(reporter))
}

/// The name of the reporting instance: the controller's where there is no other.
pub(crate) fn instance(reporter: &Reporter) -> &str {
    reporter.instance.as_deref().unwrap_or(&reporter.controller)
}

/// Checks a namespace, which becomes a part of the request's path.
pub(crate) fn namespace(field: &'static str, value: &str) -> Result<(), PublishError> {
    let label = value.len() <= MAX_LABEL_BYTES && !value.contains('.') && is_subdomain(value);
    if label {
        Ok(())
    } else {
        Err(malformed(field, value, "a DNS label such as \"team-a\""))
    }
}

/// Checks a qualified name: a name, or a DNS subdomain, a slash and a name.
fn qualified_name(field: &'static str, value: &str) -> Result<(), PublishError> {
    const EXPECTED: &str = "a qualified name such as \"website-controller\" or \"example.com/website\" \
                            (the name has at most 63 bytes: letters, digits, '-', '_' and '.')";
    if value.is_empty() {
        return Err(PublishError::Empty {
            field,
            expected: EXPECTED,
        });
    }
    let (prefix, name) = match value.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, value),
    };
    if prefix.is_none_or(is_subdomain) && is_name_part(name) {
        Ok(())
    } else {
        Err(malformed(field, value, EXPECTED))
    }
}

/// Whether `([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]` matches all of it, in at most 63 bytes.
fn is_name_part(name: &str) -> bool {
    let inner = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let bytes = name.as_bytes();
    bytes.len() <= MAX_LABEL_BYTES
        && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(inner)
}

fn malformed(field: &'static str, value: &str, expected: &'static str) -> PublishError {
    PublishError::Malformed {
        field,
        value: value.to_owned(),
        expected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qualified_names() {
        let long = "c".repeat(63);
        let prefix = "d".repeat(253);
        for good in [
            "simple",
            "example.com/name",
            "A_b.c-9",
            "x",
            long.as_str(),
            &format!("{prefix}/n"),
        ] {
            assert!(qualified_name("f", good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "a/b/c",
            "-x",
            "x-",
            "with space",
            "é",
            &format!("{long}c"),
            "Example.com/name",
            "example.com/",
            "/name",
            &format!("{prefix}d/n"),
        ] {
            assert!(qualified_name("f", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn namespaces() {
        for good in ["default", "a", "0-x", &"n".repeat(63)] {
            assert!(namespace("f", good).is_ok(), "{good}");
        }
        for bad in ["a.b", "a/b", "../x", "Upper", "-a", "a ", &"n".repeat(64)] {
            assert!(namespace("f", bad).is_err(), "{bad}");
        }
    }
}
