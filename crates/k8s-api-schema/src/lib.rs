//! Types of the Kubernetes API as data: the built-in kinds' schemas, and errors of fields as the server prints them.

mod builtin;
mod field_error;
mod go;
pub mod json;
mod model;
pub mod openapi;
mod ordered;
pub mod protobuf;
mod quantity;
pub mod strategic;
mod text;

pub use builtin::builtin;
pub use field_error::{FieldError, print_float, quote};
pub use go::{go_type, go_value};
pub use model::{
    Either, EitherKind, Empty, Field, List, ListKind, Map, Patch, Scalar, Schema, Struct, Type,
    TypeId,
};
pub use ordered::{TakenApart, print_members, print_ordered};
pub use quantity::{Quantity, QuantityError};
pub use text::{Published, PublishedField, published};
