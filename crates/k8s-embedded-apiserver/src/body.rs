//! From the bytes of a request to an object in its stored form.

use std::borrow::Cow;

use k8s_api_schema::json::{self, Checked};
use k8s_api_schema::{FieldError, builtin, protobuf};
use k8s_structured_merge::shown_object;
use serde_json::Value;

use crate::custom;
use crate::kinds::Kind;
use crate::media_type;
use crate::metadata::{self, metadata_mut, object_mut, set_text};
use crate::query::FieldValidation;
use crate::registered;
use crate::registry::Registry;
use crate::status::Failure;
use crate::yaml;

/// The largest body that is read, in bytes, as on a real server.
pub(crate) const LIMIT: usize = 3 * 1024 * 1024;

/// The media types of bodies.
const ACCEPTED: &[&str] = &["application/json", "application/yaml", PROTOBUF];
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// Reads any JSON; what is wrong with it is told in the words of the real server.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, String> {
    Checked::new(bytes)?.decode_any()
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
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        push_hex(*byte, &mut text);
    }
    text
}

/// Appends a byte as two hexadecimal digits.
pub(crate) fn push_hex(byte: u8, text: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    text.push(digit(byte >> 4));
    text.push(digit(byte & 0x0f));
}

/// A body whose media type is known.
enum Content<'a> {
    Json {
        text: Cow<'a, [u8]>,
        /// What is told of keys that are there twice in YAML.
        duplicates: Vec<String>,
    },
    Protobuf(protobuf::Envelope<'a>),
}

impl<'a> Content<'a> {
    /// # Errors
    ///
    /// 415 for another media type; a text for what is not in it.
    fn open(bytes: &'a [u8], content_type: Option<&str>) -> Result<Result<Self, String>, Failure> {
        let essence = match content_type.unwrap_or_default() {
            "" => Some("application/json".to_owned()),
            header => media_type::parse(header),
        };
        Ok(match essence.as_deref().unwrap_or_default() {
            "application/json" => Ok(Self::Json {
                text: bytes.into(),
                duplicates: Vec::new(),
            }),
            "application/yaml" => yaml::read(bytes).map(|document| Self::Json {
                text: document.value.to_string().into_bytes().into(),
                duplicates: document.duplicates,
            }),
            PROTOBUF => protobuf::open(bytes).map(Self::Protobuf),
            _ => return Err(Failure::unsupported_media_type(ACCEPTED)),
        })
    }
}

/// Says that a body is not even an object with a type.
fn unrecognized(bytes: &[u8], kind: &str, why: &str) -> Failure {
    Failure::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {why} ({})",
        summary(bytes)
    ))
}

/// Why JSON is not an object with a type.
fn no_type(why: &str) -> String {
    format!("couldn't get version/kind; json parse error: {why}")
}

/// Why a text is no version of an API, if it is none.
fn no_version(api_version: &str) -> Option<String> {
    (api_version.matches('/').count() > 1)
        .then(|| format!("unexpected GroupVersion string: {api_version}"))
}

/// Reads JSON, YAML or protobuf, by the content type; `kind` is of a built-in type that it is read by from protobuf.
///
/// # Errors
///
/// 415 for another type, 400 for a text that is neither.
pub(crate) fn read(bytes: &[u8], content_type: Option<&str>, kind: &str) -> Result<Value, Failure> {
    read_if(bytes, content_type, kind, |_, _| Ok(()))
}

