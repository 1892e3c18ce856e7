//! `format`: which texts and numbers the real server checks, and how.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::LazyLock;

use regex::Regex;

/// The formats of texts that are checked, without their dashes.
const TEXTS: &[&str] = &[
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "password",
    "date",
    "duration",
    "datetime",
    "k8sshortname",
    "k8slongname",
];

/// Whether a format means something for a type; others are ignored.
pub(crate) fn is_known(type_: &str, format: &str) -> bool {
    match type_ {
        "" | "string" => TEXTS.contains(&format.replace('-', "").as_str()),
        "integer" => matches!(format, "int32" | "int64"),
        "number" => matches!(format, "float" | "double"),
        _ => false,
    }
}

macro_rules! patterns {
    ($($name:ident = $pattern:expr;)*) => {
        $(static $name: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new($pattern).expect("the pattern is a literal, and the tests compile it")
        });)*
    };
}

patterns! {
    HOSTNAME = r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$";
    UUID = r"(?i-u)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
    UUID3 = r"(?i-u)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
    UUID4 = r"(?i-u)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$";
    UUID5 = r"(?i-u)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$";
    CREDIT_CARD = r"^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|(222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}|6[27][0-9]{14})$";
    SSN = r"^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$";
    HEX_COLOR = r"^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$";
    RGB_COLOR = r"^rgb\([\t\n\f\r ]*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])[\t\n\f\r ]*,[\t\n\f\r ]*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])[\t\n\f\r ]*,[\t\n\f\r ]*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])[\t\n\f\r ]*\)$";
    BASE64 = r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$";
    TIME = r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$";
    SCALA_DURATION = r"([0-9]+)[\t\n\f\r ]*([A-Za-zµ]+)";
    GO_DURATION = r"^[+-]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$";
    SHORT_NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
    LONG_NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
    EMAIL_ATOM = r"^[A-Za-z0-9!#$%&'*+/=?^_`{|}~\x{80}-\x{10ffff}-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~\x{80}-\x{10ffff}-]+)*$";
    SCHEME = r"^[A-Za-z][A-Za-z0-9+.-]*$";
}

/// Whether a text is of a format that [`is_known`].
pub(crate) fn is_valid(format: &str, text: &str) -> bool {
    match format.replace('-', "").as_str() {
        "bsonobjectid" => text.len() == 24 && text.bytes().all(|b| b.is_ascii_hexdigit()),
        "uri" => is_request_uri(text),
        "email" => is_email(text),
        "hostname" => {
            HOSTNAME.is_match(text) && text.len() <= 255 && text.split('.').all(|p| p.len() <= 63)
        }
        "ipv4" => text.contains('.') && parse_ip(text).is_some(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "mac" => is_mac(text),
        "uuid" => UUID.is_match(text),
        "uuid3" => UUID3.is_match(text),
        "uuid4" => UUID4.is_match(text),
        "uuid5" => UUID5.is_match(text),
        "isbn" => is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10(text),
        "isbn13" => is_isbn13(text),
        "creditcard" => is_credit_card(text),
        "ssn" => text.len() == 11 && SSN.is_match(text),
        "hexcolor" => HEX_COLOR.is_match(text),
        "rgbcolor" => RGB_COLOR.is_match(text),
        "byte" => BASE64.is_match(text),
        "date" => is_date(text),
        "duration" => is_duration(text),
        "datetime" => is_date_time(text),
        "k8sshortname" => text.len() <= 63 && SHORT_NAME.is_match(text),
        "k8slongname" => text.len() <= 253 && LONG_NAME.is_match(text),
        _ => true,
    }
}

/// Reads an address; zeros may lead the numbers of IPv4.
fn parse_ip(text: &str) -> Option<IpAddr> {
    if text.contains(':') {
        return text.parse().ok();
    }
    let parts: Vec<&str> = text.split('.').collect();
    let valid = parts.len() == 4
        && parts.iter().all(|part| {
            !part.is_empty()
                && part.bytes().all(|b| b.is_ascii_digit())
                && part.trim_start_matches('0').len() <= 3
                && part.trim_start_matches('0').parse::<u8>().is_ok()
                    | part.trim_start_matches('0').is_empty()
        });
    let plain: Vec<String> = parts
        .iter()
        .map(|part| part.trim_start_matches('0'))
        .map(|part| if part.is_empty() { "0" } else { part }.to_owned())
        .collect();
    valid.then(|| plain.join(".").parse().ok()).flatten()
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let max = match parse_ip(address) {
        Some(IpAddr::V4(_)) => 32,
        Some(IpAddr::V6(_)) => 128,
        None => return false,
    };
    !bits.is_empty()
        && bits.bytes().all(|b| b.is_ascii_digit())
        && bits.parse::<u32>().is_ok_and(|bits| bits <= max)
}

fn is_mac(text: &str) -> bool {
    let hex = |part: &str, length: usize| {
        part.len() == length && part.bytes().all(|b| b.is_ascii_hexdigit())
    };
    for separator in [':', '-'] {
        let parts: Vec<&str> = text.split(separator).collect();
        if matches!(parts.len(), 6 | 8 | 20) {
            return parts.iter().all(|part| hex(part, 2));
        }
    }
    let parts: Vec<&str> = text.split('.').collect();
    matches!(parts.len(), 3 | 4 | 10) && parts.iter().all(|part| hex(part, 4))
}

fn is_isbn10(text: &str) -> bool {
    let digits: Vec<char> = text.chars().filter(|c| !matches!(c, '-' | ' ')).collect();
    if digits.len() != 10 {
        return false;
    }
    let mut sum = 0;
    for (weight, (index, c)) in (1..).zip(digits.iter().enumerate()) {
        let value = match c {
            'X' if index == 9 => 10,
            c => match c.to_digit(10) {
                Some(digit) => digit,
                None => return false,
            },
        };
        sum += weight * value;
    }
    sum % 11 == 0
}

fn is_isbn13(text: &str) -> bool {
    let digits: Option<Vec<u32>> = text
        .chars()
        .filter(|c| !matches!(c, '-' | ' '))
        .map(|c| c.to_digit(10))
        .collect();
    digits.is_some_and(|digits| {
        digits.len() == 13
            && digits
                .iter()
                .enumerate()
                .map(|(index, digit)| digit * if index % 2 == 0 { 1 } else { 3 })
                .sum::<u32>()
                % 10
                == 0
    })
}

fn is_credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let sum: u32 = digits
        .chars()
        .rev()
        .filter_map(|c| c.to_digit(10))
        .enumerate()
        .map(|(index, digit)| match (index % 2, digit * 2) {
            (0, _) => digit,
            (_, double) if double > 9 => double - 9,
            (_, double) => double,
        })
        .sum();
    CREDIT_CARD.is_match(&digits) && sum.is_multiple_of(10)
}

