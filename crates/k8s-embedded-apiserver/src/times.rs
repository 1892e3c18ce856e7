//! Kinds with times of microseconds, which the real server reads more strictly than others.

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::Timestamp;
use k8s_openapi::jiff::fmt::strtime;
use k8s_openapi::serde::Serialize;
use k8s_openapi::serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::codec::typed;
use crate::json_error::type_name;
use crate::metadata::{entry_mut, object_mut};

const LAYOUT: &str = "2006-01-02T15:04:05.000000Z07:00";

/// How the zero time of Go is written; it is no time.
const ZERO: &str = "0001-01-01T00:00:00.000000Z";

/// Reads a time with exactly six digits after the second, in any zone; gives it in UTC.
fn micro_time(value: &Value, field: &str) -> Result<Value, String> {
    let Some(text) = value.as_str() else {
        let kind = type_name(value);
        return Err(format!(
            "json: cannot unmarshal {kind} into Go struct field {field} of type string"
        ));
    };
    if let Some((rest, wanted)) = mismatch(text) {
        return Err(format!(
            "parsing time {text:?} as {LAYOUT:?}: cannot parse {rest:?} as {wanted:?}"
        ));
    }
    if text == ZERO {
        return Ok(Value::Null);
    }
    let time: Timestamp = text
        .parse()
        .map_err(|error| format!("parsing time {text:?} as {LAYOUT:?}: {error}"))?;
    strtime::format("%Y-%m-%dT%H:%M:%S%.6fZ", time)
        .map(Value::from)
        .map_err(|error| format!("parsing time {text:?} as {LAYOUT:?}: {error}"))
}

/// The parts of the layout, as messages name them.
const PARTS: &[&str] = &[
    "2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05", ".000000",
];

/// Where a text leaves the layout: what is left of it, and the part that is wanted there.
fn mismatch(text: &str) -> Option<(&str, &'static str)> {
    let mut rest = text;
    for part in PARTS {
        let fits = rest.get(..part.len()).is_some_and(|found| {
            found.bytes().zip(part.bytes()).all(|(found, wanted)| {
                if wanted.is_ascii_digit() {
                    found.is_ascii_digit()
                } else {
                    found == wanted
                }
            })
        });
        if !fits {
            return Some((rest, part));
        }
        rest = &rest[part.len()..];
    }
    let zone = rest == "Z" || (rest.len() == 6 && rest.starts_with(['+', '-']));
    (!zone).then_some((rest, "Z07:00"))
}

/// Takes a time out of an object.
fn take(
    map: &mut Map<String, Value>,
    key: &'static str,
    path: &str,
) -> Result<Option<(&'static str, Value)>, String> {
    match map.remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => Ok(Some((key, micro_time(&value, &format!("{path}{key}"))?))),
    }
}

/// A Lease.
pub(crate) fn lease(mut object: Value) -> Result<Value, String> {
    let mut times = Vec::new();
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        for key in ["acquireTime", "renewTime"] {
            times.extend(take(spec, key, "LeaseSpec.spec.")?);
        }
    }
    let mut object = typed::<Lease>(object)?;
    let spec = entry_mut(object_mut(&mut object), "spec");
    spec.extend(times.into_iter().map(|(key, time)| (key.to_owned(), time)));
    Ok(object)
}

/// An Event of either group.
pub(crate) fn event<T: Serialize + DeserializeOwned>(mut object: Value) -> Result<Value, String> {
    let map = object_mut(&mut object);
    let time = take(map, "eventTime", "Event.")?;
    let series = series(map.remove("series"))?;
    let mut object = typed::<T>(object)?;
    let map = object_mut(&mut object);
    map.extend(time.map(|(key, time)| (key.to_owned(), time)));
    if let Some(series) = series {
        map.insert("series".into(), series.into());
    }
    Ok(object)
}

/// A series; one without a time is read, too, and left for validation.
fn series(series: Option<Value>) -> Result<Option<Map<String, Value>>, String> {
    let mut sent =
        match series {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Object(map)) => map,
            Some(_) => return Err(
                "json: cannot unmarshal into Go struct field Event.series of type v1.EventSeries"
                    .into(),
            ),
        };
    let mut map = Map::new();
    match sent.remove("count") {
        None | Some(Value::Null) => {}
        Some(Value::Number(count))
            if count
                .as_i64()
                .is_some_and(|count| i32::try_from(count).is_ok()) =>
        {
            if count.as_i64() != Some(0) {
                map.insert("count".into(), count.into());
            }
        }
        Some(_) => {
            return Err("json: cannot unmarshal into Go struct field EventSeries.series.count of type int32".into());
        }
    }
    let time = take(&mut sent, "lastObservedTime", "EventSeries.series.")?;
    map.insert(
        "lastObservedTime".into(),
        time.map(|(_, time)| time).unwrap_or_default(),
    );
    Ok(Some(map))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::events::v1::Event;
    use serde_json::json;

    use super::*;

    #[test]
    fn six_digits_are_wanted() {
        for (text, want) in [
            (
                "2020-01-01T00:00:00.000000Z",
                Ok("2020-01-01T00:00:00.000000Z"),
            ),
            (
                "2020-01-01T02:00:00.123456+02:00",
                Ok("2020-01-01T00:00:00.123456Z"),
            ),
            (
                "2020-01-01T00:00:00Z",
                Err("cannot parse \"Z\" as \".000000\""),
            ),
            (
                "2020-01-01T00:00:00.5Z",
                Err("cannot parse \".5Z\" as \".000000\""),
            ),
            (
                "2020-01-01T00:00:00.1234567Z",
                Err("cannot parse \"7Z\" as \"Z07:00\""),
            ),
            (
                "2020-01-01t00:00:00z",
                Err("cannot parse \"t00:00:00z\" as \"T\""),
            ),
            ("2020-01-01", Err("cannot parse \"\" as \"T\"")),
            ("yesterday", Err("cannot parse \"yesterday\" as \"2006\"")),
            ("", Err("cannot parse \"\" as \"2006\"")),
        ] {
            match (micro_time(&json!(text), "f"), want) {
                (Ok(got), Ok(want)) => assert_eq!(got, want),
                (Err(got), Err(want)) => assert!(got.contains(want), "{got}"),
                (got, _) => panic!("{text}: {got:?}"),
            }
        }
        assert_eq!(micro_time(&json!(ZERO), "f"), Ok(Value::Null));
        assert!(micro_time(&json!(12), "f").is_err());
    }

    #[test]
    fn a_series_may_lack_its_time() {
        let event = event::<Event>(
            json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "series": {"count": 5}}),
        );
        assert_eq!(
            event.expect("read")["series"],
            json!({"count": 5, "lastObservedTime": null})
        );
    }
}