/// The same, if the body is of the version and the kind that are wanted.
///
/// # Errors
///
/// Also what `check` says of the version and the kind in the body.
pub(crate) fn read_if(
    bytes: &[u8],
    content_type: Option<&str>,
    kind: &str,
    check: impl FnOnce(&str, &str) -> Result<(), Failure>,
) -> Result<Value, Failure> {
    let wrong = |why: String| unrecognized(bytes, kind, &why);
    match Content::open(bytes, content_type)?.map_err(wrong)? {
        Content::Json { text, .. } => {
            let text = Checked::new(&text).map_err(|why| wrong(no_type(&why)))?;
            let (version, sent) = text.type_of().map_err(|why| wrong(no_type(&why)))?;
            if let Some(why) = no_version(&version) {
                return Err(wrong(why));
            }
            check(&version, &sent)?;
            text.decode_any().map_err(|why| wrong(no_type(&why)))
        }
        Content::Protobuf(envelope) => {
            check(&envelope.api_version, &envelope.kind)?;
            let (group, version) = match envelope.api_version.split_once('/') {
                Some(both) => both,
                None => ("", &*envelope.api_version),
            };
            let found = if envelope.kind.is_empty() {
                kind
            } else {
                &envelope.kind
            };
            let id = builtin().find(group, version, found);
            let id = id.or_else(|| builtin().find("", "v1", found));
            let id = id.ok_or_else(|| wrong(format!("no kind {found:?} is registered")))?;
            let mut object = protobuf::decode(envelope.message, builtin(), id).map_err(wrong)?;
            let map = object_mut(&mut object);
            map.insert("apiVersion".into(), envelope.api_version.into());
            map.insert("kind".into(), envelope.kind.into());
            Ok(object)
        }
    }
}

/// A value by a built-in type, as the server writes it.
///
/// # Errors
///
/// The text of the server's decoder.
pub(crate) fn typed(
    value: &Value,
    (group, version, kind): (&str, &str, &str),
) -> Result<Value, String> {
    let id = builtin()
        .find(group, version, kind)
        .ok_or_else(|| format!("no kind {kind:?} is registered for version {version:?}"))?;
    Ok(json::decode(value.to_string().as_bytes(), builtin(), id)?.value)
}

/// An object in its stored form, and what a strict reader says of the body.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    pub(crate) object: Value,
    /// Keys that YAML has twice.
    duplicates: Vec<String>,
    /// Whole texts about unknown and duplicate fields, in the order of the body.
    pub(crate) strict: Vec<String>,
    /// Paths of fields that a schema of a custom kind does not have.
    pub(crate) unknown: Vec<String>,
}

impl Decoded {
    /// What is told of unknown and duplicate fields, each alone.
    fn texts(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let mut unknown: Vec<&String> = self.unknown.iter().collect();
        unknown.sort();
        unknown.dedup();
        let unknown = unknown
            .into_iter()
            .map(|path| Cow::from(format!("unknown field {}", k8s_api_schema::quote(path))));
        self.strict
            .iter()
            .map(std::convert::Into::into)
            .chain(unknown)
    }

    /// What is said about unknown and duplicate fields.
    pub(crate) fn warnings(&self, validation: FieldValidation) -> Vec<String> {
        match validation {
            FieldValidation::Warn => self
                .duplicates
                .iter()
                .cloned()
                .chain(self.texts().map(Cow::into_owned))
                .collect(),
            FieldValidation::Ignore | FieldValidation::Strict => Vec::new(),
        }
    }

