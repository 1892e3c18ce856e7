//! JSON of a known type.

use std::borrow::Cow;
use std::collections::HashSet;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value};

use super::strict::Strict;
use super::text::{Kind, Reader};
use super::untyped::{self, too_deep};
use super::{Decoded, MAX_KEPT_DEPTH, is_empty, numbers, time, zero};
use crate::model::{Either, EitherKind, Empty, List, Scalar, Schema, Struct, Type, TypeId};
use crate::quantity::Quantity;

/// Base64 as Go reads it: bits after the last byte do not matter.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

pub(super) fn decode(bytes: &[u8], schema: &Schema, id: TypeId) -> Result<Decoded, String> {
    let mut decoder = Decoder::new(bytes, schema);
    let mut value = Value::Null;
    decoder
        .value(id, &mut value, 0)
        .map_err(|fatal| decoder.in_context(fatal).to_string())?;
    if let Some(error) = decoder.saved {
        return Err(error.to_string());
    }
    if value.is_null() {
        value = zero(schema, id);
    }
    Ok(Decoded {
        value,
        strict: decoder.strict.found,
    })
}

/// Why a value was not read.
#[derive(Clone, Debug)]
enum Error {
    /// A value of a wrong type.
    Type {
        word: Cow<'static, str>,
        go: String,
        struct_: String,
        field: String,
    },
    Other(String),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Other(text) => f.write_str(text),
            Self::Type {
                word,
                go,
                struct_,
                field,
            } if struct_.is_empty() && field.is_empty() => {
                write!(
                    f,
                    "json: cannot unmarshal {word} into Go value of type {go}"
                )
            }
            Self::Type {
                word,
                go,
                struct_,
                field,
            } => write!(
                f,
                "json: cannot unmarshal {word} into Go struct field {struct_}.{field} of type {go}"
            ),
        }
    }
}

/// Ends the reading; other errors let it go on, and the first of them is told in the end.
type Fatal = Error;

struct Decoder<'a> {
    schema: &'a Schema,
    reader: Reader<'a>,
    /// The first error.
    saved: Option<Error>,
    strict: Strict,
    /// The type of the struct that is read, and the fields that lead to it.
    struct_: Option<TypeId>,
    fields: Vec<&'a str>,
}

impl<'a> Decoder<'a> {
    fn new(bytes: &'a [u8], schema: &'a Schema) -> Self {
        Self {
            schema,
            reader: Reader::new(bytes),
            saved: None,
            strict: Strict::default(),
            struct_: None,
            fields: Vec::new(),
        }
    }

    /// Adds where the reader is to an error of types; what is inside of a value that reads itself keeps its own fields.
    fn in_context(&self, error: Error) -> Error {
        let Some(id) = self.struct_ else {
            return error;
        };
        match error {
            Error::Type {
                word, go, field, ..
            } => {
                let mut fields = self.fields.clone();
                if !field.is_empty() {
                    fields.push(&field);
                }
                let field = fields.join(".");
                let name = self.schema.go_name(id);
                Error::Type {
                    word,
                    go,
                    struct_: name.rsplit('.').next().unwrap_or(name).into(),
                    field,
                }
            }
            other @ Error::Other(_) => other,
        }
    }

    fn save(&mut self, error: Error) {
        if self.saved.is_none() {
            self.saved = Some(self.in_context(error));
        }
    }

    fn wrong(word: impl Into<Cow<'static, str>>, go: &str) -> Error {
        Error::Type {
            word: word.into(),
            go: go.into(),
            struct_: String::new(),
            field: String::new(),
        }
    }

    /// Passes over a value of a wrong type.
    fn mismatch(&mut self, kind: Kind, id: TypeId) {
        self.reader.skip();
        self.save(Self::wrong(kind.word(), self.schema.go_name(id)));
    }

    /// Reads a value into `slot`, where a duplicate field finds what the first one left; null leaves nothing there.
    fn value(&mut self, id: TypeId, slot: &mut Value, depth: usize) -> Result<(), Fatal> {
        if depth > MAX_KEPT_DEPTH {
            return Err(Error::Other(too_deep()));
        }
        let kind = self.reader.kind();
        let schema = self.schema;
        match (schema.get(id), kind) {
            (Type::Any, _) => return self.any(id, slot, depth),
            (Type::Scalar(scalar), _) => return self.scalar(*scalar, id, kind, slot, depth),
            (Type::Struct(_), Kind::Null) => {
                self.reader.skip();
            }
            (_, Kind::Null) => {
                self.reader.skip();
                *slot = Value::Null;
            }
            (Type::Struct(struct_), Kind::Object) => {
                return self.object(struct_, id, slot, depth);
            }
            (Type::Map(map), Kind::Object) => return self.map(map.values, slot, depth),
            (Type::List(list), Kind::Array) => return self.list(list, slot, depth),
            _ => self.mismatch(kind, id),
        }
        Ok(())
    }

