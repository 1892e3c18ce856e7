//! A small kind with every sort of field.
#![allow(dead_code, reason = "not every test file uses all")]
#![allow(clippy::expect_used, reason = "a test may panic")]

use std::collections::BTreeMap;

use k8s_api_schema::{Empty, Field, List, ListKind, Map, Scalar, Schema, Struct, Type, TypeId};
use k8s_structured_merge::{Applied, ApplyError, Set, TypeRef, Versions, Writer, apply, update};
use serde_json::{Value, json};

pub(crate) struct Kind {
    schema: Schema,
    id: TypeId,
    pub(crate) reset: Set,
    /// Versions beside `v1`, which are the same but for their names.
    pub(crate) others: Vec<String>,
}

fn field(type_: TypeId) -> Field {
    Field {
        empty: Empty::Omitted,
        ..Field::new(type_)
    }
}

fn struct_(fields: &[(&str, TypeId)]) -> Type {
    let fields = fields
        .iter()
        .map(|(name, type_)| ((*name).to_owned(), field(*type_)))
        .collect::<BTreeMap<_, _>>();
    Type::Struct(Struct {
        fields,
        ..Struct::default()
    })
}

impl Kind {
    pub(crate) fn new() -> Self {
        Self::with_ports(ListKind::Map(vec!["port".into(), "protocol".into()]))
    }

    pub(crate) fn with_ports(ports: ListKind) -> Self {
        let mut s = Schema::new();
        let text = s.push(Type::Scalar(Scalar::String));
        let number = s.push(Type::Scalar(Scalar::Int32));
        let any = s.push(Type::Any);
        let granular = s.push(Type::Map(Map {
            values: text,
            atomic: false,
        }));
        let atomic = s.push(Type::Map(Map {
            values: text,
            atomic: true,
        }));
        let set = s.push(Type::List(List {
            items: text,
            kind: ListKind::Set,
        }));
        let list = s.push(Type::List(List {
            items: text,
            kind: ListKind::Atomic,
        }));
        let metadata = s.push(struct_(&[
            ("name", text),
            ("namespace", text),
            ("uid", text),
            ("resourceVersion", text),
            ("labels", granular),
            ("annotations", granular),
            ("finalizers", set),
        ]));
        let mut port = struct_(&[
            ("port", number),
            ("protocol", text),
            ("name", text),
            ("labels", granular),
        ]);
        if let Type::Struct(port) = &mut port {
            port.fields.get_mut("labels").expect("a field").empty = Empty::Written;
            port.fields.get_mut("protocol").expect("a field").default = Some(json!("TCP"));
        }
        let port = s.push(port);
        let ports = s.push(Type::List(List {
            items: port,
            kind: ports,
        }));
        let spec = s.push(struct_(&[
            ("replicas", number),
            ("paused", text),
            ("selector", atomic),
            ("args", list),
            ("ports", ports),
            ("free", any),
        ]));
        let status = s.push(struct_(&[("phase", text)]));
        let id = s.push(struct_(&[
            ("apiVersion", text),
            ("kind", text),
            ("metadata", metadata),
            ("spec", spec),
            ("status", status),
            ("data", granular),
        ]));
        Self {
            schema: s,
            id,
            reset: Set::new(),
            others: Vec::new(),
        }
    }

    pub(crate) fn apply(
        &self,
        live: &Value,
        manager: &str,
        config: &Value,
        force: bool,
    ) -> Result<Applied, ApplyError> {
        apply(self, live, &full(config), &writer(manager), force)
    }

    /// Applies to what is there, as the server would store it.
    pub(crate) fn applied(&self, live: &Value, manager: &str, config: &Value) -> Value {
        let mut object = self
            .apply(live, manager, config, false)
            .expect("applied")
            .object;
        object["metadata"]["uid"] = "u".into();
        object
    }

    pub(crate) fn updated(&self, live: &Value, manager: &str, new: &Value) -> Value {
        let mut new = full(new);
        new["metadata"]["uid"] = "u".into();
        update(self, live, &mut new, &writer(manager));
        new
    }
}

pub(crate) fn empty() -> Value {
    json!({"apiVersion": "v1", "kind": "Thing"})
}

pub(crate) fn full(config: &Value) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a"}});
    for (key, value) in config.as_object().expect("an object") {
        if key == "metadata" {
            for (key, value) in value.as_object().expect("an object") {
                object["metadata"][key] = value.clone();
            }
        } else {
            object[key] = value.clone();
        }
    }
    object
}

pub(crate) fn writer(manager: &str) -> Writer<'_> {
    let (manager, subresource) = manager.split_once('/').unwrap_or((manager, ""));
    Writer {
        manager,
        api_version: "v1",
        subresource,
        now: "2026-01-02T03:04:05Z",
    }
}

/// `fieldsV1` of a manager, `manager/subresource` if it wrote one.
pub(crate) fn fields(object: &Value, manager: &str) -> Value {
    let (manager, subresource) = manager.split_once('/').unwrap_or((manager, ""));
    let entries = object["metadata"]["managedFields"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let found = entries.iter().find(|entry| {
        entry["manager"] == manager
            && entry
                .get("subresource")
                .and_then(Value::as_str)
                .unwrap_or("")
                == subresource
    });
    found.map_or(Value::Null, |entry| entry["fieldsV1"].clone())
}

impl Versions for Kind {
    fn type_of(&self, version: &str) -> Option<TypeRef<'_>> {
        (version == "v1" || self.others.iter().any(|other| other == version))
            .then(|| TypeRef::new(&self.schema, self.id))
    }

    fn convert(&self, object: &Value, version: &str) -> Option<Value> {
        self.type_of(version)?;
        let mut object = object.clone();
        object["apiVersion"] = version.into();
        Some(object)
    }

    fn empty(&self, version: &str) -> Value {
        json!({"apiVersion": version, "kind": "Thing"})
    }

    fn reset_fields(&self, _: &str) -> Option<&Set> {
        Some(&self.reset)
    }
}
