//! The built-in kinds, one row each, one file per group.

mod admissionregistration;
mod apiextensions;
mod apps;
mod autoscaling;
mod batch;
mod coordination;
mod core;
mod discovery;
mod events;
mod networking;
mod pods;
mod policy;
mod rbac;
mod scheduling;
mod storage;

use crate::kinds::Kind;

/// Every built-in kind that is served.
pub(crate) fn builtin() -> Vec<Kind> {
    [
        core::kinds(),
        pods::kinds(),
        apps::kinds(),
        batch::kinds(),
        autoscaling::kinds(),
        policy::kinds(),
        scheduling::kinds(),
        networking::kinds(),
        rbac::kinds(),
        coordination::kinds(),
        discovery::kinds(),
        storage::kinds(),
        admissionregistration::kinds(),
        events::kinds(),
        apiextensions::kinds(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
