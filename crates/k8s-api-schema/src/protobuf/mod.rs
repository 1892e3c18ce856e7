//! Objects in the protobuf form of Kubernetes.

mod read;
mod wire;
mod write;

use serde_json::Value;

use crate::model::{Schema, TypeId};
use wire::{Payload, fields, put_bytes};

/// What each body begins with.
const MAGIC: &[u8] = b"k8s\0";

/// How deep messages may be nested.
const MAX_DEPTH: usize = 127;

/// A body without its content: what it says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// `apiVersion` of the object; empty where it was not said.
    pub api_version: String,
    /// `kind` of the object; empty where it was not said.
    pub kind: String,
    /// The message.
    pub message: &'a [u8],
}

/// Opens a body.
///
/// # Errors
///
/// The text of the server.
pub fn open(body: &[u8]) -> Result<Envelope<'_>, String> {
    if body.is_empty() {
        return Err("empty data".into());
    }
    let Some(rest) = body.strip_prefix(MAGIC) else {
        return Err(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
                .into(),
        );
    };
    if rest.is_empty() {
        return Err("empty body".into());
    }
    let mut envelope = Envelope::default();
    for field in fields(rest) {
        match field? {
            (1, Payload::Bytes(type_)) => {
                for field in fields(type_) {
                    match field? {
                        (1, Payload::Bytes(text)) => {
                            envelope.api_version = String::from_utf8_lossy(text).into_owned();
                        }
                        (2, Payload::Bytes(text)) => {
                            envelope.kind = String::from_utf8_lossy(text).into_owned();
                        }
                        _ => {}
                    }
                }
            }
            (2, Payload::Bytes(message)) => envelope.message = message,
            _ => {}
        }
    }
    Ok(envelope)
}

/// Reads a message of a type; what the type does not have is skipped, as the server does.
///
/// # Errors
///
/// Text that says what is wrong.
pub fn decode(message: &[u8], schema: &Schema, id: TypeId) -> Result<Value, String> {
    read::message(message, schema, id, 0)
}

/// A body: the envelope and the message of an object of a type.
///
/// ```
/// use k8s_api_schema::{builtin, protobuf};
///
/// let id = builtin().find("", "v1", "ConfigMap").expect("a built-in kind");
/// let object = serde_json::json!({"metadata": {"name": "a"}, "data": {"k": "v"}});
/// let body = protobuf::encode("v1", "ConfigMap", &object, builtin(), id);
/// let envelope = protobuf::open(&body)?;
/// assert_eq!((envelope.api_version.as_str(), envelope.kind.as_str()), ("v1", "ConfigMap"));
/// assert_eq!(protobuf::decode(envelope.message, builtin(), id)?, object);
/// # Ok::<(), String>(())
/// ```
#[must_use]
pub fn encode(
    api_version: &str,
    kind: &str,
    object: &Value,
    schema: &Schema,
    id: TypeId,
) -> Vec<u8> {
    envelope(api_version, kind, &encode_message(object, schema, id))
}

/// A body of a message that is of this kind.
#[must_use]
pub fn envelope(api_version: &str, kind: &str, message: &[u8]) -> Vec<u8> {
    let mut type_ = Vec::new();
    put_bytes(&mut type_, 1, api_version.as_bytes());
    put_bytes(&mut type_, 2, kind.as_bytes());
    let mut body = Vec::with_capacity(message.len() + type_.len() + 16);
    body.extend(MAGIC);
    put_bytes(&mut body, 1, &type_);
    put_bytes(&mut body, 2, message);
    put_bytes(&mut body, 3, b"");
    put_bytes(&mut body, 4, b"");
    body
}

/// Appends a field that holds a message.
pub fn put_message(out: &mut Vec<u8>, number: u32, message: &[u8]) {
    put_bytes(out, number, message);
}

/// The message of a value of a type, without an envelope.
#[must_use]
pub fn encode_message(value: &Value, schema: &Schema, id: TypeId) -> Vec<u8> {
    let mut out = Vec::new();
    write::message(&mut out, value, schema, id);
    out
}

/// An event of a watch: its type, and the body of its object.
#[must_use]
pub fn watch_event(type_: &str, body: &[u8]) -> Vec<u8> {
    let mut object = Vec::with_capacity(body.len() + 8);
    put_bytes(&mut object, 1, body);
    let mut out = Vec::with_capacity(object.len() + type_.len() + 16);
    put_bytes(&mut out, 1, type_.as_bytes());
    put_bytes(&mut out, 2, &object);
    out
}
