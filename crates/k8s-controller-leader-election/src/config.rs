//! What an API server demands of a lease, checked before anything is sent.

use std::time::Duration;

/// The most bytes of an identity.
///
/// An API server has no limit. The name of a Pod (253 bytes), an underscore and a UUID (36), which
/// is what identities are made of elsewhere, are well below.
pub const MAX_IDENTITY_BYTES: usize = 512;

/// The most bytes of a DNS label: a namespace.
const MAX_LABEL_BYTES: usize = 63;

/// The most bytes of a DNS subdomain: the name of a lease.
const MAX_SUBDOMAIN_BYTES: usize = 253;

/// A setting of a [`LeaderElection`](crate::LeaderElection) that cannot work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A name is missing.
    #[error("{field} is empty: expected {expected}")]
    Empty {
        /// Which one: `namespace`, `lease_name` or `identity`.
        field: &'static str,
        /// What belongs there.
        expected: &'static str,
    },
    /// The identity is too long.
    #[error("{field} has {bytes} bytes: expected at most {max}")]
    TooLong {
        /// Which one: `identity`.
        field: &'static str,
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        max: usize,
    },
    /// A name has a form that an API server refuses.
    #[error("invalid {field} {value:?}: expected {expected}")]
    Malformed {
        /// Which one: `namespace`, `lease_name` or `identity`.
        field: &'static str,
        /// What it is.
        value: String,
        /// What belongs there.
        expected: &'static str,
    },
    /// A duration is out of the range that the others leave to it.
    #[error("invalid {field} {value:?}: expected {expected}")]
    Duration {
        /// Which one: `lease_duration`, `renew_deadline` or `retry_period`.
        field: &'static str,
        /// What it is.
        value: Duration,
        /// What belongs there.
        expected: String,
    },
}

pub(crate) fn namespace(value: &str) -> Result<(), ConfigError> {
    const EXPECTED: &str = "a DNS label such as \"team-a\": at most 63 lower case letters, \
                            digits and '-', beginning and ending with a letter or digit";
    name("namespace", value, EXPECTED, is_label)
}

pub(crate) fn lease_name(value: &str) -> Result<(), ConfigError> {
    const EXPECTED: &str = "a DNS subdomain such as \"website-leader\": at most 253 lower case \
                            letters, digits, '-' and '.', each part of it beginning and ending \
                            with a letter or digit";
    name("lease_name", value, EXPECTED, is_subdomain)
}

pub(crate) fn identity(value: &str) -> Result<(), ConfigError> {
    const EXPECTED: &str = "what no other candidate is called, such as the name of the Pod";
    const PRINTABLE: &str = "text without control characters, and not of spaces alone";
    if value.is_empty() {
        return Err(ConfigError::Empty {
            field: "identity",
            expected: EXPECTED,
        });
    }
    if value.len() > MAX_IDENTITY_BYTES {
        return Err(ConfigError::TooLong {
            field: "identity",
            bytes: value.len(),
            max: MAX_IDENTITY_BYTES,
        });
    }
    if value.chars().any(char::is_control) || value.trim().is_empty() {
        return Err(malformed("identity", value, PRINTABLE));
    }
    Ok(())
}

fn name(
    field: &'static str,
    value: &str,
    expected: &'static str,
    is_valid: fn(&str) -> bool,
) -> Result<(), ConfigError> {
    if value.is_empty() {
        return Err(ConfigError::Empty { field, expected });
    }
    if !is_valid(value) {
        return Err(malformed(field, value, expected));
    }
    Ok(())
}

fn malformed(field: &'static str, value: &str, expected: &'static str) -> ConfigError {
    ConfigError::Malformed {
        field,
        value: value.to_owned(),
        expected,
    }
}

fn is_label(value: &str) -> bool {
    value.len() <= MAX_LABEL_BYTES && is_part(value)
}

fn is_subdomain(value: &str) -> bool {
    value.len() <= MAX_SUBDOMAIN_BYTES && value.split('.').all(is_part)
}

fn is_part(part: &str) -> bool {
    let ends =
        |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let bytes = part.as_bytes();
    ends(bytes.first())
        && ends(bytes.last())
        && bytes
            .iter()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
}
