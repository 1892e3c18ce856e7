//! The built-in kinds, one row each, one file per group.

mod admissionregistration;
mod apiextensions;
mod apiregistration;
mod apps;
mod authentication;
mod authorization;
mod autoscaling;
mod batch;
mod certificates;
mod coordination;
mod core;
mod discovery;
mod events;
mod flowcontrol;
mod networking;
mod node;
mod pods;
mod policy;
mod rbac;
mod resource;
mod scheduling;
mod storage;
mod storagemigration;

use crate::kinds::Kind;

/// Every built-in kind that is served, by group in the order of discovery.
pub(crate) fn builtin() -> Vec<Kind> {
    [
        core::kinds(),
        pods::kinds(),
        apiregistration::kinds(),
        apps::kinds(),
        events::kinds(),
        authentication::kinds(),
        authorization::kinds(),
        autoscaling::kinds(),
        batch::kinds(),
        certificates::kinds(),
        networking::kinds(),
        policy::kinds(),
        rbac::kinds(),
        storage::kinds(),
        admissionregistration::kinds(),
        apiextensions::kinds(),
        scheduling::kinds(),
        coordination::kinds(),
        node::kinds(),
        discovery::kinds(),
        resource::kinds(),
        flowcontrol::kinds(),
        storagemigration::kinds(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
