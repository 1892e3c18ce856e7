//! The columns and cells of the built-in kinds, by group.

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
mod nodes;
mod pods;
mod policy;
mod rbac;
mod scheduling;
mod services;
mod storage;
mod stored;

use serde_json::Value;

use super::cells::Row;
use super::columns::Column;
use crate::kinds::Kind;

type Columns = fn(&str) -> Option<Vec<Column>>;
type Cells = fn(&str, &Row<'_>) -> Option<Vec<Value>>;

fn group(kind: &Kind) -> Option<(Columns, Cells)> {
    Some(match (kind.group.as_ref(), kind.kind.as_ref()) {
        ("", "Pod" | "PodTemplate" | "ReplicationController") => (pods::columns, pods::cells),
        ("", "Event") | ("events.k8s.io", _) => (events::columns, events::cells),
        ("", _) => (core::columns, core::cells),
        ("apps", _) => (apps::columns, apps::cells),
        ("coordination.k8s.io", _) => (coordination::columns, coordination::cells),
        ("apiextensions.k8s.io", _) => (apiextensions::columns, apiextensions::cells),
        ("batch", _) => (batch::columns, batch::cells),
        ("autoscaling", _) => (autoscaling::columns, autoscaling::cells),
        ("policy", _) => (policy::columns, policy::cells),
        ("scheduling.k8s.io", _) => (scheduling::columns, scheduling::cells),
        ("networking.k8s.io", _) => (networking::columns, networking::cells),
        ("rbac.authorization.k8s.io", _) => (rbac::columns, rbac::cells),
        ("discovery.k8s.io", _) => (discovery::columns, discovery::cells),
        ("storage.k8s.io", _) => (storage::columns, storage::cells),
        ("admissionregistration.k8s.io", _) => {
            (admissionregistration::columns, admissionregistration::cells)
        }
        _ => return None,
    })
}

/// The columns of a built-in kind that has some of its own.
pub(super) fn columns(kind: &Kind) -> Option<Vec<Column>> {
    stored::columns(kind).or_else(|| group(kind).and_then(|(columns, _)| columns(&kind.kind)))
}

/// The cells of a built-in kind that has columns of its own.
pub(super) fn cells(kind: &Kind, row: &Row<'_>) -> Option<Vec<Value>> {
    let own = group(kind).and_then(|(_, cells)| cells(&kind.kind, row));
    own.or_else(|| stored::cells(&kind.kind, row))
}
