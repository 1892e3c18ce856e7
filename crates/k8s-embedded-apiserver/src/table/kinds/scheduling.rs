//! Columns and cells: the group `scheduling.k8s.io`.

use serde_json::{Value, json};

use crate::table::cells::Row;
use crate::table::columns::{Column, age, name, shown};

pub(super) fn columns(kind: &str) -> Option<Vec<Column>> {
    Some(match kind {
        "PriorityClass" => vec![name(), shown("Value", "value represents the integer value of this priority class. This is the actual priority that pods receive when they have the name of this class in their pod spec.").of_type("integer"), shown("Global-Default", "globalDefault specifies whether this PriorityClass should be considered as the default priority for pods that do not have any priority class. Only one PriorityClass can be marked as `globalDefault`. However, if more than one PriorityClasses exists with their `globalDefault` field set to true, the smallest value of such global default PriorityClasses will be used as the default priority.").of_type("boolean"), age(), shown("PreemptionPolicy", "preemptionPolicy is the Policy for preempting pods with lower priority. One of Never, PreemptLowerPriority. Defaults to PreemptLowerPriority if unset.")],
        _ => return None,
    })
}

pub(super) fn cells(kind: &str, row: &Row<'_>) -> Option<Vec<Value>> {
    Some(match kind {
        "PriorityClass" => vec![
            row.name(),
            json!(row.number("/value")),
            json!(row.object.pointer("/globalDefault") == Some(&json!(true))),
            row.age(),
            row.cell("/preemptionPolicy"),
        ],
        _ => return None,
    })
}