    fn object(
        &mut self,
        struct_: &'a Struct,
        id: TypeId,
        slot: &mut Value,
        depth: usize,
    ) -> Result<(), Fatal> {
        let mut map = match slot.take() {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        let outer = (self.struct_, self.fields.len());
        let mut seen: Vec<&str> = Vec::new();
        self.reader.open();
        while let Some(key) = self.reader.next_key() {
            let Some((name, field)) = struct_.fields.get_key_value(&*key) else {
                if let Some(rest) = struct_.rest {
                    self.entry(rest, &key, &mut map, depth)?;
                } else {
                    self.strict.unknown(&key);
                    self.reader.skip();
                }
                continue;
            };
            if seen.contains(&name.as_str()) {
                self.strict.duplicate(name);
            } else {
                seen.push(name);
            }
            self.struct_ = Some(id);
            if !field.inlined.is_empty() {
                self.fields.push(&field.inlined);
            }
            self.fields.push(name);
            let path = self.strict.enter(name);
            let mut value = map.remove(name).unwrap_or_default();
            let is_text = self.reader.kind() == Kind::String;
            self.value(field.type_, &mut value, depth + 1)?;
            // A pointer to the time that is none: written, and as null.
            let points_to_never = is_text && self.is_time(field.type_);
            self.strict.leave(path);
            self.struct_ = outer.0;
            self.fields.truncate(outer.1);
            let is_left_out = match field.empty {
                Empty::Written | Empty::Null => value.is_null(),
                Empty::Pointer => value.is_null() && !points_to_never,
                Empty::Omitted => is_empty(&value, self.schema, field.type_),
            };
            if !is_left_out {
                map.insert(name.clone(), value);
            }
        }
        self.complete(struct_, &mut map);
        *slot = Value::Object(map);
        Ok(())
    }

    fn is_time(&self, id: TypeId) -> bool {
        let type_ = self.schema.get(id);
        matches!(type_, Type::Scalar(Scalar::Time | Scalar::MicroTime))
    }

    /// Adds the fields that are always there.
    fn complete(&self, struct_: &Struct, map: &mut Map<String, Value>) {
        for (name, field) in &struct_.fields {
            let value = match field.empty {
                Empty::Omitted | Empty::Pointer => continue,
                _ if map.contains_key(name) => continue,
                Empty::Written => zero(self.schema, field.type_),
                Empty::Null => Value::Null,
            };
            map.insert(name.clone(), value);
        }
    }

    fn map(&mut self, values: TypeId, slot: &mut Value, depth: usize) -> Result<(), Fatal> {
        let (mut map, fresh) = match slot.take() {
            Value::Object(map) => (map, false),
            _ => (Map::new(), true),
        };
        let mut seen: HashSet<String> = HashSet::new();
        self.reader.open();
        while let Some(key) = self.reader.next_key() {
            let twice = if fresh {
                map.contains_key(&*key)
            } else {
                !seen.insert(key.to_string())
            };
            if twice {
                self.strict.duplicate(&key);
            }
            self.entry(values, &key, &mut map, depth)?;
        }
        *slot = Value::Object(map);
        Ok(())
    }

    /// The value of a key of a map.
    fn entry(
        &mut self,
        values: TypeId,
        key: &str,
        map: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), Fatal> {
        let path = self.strict.enter(key);
        let mut value = Value::Null;
        self.value(values, &mut value, depth + 1)?;
        self.strict.leave(path);
        if value.is_null() {
            value = zero(self.schema, values);
        }
        map.insert(key.to_owned(), value);
        Ok(())
    }

    fn list(&mut self, list: &List, slot: &mut Value, depth: usize) -> Result<(), Fatal> {
        let mut items = match slot.take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        };
        let mut count = 0;
        self.reader.open();
        while self.reader.next_item() {
            let path = self.strict.enter_item(count);
            if count == items.len() {
                items.push(Value::Null);
            }
            self.value(list.items, &mut items[count], depth + 1)?;
            if items[count].is_null() {
                items[count] = zero(self.schema, list.items);
            }
            self.strict.leave(path);
            count += 1;
        }
        items.truncate(count);
        *slot = Value::Array(items);
        Ok(())
    }

