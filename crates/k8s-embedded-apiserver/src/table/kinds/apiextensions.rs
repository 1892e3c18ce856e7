//! Columns and cells: the group `apiextensions.k8s.io`.

use serde_json::{Value, json};

use crate::table::cells::Row;
use crate::table::columns::{Column, created_at, name, shown, wide};

pub(super) fn columns(kind: &str) -> Option<Vec<Column>> {
    Some(match kind {
        "CustomResourceDefinition" => vec![
            name(),
            shown("Scope", "Cluster/Namespaced"),
            shown("Versions", "Served versions"),
            created_at(),
            wide("Group", "API group"),
            wide("Kind", "CustomResource kind"),
            wide("ShortNames", "Short names"),
            wide("Established", "Established status").of_type("boolean"),
        ],
        _ => return None,
    })
}

pub(super) fn cells(kind: &str, row: &Row<'_>) -> Option<Vec<Value>> {
    Some(match kind {
        "CustomResourceDefinition" => definition(row),
        _ => return None,
    })
}

fn definition(row: &Row<'_>) -> Vec<Value> {
    let is = |value: &Value, key: &str| value.get(key) == Some(&Value::Bool(true));
    let mut versions: Vec<String> = row
        .list("/spec/versions")
        .iter()
        .filter(|version| is(version, "served"))
        .map(|version| {
            let name = version
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or_default();
            format!(
                "{name}{}",
                if is(version, "storage") {
                    "(storage)"
                } else {
                    ""
                }
            )
        })
        .collect();
    versions.sort_unstable();
    let short: Vec<&str> = row
        .list("/spec/names/shortNames")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let established = row.list("/status/conditions").iter().any(|condition| {
        condition.get("type") == Some(&json!("Established"))
            && condition.get("status") == Some(&json!("True"))
    });
    vec![
        row.name(),
        row.cell("/spec/scope"),
        json!(versions.join(",")),
        row.cell("/metadata/creationTimestamp"),
        row.cell("/spec/group"),
        row.cell("/spec/names/kind"),
        json!(short.join(",")),
        json!(established),
    ]
}
