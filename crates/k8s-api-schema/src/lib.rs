//! Types of the Kubernetes API as data: the built-in kinds' schemas, and errors of fields as the server prints them.
//!
//! What a kind's fields are, which of them are lists with keys, and what is left out when it is empty is data here,
//! written by `cargo xtask schemas` from a real server. Bodies are decoded by it as the real server decodes them.
//!
//! ```
//! use k8s_api_schema::{FieldError, Quantity, builtin};
//!
//! assert!(builtin().find("apps", "v1", "Deployment").is_some());
//! assert_eq!("0.5".parse::<Quantity>().unwrap().to_string(), "500m");
//! let error = FieldError::required("spec.replicas", "");
//! assert_eq!(error.to_string(), "spec.replicas: Required value");
//! ```
//!
//! It does no I/O, knows no objects but as JSON, and validates nothing but types.

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
