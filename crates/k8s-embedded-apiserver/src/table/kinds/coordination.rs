//! Columns and cells: the group `coordination.k8s.io`.

use serde_json::Value;

use crate::table::cells::Row;
use crate::table::columns::{Column, age, name, shown};

pub(super) fn columns(kind: &str) -> Option<Vec<Column>> {
    Some(match kind {
        "Lease" => {
            vec![name(), shown("Holder", "Who holds the lease."), age()]
        }
        _ => return None,
    })
}

pub(super) fn cells(kind: &str, row: &Row<'_>) -> Option<Vec<Value>> {
    Some(match kind {
        "Lease" => vec![row.name(), row.cell("/spec/holderIdentity"), row.age()],
        _ => return None,
    })
}