pub(crate) fn is_date(text: &str) -> bool {
    let shape = text.len() == 10
        && text.bytes().enumerate().all(|(index, b)| match index {
            4 | 7 => b == b'-',
            _ => b.is_ascii_digit(),
        });
    shape && text.parse::<jiff::civil::Date>().is_ok()
}

fn is_date_time(text: &str) -> bool {
    if text.len() < 4 {
        return false;
    }
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else {
        return false;
    };
    let Some(found) = TIME.captures(time) else {
        return false;
    };
    is_date(date) && &found[1] <= "23" && &found[2] <= "59" && &found[3] <= "59"
}

fn is_duration(text: &str) -> bool {
    const UNITS: &[&[&str]] = &[
        &["ns", "nano"],
        &["us", "µs", "micro"],
        &["ms", "milli"],
        &["s", "sec"],
        &["m", "min"],
        &["h", "hr", "hour"],
        &["d", "day"],
        &["w", "wk", "week"],
    ];
    if GO_DURATION.is_match(text) {
        return true;
    }
    let mut found = false;
    for part in SCALA_DURATION.captures_iter(text) {
        if part[1].parse::<i64>().is_err() {
            return false;
        }
        let unit = part[2].to_lowercase();
        found |= UNITS.iter().any(|names| {
            names.contains(&unit.as_str())
                || names.last().is_some_and(|last| unit.starts_with(last))
        });
    }
    found
}

/// An absolute path or a URI with a scheme.
fn is_request_uri(text: &str) -> bool {
    if text.is_empty() || text.chars().any(|c| c.is_ascii_control()) {
        return false;
    }
    if text == "*" {
        return true;
    }
    let escapes = |part: &str| {
        part.match_indices('%').all(|(index, _)| {
            part.get(index + 1..index + 3)
                .is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()))
        })
    };
    let path = text.split('?').next().unwrap_or_default();
    let colon = text.find(':');
    let has_scheme = colon.is_some_and(|colon| SCHEME.is_match(&text[..colon]));
    if colon == Some(0) {
        return false;
    }
    let rest = match colon {
        Some(colon) if has_scheme => &text[colon + 1..],
        _ => text,
    };
    if !rest.starts_with('/') {
        return has_scheme;
    }
    let Some(authority) = rest.strip_prefix("//").filter(|_| has_scheme) else {
        return escapes(path);
    };
    let end = authority.find(['/', '?']).unwrap_or(authority.len());
    let (authority, path) = authority.split_at(end);
    let host = authority.rsplit('@').next().unwrap_or_default();
    is_host(host) && escapes(path.split('?').next().unwrap_or_default())
}

