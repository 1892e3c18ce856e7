//! `metadata.managedFields`: who set which fields.

use std::collections::BTreeMap;

use k8s_api_schema::quote;
use serde_json::{Map, Value};

use crate::fields_v1::FieldsError;
use crate::set::Set;

/// How a manager set its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// By applying a configuration.
    Apply,
    /// By any other write.
    Update,
}

impl Operation {
    /// The text of `operation`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// What tells an entry of `managedFields` from the others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ManagerId {
    /// The name of the manager.
    pub manager: String,
    /// How it wrote.
    pub operation: Operation,
    /// The version it wrote in. Empty for `Apply`: there a manager has one entry, whatever the version.
    pub api_version: String,
    /// The subresource it wrote; empty for the object itself.
    pub subresource: String,
}

impl ManagerId {
    /// The identity of a writer.
    #[must_use]
    pub fn new(manager: &str, operation: Operation, api_version: &str, subresource: &str) -> Self {
        let manager = known_name(manager);
        let api_version = match operation {
            Operation::Apply => "",
            Operation::Update => api_version,
        };
        Self {
            manager: manager.into(),
            operation,
            api_version: api_version.into(),
            subresource: subresource.into(),
        }
    }

    /// The manager as conflicts name it.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut text = quote(&self.manager);
        if !self.subresource.is_empty() {
            text.push_str(" with subresource ");
            text.push_str(&quote(&self.subresource));
        }
        if self.operation == Operation::Update {
            text.push_str(" using ");
            text.push_str(&self.api_version);
        }
        text
    }
}

/// The name of a manager; one without a name has this one.
pub(crate) fn known_name(manager: &str) -> &str {
    if manager.is_empty() {
        "unknown"
    } else {
        manager
    }
}

/// An entry of `managedFields` without what identifies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The version that the paths of the fields are of.
    pub api_version: String,
    /// When the manager last changed something.
    pub time: Option<String>,
    /// The fields it owns.
    pub fields: Set,
}

/// `metadata.managedFields`, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Managed {
    /// Entries by manager.
    pub entries: BTreeMap<ManagerId, Entry>,
}

/// Why `managedFields` were not read. The server goes on as if none had been sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ManagedError {
    /// Not a list of objects.
    #[error("managedFields must be a list of objects")]
    List,
    /// Neither `Apply` nor `Update`.
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    /// No version.
    #[error("apiVersion must not be empty")]
    Version,
    /// No `fieldsType`.
    #[error("missing fieldsType in managed fields entry {0}")]
    NoType(usize),
    /// Another `fieldsType` than `FieldsV1`.
    #[error("invalid fieldsType {:?} in managed fields entry {index}", .type_)]
    Type {
        /// Place of the entry in the list.
        index: usize,
        /// What was sent.
        type_: String,
    },
    /// The fields cannot be read.
    #[error("error decoding set: {0}")]
    Fields(#[from] FieldsError),
}

fn text<'a>(entry: &'a Value, key: &str) -> &'a str {
    entry.get(key).and_then(Value::as_str).unwrap_or_default()
}

impl Managed {
    /// Reads `metadata.managedFields` of an object.
    ///
    /// # Errors
    ///
    /// [`ManagedError`] for an entry that no server wrote.
    pub fn of(object: &Value) -> Result<Self, ManagedError> {
        match object.pointer("/metadata/managedFields") {
            None => Ok(Self::default()),
            Some(list) => Self::decode(list),
        }
    }

    /// Reads a list of entries.
    ///
    /// # Errors
    ///
    /// [`ManagedError`] for an entry that no server wrote.
    pub fn decode(list: &Value) -> Result<Self, ManagedError> {
        let mut managed = Self::default();
        let items = match list {
            Value::Null => return Ok(managed),
            Value::Array(items) => items,
            _ => return Err(ManagedError::List),
        };
        for (index, entry) in items.iter().enumerate() {
            let operation = match text(entry, "operation") {
                "Apply" => Operation::Apply,
                "Update" => Operation::Update,
                _ => return Err(ManagedError::Operation),
            };
            let api_version = text(entry, "apiVersion");
            if api_version.is_empty() {
                return Err(ManagedError::Version);
            }
            match text(entry, "fieldsType") {
                "FieldsV1" => {}
                "" => return Err(ManagedError::NoType(index)),
                other => {
                    return Err(ManagedError::Type {
                        index,
                        type_: other.into(),
                    });
                }
            }
            let id = ManagerId {
                manager: text(entry, "manager").into(),
                operation,
                api_version: match operation {
                    Operation::Apply => String::new(),
                    Operation::Update => api_version.into(),
                },
                subresource: text(entry, "subresource").into(),
            };
            let fields = match entry.get("fieldsV1") {
                None | Some(Value::Null) => Set::new(),
                Some(fields) => Set::decode(fields)?,
            };
            let entry = Entry {
                api_version: api_version.into(),
                time: entry.get("time").and_then(Value::as_str).map(Into::into),
                fields,
            };
            managed.entries.insert(id, entry);
        }
        Ok(managed)
    }

    /// The list of entries in the order of the server: by operation, time, manager, version, subresource.
    #[must_use]
    pub fn encode(&self) -> Value {
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_by(|(id_a, a), (id_b, b)| {
            let key = |id: &ManagerId| id.operation;
            key(id_a)
                .cmp(&key(id_b))
                .then_with(|| a.time.cmp(&b.time))
                .then_with(|| id_a.manager.cmp(&id_b.manager))
                .then_with(|| a.api_version.cmp(&b.api_version))
                .then_with(|| id_a.subresource.cmp(&id_b.subresource))
        });
        entries
            .into_iter()
            .map(|(id, entry)| encode_entry(id, entry))
            .collect()
    }

    /// Writes the entries into an object; without any, the field is removed.
    pub fn write_to(&self, object: &mut Value) {
        if self.entries.is_empty() {
            take_managed_fields(object);
        } else if let Some(metadata) = metadata_mut(object) {
            metadata.insert("managedFields".into(), self.encode());
        }
    }
}

fn encode_entry(id: &ManagerId, entry: &Entry) -> Value {
    let mut map = Map::new();
    let mut put = |key: &str, value: &str| {
        if !value.is_empty() {
            map.insert(key.into(), value.into());
        }
    };
    put("manager", &id.manager);
    put("operation", id.operation.as_str());
    put("apiVersion", &entry.api_version);
    put("time", entry.time.as_deref().unwrap_or_default());
    put("fieldsType", "FieldsV1");
    put("subresource", &id.subresource);
    map.insert("fieldsV1".into(), entry.fields.encode());
    Value::Object(map)
}

pub(crate) fn metadata_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let metadata = object
        .as_object_mut()?
        .entry("metadata")
        .or_insert_with(|| Value::Object(Map::new()));
    if metadata.is_null() {
        *metadata = Value::Object(Map::new());
    }
    metadata.as_object_mut()
}

/// Removes `metadata.managedFields` and gives it back.
pub fn take_managed_fields(object: &mut Value) -> Option<Value> {
    object
        .get_mut("metadata")?
        .as_object_mut()?
        .remove("managedFields")
}

/// Whether `managedFields` were sent in the form that asks to forget all: `[]` or `[{}]`.
#[must_use]
pub fn is_reset(sent: Option<&Value>) -> bool {
    match sent.and_then(Value::as_array).map(Vec::as_slice) {
        Some([]) => true,
        Some([Value::Object(entry)]) => entry
            .values()
            .all(|value| value.is_null() || value.as_str().is_some_and(str::is_empty)),
        _ => false,
    }
}
