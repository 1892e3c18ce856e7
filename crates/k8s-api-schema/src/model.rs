//! What a type of the API is: the fields, lists and maps that decoding, merging and applying need to know.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

/// Which type of a [`Schema`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u32);

/// Types that refer to one another.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    types: Vec<Type>,
    /// By type: the name in OpenAPI, empty for types without one, and in Go.
    names: Vec<(Box<str>, Box<str>)>,
    by_name: HashMap<Box<str>, TypeId>,
    kinds: HashMap<String, TypeId>,
    either: HashMap<TypeId, Either>,
}

impl Schema {
    /// A schema without types.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a type.
    ///
    /// # Panics
    ///
    /// With more than `u32::MAX` types.
    #[allow(
        clippy::expect_used,
        reason = "documented; no file of types is that long"
    )]
    pub fn push(&mut self, type_: Type) -> TypeId {
        let id = u32::try_from(self.types.len()).expect("fewer than u32::MAX types");
        self.types.push(type_);
        self.names.push(Default::default());
        TypeId(id)
    }

    /// Puts another type in the place of one, so that types can refer to themselves.
    pub fn replace(&mut self, id: TypeId, type_: Type) {
        self.types[id.0 as usize] = type_;
    }

    /// The type of an id that [`push`](Self::push) gave.
    #[must_use]
    pub fn get(&self, id: TypeId) -> &Type {
        &self.types[id.0 as usize]
    }

    /// Names a type: as in OpenAPI (empty for a type without such a name) and as in Go.
    pub fn name(&mut self, id: TypeId, openapi: &str, go: &str) {
        self.names[id.0 as usize] = (openapi.into(), go.into());
        if !openapi.is_empty() {
            self.by_name.insert(openapi.into(), id);
        }
    }

    /// The name in OpenAPI, such as `io.k8s.api.core.v1.Pod`; empty for a type without one.
    #[must_use]
    pub fn openapi_name(&self, id: TypeId) -> &str {
        &self.names[id.0 as usize].0
    }

    /// The name in Go, such as `v1.Pod`, `[]string`, `map[string]string`; empty where it is not known.
    #[must_use]
    pub fn go_name(&self, id: TypeId) -> &str {
        &self.names[id.0 as usize].1
    }

    /// The type of a name in OpenAPI.
    #[must_use]
    pub fn by_name(&self, openapi: &str) -> Option<TypeId> {
        self.by_name.get(openapi).copied()
    }

    /// Says which type a kind is of.
    pub fn add_kind(&mut self, group: &str, version: &str, kind: &str, id: TypeId) {
        self.kinds.insert(format!("{group}/{version}/{kind}"), id);
    }

    /// The type of a kind; the core group is empty.
    #[must_use]
    pub fn find(&self, group: &str, version: &str, kind: &str) -> Option<TypeId> {
        self.kinds
            .get(&format!("{group}/{version}/{kind}"))
            .copied()
    }

    /// Says that a type, which is [`Type::Any`], is a schema or something else.
    pub fn set_either(&mut self, id: TypeId, either: Either) {
        self.either.insert(id, either);
    }

    /// What a type is that is [`Type::Any`] to all but the decoder.
    #[must_use]
    pub fn either(&self, id: TypeId) -> Option<Either> {
        self.either.get(&id).copied()
    }
}

/// A schema in a CustomResourceDefinition, or something else in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Either {
    /// The type of the schema.
    pub schema: TypeId,
    /// What may be in its place.
    pub kind: EitherKind,
}

/// What may be in the place of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EitherKind {
    /// `true` or `false`.
    Boolean,
    /// A list of schemas.
    List,
    /// A list of texts.
    Strings,
}

/// One type.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// A single value.
    Scalar(Scalar),
    /// A JSON object with known fields.
    Struct(Struct),
    /// A JSON object with keys of the user's choice.
    Map(Map),
    /// A JSON list.
    List(List),
    /// Whatever JSON the user wants. To apply, its objects are maps by key and its lists are single values.
    Any,
}

/// What a single value may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// `true` or `false`.
    Boolean,
    /// A whole number of 32 bits.
    Int32,
    /// A whole number of 64 bits.
    Int64,
    /// Any number.
    Number,
    /// A text.
    String,
    /// Bytes as base64.
    Bytes,
    /// RFC 3339 in whole seconds.
    Time,
    /// RFC 3339 with six digits of fractions.
    MicroTime,
    /// A duration as Go prints it.
    Duration,
    /// `100m`, `1Gi`.
    Quantity,
    /// A whole number or a text.
    IntOrString,
    /// Any single value or, as a whole, any JSON.
    Any,
}

/// A JSON object with known fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Struct {
    /// By name.
    pub fields: BTreeMap<String, Field>,
    /// To apply, it is one value.
    pub atomic: bool,
    /// Fields beside the known ones are kept, and are of this type.
    pub rest: Option<TypeId>,
}

/// A field of a [`Struct`].
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its type.
    pub type_: TypeId,
    /// The schema lists it under `required`.
    pub required: bool,
    /// The default of the schema.
    pub default: Option<Value>,
    /// How the server writes it when there is nothing in it.
    pub empty: Empty,
    /// How a strategic merge patch treats it.
    pub patch: Patch,
    /// Its number in protobuf, after those of the messages that it is in there but not in JSON; empty where it has none.
    pub protobuf: Vec<u32>,
    /// Its place among the fields of the Go type; all the same where they come by name.
    pub position: u32,
    /// The Go fields of the structs that it is inlined from, parted by dots; empty for most.
    pub inlined: Box<str>,
}

impl Field {
    /// A field that is left out when it is empty, with nothing more said of it.
    #[must_use]
    pub fn new(type_: TypeId) -> Self {
        Self {
            type_,
            required: false,
            default: None,
            empty: Empty::Omitted,
            patch: Patch::default(),
            protobuf: Vec::new(),
            position: 0,
            inlined: "".into(),
        }
    }
}

/// How the server writes a field that holds the zero value of its Go type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Empty {
    /// As `""`, `0`, `false`, or the zero value of a struct; lists, maps and times as `null`.
    Written,
    /// A pointer that is always written: what was sent is kept, what was not sent is `null`.
    Null,
    /// Not at all; a struct only if all of it is empty.
    Omitted,
    /// A pointer: what was sent is kept, even if it is empty; what was not sent is left out.
    Pointer,
}

/// How a strategic merge patch treats a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// `x-kubernetes-patch-strategy` has `merge`.
    pub merge: bool,
    /// `x-kubernetes-patch-strategy` has `retainKeys`.
    pub retain_keys: bool,
    /// `x-kubernetes-patch-strategy` has `replace`.
    pub replace: bool,
    /// `x-kubernetes-patch-merge-key`.
    pub key: Option<String>,
}

/// A JSON object with keys of the user's choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Map {
    /// The type of each value.
    pub values: TypeId,
    /// To apply, it is one value.
    pub atomic: bool,
}

/// A JSON list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// The type of each item.
    pub items: TypeId,
    /// What tells items apart.
    pub kind: ListKind,
}

/// `x-kubernetes-list-type` with its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// To apply, the list is one value.
    Atomic,
    /// Each item is there at most once.
    Set,
    /// Items are told apart by these fields.
    Map(Vec<String>),
}
