//! The standard functions of CEL; others are those of the libraries.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use k8s_api_schema::print_float;
use regex::Regex;

use super::eval::Outcome;
use super::library;
use super::value::Val;

/// Calls a function, on a target or by its qualified name.
pub(super) fn call(name: &str, target: Option<&Val>, args: &[Val]) -> Outcome {
    match (target, name, args) {
        (None, "size", [value]) | (Some(value), "size", []) => size(value),
        (Some(Val::Str(text)), "contains", [Val::Str(part)]) => {
            Ok(Val::Bool(text.contains(&**part)))
        }
        (Some(Val::Str(text)), "startsWith", [Val::Str(part)]) => {
            Ok(Val::Bool(text.starts_with(&**part)))
        }
        (Some(Val::Str(text)), "endsWith", [Val::Str(part)]) => {
            Ok(Val::Bool(text.ends_with(&**part)))
        }
        (Some(Val::Str(text)), "matches", [Val::Str(pattern)])
        | (None, "matches", [Val::Str(text), Val::Str(pattern)]) => matches(text, pattern),
        (None, "dyn", [value]) => Ok(value.clone()),
        (None, "type", [value]) => Ok(Val::Type(value.type_name())),
        (
            None,
            "int" | "uint" | "double" | "string" | "bytes" | "bool" | "duration" | "timestamp",
            [value],
        ) if !matches!(value, Val::Opaque(_)) => convert(name, value),
        (Some(Val::Optional(inner)), name, args) => optional(inner.as_deref(), name, args),
        (None, "optional.none", []) => Ok(Val::Optional(None)),
        (None, "optional.of", [value]) => Ok(Val::some(value.clone())),
        (None, "optional.ofNonZeroValue", [value]) => Ok(if is_zero(value) {
            Val::Optional(None)
        } else {
            Val::some(value.clone())
        }),
        (Some(Val::Timestamp(time)), name, args) => accessor(*time, name, args),
        (Some(Val::Duration(span)), name, []) => Ok(Val::Int(match name {
            "getHours" => span.as_secs() / 3600,
            "getMinutes" => span.as_secs() / 60,
            "getSeconds" => span.as_secs(),
            "getMilliseconds" => i64::try_from(span.as_millis()).unwrap_or(i64::MAX),
            _ => return Err("no such overload".into()),
        })),
        _ => library::call(name, target, args),
    }
}

/// How many patterns a thread keeps compiled: a rule asks for the same one over and over.
const KEPT_PATTERNS: usize = 64;

thread_local! {
    static PATTERNS: RefCell<HashMap<Arc<str>, Regex>> = RefCell::default();
}

fn matches(text: &str, pattern: &Arc<str>) -> Outcome {
    PATTERNS.with_borrow_mut(|patterns| {
        let regex = if let Some(known) = patterns.get(pattern) {
            known
        } else {
            let regex = crate::pattern::compile(pattern)?;
            if patterns.len() >= KEPT_PATTERNS {
                patterns.clear();
            }
            patterns.entry(pattern.clone()).or_insert(regex)
        };
        Ok(Val::Bool(regex.is_match(text)))
    })
}

fn size(value: &Val) -> Outcome {
    let size = match value {
        Val::Str(text) => text.chars().count(),
        Val::Bytes(bytes) => bytes.len(),
        Val::List(list) => list.items.len(),
        Val::Map(map) => map.entries.len(),
        _ => return Err("no such overload".into()),
    };
    Ok(Val::Int(i64::try_from(size).unwrap_or(i64::MAX)))
}

fn is_zero(value: &Val) -> bool {
    match value {
        Val::Null => true,
        Val::Bool(flag) => !flag,
        Val::Int(number) => *number == 0,
        Val::Uint(number) => *number == 0,
        Val::Double(number) => *number == 0.0,
        Val::Str(text) => text.is_empty(),
        Val::Bytes(bytes) => bytes.is_empty(),
        Val::List(list) => list.items.is_empty(),
        Val::Map(map) => map.entries.is_empty(),
        Val::Duration(span) => span.is_zero(),
        _ => false,
    }
}

