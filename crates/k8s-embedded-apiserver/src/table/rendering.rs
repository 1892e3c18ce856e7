//! From an object or a list to what the `Accept` header asks for.

use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::accept;
use super::columns::Column;
use super::{cells, columns};
use crate::encoding::{Encoding, Format};
use crate::kinds::Kind;
use crate::status::Failure;
use crate::verbs::{Item, List};
use k8s_api_schema::quote;

/// What an answer is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Representation {
    /// The object itself.
    Object,
    /// A `Table` of meta.k8s.io in this version.
    Table(&'static str),
    /// Metadata alone, of one object.
    PartialObjectMetadata(&'static str),
    /// Metadata alone, of a list.
    PartialObjectMetadataList(&'static str),
}

impl Representation {
    /// What an `Accept` header asks for, and how it is written.
    ///
    /// # Errors
    ///
    /// 406 if nothing that is accepted can be served.
    pub(crate) fn negotiate(accept: &str, kind: &Kind) -> Result<(Encoding, Self), Failure> {
        let of = |clause: &accept::Clause<'_>, format| {
            // Custom resources have no messages of their own.
            Self::of(clause, format).filter(|wanted| {
                !(kind.is_custom() && format == Format::Protobuf && *wanted == Self::Object)
            })
        };
        accept::negotiate(accept, of).ok_or_else(|| Failure::not_acceptable(accept::MEDIA_TYPES))
    }

    /// What one clause asks for.
    fn of(clause: &accept::Clause<'_>, format: Format) -> Option<Self> {
        if !accept::is_met(clause, format) {
            return None;
        }
        let Some((kind, group, version)) = clause.transform() else {
            return Some(Self::Object);
        };
        let version = ["v1", "v1beta1"]
            .into_iter()
            .find(|known| *known == version && group == "meta.k8s.io")?;
        match kind {
            "Table" if matches!(format, Format::Json | Format::Yaml) => Some(Self::Table(version)),
            "PartialObjectMetadata" => Some(Self::PartialObjectMetadata(version)),
            "PartialObjectMetadataList" => Some(Self::PartialObjectMetadataList(version)),
            _ => None,
        }
    }
}

/// What a row of a table has beside its cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum IncludeObject {
    None,
    #[default]
    Metadata,
    Object,
}

impl IncludeObject {
    /// From the query parameter.
    ///
    /// # Errors
    ///
    /// 400 for another word.
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        match text {
            "" | "Metadata" => Ok(Self::Metadata),
            "None" => Ok(Self::None),
            "Object" => Ok(Self::Object),
            other => Err(Failure::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {}: must be 'Metadata', 'Object', 'None', or empty",
                quote(other)
            ))),
        }
    }
}

/// Turns the objects of one kind into what a request asked for.
#[derive(Clone, Debug)]
pub(crate) struct Rendering {
    representation: Representation,
    include: IncludeObject,
    kind: Arc<Kind>,
    columns: Vec<Column>,
    /// The heads of the columns were sent; a watch sends them once.
    headed: bool,
}

impl Rendering {
    pub(crate) fn new(
        representation: Representation,
        include: IncludeObject,
        kind: Arc<Kind>,
    ) -> Self {
        let columns = match representation {
            Representation::Table(_) => columns::of(&kind),
            _ => Vec::new(),
        };
        Self {
            representation,
            include,
            kind,
            columns,
            headed: false,
        }
    }

    /// Whether one object can be shown so.
    pub(crate) fn fits_one(&self) -> bool {
        !matches!(
            self.representation,
            Representation::PartialObjectMetadataList(_)
        )
    }

    /// Whether objects are shown as they are.
    pub(crate) fn is_whole(&self) -> bool {
        self.representation == Representation::Object
    }

    /// One object.
    ///
    /// # Errors
    ///
    /// 406 if a list was asked for.
    pub(crate) fn object(&self, object: Value, now: Timestamp) -> Result<Value, Failure> {
        match self.representation {
            Representation::Object => Ok(object),
            Representation::PartialObjectMetadata(version) => Ok(partial(&object, version)),
            Representation::PartialObjectMetadataList(_) => {
                Err(self.unfit("PartialObjectMetadataList", "not a list", ""))
            }
            Representation::Table(version) => {
                let metadata =
                    json!({"resourceVersion": object.pointer("/metadata/resourceVersion")});
                Ok(self.table(version, &metadata, &[object], true, now))
            }
        }
    }

