//! Columns and cells: the group `networking.k8s.io`.

use serde_json::Value;

use crate::table::cells::Row;
use crate::table::columns::Column;

pub(super) fn columns(_kind: &str) -> Option<Vec<Column>> {
    None
}

pub(super) fn cells(_kind: &str, _row: &Row<'_>) -> Option<Vec<Value>> {
    None
}
