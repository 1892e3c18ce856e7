//! Server-side apply as kube-apiserver does it: sets of fields, `managedFields`, merge and conflicts.
//!
//! Everything works on JSON and on types of [`k8s_api_schema`]. What it is not: it defaults, validates and stores nothing,
//! and it converts nothing between versions; [`Versions`] is what the caller does of that.
//!
//! ```
//! use k8s_api_schema::{Schema, Type};
//! use k8s_structured_merge::{Set, TypeRef, Versions, Writer, apply};
//! use serde_json::{Value, json};
//!
//! /// A kind with one version and no schema.
//! struct Anything(Schema, k8s_api_schema::TypeId);
//!
//! impl Versions for Anything {
//!     fn type_of(&self, _: &str) -> Option<TypeRef<'_>> {
//!         Some(TypeRef::new(&self.0, self.1))
//!     }
//!     fn convert(&self, object: &Value, _: &str) -> Option<Value> {
//!         Some(object.clone())
//!     }
//!     fn empty(&self, api_version: &str) -> Value {
//!         json!({"apiVersion": api_version, "kind": "ConfigMap"})
//!     }
//!     fn reset_fields(&self, _: &str) -> Option<&Set> {
//!         None
//!     }
//! }
//!
//! let mut schema = Schema::new();
//! let id = schema.push(Type::Any);
//! let versions = Anything(schema, id);
//! let writer = Writer { manager: "me", api_version: "v1", subresource: "", now: "2026-01-02T03:04:05Z" };
//! let empty = json!({"apiVersion": "v1", "kind": "ConfigMap"});
//! let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"}});
//! let applied = apply(&versions, &empty, &config, &writer, false)?;
//! assert_eq!(applied.object["data"]["a"], "1");
//! assert_eq!(
//!     applied.object["metadata"]["managedFields"][0]["fieldsV1"],
//!     json!({"f:data": {".": {}, "f:a": {}}}),
//! );
//! # Ok::<(), k8s_structured_merge::ApplyError>(())
//! ```

mod apply;
mod element;
mod fields_v1;
mod kept;
mod managed;
mod scale;
mod set;
mod shape;
mod typed;
mod update;
mod validate;
mod value;

pub use apply::{Applied, ApplyError, Conflict, Conflicts, apply};
pub use element::{ElementError, Path, PathElement, path_text};
pub use fields_v1::FieldsError;
pub use managed::{
    Entry, Managed, ManagedError, ManagerId, Operation, is_reset, take_managed_fields,
};
pub use scale::{ReplicasPaths, from_scale, to_scale};
pub use set::Set;
pub use shape::{empty_object, shown_object};
pub use typed::{Comparison, TypeRef};
pub use update::{Versions, Writer, keep_times, update};
pub use validate::{Duplicates, Misfits};