    /// Why unknown and duplicate fields are refused, if they are.
    pub(crate) fn strict_error(&self, validation: FieldValidation) -> Option<String> {
        if validation != FieldValidation::Strict {
            return None;
        }
        let mut texts: Vec<Cow<'_, str>> = Vec::new();
        if !self.duplicates.is_empty() {
            let lines = self.duplicates.join("\n  ");
            texts.push(format!("yaml: unmarshal errors:\n  {lines}").into());
        }
        texts.extend(self.texts());
        (!texts.is_empty()).then(|| format!("strict decoding error: {}", texts.join(", ")))
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
    let wrong = |why: String| unrecognized(bytes, &kind.kind, &why);
    let refuse = |why: String| Failure::bad_request(cannot_handle(kind, &why));
    let decoded = match Content::open(bytes, content_type)?.map_err(wrong)? {
        Content::Json {
            text: raw,
            duplicates,
        } => {
            let text = Checked::new(&raw).map_err(|why| wrong(no_type(&why)))?;
            let type_ = text.type_of().map_err(|why| wrong(no_type(&why)))?;
            if let Some(why) = no_version(&type_.0) {
                return Err(wrong(why));
            }
            check_type(&type_, bytes, kind, registry)?;
            let resets =
                may_ask_for_reset(&raw) && asks_for_reset(&parse(&raw).unwrap_or_default());
            let read = match &kind.types {
                Some((schema, id)) if !kind.is_custom() => text.decode(schema, *id),
                _ => text.decode_untyped(),
            };
            let read = read.map_err(refuse)?;
            if kind.is_custom() && type_.1 != kind.kind {
                return Err(other_custom_kind(kind, &read.value));
            }
            let mut decoded = store(read, kind, Nulls::Dropped).map_err(refuse)?;
            decoded.duplicates = duplicates;
            if resets {
                reset(&mut decoded.object);
            }
            decoded
        }
        Content::Protobuf(envelope) => {
            let type_ = (envelope.api_version, envelope.kind);
            check_type(&type_, bytes, kind, registry)?;
            let Some((schema, id)) = kind.types.as_ref().filter(|_| !kind.is_custom()) else {
                return Err(Failure::unsupported_media_type(ACCEPTED));
            };
            let value = protobuf::decode(envelope.message, schema, *id).map_err(refuse)?;
            let read = json::Decoded {
                value,
                strict: Vec::new(),
            };
            store(read, kind, Nulls::Dropped).map_err(refuse)?
        }
    };
    match decoded.strict_error(validation) {
        Some(why) => Err(refuse(why)),
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
    (version, name): &(String, String),
    bytes: &[u8],
    kind: &Kind,
    registry: &Registry,
) -> Result<(), Failure> {
    if kind.is_custom() {
        check_custom_type(bytes, version, name, kind)
    } else {
        check_builtin_type(version, name, kind, registry)
    }
}

fn check_custom_type(
    bytes: &[u8],
    sent_version: &str,
    sent_kind: &str,
    kind: &Kind,
) -> Result<(), Failure> {
    if sent_kind.is_empty() {
        let why = format!(
            "Object 'Kind' is missing in '{}'",
            String::from_utf8_lossy(bytes)
        );
        return Err(unrecognized(bytes, &kind.kind, &why));
    }
    if sent_version != kind.api_version() {
        return Err(Failure::bad_request(format!(
            "the API version in the data ({sent_version}) does not match the expected API version ({})",
            kind.api_version()
        )));
    }
    Ok(())
}

/// 422 for an object of another kind of the group, which is only found out when it is validated.
fn other_custom_kind(kind: &Kind, object: &Value) -> Failure {
    let sent = metadata::text(object, "/kind");
    let why = format!("must be {}", kind.kind);
    let error = FieldError::invalid("kind", sent, why);
    let name = metadata::name(object);
    Failure::invalid(&kind.group, sent, name, &[error])
}

/// Whether an object asks that all owners of its fields be forgotten. A list without items is lost when it is read.
fn asks_for_reset(object: &Value) -> bool {
    let fields = object.pointer("/metadata/managedFields");
    fields.and_then(Value::as_array).is_some_and(Vec::is_empty)
}

/// Whether a text could ask for it, so that the rest need not be parsed for it.
fn may_ask_for_reset(text: &[u8]) -> bool {
    const NAME: &[u8] = b"\"managedFields\"";
    let is_empty_list = |after: &[u8]| {
        let mut letters = after.iter().filter(|byte| !byte.is_ascii_whitespace());
        [b':', b'[', b']']
            .iter()
            .all(|wanted| letters.next() == Some(wanted))
    };
    let mut places = text.windows(NAME.len()).enumerate();
    places.any(|(at, found)| found == NAME && is_empty_list(&text[at + NAME.len()..]))
}

fn reset(object: &mut Value) {
    metadata_mut(object).insert("managedFields".into(), Value::Array(Vec::new()));
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
    let known = registered::is_known(version, sent_kind)
        || crate::ordered::type_of(version, sent_kind).is_some()
        || registry.kinds().any(|found| {
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
    Err(Failure::bad_request(format!(
        "{sent_kind} in version {short:?} cannot be handled as a {}: {}",
        kind.kind,
        no_conversion(short, sent_kind, kind)
    )))
}

/// Why an object of one kind is none of another; `short` is its version without the group.
pub(crate) fn no_conversion(short: &str, sent_kind: &str, kind: &Kind) -> String {
    let internal = if kind.group.is_empty() {
        "core"
    } else {
        kind.group.split('.').next().unwrap_or_default()
    };
    format!(
        "converting ({short}.{sent_kind}) to ({internal}.{}): unknown conversion",
        kind.kind
    )
}

/// An object of the kind's version in the stored form, with its defaults.
///
/// # Errors
///
/// Text that names the field with a wrong type.
pub(crate) fn to_stored(object: Value, kind: &Kind) -> Result<Decoded, String> {
    stored(object, kind, Nulls::Dropped)
}

/// The same for what an apply made, which keeps the nulls of custom objects.
///
/// # Errors
///
/// Text that names the field with a wrong type.
pub(crate) fn applied_to_stored(object: Value, kind: &Kind) -> Result<Decoded, String> {
    stored(object, kind, Nulls::Kept)
}

/// What becomes of a null in a custom object where its schema allows none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nulls {
    Dropped,
    /// It is left for validation, which refuses it.
    Kept,
}

fn stored(object: Value, kind: &Kind, nulls: Nulls) -> Result<Decoded, String> {
    let resets = asks_for_reset(&object);
    let read = match &kind.types {
        Some((schema, id)) if !kind.is_custom() && !json::is_settled(&object, schema, *id) => {
            json::decode(object.to_string().as_bytes(), schema, *id)?
        }
        _ => as_it_is(object),
    };
    let mut decoded = store(read, kind, nulls)?;
    if resets {
        reset(&mut decoded.object);
    }
    Ok(decoded)
}

fn as_it_is(object: Value) -> json::Decoded {
    json::Decoded {
        value: object,
        strict: Vec::new(),
    }
}

/// Whether an object of the kind's version is as it is read by its type, so that nothing of it can be refused.
pub(crate) fn is_settled(object: &Value, kind: &Kind) -> bool {
    kind.types
        .as_ref()
        .is_some_and(|(schema, id)| !kind.is_custom() && json::is_settled(object, schema, *id))
}

/// [`to_stored`] of an object that is as it is read by its type.
pub(crate) fn settled_to_stored(object: Value, kind: &Kind) -> Result<Decoded, String> {
    store(as_it_is(object), kind, Nulls::Dropped)
}

/// The stored form of an object that was read by its type.
fn store(read: json::Decoded, kind: &Kind, nulls: Nulls) -> Result<Decoded, String> {
    let mut decoded = Decoded {
        object: read.value,
        strict: read.strict,
        ..Decoded::default()
    };
    let map = object_mut(&mut decoded.object);
    set_text(map, "apiVersion", &kind.api_version());
    set_text(map, "kind", &kind.kind);
    if kind.is_custom() {
        let sent = map.remove("metadata").unwrap_or_default();
        let (metadata, unknown) = custom::read_metadata(&sent)?;
        map.insert("metadata".into(), metadata);
        let paths = unknown.iter().map(|path| format!("metadata.{path}"));
        decoded.unknown = paths.collect();
    }
    let mut object = (kind.to_storage)(decoded.object);
    if kind.is_custom() {
        decoded
            .unknown
            .extend(custom::receive(&mut object, kind, nulls == Nulls::Kept)?);
    }
    let metadata = crate::metadata::metadata_mut(&mut object);
    // It is gone for good.
    metadata.remove("selfLink");
    (kind.default)(&mut object);
    decoded.object = object;
    Ok(decoded)
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

/// An object of the kind with the given metadata and nothing else, as a bookmark has it: with the fields that are shown
/// even if they are empty.
pub(crate) fn to_empty(object: &Value, kind: &Kind) -> Value {
    let mut empty = match &kind.types {
        Some((schema, id)) if !kind.is_custom() => shown_object(schema, *id),
        _ => Value::Object(serde_json::Map::new()),
    };
    let map = object_mut(&mut empty);
    map.insert("apiVersion".into(), kind.api_version().into());
    map.insert("kind".into(), kind.kind.as_ref().into());
    metadata::copy_key(object, map, "metadata");
    // These counts are no pointers on the server.
    if kind.group == "apps" && kind.scale.is_some() {
        metadata::entry_mut(map, "spec").insert("replicas".into(), 0.into());
    }
    empty
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
}
