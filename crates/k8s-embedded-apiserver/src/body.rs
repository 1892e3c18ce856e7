//! From the bytes of a request to an object in its stored form.

use serde_json::Value;

use crate::codec::unknown_fields;
use crate::custom;
use crate::json_error::{syntax_error, type_name};
use crate::kinds::Kind;
use crate::metadata::{object_mut, text};
use crate::protobuf;
use crate::query::FieldValidation;
use crate::registry::Registry;
use crate::status::Failure;

/// The largest body that is read, in bytes, as on a real server.
pub(crate) const LIMIT: usize = 3 * 1024 * 1024;

/// The media types of bodies.
const ACCEPTED: &[&str] = &["application/json", "application/yaml"];

/// Reads JSON; what is wrong with it is told in the words of the real server.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(bytes)
        .map_err(|error| syntax_error(bytes).unwrap_or_else(|| error.to_string()))
}

/// The beginning of a body, as messages quote it.
fn summary(bytes: &[u8]) -> String {
    const LENGTH: usize = 30;
    let cut = bytes.get(..LENGTH).filter(|_| bytes.len() > LENGTH);
    let shown = cut.unwrap_or(bytes);
    let text = match shown.first() {
        None => return "<empty>".into(),
        Some(b'{') => String::from_utf8_lossy(shown).into_owned(),
        Some(_) => hex(shown),
    };
    if cut.is_some() {
        format!("{text} ...")
    } else {
        text
    }
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 0x0f)])
        .collect()
}

/// Reads JSON or YAML, by the content type.
///
/// # Errors
///
/// 415 for another type, 400 for a text that is neither.
pub(crate) fn read(bytes: &[u8], content_type: Option<&str>, kind: &str) -> Result<Value, Failure> {
    let essence = content_type
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default()
        .trim();
    match essence {
        "" | "application/json" | "*/*" => parse(bytes).map_err(|why| {
            let of_kind = format!("the object provided is unrecognized (must be of type {kind})");
            let why = format!("couldn't get version/kind; json parse error: {why}");
            Failure::bad_request(format!("{of_kind}: {why} ({})", summary(bytes)))
        }),
        "application/yaml" | "text/yaml" => serde_saphyr::from_slice(bytes).map_err(|error| {
            Failure::bad_request(format!("error converting YAML to JSON: {error}"))
        }),
        "application/vnd.kubernetes.protobuf" => {
            protobuf::read(bytes, kind).map_err(Failure::bad_request)
        }
        _ => Err(Failure::unsupported_media_type(ACCEPTED)),
    }
}

/// An object in its stored form, and the fields of the body that it does not have.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) object: Value,
    pub(crate) unknown: Vec<String>,
}

impl Decoded {
    /// What is said about unknown fields.
    pub(crate) fn warnings(&self, validation: FieldValidation) -> Vec<String> {
        match validation {
            FieldValidation::Warn => self
                .unknown
                .iter()
                .map(|path| format!("unknown field {path:?}"))
                .collect(),
            FieldValidation::Ignore | FieldValidation::Strict => Vec::new(),
        }
    }

    /// Why unknown fields are refused, if they are.
    pub(crate) fn strict_error(&self, validation: FieldValidation) -> Option<String> {
        if validation != FieldValidation::Strict || self.unknown.is_empty() {
            return None;
        }
        let fields: Vec<String> = self
            .unknown
            .iter()
            .map(|path| format!("unknown field {path:?}"))
            .collect();
        Some(format!("strict decoding error: {}", fields.join(", ")))
    }
}

/// The object of a create or a replacement, in its stored form.
pub(crate) fn decode(
    bytes: &[u8],
    content_type: Option<&str>,
    kind: &Kind,
    registry: &Registry,
    validation: FieldValidation,
) -> Result<Decoded, Failure> {
    let object = read(bytes, content_type, &kind.kind)?;
    let object = check_type(object, bytes, kind, registry)?;
    let decoded = to_stored(object, kind).map_err(Failure::bad_request)?;
    match decoded.strict_error(validation) {
        Some(why) => Err(Failure::bad_request(cannot_handle(kind, &why))),
        None => Ok(decoded),
    }
}

fn cannot_handle(kind: &Kind, why: &str) -> String {
    format!(
        "{} in version {:?} cannot be handled as a {}: {why}",
        kind.kind, kind.version, kind.kind
    )
}

/// Checks that the body is of the kind of the path.
fn check_type(
    mut object: Value,
    bytes: &[u8],
    kind: &Kind,
    registry: &Registry,
) -> Result<Value, Failure> {
    if object.is_null() && !kind.is_custom() {
        object = Value::Object(serde_json::Map::new());
    }
    if !object.is_object() {
        let type_name = type_name(&object);
        return Err(Failure::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): couldn't get version/kind; json parse error: \
             json: cannot unmarshal {type_name} into Go value of type struct {{ APIVersion string \
             \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }} ({})",
            kind.kind,
            summary(bytes)
        )));
    }
    for key in ["apiVersion", "kind"] {
        if let Some(wrong) = object
            .get(key)
            .filter(|value| !value.is_string() && !value.is_null())
        {
            return Err(Failure::bad_request(format!(
                "the object provided is unrecognized (must be of type {}): couldn't get version/kind; json parse error: \
                 json: cannot unmarshal {} into Go struct field .{key} of type string ({})",
                kind.kind,
                type_name(wrong),
                summary(bytes)
            )));
        }
    }
    let sent_version = text(&object, "/apiVersion").to_owned();
    let sent_kind = text(&object, "/kind").to_owned();
    if kind.is_custom() {
        check_custom_type(&object, &sent_version, &sent_kind, kind)?;
    } else {
        check_builtin_type(&sent_version, &sent_kind, kind, registry)?;
    }
    Ok(object)
}

