//! What the rules of several kinds share: texts, lists, numbers, ports, addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use k8s_api_schema::FieldError;
use serde_json::{Map, Value};

use super::names;
pub(super) use super::path::{list, text};

pub(super) const IMMUTABLE: &str = "field is immutable";

/// The number under `key`, 0 where there is none.
pub(super) fn number(value: &Value, key: &str) -> i64 {
    value.get(key).and_then(Value::as_i64).unwrap_or(0)
}

/// The members of the map under `key`.
pub(super) fn members<'a>(
    value: &'a Value,
    key: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    value
        .get(key)
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
}

/// The value under `key`; null is none.
pub(super) fn some<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    value.get(key).filter(|found| !found.is_null())
}

/// One error for each fault of a value.
pub(super) fn faults(path: &str, value: &str, faults: Vec<String>, errors: &mut Vec<FieldError>) {
    errors.extend(
        faults
            .into_iter()
            .map(|fault| FieldError::invalid(path, value, fault)),
    );
}

/// A required text that is one of `supported`.
pub(super) fn one_of(path: &str, value: &str, supported: &[&str], errors: &mut Vec<FieldError>) {
    if value.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if !supported.contains(&value) {
        errors.push(FieldError::not_supported(path, value, supported));
    }
}

/// A text that is one of `supported` if there is one at all.
pub(super) fn maybe_one_of(
    path: &str,
    value: Option<&Value>,
    supported: &[&str],
    errors: &mut Vec<FieldError>,
) {
    if let Some(value) = value.and_then(Value::as_str)
        && !supported.contains(&value)
    {
        errors.push(FieldError::not_supported(path, value, supported));
    }
}

/// The value is the one from before.
pub(super) fn immutable(
    path: &str,
    new: Option<&Value>,
    old: Option<&Value>,
    errors: &mut Vec<FieldError>,
) {
    let none = |value: &&Value| !value.is_null();
    if new.filter(none) != old.filter(none) {
        let value = new.cloned().unwrap_or_default();
        errors.push(FieldError::invalid(path, value, IMMUTABLE));
    }
}

pub(super) fn port_number(path: &str, port: i64, errors: &mut Vec<FieldError>) {
    if !(1..=65_535).contains(&port) {
        errors.push(FieldError::invalid(
            path,
            port,
            "must be between 1 and 65535, inclusive",
        ));
    }
}

/// A port by number or by name.
pub(super) fn port(path: &str, port: Option<&Value>, errors: &mut Vec<FieldError>) {
    match port {
        Some(Value::String(name)) => faults(path, name, port_name(name), errors),
        Some(number) => port_number(path, number.as_i64().unwrap_or(0), errors),
        None => port_number(path, 0, errors),
    }
}

/// What is wrong with the name of a port.
pub(super) fn port_name(name: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if name.len() > 15 {
        faults.push("must be no more than 15 characters".into());
    }
    let valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || !name.chars().all(valid) {
        faults
            .push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".into());
    }
    if !name.contains(|c: char| c.is_ascii_lowercase()) {
        faults.push("must contain at least one letter (a-z)".into());
    }
    if name.contains("--") {
        faults.push("must not contain consecutive hyphens".into());
    }
    if name.starts_with('-') || name.ends_with('-') {
        faults.push("must not begin or end with a hyphen".into());
    }
    faults
}

/// An address; the zeros that may lead a number of one are let through, as on the real server.
pub(super) fn address(text: &str) -> Option<IpAddr> {
    if text.contains(':') {
        return text.parse::<Ipv6Addr>().ok().map(|address| {
            address
                .to_ipv4_mapped()
                .map_or(IpAddr::V6(address), IpAddr::V4)
        });
    }
    let parts: Vec<&str> = text.split('.').collect();
    let mut octets = [0u8; 4];
    if parts.len() != octets.len() {
        return None;
    }
    for (octet, part) in octets.iter_mut().zip(parts) {
        if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let digits = part.trim_start_matches('0');
        *octet = if digits.is_empty() {
            0
        } else {
            digits.parse().ok()?
        };
    }
    Some(IpAddr::V4(Ipv4Addr::from(octets)))
}

/// Whether the text is an address as it should be written: no leading zeros, no IPv4 in IPv6.
fn is_strict(text: &str) -> bool {
    match text.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) => address.to_ipv4_mapped().is_none(),
        Ok(IpAddr::V4(_)) => true,
        Err(_) => false,
    }
}

const ADDRESS: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

/// An address in a field that was there before addresses were checked strictly.
pub(super) fn legacy_address(path: &str, text: &str, errors: &mut Vec<FieldError>) {
    if address(text).is_none() {
        errors.push(FieldError::invalid(path, text, ADDRESS));
    } else if !is_strict(text) {
        let fault = if text.contains(':') {
            "must not be an IPv4-mapped IPv6 address"
        } else {
            "must not have leading 0s"
        };
        errors.push(FieldError::invalid(path, text, fault));
    }
}

