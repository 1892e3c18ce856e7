//! Columns and cells: the group `apps`.

use serde_json::{Value, json};

use crate::table::cells::{Row, or_none, selector_text};
use crate::table::columns::{Column, age, name, shown, wide};

pub(super) fn columns(kind: &str) -> Option<Vec<Column>> {
    Some(match kind {
        "Deployment" => vec![
            name(),
            shown("Ready", "Number of the pod with ready state"),
            shown(
                "Up-to-date",
                "Total number of non-terminating pods targeted by this deployment that have the desired template spec.",
            ),
            shown(
                "Available",
                "Total number of available non-terminating pods (ready for at least minReadySeconds) targeted by this deployment.",
            ),
            age(),
            wide("Containers", "Names of each container in the template."),
            wide(
                "Images",
                "Images referenced by each container in the template.",
            ),
            wide(
                "Selector",
                "Label selector for pods. Existing ReplicaSets whose pods are selected by this will be the ones affected by this deployment. It must match the pod template's labels.",
            ),
        ],
        "ReplicaSet" => vec![
            name(),
            shown("Desired", "Pods that are asked for.").of_type("integer"),
            shown("Current", "Pods that there are.").of_type("integer"),
            shown("Ready", "Pods that are ready.").of_type("integer"),
            age(),
            wide("Containers", "Names of each container in the template."),
            wide(
                "Images",
                "Images referenced by each container in the template.",
            ),
            wide("Selector", "Labels of the pods that belong to it."),
        ],
        _ => return None,
    })
}

pub(super) fn cells(kind: &str, row: &Row<'_>) -> Option<Vec<Value>> {
    Some(match kind {
        "Deployment" => deployment(row),
        "ReplicaSet" => replica_set(row),
        _ => return None,
    })
}

fn deployment(row: &Row<'_>) -> Vec<Value> {
    let [names, images] = row.containers();
    vec![
        row.name(),
        json!(format!(
            "{}/{}",
            row.number("/status/readyReplicas"),
            row.number("/spec/replicas")
        )),
        json!(row.number("/status/updatedReplicas")),
        json!(row.number("/status/availableReplicas")),
        row.age(),
        names,
        images,
        json!(selector_text(row.object.pointer("/spec/selector"))),
    ]
}

fn replica_set(row: &Row<'_>) -> Vec<Value> {
    let [names, images] = row.containers();
    vec![
        row.name(),
        json!(row.number("/spec/replicas")),
        json!(row.number("/status/replicas")),
        json!(row.number("/status/readyReplicas")),
        row.age(),
        names,
        images,
        json!(or_none(selector_text(row.object.pointer("/spec/selector")))),
    ]
}