    /// A list in another form than its own.
    ///
    /// # Errors
    ///
    /// 406 if an object was asked for.
    pub(crate) fn list(&self, list: List, now: Timestamp) -> Result<Value, Failure> {
        let (Representation::Table(version) | Representation::PartialObjectMetadataList(version)) =
            self.representation
        else {
            return match self.representation {
                Representation::PartialObjectMetadata(_) => {
                    Err(self.unfit("PartialObjectMetadata", "a list", "List"))
                }
                _ => Ok(list.value(&self.kind)),
            };
        };
        let metadata = list.metadata(&self.kind, false);
        let items: Vec<Value> = list.items.into_iter().map(Item::into_value).collect();
        if let Representation::Table(version) = self.representation {
            return Ok(self.table(version, &metadata, &items, true, now));
        }
        let partials: Vec<Value> = items.iter().map(|item| partial(item, version)).collect();
        Ok(json!({
            "kind": "PartialObjectMetadataList",
            "apiVersion": format!("meta.k8s.io/{version}"),
            "metadata": metadata,
            // The real server sends null for no items.
            "items": if partials.is_empty() { Value::Null } else { Value::Array(partials) },
        }))
    }

    /// The object of a watch event, bookmarks included. Errors of a stream are not to be passed through here.
    pub(crate) fn watched(&mut self, object: Value, now: Timestamp) -> Value {
        match self.representation {
            Representation::Object => object,
            Representation::PartialObjectMetadata(version)
            | Representation::PartialObjectMetadataList(version) => partial(&object, version),
            Representation::Table(version) => {
                let heads = !std::mem::replace(&mut self.headed, true);
                let metadata =
                    json!({"resourceVersion": object.pointer("/metadata/resourceVersion")});
                self.table(version, &metadata, &[object], heads, now)
            }
        }
    }

    fn table(
        &self,
        version: &str,
        metadata: &Value,
        objects: &[Value],
        heads: bool,
        now: Timestamp,
    ) -> Value {
        let heads: Option<Vec<Value>> =
            heads.then(|| self.columns.iter().map(Column::to_json).collect());
        let rows: Vec<Value> = objects
            .iter()
            .map(|object| json!({"cells": cells::of(&self.kind, &self.columns, object, now), "object": self.beside(object, version)}))
            .collect();
        json!({
            "kind": "Table",
            "apiVersion": format!("meta.k8s.io/{version}"),
            "metadata": metadata,
            "columnDefinitions": heads,
            "rows": if rows.is_empty() && columns::is_default(&self.columns) { Value::Null } else { rows.into() },
        })
    }

    fn beside(&self, object: &Value, version: &str) -> Value {
        // The bookmark that ends the initial events would not be known without its annotation.
        let ends = object
            .pointer("/metadata/annotations")
            .and_then(|annotations| annotations.get(crate::watch::INITIAL_EVENTS_END));
        match self.include {
            IncludeObject::None if ends.is_none_or(|ends| *ends != "true") => Value::Null,
            IncludeObject::None | IncludeObject::Metadata => partial(object, version),
            IncludeObject::Object => {
                let mut map = object.as_object().cloned().unwrap_or_else(Map::new);
                map.insert("apiVersion".into(), self.kind.api_version().into());
                map.insert("kind".into(), self.kind.kind.as_ref().into());
                Value::Object(map)
            }
        }
    }

    fn unfit(&self, asked: &str, found: &str, suffix: &str) -> Failure {
        let go_type = if self.kind.is_custom() {
            format!("unstructured.Unstructured{suffix}")
        } else {
            let package = match self.kind.group.split('.').next() {
                Some("" | "events") | None => "core",
                Some(package) => package,
            };
            format!("{package}.{}{suffix}", self.kind.kind)
        };
        let mut failure = Failure::not_acceptable(&[]);
        failure.message =
            format!("you requested {asked}, but the requested object is {found} (*{go_type})");
        failure
    }
}

