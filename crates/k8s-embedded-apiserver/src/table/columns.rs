//! The columns of each kind.

use serde_json::{Value, json};

use super::jsonpath::JsonPath;
use super::kinds;
use crate::kinds::Kind;

pub(super) const NAME: &str = "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";
const CREATED: &str = "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

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
    pub(super) fn new(name: &str, priority: i64, description: &str) -> Self {
        Self {
            name: name.into(),
            kind: "string".into(),
            format: String::new(),
            description: description.into(),
            priority,
            path: None,
        }
    }

    pub(super) fn of_type(mut self, kind: &str) -> Self {
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

pub(super) fn name() -> Column {
    Column {
        format: "name".into(),
        ..Column::new("Name", 0, NAME)
    }
}

pub(super) fn age() -> Column {
    Column::new("Age", 0, CREATED)
}

/// The columns of a kind; those of a custom one come from its definition.
pub(super) fn of(kind: &Kind) -> Vec<Column> {
    if let Some(custom) = &kind.custom {
        return custom_columns(&custom.version);
    }
    kinds::columns(kind).unwrap_or_else(|| vec![name(), created_at()])
}

pub(super) fn shown(name: &str, description: &str) -> Column {
    Column::new(name, 0, description)
}

pub(super) fn wide(name: &str, description: &str) -> Column {
    Column::new(name, 1, description)
}

/// Whether these are the columns of a kind that the server knows no others of.
pub(super) fn is_default(columns: &[Column]) -> bool {
    matches!(columns, [_, second] if *second == created_at())
}

pub(super) fn created_at() -> Column {
    shown("Created At", CREATED).of_type("date")
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
