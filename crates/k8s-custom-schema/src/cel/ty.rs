//! Types that the checker knows.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::structural::Structural;

/// The type of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ty {
    Dyn,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Duration,
    Timestamp,
    Type,
    List(Arc<Ty>),
    Map(Arc<Ty>, Arc<Ty>),
    Object(Arc<BTreeMap<String, Ty>>),
    Optional(Arc<Ty>),
    /// A type of a library.
    Opaque(&'static str),
}

impl Ty {
    pub(super) fn list(items: Ty) -> Self {
        Self::List(Arc::new(items))
    }

    pub(super) fn optional(inner: Ty) -> Self {
        Self::Optional(Arc::new(inner))
    }

    /// Whether a value of this type may stand where `wanted` is wanted.
    pub(super) fn fits(&self, wanted: &Ty) -> bool {
        match (self, wanted) {
            (Self::List(a), Self::List(b)) | (Self::Optional(a), Self::Optional(b)) => a.fits(b),
            (Self::Map(ak, av), Self::Map(bk, bv)) => ak.fits(bk) && av.fits(bv),
            (Self::Dyn, _)
            | (_, Self::Dyn)
            | (
                Self::Null,
                Self::Duration | Self::Timestamp | Self::Object(_) | Self::Optional(_),
            )
            | (
                Self::Duration | Self::Timestamp | Self::Object(_) | Self::Optional(_),
                Self::Null,
            ) => true,
            (a, b) => a == b,
        }
    }

    pub(super) fn is_number(&self) -> bool {
        matches!(self, Self::Int | Self::Uint | Self::Double)
    }

    /// The type of what both may be.
    pub(super) fn join(&self, other: &Ty) -> Ty {
        if self == other || *other == Self::Null {
            self.clone()
        } else if *self == Self::Null {
            other.clone()
        } else {
            Self::Dyn
        }
    }

    /// The type of the values of a schema; none where rules cannot see them.
    pub(super) fn of(schema: &Structural, is_resource: bool) -> Option<Ty> {
        if schema.int_or_string {
            return Some(Self::Dyn);
        }
        let type_ = if is_resource && schema.type_.is_empty() {
            "object"
        } else {
            schema.type_.as_str()
        };
        Some(match type_ {
            "array" => {
                let items = schema.items.as_deref()?;
                Self::list(Self::of(items, items.embedded)?)
            }
            "object" => {
                if let Some(values) = schema.additional_schema().filter(|_| !is_resource) {
                    let values = Self::of(values, values.embedded)?;
                    return Some(Self::Map(Arc::new(Self::String), Arc::new(values)));
                }
                let mut fields: BTreeMap<String, Ty> = schema
                    .properties
                    .iter()
                    .filter_map(|(name, property)| {
                        Some((name, Self::of(property, property.embedded)?))
                    })
                    .flat_map(|(name, ty)| {
                        let names = super::names(name).into_iter();
                        names.map(move |name| (name, ty.clone()))
                    })
                    .collect();
                if is_resource {
                    let metadata = ["name", "generateName"];
                    let metadata = metadata.map(|name| (name.to_owned(), Self::String));
                    fields.insert("apiVersion".into(), Self::String);
                    fields.insert("kind".into(), Self::String);
                    fields.insert("metadata".into(), Self::Object(Arc::new(metadata.into())));
                }
                Self::Object(Arc::new(fields))
            }
            "string" => match schema.checks.format.as_str() {
                "byte" => Self::Bytes,
                "duration" => Self::Duration,
                "date" | "date-time" => Self::Timestamp,
                _ => Self::String,
            },
            "boolean" => Self::Bool,
            "number" => Self::Double,
            "integer" => Self::Int,
            _ => return None,
        })
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dyn => "dyn",
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Duration => "google.protobuf.Duration",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::Type => "type",
            Self::List(items) => return write!(f, "list({items})"),
            Self::Map(keys, values) => return write!(f, "map({keys}, {values})"),
            Self::Object(_) => "object",
            Self::Optional(inner) => return write!(f, "optional_type({inner})"),
            Self::Opaque(name) => name,
        })
    }
}