fn optional(inner: Option<&Val>, name: &str, args: &[Val]) -> Outcome {
    match (name, inner, args) {
        ("hasValue", inner, []) => Ok(Val::Bool(inner.is_some())),
        ("value", Some(value), []) | ("orValue", Some(value), [_]) => Ok(value.clone()),
        ("value", None, []) => Err("optional.none() dereference".into()),
        ("or", Some(value), [_]) => Ok(Val::some(value.clone())),
        ("orValue" | "or", None, [other]) => Ok(other.clone()),
        _ => Err("no such overload".into()),
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "the ranges are checked"
)]
fn convert(to: &str, value: &Val) -> Outcome {
    let shown = match to {
        "duration" => "google.protobuf.Duration",
        "timestamp" => "google.protobuf.Timestamp",
        other => other,
    };
    let wrong = || {
        Err(format!(
            "type conversion error from '{}' to '{shown}'",
            value.type_name()
        ))
    };
    Ok(match (to, value) {
        ("int", Val::Int(_))
        | ("uint", Val::Uint(_))
        | ("double", Val::Double(_))
        | ("string", Val::Str(_))
        | ("bytes", Val::Bytes(_))
        | ("bool", Val::Bool(_))
        | ("duration", Val::Duration(_))
        | ("timestamp", Val::Timestamp(_)) => value.clone(),
        ("int", Val::Uint(number)) => match i64::try_from(*number) {
            Ok(number) => Val::Int(number),
            Err(_) => return Err("integer overflow".into()),
        },
        ("int", Val::Double(number)) if number.abs() < 9.223_372_036_854_775e18 => {
            Val::Int(*number as i64)
        }
        ("int", Val::Double(_)) => return Err("integer overflow".into()),
        ("int", Val::Str(text)) => match text.parse() {
            Ok(number) => Val::Int(number),
            Err(_) => return wrong(),
        },
        ("int", Val::Timestamp(time)) => Val::Int(time.as_second()),
        ("int", Val::Duration(span)) => {
            Val::Int(i64::try_from(span.as_nanos()).unwrap_or(i64::MAX))
        }
        ("uint", Val::Int(number)) => match u64::try_from(*number) {
            Ok(number) => Val::Uint(number),
            Err(_) => return Err("unsigned integer overflow".into()),
        },
        ("uint", Val::Double(number)) if (0.0..1.844_674_407_370_955e19).contains(number) => {
            Val::Uint(*number as u64)
        }
        ("uint", Val::Double(_)) => return Err("unsigned integer overflow".into()),
        ("uint", Val::Str(text)) => match text.parse() {
            Ok(number) => Val::Uint(number),
            Err(_) => return wrong(),
        },
        ("double", Val::Int(number)) => Val::Double(*number as f64),
        ("double", Val::Uint(number)) => Val::Double(*number as f64),
        ("double", Val::Str(text)) => match text.parse() {
            Ok(number) => Val::Double(number),
            Err(_) => return wrong(),
        },
        ("string", Val::Bytes(bytes)) => match std::str::from_utf8(bytes) {
            Ok(text) => Val::text(text),
            Err(_) => return Err("invalid UTF-8 in bytes, cannot convert to string".into()),
        },
        (
            "string",
            Val::Bool(_)
            | Val::Int(_)
            | Val::Uint(_)
            | Val::Double(_)
            | Val::Duration(_)
            | Val::Timestamp(_),
        ) => Val::text(&print(value)),
        ("bytes", Val::Str(text)) => Val::Bytes(text.as_bytes().into()),
        ("bool", Val::Str(text)) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Val::Bool(true),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Val::Bool(false),
            _ => return wrong(),
        },
        ("duration", Val::Str(text)) => match parse_go_duration(text) {
            Some(span) => Val::Duration(span),
            None => return wrong(),
        },
        ("duration", Val::Int(nanos)) => Val::Duration(SignedDuration::from_nanos(*nanos)),
        ("timestamp", Val::Str(text)) => match text.parse::<Timestamp>() {
            Ok(time) => Val::Timestamp(time),
            Err(_) => return wrong(),
        },
        ("timestamp", Val::Int(seconds)) => match Timestamp::from_second(*seconds) {
            Ok(time) => Val::Timestamp(time),
            Err(_) => return Err("timestamp overflow".into()),
        },
        _ => return wrong(),
    })
}

/// A value as text, as conversions and errors print it.
pub(super) fn print(value: &Val) -> String {
    match value {
        Val::Null => "null".into(),
        Val::Bool(flag) => flag.to_string(),
        Val::Int(number) => number.to_string(),
        Val::Uint(number) => number.to_string(),
        Val::Double(number) => print_float(*number),
        Val::Str(text) => text.to_string(),
        Val::Duration(span) => {
            let nanos = span.subsec_nanos().unsigned_abs();
            let sign = if span.is_negative() { "-" } else { "" };
            let seconds = span.as_secs().unsigned_abs();
            if nanos == 0 {
                format!("{sign}{seconds}s")
            } else {
                let fraction = format!("{nanos:09}");
                format!("{sign}{seconds}.{}s", fraction.trim_end_matches('0'))
            }
        }
        Val::Timestamp(time) => time.to_string(),
        Val::Type(name) => (*name).into(),
        other => other.type_name().into(),
    }
}