    /// A value that keeps its text, or that is a schema or something else.
    fn any(&mut self, id: TypeId, slot: &mut Value, depth: usize) -> Result<(), Fatal> {
        if let Some(either) = self.schema.either(id) {
            *slot = self.either(either, depth)?;
            return Ok(());
        }
        // Its text is not looked into here.
        let mut strict = Strict::default();
        let mut error = None;
        *slot = untyped::value(&mut self.reader, &mut strict, &mut error, depth)
            .map_err(Error::Other)?;
        if let Some(error) = error {
            self.save(Error::Other(error));
        }
        Ok(())
    }

    /// A schema, or something else; read as if it were alone.
    fn either(&mut self, either: Either, depth: usize) -> Result<Value, Fatal> {
        let schema = self.schema;
        let kind = self.reader.kind();
        let text = self.reader.skip();
        let nested = |type_: &dyn Fn(&mut Decoder<'a>, &mut Value) -> Result<(), Fatal>| {
            let mut decoder = Decoder::new(text, schema);
            let mut value = Value::Null;
            type_(&mut decoder, &mut value).map_err(|fatal| decoder.in_context(fatal))?;
            match decoder.saved {
                Some(error) => Err(error),
                None => Ok(value),
            }
        };
        match (either.kind, kind) {
            (_, Kind::Object) => {
                nested(&|decoder, value| decoder.value(either.schema, value, depth + 1))
            }
            (EitherKind::Boolean, Kind::Bool) => Ok((text == b"true").into()),
            (_, Kind::Null) => Ok(Value::Null),
            (EitherKind::Boolean, _) => Err(Error::Other("boolean or JSON schema expected".into())),
            (EitherKind::List, Kind::Array) => {
                let list = List {
                    items: either.schema,
                    kind: crate::model::ListKind::Atomic,
                };
                nested(&|decoder, value| decoder.list(&list, value, depth + 1))
            }
            (EitherKind::Strings, Kind::Array) => nested(&|decoder, value| {
                let mut texts = Vec::new();
                decoder.reader.open();
                while decoder.reader.next_item() {
                    texts.push(decoder.text_item());
                }
                *value = Value::Array(texts);
                Ok(())
            }),
            _ => Ok(Value::Null),
        }
    }

    /// A text of a list of texts.
    fn text_item(&mut self) -> Value {
        match self.reader.kind() {
            Kind::String => self.reader.string().into_owned().into(),
            kind => {
                self.reader.skip();
                if kind != Kind::Null {
                    self.save(Self::wrong(kind.word(), "string"));
                }
                "".into()
            }
        }
    }

    fn scalar(
        &mut self,
        scalar: Scalar,
        id: TypeId,
        kind: Kind,
        slot: &mut Value,
        depth: usize,
    ) -> Result<(), Fatal> {
        match (scalar, kind) {
            (Scalar::Any, _) => return self.any(id, slot, depth),
            (Scalar::Time | Scalar::MicroTime, _) => return self.time(scalar, kind, slot),
            (Scalar::Quantity, _) => return self.quantity(kind, slot),
            (Scalar::IntOrString, _) => return self.int_or_string(kind, slot),
            (Scalar::Bytes, Kind::Null) => {
                self.reader.skip();
                *slot = Value::Null;
            }
            (_, Kind::Null) => {
                self.reader.skip();
            }
            (Scalar::Boolean, Kind::Bool) => *slot = self.reader.bool().into(),
            (Scalar::String | Scalar::Duration, Kind::String) => {
                *slot = self.reader.string().into_owned().into();
            }
            (Scalar::Int32 | Scalar::Int64, Kind::Number) => {
                let text = self.reader.number();
                let go = self.schema.go_name(id);
                match whole(text, scalar) {
                    Some(number) => *slot = number.into(),
                    None => self.save(Self::wrong(format!("number {text}"), go)),
                }
            }
            (Scalar::Number, Kind::Number) => {
                let text = self.reader.number();
                if let Some(number) = text.parse::<f64>().ok().filter(|number| number.is_finite()) {
                    *slot = numbers::float(number);
                } else {
                    let go = self.schema.go_name(id);
                    self.save(Self::wrong(format!("number {text}"), go));
                }
            }
            (Scalar::Bytes, Kind::String) => {
                let text = self.reader.string();
                match bytes(&text) {
                    Ok(bytes) => *slot = BASE64.encode(bytes).into(),
                    Err(error) => self.save(Error::Other(error)),
                }
            }
            (Scalar::Bytes, Kind::Array) => self.byte_list(slot),
            _ => self.mismatch(kind, id),
        }
        Ok(())
    }