fn is_host(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[') {
        Some(inner) => match inner.split_once(']') {
            Some((name, port)) => (name, port),
            None => return false,
        },
        None => match host.rfind(':') {
            Some(colon) => host.split_at(colon),
            None => (host, ""),
        },
    };
    let valid_port = port.is_empty()
        || port
            .strip_prefix(':')
            .is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()));
    valid_port && !name.contains([' ', '"', '<', '>', '\\', '^', '`', '{', '|', '}', '%'])
}

fn is_email(text: &str) -> bool {
    let address = match (text.rfind('<'), text.trim_end().strip_suffix('>')) {
        (Some(open), Some(inner)) => &inner[open + 1..],
        (None, None) => text.trim(),
        _ => return false,
    };
    let Some((local, domain)) = address.rsplit_once('@') else {
        return false;
    };
    let quoted = local.len() >= 2 && local.starts_with('"') && local.ends_with('"');
    let literal = domain.starts_with('[') && domain.ends_with(']');
    (quoted || EMAIL_ATOM.is_match(local)) && (literal || EMAIL_ATOM.is_match(domain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        for (format, valid, invalid) in [
            (
                "bsonobjectid",
                vec!["507f1f77bcf86cd799439011"],
                vec!["x", ""],
            ),
            (
                "uri",
                vec!["http://a.b/c?d", "/x", "mailto:a"],
                vec!["::", "abc", "", "http://a b/"],
            ),
            (
                "email",
                vec!["a@b", "A B <a@b.c>", "\"x y\"@b"],
                vec!["nobody", "a b@c", "@", ""],
            ),
            ("hostname", vec!["a", "a.b.com", "host"], vec!["-bad-", ""]),
            (
                "ipv4",
                vec!["10.0.0.1", "010.0.0.1"],
                vec!["300.0.0.1", "1.2.3", "::1"],
            ),
            ("ipv6", vec!["::1", "fe80::1"], vec!["10.0.0.1", "g::"]),
            (
                "cidr",
                vec!["10.0.0.0/8", "::/0"],
                vec!["10.0.0.1", "10.0.0.0/33", "a/8"],
            ),
            (
                "mac",
                vec!["00:11:22:33:44:55", "0011.2233.4455"],
                vec!["00:11"],
            ),
            (
                "uuid",
                vec!["01234567-89ab-cdef-0123-456789ABCDEF"],
                vec!["not-a-uuid", ""],
            ),
            ("isbn10", vec!["0321751043"], vec!["0321751044"]),
            ("isbn13", vec!["978-0321751041"], vec!["978-0321751042"]),
            (
                "creditcard",
                vec!["4111 1111 1111 1111"],
                vec!["4111 1111 1111 1112"],
            ),
            ("ssn", vec!["111-22-3333"], vec!["111223333", "x"]),
            ("hexcolor", vec!["#FFFFFF", "fff"], vec!["#ff"]),
            ("rgbcolor", vec!["rgb(255,255,255)"], vec!["rgb(256,0,0)"]),
            ("byte", vec!["YQ=="], vec!["!!", ""]),
            ("date", vec!["2020-01-02"], vec!["2020-13-02", "2020-1-2"]),
            (
                "duration",
                vec!["1h", "1.5s", "22 ns", "3 days", "0"],
                vec!["soon", "1"],
            ),
            (
                "date-time",
                vec!["2020-01-02T03:04:05Z", "2020-01-02t03:04:05.123+01:00"],
                vec!["2020-01-02", "2020-01-02 03:04:05Z", "2020-01-02T24:04:05Z"],
            ),
            ("k8s-short-name", vec!["a-b"], vec!["a.b", "A"]),
            ("k8s-long-name", vec!["a.b"], vec!["a..b"]),
            ("password", vec!["", "x"], vec![]),
        ] {
            assert!(is_known("string", format), "{format}");
            for text in valid {
                assert!(is_valid(format, text), "{format} {text:?}");
            }
            for text in invalid {
                assert!(!is_valid(format, text), "{format} {text:?}");
            }
        }
        assert!(!is_known("string", "quantity"));
        assert!(!is_known("integer", "float"));
    }
}