fn partial(object: &Value, version: &str) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": object.get("metadata").cloned().unwrap_or_else(|| json!({})),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::builtin;

    fn kind(group: &str, name: &str) -> Arc<Kind> {
        Arc::new(
            builtin()
                .into_iter()
                .find(|kind| kind.group == group && kind.kind == name)
                .unwrap(),
        )
    }

    fn table(kind: &Arc<Kind>) -> Rendering {
        Rendering::new(
            Representation::Table("v1"),
            IncludeObject::Metadata,
            kind.clone(),
        )
    }

    fn now() -> Timestamp {
        "2020-01-01T00:00:10Z".parse().unwrap()
    }

    #[test]
    fn negotiation() {
        let json_table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        for (accept, expected) in [
            ("", Ok(Representation::Object)),
            ("*/*", Ok(Representation::Object)),
            (json_table, Ok(Representation::Table("v1"))),
            (
                "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
                Ok(Representation::Table("v1beta1")),
            ),
            (
                "application/json;as=Table;v=v2;g=meta.k8s.io,application/json",
                Ok(Representation::Object),
            ),
            ("application/json;as=Table;v=v2;g=meta.k8s.io", Err(406)),
            ("application/json;as=Bogus;v=v1;g=meta.k8s.io", Err(406)),
            ("application/json;as=Table", Err(406)),
            (
                "application/vnd.kubernetes.protobuf,application/json",
                Ok(Representation::Object),
            ),
            ("text/html", Err(406)),
            ("application/json;g=meta.k8s.io", Err(406)),
            ("application/json;sv=v1", Ok(Representation::Object)),
            ("application/json;sv=v2", Err(406)),
            ("application/json;stream=watch", Ok(Representation::Object)),
            ("application/yaml;stream=watch", Err(406)),
            ("application/json;stream=x", Err(406)),
            (
                "application/yaml;as=Table;v=v1;g=meta.k8s.io",
                Ok(Representation::Table("v1")),
            ),
        ] {
            assert_eq!(
                Representation::negotiate(accept, &kind("", "ConfigMap"))
                    .map(|(_, representation)| representation)
                    .map_err(|failure| failure.code),
                expected,
                "{accept}"
            );
        }
    }

    fn list_of(items: Vec<Value>) -> List {
        List {
            version: "7".into(),
            continue_: None,
            remaining: None,
            items: items.into_iter().map(Item::Made).collect(),
        }
    }

    #[test]
    fn a_table_of_config_maps() {
        let items = vec![
            json!({"metadata": {"name": "a", "creationTimestamp": "2020-01-01T00:00:00Z"}, "data": {"k": "v"}, "binaryData": {"b": ""}}),
        ];
        let table = table(&kind("", "ConfigMap"))
            .list(list_of(items), now())
            .unwrap();
        assert_eq!(table["rows"][0]["cells"], json!(["a", 2, "10s"]));
        assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
        assert_eq!(table["columnDefinitions"][1]["name"], "Data");
        assert_eq!(table["metadata"], json!({"resourceVersion": "7"}));
    }

    #[test]
    fn every_kind_has_a_cell_for_each_column() {
        for kind in builtin() {
            let rendering = table(&Arc::new(kind.clone()));
            let rendered = rendering
                .object(json!({"metadata": {"name": "a"}}), now())
                .unwrap();
            let cells = rendered["rows"][0]["cells"].as_array().unwrap().len();
            assert_eq!(cells, rendering.columns.len(), "{}", kind.kind);
        }
    }

    #[test]
    fn both_forms_of_an_event_read_the_same() {
        let new = json!({
            "metadata": {"name": "e"}, "type": "Normal", "reason": "R", "note": "hello",
            "regarding": {"kind": "Website", "name": "w"}, "eventTime": "2020-01-01T00:00:00.000000Z",
            "series": {"count": 3, "lastObservedTime": "2020-01-01T00:00:08.000000Z"},
            "reportingController": "c", "reportingInstance": "i",
        });
        let core = crate::convert::event_to_core(new.clone());
        let expected = json!([
            "2s",
            "Normal",
            "R",
            "website/w",
            "",
            "c, i",
            "hello",
            "10s",
            3,
            "e"
        ]);
        for (group, event) in [("events.k8s.io", new), ("", core)] {
            let table = table(&kind(group, "Event")).object(event, now()).unwrap();
            assert_eq!(table["rows"][0]["cells"], expected, "{group}");
        }
    }

    #[test]
    fn a_watch_sends_the_heads_once() {
        let mut rendering = table(&kind("", "ConfigMap"));
        let object = json!({"metadata": {"name": "a", "resourceVersion": "3"}});
        assert!(rendering.watched(object.clone(), now())["columnDefinitions"].is_array());
        assert!(rendering.watched(object, now())["columnDefinitions"].is_null());
    }

    #[test]
    fn lists_and_objects_are_not_mixed_up() {
        let rendering = Rendering::new(
            Representation::PartialObjectMetadata("v1"),
            IncludeObject::default(),
            kind("", "ConfigMap"),
        );
        let failure = rendering.list(list_of(Vec::new()), now()).unwrap_err();
        assert_eq!(
            failure.message,
            "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)"
        );
    }
}
