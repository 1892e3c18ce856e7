//! Reads JSON as the API server does: by the types of the API, in the words of its decoder.
//!
//! A text is first checked as a whole ([`Checked`]), then read once: fields that the type does not have are left out and
//! told, wrong types are errors, what is empty is written or left out as the type says, and times, quantities and bytes
//! are brought into their one form.

mod numbers;
mod scan;
mod settled;
mod stored;
mod strict;
mod text;
mod time;
mod typed;
mod untyped;
mod zero;

use serde_json::Value;

use crate::model::{Schema, TypeId};

pub(crate) use numbers::float;
pub use scan::{MAX_DEPTH, check};
pub use settled::is_settled;
pub use stored::as_stored;
pub use time::{micro_time, time};
pub(crate) use time::{seconds_of, time_of};
pub use zero::{is_empty, settle, zero};

/// How deep lists and objects may be nested where they are kept.
///
/// The server keeps what [`check`] lets through; trees of JSON in Rust are walked by functions that call themselves.
pub const MAX_KEPT_DEPTH: usize = 127;

/// A value that was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decoded {
    /// The value as the server writes it.
    pub value: Value,
    /// `unknown field "a.b"`, `duplicate field "a"`: in the order of the text, each once, at most 100.
    pub strict: Vec<String>,
}

/// Reads a value of a type.
///
/// ```
/// use k8s_api_schema::{builtin, json};
///
/// let config_map = builtin().find("", "v1", "ConfigMap").expect("a built-in kind");
/// let text = br#"{"metadata": {"name": "a", "labels": {}}, "date": {}, "data": {"k": null}}"#;
/// let read = json::decode(text, builtin(), config_map)?;
/// assert_eq!(read.value, serde_json::json!({"metadata": {"name": "a"}, "data": {"k": ""}}));
/// assert_eq!(read.strict, [r#"unknown field "date""#]);
///
/// let text = br#"{"data": {"k": 1}}"#;
/// let error = json::decode(text, builtin(), config_map).expect_err("a number");
/// assert_eq!(
///     error,
///     "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
/// );
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
///
/// The text of the server's decoder: a syntax error, or the first value of a wrong type.
pub fn decode(bytes: &[u8], schema: &Schema, id: TypeId) -> Result<Decoded, String> {
    Checked::new(bytes)?.decode(schema, id)
}

/// A text that is one JSON value.
#[derive(Clone, Copy, Debug)]
pub struct Checked<'a>(&'a [u8]);

impl<'a> Checked<'a> {
    /// Checks a text.
    ///
    /// # Errors
    ///
    /// As [`check`].
    pub fn new(text: &'a [u8]) -> Result<Self, String> {
        check(text)?;
        Ok(Self(text))
    }

    /// Reads a value of a type; see [`decode`].
    ///
    /// # Errors
    ///
    /// As [`decode`].
    pub fn decode(self, schema: &Schema, id: TypeId) -> Result<Decoded, String> {
        typed::decode(self.0, schema, id)
    }

    /// Reads an object of any type, as a custom resource: tells duplicate fields, and makes whole numbers integers.
    ///
    /// # Errors
    ///
    /// The text of the server's decoder.
    pub fn decode_untyped(self) -> Result<Decoded, String> {
        untyped::decode(self.0)
    }

    /// Reads any value; of duplicate fields the last one counts.
    ///
    /// # Errors
    ///
    /// The text of the server's decoder.
    pub fn decode_any(self) -> Result<Value, String> {
        Ok(self.decode_value()?.value)
    }

    /// Reads any value, and tells duplicate fields.
    ///
    /// # Errors
    ///
    /// The text of the server's decoder.
    pub fn decode_value(self) -> Result<Decoded, String> {
        untyped::any(self.0)
    }

    /// The `apiVersion` and `kind` of an object, found as the server finds them: whatever the case of the keys, the last
    /// one counts.
    ///
    /// # Errors
    ///
    /// The text of the server's decoder, which names a value that is no text, or a value that is no object.
    pub fn type_of(self) -> Result<(String, String), String> {
        untyped::type_of(self.0)
    }
}
