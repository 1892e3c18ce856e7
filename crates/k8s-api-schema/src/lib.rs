//! Types of the Kubernetes API as data: the built-in kinds' schemas, and errors of fields as the server prints them.

mod field_error;
mod model;
mod quantity;

pub use field_error::{FieldError, quote};
pub use model::{Empty, Field, List, ListKind, Map, Patch, Scalar, Schema, Struct, Type, TypeId};
pub use quantity::{Quantity, QuantityError};
