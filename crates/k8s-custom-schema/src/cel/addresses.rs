//! Why a text is no IP address and no network, in the words of the real server.

use std::net::{IpAddr, Ipv6Addr};

use k8s_api_schema::quote;

const CONVERSION: &str = "parse error during conversion from string";

/// Why a text is no address that rules may use.
pub(super) fn no_ip(text: &str) -> String {
    if is_mapped(text) {
        return format!("IPv4-mapped IPv6 address {} is not allowed", quote(text));
    }
    let zone = text.split_once('%').map(|(ip, _)| ip.parse::<Ipv6Addr>());
    if zone.is_some_and(|ip| ip.is_ok()) {
        return format!("IP address {} with zone value is not allowed", quote(text));
    }
    format!(
        "IP Address {} {CONVERSION}: {}",
        quote(text),
        no_address(text)
    )
}

/// Why a text is no network that rules may use.
pub(super) fn no_cidr(text: &str) -> String {
    let start = format!("network address {CONVERSION}: ");
    let prefix = |why: &str| format!("{start}{start}netip.ParsePrefix({}): {why}", quote(text));
    let Some((ip, bits)) = text.rsplit_once('/') else {
        return prefix("no '/'");
    };
    if is_mapped(ip) {
        let quoted = quote(text);
        return format!("{start}IPv4-mapped IPv6 address {quoted} is not allowed");
    }
    let Ok(address) = ip.parse::<IpAddr>() else {
        return prefix(&no_address(ip));
    };
    let well_formed = bits.bytes().all(|b| b.is_ascii_digit()) && !bits.is_empty();
    if !well_formed || bits.len() > 1 && bits.starts_with('0') {
        return prefix(&format!("bad bits after slash: {}", quote(bits)));
    }
    let most = if address.is_ipv4() { 32 } else { 128 };
    if bits.parse::<u32>().is_ok_and(|bits| bits <= most) {
        return prefix("has bits set beyond its length");
    }
    prefix("prefix length out of range")
}

/// Whether the length of a network's prefix begins with a zero that it does not need.
pub(super) fn has_padded_bits(text: &str) -> bool {
    let bits = text.rsplit_once('/').map(|(_, bits)| bits);
    bits.is_some_and(|bits| bits.len() > 1 && bits.starts_with('0'))
}

fn is_mapped(text: &str) -> bool {
    let ip: Option<Ipv6Addr> = text.parse().ok();
    ip.is_some_and(|ip| ip.to_ipv4_mapped().is_some())
}

fn no_address(text: &str) -> String {
    let separator = text.find([':', '.', '%']);
    let why = match separator.map(|at| text.as_bytes()[at]) {
        Some(b'.') => no_ip_4(text),
        Some(b':') => no_ip_6(text),
        Some(_) => "missing IPv6 address".into(),
        None => "unable to parse IP".into(),
    };
    format!("ParseAddr({}): {why}", quote(text))
}

/// Go reads from the left, and tells of the first fault.
fn no_ip_4(text: &str) -> String {
    let (mut value, mut digits, mut fields) = (0_u32, 0, 0);
    for (at, c) in text.char_indices() {
        if let Some(digit) = c.to_digit(10) {
            if digits == 1 && value == 0 {
                return "IPv4 field has octet with leading zero".into();
            }
            value = value * 10 + digit;
            digits += 1;
            if value > 255 {
                return "IPv4 field has value >255".into();
            }
        } else if c == '.' {
            if at == 0 || at + 1 == text.len() || digits == 0 {
                let rest = if at == 0 { text } else { &text[at..] };
                return format!(
                    "IPv4 field must have at least one digit (at {})",
                    quote(rest)
                );
            }
            if fields == 3 {
                return "IPv4 address too long".into();
            }
            (value, digits, fields) = (0, 0, fields + 1);
        } else {
            return format!("unexpected character (at {})", quote(&text[at..]));
        }
    }
    "IPv4 address too short".into()
}

fn no_ip_6(text: &str) -> String {
    let at = |why: &str, rest: &str| format!("{why} (at {})", quote(rest));
    let mut rest = text.split('%').next().unwrap_or_default();
    let mut ellipsis = false;
    if let Some(after) = rest.strip_prefix("::") {
        ellipsis = true;
        rest = after;
        if rest.is_empty() {
            return "unable to parse IP".into();
        }
    }
    let mut fields = 0;
    while fields < 8 {
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits > 4 {
            return at("each group must have 4 or less digits", rest);
        }
        if digits == 0 {
            return at(
                "each colon-separated field must have at least one digit",
                rest,
            );
        }
        fields += 1;
        let after = &rest[digits..];
        if after.is_empty() {
            rest = after;
            break;
        }
        if after.starts_with('.') {
            return if !ellipsis && fields != 7 {
                at(
                    "embedded IPv4 address must replace the final 2 fields of the address",
                    rest,
                )
            } else {
                no_ip_4(rest)
            };
        }
        let Some(next) = after.strip_prefix(':') else {
            return at("unexpected character, want colon", after);
        };
        if next.is_empty() {
            return at("colon must be followed by more characters", after);
        }
        rest = next;
        if let Some(next) = rest.strip_prefix(':') {
            if ellipsis {
                return at("multiple :: in address", rest);
            }
            ellipsis = true;
            rest = next;
            if rest.is_empty() {
                break;
            }
        }
    }
    if !rest.is_empty() {
        return at("trailing garbage after address", rest);
    }
    if fields < 8 && !ellipsis {
        return "address string too short".into();
    }
    "the :: must expand to at least one field of zeros".into()
}
