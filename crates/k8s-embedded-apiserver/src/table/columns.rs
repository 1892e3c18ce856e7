//! The columns of each kind.

use serde_json::{Value, json};

use super::jsonpath::JsonPath;
use crate::kinds::Kind;

pub(super) const NAME: &str = "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";
const CREATED: &str = "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";
const CONFIG_MAP_DATA: &str = "Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or '.'. Values with non-UTF-8 byte sequences must use the BinaryData field. The keys stored in Data must not overlap with the keys in the BinaryData field, this is enforced during validation process.";

/// The head of one column.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) format: String,
    pub(super) description: String,
    /// 0 is always shown, more only in a wide table.
    pub(super) priority: i64,
    /// Where a custom resource has the value; a built-in kind has a function of its own.
    pub(super) path: Option<JsonPath>,
}

impl Column {
    fn new(name: &str, priority: i64, description: &str) -> Self {
        Self {
            name: name.into(),
            kind: "string".into(),
            format: String::new(),
            description: description.into(),
            priority,
            path: None,
        }
    }

    fn of_type(mut self, kind: &str) -> Self {
        self.kind = kind.into();
        self
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.kind,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        })
    }
}

fn name() -> Column {
    Column {
        format: "name".into(),
        ..Column::new("Name", 0, NAME)
    }
}

fn age() -> Column {
    Column::new("Age", 0, CREATED)
}

/// The columns of a kind; those of a custom one come from its definition.
pub(super) fn of(kind: &Kind) -> Vec<Column> {
    if let Some(custom) = &kind.custom {
        return custom_columns(&custom.version);
    }
    core_columns(kind)
        .or_else(|| other_columns(kind))
        .unwrap_or_else(|| vec![name(), created_at()])
}

fn shown(name: &str, description: &str) -> Column {
    Column::new(name, 0, description)
}

fn wide(name: &str, description: &str) -> Column {
    Column::new(name, 1, description)
}

fn created_at() -> Column {
    shown("Created At", CREATED).of_type("date")
}

fn core_columns(kind: &Kind) -> Option<Vec<Column>> {
    Some(match (kind.group.as_ref(), kind.kind.as_ref()) {
        ("", "ConfigMap") => vec![name(), shown("Data", CONFIG_MAP_DATA), age()],
        ("", "Secret") => vec![
            name(),
            shown("Type", "What the data is for."),
            shown("Data", "Number of entries."),
            age(),
        ],
        ("", "Namespace") => vec![
            name(),
            shown("Status", "The status of the namespace"),
            age(),
        ],
        ("", "ServiceAccount") => vec![name(), age()],
        ("", "Pod") => vec![
            name(),
            shown(
                "Ready",
                "The aggregate readiness state of this pod for accepting traffic.",
            ),
            shown(
                "Status",
                "The aggregate status of the containers in this pod.",
            ),
            shown(
                "Restarts",
                "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.",
            ),
            age(),
            wide("IP", "Address of the pod."),
            wide("Node", "Node that the pod is scheduled to."),
            wide(
                "Nominated Node",
                "Node that pods are being preempted on for this one.",
            ),
            wide(
                "Readiness Gates",
                "Conditions that must hold, and how many of them do.",
            ),
        ],
        ("", "Service") => vec![
            name(),
            shown("Type", "How the service is exposed."),
            shown("Cluster-IP", "Address inside the cluster."),
            shown("External-IP", "Addresses outside the cluster."),
            shown("Port(s)", "Ports that the service has."),
            age(),
            wide("Selector", "Labels of the pods that the service sends to."),
        ],
        ("", "Node") => vec![
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

fn other_columns(kind: &Kind) -> Option<Vec<Column>> {
    Some(match (kind.group.as_ref(), kind.kind.as_ref()) {
        ("" | "events.k8s.io", "Event") => vec![
            shown("Last Seen", "When it happened last."),
            shown("Type", "Normal or Warning."),
            shown("Reason", "A short reason for machines."),
            shown("Object", "What it is about."),
            wide("Subobject", "The part of the object."),
            wide("Source", "Who reported it."),
            shown("Message", "A description for people."),
            wide("First Seen", "When it happened first."),
            wide("Count", "How often it happened."),
            Column {
                priority: 1,
                ..name()
            },
        ],
        ("apps", "Deployment") => vec![
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
        ("apps", "ReplicaSet") => vec![
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
        ("coordination.k8s.io", "Lease") => {
            vec![name(), shown("Holder", "Who holds the lease."), age()]
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition") => vec![
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

/// Without `additionalPrinterColumns` there is an age; with any there is just what they say.
fn custom_columns(version: &Value) -> Vec<Column> {
    let definitions = version
        .get("additionalPrinterColumns")
        .and_then(Value::as_array);
    let mut columns = vec![name()];
    match definitions.filter(|definitions| !definitions.is_empty()) {
        None => columns.push(Column {
            path: Some(JsonPath::parse(".metadata.creationTimestamp")),
            ..age().of_type("date")
        }),
        Some(definitions) => columns.extend(definitions.iter().map(custom_column)),
    }
    columns
}

fn custom_column(definition: &Value) -> Column {
    let text = |key: &str| {
        definition
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let path = text("jsonPath");
    let mut description = text("description");
    if description.is_empty() {
        description = format!("Custom resource definition column (in JSONPath format): {path}");
    }
    Column {
        name: text("name"),
        kind: text("type"),
        format: text("format"),
        description,
        priority: definition
            .get("priority")
            .and_then(Value::as_i64)
            .unwrap_or(0),
        path: Some(JsonPath::parse(&path)),
    }
}