    /// Bytes as a list of numbers.
    fn byte_list(&mut self, slot: &mut Value) {
        let mut bytes = Vec::new();
        self.reader.open();
        while self.reader.next_item() {
            let kind = self.reader.kind();
            let text = self.reader.skip();
            let text = std::str::from_utf8(text).unwrap_or_default();
            let byte = match kind {
                Kind::Null => 0,
                Kind::Number => text.parse().unwrap_or_else(|_| {
                    self.save(Self::wrong(format!("number {text}"), "uint8"));
                    0
                }),
                other => {
                    self.save(Self::wrong(other.word(), "uint8"));
                    0
                }
            };
            bytes.push(byte);
        }
        *slot = BASE64.encode(bytes).into();
    }

    fn time(&mut self, scalar: Scalar, kind: Kind, slot: &mut Value) -> Result<(), Fatal> {
        *slot = match kind {
            Kind::Null => {
                self.reader.skip();
                Value::Null
            }
            Kind::String => {
                let text = self.reader.string();
                let read = match scalar {
                    Scalar::Time => time::time(&text),
                    _ => time::micro_time(&text),
                };
                read.map_err(Error::Other)?.map_or(Value::Null, Into::into)
            }
            other => return Err(Self::wrong(other.word(), "string")),
        };
        Ok(())
    }

    fn quantity(&mut self, kind: Kind, slot: &mut Value) -> Result<(), Fatal> {
        let text = match kind {
            Kind::Null => {
                self.reader.skip();
                *slot = Value::Null;
                return Ok(());
            }
            Kind::String => self.reader.string(),
            _ => String::from_utf8_lossy(self.reader.skip()),
        };
        let read: Result<Quantity, _> = text.trim().parse();
        let quantity = read.map_err(|error| Error::Other(error.to_string()))?;
        *slot = quantity.to_string().into();
        Ok(())
    }

    fn int_or_string(&mut self, kind: Kind, slot: &mut Value) -> Result<(), Fatal> {
        *slot = match kind {
            Kind::Null => {
                self.reader.skip();
                Value::Null
            }
            Kind::String => self.reader.string().into_owned().into(),
            Kind::Number => {
                let text = self.reader.number();
                let number = whole(text, Scalar::Int32);
                number
                    .ok_or_else(|| Self::wrong(format!("number {text}"), "int32"))?
                    .into()
            }
            other => return Err(Self::wrong(other.word(), "int32")),
        };
        Ok(())
    }
}

fn whole(text: &str, scalar: Scalar) -> Option<i64> {
    let number: i64 = text.parse().ok()?;
    let fits = scalar == Scalar::Int64 || i32::try_from(number).is_ok();
    fits.then_some(number)
}

/// The bytes of base64, in which ends of lines do not matter.
fn bytes(text: &str) -> Result<Vec<u8>, String> {
    let lines: Cow<'_, str> = if text.contains(['\r', '\n']) {
        text.replace(['\r', '\n'], "").into()
    } else {
        text.into()
    };
    BASE64
        .decode(lines.as_bytes())
        .map_err(|_| format!("illegal base64 data at input byte {}", bad_byte(text)))
}

/// Where Go's decoder gives up: at a byte that does not belong there, or at the end of the last whole group.
fn bad_byte(text: &str) -> usize {
    let all = text.as_bytes();
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let mut at = 0;
    loop {
        // One group of four digits.
        let mut count = 0;
        while count < 4 {
            let Some(&byte) = all.get(at) else {
                return if count == 0 { at } else { at - count };
            };
            at += 1;
            match byte {
                b'\r' | b'\n' => {}
                b'=' => return padding(all, at, count),
                byte if is_digit(byte) => count += 1,
                _ => return at - 1,
            }
        }
    }
}

/// The same, after a `=` that follows `count` digits of a group; `at` is behind it.
fn padding(all: &[u8], mut at: usize, count: usize) -> usize {
    let skip = |at: &mut usize| {
        while matches!(all.get(*at), Some(b'\r' | b'\n')) {
            *at += 1;
        }
    };
    if count < 2 {
        return at - 1;
    }
    if count == 2 {
        skip(&mut at);
        match all.get(at) {
            None => return all.len(),
            Some(b'=') => at += 1,
            Some(_) => return at - 1,
        }
    }
    skip(&mut at);
    at
}