fn check_custom_type(
    object: &Value,
    sent_version: &str,
    sent_kind: &str,
    kind: &Kind,
) -> Result<(), Failure> {
    let cannot = |why: String| Failure::bad_request(cannot_handle(kind, &why));
    if sent_kind.is_empty() {
        return Err(cannot(format!("Object 'Kind' is missing in '{object}'")));
    }
    if sent_version.is_empty() {
        return Err(cannot(format!(
            "Object 'apiVersion' is missing in '{object}'"
        )));
    }
    if sent_version != kind.api_version() {
        return Err(Failure::bad_request(format!(
            "the API version in the data ({sent_version}) does not match the expected API version ({})",
            kind.api_version()
        )));
    }
    if sent_kind != kind.kind {
        return Err(cannot(format!(
            "no kind {sent_kind:?} is registered for version {sent_version:?} in scheme \"pkg/runtime/scheme.go:111\""
        )));
    }
    Ok(())
}

fn check_builtin_type(
    sent_version: &str,
    sent_kind: &str,
    kind: &Kind,
    registry: &Registry,
) -> Result<(), Failure> {
    let own = kind.api_version();
    let version = if sent_version.is_empty() {
        own.as_str()
    } else {
        sent_version
    };
    let sent_kind = if sent_kind.is_empty() {
        &*kind.kind
    } else {
        sent_kind
    };
    if version == own && sent_kind == kind.kind {
        return Ok(());
    }
    let known = registry.kinds().any(|found| {
        !found.is_custom() && found.api_version() == version && found.kind == sent_kind
    });
    let short = version.rsplit('/').next().unwrap_or(version);
    if !known {
        return Err(Failure::bad_request(format!(
            "{sent_kind} in version {short:?} cannot be handled as a {}: no kind {sent_kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\"",
            kind.kind
        )));
    }
    if sent_kind == kind.kind {
        return Err(Failure::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({own})"
        )));
    }
    let internal = if kind.group.is_empty() {
        "core"
    } else {
        kind.group.split('.').next().unwrap_or_default()
    };
    Err(Failure::bad_request(format!(
        "{sent_kind} in version {short:?} cannot be handled as a {}: converting ({short}.{sent_kind}) to ({internal}.{}): unknown conversion",
        kind.kind, kind.kind
    )))
}

/// An object of the kind's version in the stored form, with its defaults.
///
/// # Errors
///
/// Text that names the field with a wrong type.
pub(crate) fn to_stored(mut object: Value, kind: &Kind) -> Result<Decoded, String> {
    let map = object_mut(&mut object);
    map.insert("apiVersion".into(), kind.api_version().into());
    map.insert("kind".into(), kind.kind.as_ref().into());
    let read = (kind.normalize)(object.clone()).map_err(|why| cannot_handle(kind, &why))?;
    let mut unknown = unknown_fields(&object, &read);
    let mut object = (kind.to_storage)(read);
    if kind.is_custom() {
        let dropped =
            custom::receive(&mut object, kind).map_err(|why| cannot_handle(kind, &why))?;
        unknown.extend(dropped);
    }
    let metadata = crate::metadata::metadata_mut(&mut object);
    // It is gone for good.
    metadata.remove("selfLink");
    (kind.default)(&mut object);
    Ok(Decoded { object, unknown })
}

/// A stored object as the kind's version shows it.
pub(crate) fn to_view(stored: &Value, kind: &Kind) -> Value {
    if kind.is_custom() {
        return custom::from_storage(stored, kind);
    }
    let mut object = (kind.from_storage)(stored.clone());
    let map = object_mut(&mut object);
    map.insert("apiVersion".into(), kind.api_version().into());
    map.insert("kind".into(), kind.kind.as_ref().into());
    object
}

/// An object of the kind with the given metadata and nothing else, as a bookmark has it.
pub(crate) fn to_empty(object: &Value, kind: &Kind) -> Value {
    // Of these two even an empty object shows fields.
    let shows_fields = matches!(&*kind.storage, "events" | "leases.coordination.k8s.io");
    if kind.is_custom() {
        let mut object = object.clone();
        let map = object_mut(&mut object);
        map.insert("apiVersion".into(), kind.api_version().into());
        map.insert("kind".into(), kind.kind.as_ref().into());
        return object;
    }
    match to_stored(object.clone(), kind) {
        Ok(stored) if shows_fields => to_view(&stored.object, kind),
        _ => to_view(object, kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_quoted_in_part() {
        assert_eq!(summary(b""), "<empty>");
        assert_eq!(summary(b"[]"), "5b5d");
        assert_eq!(summary(b"{"), "{");
        assert_eq!(
            summary(br#"{"metadata":{"name":"a"}} trailing"#),
            r#"{"metadata":{"name":"a"}} trai ..."#
        );
    }

    #[test]
    fn json_errors_read_like_those_of_go() {
        assert_eq!(parse(b"{"), Err("unexpected end of JSON input".into()));
        assert_eq!(
            parse(b"{} trailing"),
            Err("invalid character 't' after top-level value".into())
        );
        assert_eq!(
            parse(b"x"),
            Err("invalid character 'x' looking for beginning of value".into())
        );
    }
}
