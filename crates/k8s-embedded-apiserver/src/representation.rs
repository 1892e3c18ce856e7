//! How an answer is written: as asked for by `Accept`.

use serde_json::{Map, Value, json};

use crate::kinds::Kind;
use crate::status::Failure;
use crate::verbs::List;

/// A form of objects and lists.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Representation {
    Object,
    /// Metadata alone, with the version of `meta.k8s.io`.
    Metadata(&'static str),
}

impl Representation {
    /// The first form in `accept` that there is.
    pub(crate) fn negotiate(accept: &str) -> Result<Self, Failure> {
        for range in accept.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let essence = parts.next().unwrap_or_default();
            if !matches!(essence, "" | "*/*" | "application/json" | "application/*") {
                continue;
            }
            let parameters: Vec<&str> = parts.collect();
            let as_ = parameters.iter().find_map(|parameter| parameter.strip_prefix("as="));
            let version = if parameters.contains(&"v=v1beta1") { "meta.k8s.io/v1beta1" } else { "meta.k8s.io/v1" };
            match as_ {
                None => return Ok(Self::Object),
                Some("PartialObjectMetadata" | "PartialObjectMetadataList") => return Ok(Self::Metadata(version)),
                Some(_) => {}
            }
        }
        Err(Failure::not_acceptable(&["application/json"]))
    }

    pub(crate) fn object(&self, _: &Kind, object: Value) -> Value {
        match self {
            Self::Object => object,
            Self::Metadata(version) => metadata_of(&object, version),
        }
    }

    pub(crate) fn watched(&self, kind: &Kind, object: &Value) -> Value {
        self.object(kind, object.clone())
    }

    pub(crate) fn list(&self, kind: &Kind, list: List) -> Value {
        let mut metadata = Map::new();
        metadata.insert("resourceVersion".into(), list.version.into());
        if let Some(token) = list.continue_ {
            metadata.insert("continue".into(), token.into());
        } else if kind.is_custom() && *self == Self::Object {
            metadata.insert("continue".into(), "".into());
        }
        if let Some(remaining) = list.remaining {
            metadata.insert("remainingItemCount".into(), remaining.into());
        }
        match self {
            Self::Object => {
                let mut items = list.items;
                if !kind.is_custom() {
                    for item in items.iter_mut().filter_map(Value::as_object_mut) {
                        item.remove("apiVersion");
                        item.remove("kind");
                    }
                }
                json!({"apiVersion": kind.api_version(), "kind": kind.list_kind, "metadata": metadata, "items": items})
            }
            Self::Metadata(version) => {
                let items: Vec<Value> = list.items.iter().map(|item| metadata_of(item, version)).collect();
                let items = if items.is_empty() { Value::Null } else { items.into() };
                json!({"apiVersion": version, "kind": "PartialObjectMetadataList", "metadata": metadata, "items": items})
            }
        }
    }
}

fn metadata_of(object: &Value, version: &str) -> Value {
    json!({"apiVersion": version, "kind": "PartialObjectMetadata", "metadata": object.get("metadata")})
}
