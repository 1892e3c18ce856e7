//! Status conditions of Kubernetes objects: set, find, remove.
//!
//! A condition says in one word how an object is doing in one respect, as `Ready: True`; they
//! stand in `status.conditions`, where people and tools (`kubectl wait --for=condition=Ready`)
//! look for them. The type is that of `k8s-openapi`, [`Condition`]. [`set`] keeps the rules that
//! are easy to break by hand: one condition of each type, a `lastTransitionTime` that moves when
//! the status does and at no other time, and nothing to write when nothing changed, so that a
//! controller does not wake itself up for ever by its own writes.
//!
//! ```
//! use k8s_controller_conditions::{ConditionChange, ConditionStatus, DesiredCondition, find, set};
//! use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
//!
//! # let metadata = ObjectMeta { generation: Some(3), ..ObjectMeta::default() };
//! // Those of the object as it was read.
//! let mut conditions: Vec<Condition> = Vec::new();
//!
//! let ready = DesiredCondition::new("Ready", ConditionStatus::False, "Starting", "0 of 3 pods")
//!     .observed_generation(metadata.generation);
//! let change = set(&mut conditions, ready.clone());
//! assert_eq!(change, ConditionChange::Transitioned);
//! if change.is_changed() {
//!     // Write the status.
//! }
//!
//! // The next pass sees the same: there is nothing to write.
//! assert_eq!(set(&mut conditions, ready), ConditionChange::Unchanged);
//! assert!(find(&conditions, "Ready").is_some_and(|ready| ready.status == "False"));
//! ```
//!
//! # In a custom resource
//!
//! The status of a kind of one's own has a field `conditions: Vec<Condition>`. For `Condition` to
//! have a schema (`JsonSchema`), switch on the feature `schemars` of `k8s-openapi`. Kubernetes wants
//! the list to be a map by type, which the attribute
//! `#[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]`
//! of the field says; and `#[serde(default, skip_serializing_if = "Vec::is_empty")]` lets a status
//! without conditions be read. The example `website` of the crate `k8s-controller` has such a
//! status, and the column that `kubectl get` shows of it.
//!
//! # What it does not do
//!
//! It talks to no server. Start from the conditions of the object as it was read, and write all
//! of them back: a patch that sent only some would lose the others, or their transition times.
//! Conditions of the older kind, which have a type of their own (`PodCondition`,
//! `DeploymentCondition`), are not served.
//!
//! [`Condition`]: k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition

mod check;
mod clock;
mod desired;
mod find;
mod set;
mod status;

pub use check::InvalidCondition;
pub use desired::DesiredCondition;
pub use find::{find, find_observed};
pub use set::{ConditionChange, remove, set, set_at};
pub use status::{ConditionStatus, InvalidConditionStatus};