/// An address that traffic can be sent to.
pub(super) fn endpoint_address(path: &str, text: &str, errors: &mut Vec<FieldError>) {
    let mut invalid = |fault: String| errors.push(FieldError::invalid(path, text, fault));
    let Some(address) = address(text) else {
        invalid("must be a valid IP address".into());
        return;
    };
    let (local, multicast) = match address {
        IpAddr::V4(v4) => (v4.is_link_local(), v4.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(v6) => (
            v6.is_unicast_link_local(),
            v6.segments()[0] & 0xff0f == 0xff02,
        ),
    };
    if address.is_unspecified() {
        invalid(format!("may not be unspecified ({text})"));
    }
    if address.is_loopback() {
        invalid("may not be in the loopback range (127.0.0.0/8, ::1/128)".into());
    }
    if local {
        invalid("may not be in the link-local range (169.254.0.0/16, fe80::/10)".into());
    }
    if multicast {
        invalid("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".into());
    }
}

const CIDR: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

/// The address and the length of a range.
pub(super) fn range(text: &str) -> Option<(IpAddr, u8)> {
    let (ip, bits) = text.split_once('/')?;
    let ip = address(ip)?;
    let most = if ip.is_ipv4() { 32 } else { 128 };
    if bits.is_empty() || !bits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let bits: u8 = bits.parse().ok()?;
    (bits <= most).then_some((ip, bits))
}

/// The first address of a range.
pub(super) fn first_of(ip: IpAddr, bits: u8) -> IpAddr {
    match ip {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            Ipv4Addr::from(u32::from(v4) & mask).into()
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            Ipv6Addr::from(u128::from(v6) & mask).into()
        }
    }
}

/// A range in a field that was there before ranges were checked strictly.
pub(super) fn legacy_range(path: &str, text: &str, errors: &mut Vec<FieldError>) {
    let Some((ip, bits)) = range(text) else {
        errors.push(FieldError::invalid(path, text, CIDR));
        return;
    };
    let (written, _) = text.split_once('/').unwrap_or((text, ""));
    if !is_strict(written) {
        let fault = if written.contains(':') {
            "must not have an IPv4-mapped IPv6 address"
        } else {
            "must not have leading 0s in IP"
        };
        errors.push(FieldError::invalid(path, text, fault));
    }
    if first_of(ip, bits) != ip {
        errors.push(FieldError::invalid(
            path,
            text,
            "must not have bits set beyond the prefix length",
        ));
    }
}

/// The warnings about an address that is valid but not written as it should be.
pub(super) fn address_warnings(path: &str, text: &str) -> Vec<String> {
    let Some(address) = address(text) else {
        return Vec::new();
    };
    if !is_strict(text) {
        return vec![format!(
            "{path}: non-standard IP address {} is invalid: use \"{address}\"",
            k8s_api_schema::quote(text)
        )];
    }
    if address.is_ipv6() && address.to_string() != text {
        return vec![format!(
            "{path}: IPv6 address {} should be in RFC 5952 canonical format (\"{address}\")",
            k8s_api_schema::quote(text)
        )];
    }
    Vec::new()
}

/// The warnings about a range that is valid but not written as it should be.
pub(super) fn range_warnings(path: &str, text: &str) -> Vec<String> {
    let Some((ip, bits)) = range(text) else {
        return Vec::new();
    };
    let first = first_of(ip, bits);
    let quoted = k8s_api_schema::quote(text);
    let (written, length) = text.split_once('/').unwrap_or((text, ""));
    if first != ip {
        return vec![format!(
            "{path}: CIDR value {quoted} is ambiguous in this context (should be \"{first}/{bits}\" or \"{ip}/{bits}\"?)"
        )];
    }
    if !is_strict(written) || length != bits.to_string() {
        return vec![format!(
            "{path}: non-standard CIDR value {quoted} is invalid: use \"{first}/{bits}\""
        )];
    }
    if ip.is_ipv6() && ip.to_string() != written {
        return vec![format!(
            "{path}: IPv6 CIDR value {quoted} should be in RFC 5952 canonical format (\"{ip}/{bits}\")"
        )];
    }
    Vec::new()
}

/// A selector of labels.
pub(super) fn selector(path: &str, selector: &Value, errors: &mut Vec<FieldError>) {
    super::metadata::labels(
        &format!("{path}.matchLabels"),
        selector.get("matchLabels"),
        errors,
    );
    for (index, requirement) in list(selector, "matchExpressions").iter().enumerate() {
        let path = format!("{path}.matchExpressions[{index}]");
        let values = list(requirement, "values");
        let operator = text(requirement, "operator");
        match operator {
            "In" | "NotIn" => {
                if values.is_empty() {
                    errors.push(FieldError::required(
                        format!("{path}.values"),
                        "must be specified when `operator` is 'In' or 'NotIn'",
                    ));
                }
            }
            "Exists" | "DoesNotExist" => {
                if !values.is_empty() {
                    errors.push(FieldError::forbidden(
                        format!("{path}.values"),
                        "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                    ));
                }
            }
            _ => errors.push(FieldError::invalid(
                format!("{path}.operator"),
                operator,
                "not a valid selector operator",
            )),
        }
        let key = text(requirement, "key");
        faults(&format!("{path}.key"), key, names::label_key(key), errors);
        for (index, value) in values.iter().filter_map(Value::as_str).enumerate() {
            faults(
                &format!("{path}.values[{index}]"),
                value,
                names::label_value(value),
                errors,
            );
        }
    }
}

/// A map, empty where there is none.
pub(super) fn map(value: Option<&Value>) -> Map<String, Value> {
    value
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default()
}