fn accessor(time: Timestamp, name: &str, args: &[Val]) -> Outcome {
    let zone = match args {
        [] => TimeZone::UTC,
        [Val::Str(zone)] => time_zone(zone)?,
        _ => return Err("no such overload".into()),
    };
    let at = time.to_zoned(zone);
    Ok(Val::Int(match name {
        "getFullYear" => i64::from(at.year()),
        "getMonth" => i64::from(at.month()) - 1,
        "getDate" => i64::from(at.day()),
        "getDayOfMonth" => i64::from(at.day()) - 1,
        "getDayOfWeek" => i64::from(at.weekday().to_sunday_zero_offset()),
        "getDayOfYear" => i64::from(at.day_of_year()) - 1,
        "getHours" => i64::from(at.hour()),
        "getMinutes" => i64::from(at.minute()),
        "getSeconds" => i64::from(at.second()),
        "getMilliseconds" => i64::from(at.millisecond()),
        _ => return Err("no such overload".into()),
    }))
}

/// A name, or an offset such as `+02:00`.
fn time_zone(name: &str) -> Result<TimeZone, String> {
    let offset = || {
        let (hours, minutes) = name.split_once(':')?;
        let hours: i32 = hours.trim_start_matches('+').parse().ok()?;
        let minutes: i32 = minutes.parse().ok()?;
        let sign = if name.starts_with('-') { -1 } else { 1 };
        let seconds = hours * 3600 + sign * minutes * 60;
        let offset = jiff::tz::Offset::from_seconds(seconds).ok()?;
        Some(TimeZone::fixed(offset))
    };
    if let Some(zone) = offset() {
        return Ok(zone);
    }
    TimeZone::get(name).map_err(|_| format!("unknown time zone {name}"))
}

/// A duration of a field: as Go has it, or in words.
pub(super) fn parse_duration(text: &str) -> Option<SignedDuration> {
    if let Some(span) = parse_go_duration(text) {
        return Some(span);
    }
    let mut total = SignedDuration::ZERO;
    let mut found = false;
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let digits_end = rest[start..]
            .find(|c: char| !c.is_ascii_digit())
            .map_or(rest.len(), |end| start + end);
        let count: i64 = rest[start..digits_end].parse().ok()?;
        let after = rest[digits_end..].trim_start();
        let unit_end = after
            .find(|c: char| !c.is_ascii_alphabetic() && c != 'µ')
            .unwrap_or(after.len());
        let nanos: i64 = match after[..unit_end].to_lowercase().as_str() {
            unit if unit == "ns" || unit.starts_with("nano") => 1,
            unit if unit == "us" || unit == "µs" || unit.starts_with("micro") => 1_000,
            unit if unit == "ms" || unit.starts_with("milli") => 1_000_000,
            unit if unit == "s" || unit.starts_with("sec") => 1_000_000_000,
            unit if unit == "m" || unit.starts_with("min") => 60_000_000_000,
            unit if unit == "h" || unit == "hr" || unit.starts_with("hour") => 3_600_000_000_000,
            unit if unit == "d" || unit.starts_with("day") => 86_400_000_000_000,
            unit if unit == "w" || unit == "wk" || unit.starts_with("week") => 604_800_000_000_000,
            _ => 0,
        };
        if nanos > 0 {
            found = true;
            let nanos = count.checked_mul(nanos)?;
            total = total.checked_add(SignedDuration::from_nanos(nanos))?;
        }
        rest = &after[unit_end..];
    }
    found.then_some(total)
}

/// A duration as Go has it: `1h30m`, `-1.5s`.
fn parse_go_duration(text: &str) -> Option<SignedDuration> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(SignedDuration::ZERO);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: f64 = 0.0;
    let mut whole: i128 = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(end);
        if !number.contains(|c: char| c.is_ascii_digit()) || number.matches('.').count() > 1 {
            return None;
        }
        let unit_end = after
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        let nanos: i64 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let (int, fraction) = number.split_once('.').unwrap_or((number, ""));
        if !int.is_empty() {
            whole += i128::from(int.parse::<i64>().ok()?) * i128::from(nanos);
        }
        if !fraction.is_empty() {
            #[allow(clippy::cast_precision_loss, reason = "as Go reads fractions")]
            let scale = nanos as f64;
            total += format!("0.{fraction}").parse::<f64>().ok()? * scale;
        }
        rest = after;
    }
    #[allow(clippy::cast_possible_truncation, reason = "fractions are small")]
    let nanos = i64::try_from(whole + total as i128).ok()?;
    Some(SignedDuration::from_nanos(if negative {
        -nanos
    } else {
        nanos
    }))
}
