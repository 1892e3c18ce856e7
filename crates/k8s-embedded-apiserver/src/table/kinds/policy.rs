//! Columns and cells: the group `policy`.

use serde_json::{Value, json};

use crate::table::cells::Row;
use crate::table::columns::{Column, age, name, shown};

pub(super) fn columns(kind: &str) -> Option<Vec<Column>> {
    Some(match kind {
        "PodDisruptionBudget" => vec![
            name(),
            shown(
                "Min Available",
                "The minimum number of pods that must be available.",
            ),
            shown(
                "Max Unavailable",
                "The maximum number of pods that may be unavailable.",
            ),
            shown(
                "Allowed Disruptions",
                "Calculated number of pods that may be disrupted at this time.",
            )
            .of_type("integer"),
            age(),
        ],
        _ => return None,
    })
}

pub(super) fn cells(kind: &str, row: &Row<'_>) -> Option<Vec<Value>> {
    let amount = |pointer: &str| match row.object.pointer(pointer) {
        Some(Value::String(text)) => json!(text),
        Some(number) => json!(number.to_string()),
        None => json!("N/A"),
    };
    Some(match kind {
        "PodDisruptionBudget" => vec![
            row.name(),
            amount("/spec/minAvailable"),
            amount("/spec/maxUnavailable"),
            json!(row.number("/status/disruptionsAllowed")),
            row.age(),
        ],
        _ => return None,
    })
}
