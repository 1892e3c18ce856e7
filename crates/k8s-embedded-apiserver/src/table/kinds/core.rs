//! Columns and cells: the core group, but for pods.

use serde_json::{Value, json};

use super::{nodes, services};
use crate::table::cells::Row;
use crate::table::columns::{Column, age, name, shown, wide};

const CONFIG_MAP_DATA: &str = "Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or '.'. Values with non-UTF-8 byte sequences must use the BinaryData field. The keys stored in Data must not overlap with the keys in the BinaryData field, this is enforced during validation process.";

pub(super) fn columns(kind: &str) -> Option<Vec<Column>> {
    Some(match kind {
        "ConfigMap" => vec![name(), shown("Data", CONFIG_MAP_DATA), age()],
        "Secret" => vec![
            name(),
            shown("Type", "What the data is for."),
            shown("Data", "Number of entries."),
            age(),
        ],
        "Namespace" => vec![
            name(),
            shown("Status", "The status of the namespace"),
            age(),
        ],
        "ServiceAccount" => vec![name(), age()],
        "Service" => vec![
            name(),
            shown("Type", "How the service is exposed."),
            shown("Cluster-IP", "Address inside the cluster."),
            shown("External-IP", "Addresses outside the cluster."),
            shown("Port(s)", "Ports that the service has."),
            age(),
            wide("Selector", "Labels of the pods that the service sends to."),
        ],
        "Node" => vec![
            name(),
            shown("Status", "The status of the node"),
            shown("Roles", "The roles of the node"),
            age(),
            shown("Version", "Version of the kubelet."),
            wide("Internal-IP", "Address inside the cluster."),
            wide("External-IP", "Address outside the cluster."),
            wide("OS-Image", "Operating system."),
            wide("Kernel-Version", "Kernel and architecture."),
            wide("Container-Runtime", "Container runtime and its version."),
        ],
        _ => return None,
    })
}

pub(super) fn cells(kind: &str, row: &Row<'_>) -> Option<Vec<Value>> {
    Some(match kind {
        "ConfigMap" => vec![
            row.name(),
            json!(row.len("/data") + row.len("/binaryData")),
            row.age(),
        ],
        "Secret" => vec![
            row.name(),
            row.cell("/type"),
            json!(row.len("/data")),
            row.age(),
        ],
        "Namespace" => vec![row.name(), row.cell("/status/phase"), row.age()],
        "ServiceAccount" => vec![row.name(), row.age()],
        "Service" => services::row(row),
        "Node" => nodes::row(row),
        _ => return None,
    })
}
