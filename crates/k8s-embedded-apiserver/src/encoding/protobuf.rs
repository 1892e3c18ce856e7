//! Answers in protobuf.

use k8s_api_schema::{builtin, protobuf};
use serde_json::Value;

use crate::{metadata, ordered};

/// The body of an object. Metadata alone is of no built-in kind, and is laid out as in one that begins with it.
pub(super) fn write(object: &Value) -> Vec<u8> {
    let (version, kind) = (
        metadata::text(object, "/apiVersion"),
        metadata::text(object, "/kind"),
    );
    if let Some((schema, id)) = ordered::type_of(version, kind) {
        return protobuf::encode(version, kind, object, schema, id);
    }
    let alone = |object: &Value| {
        let mut out = Vec::new();
        if let Some(id) = builtin().by_name(OBJECT_META) {
            let metadata = object.get("metadata").unwrap_or(&Value::Null);
            let message = protobuf::encode_message(metadata, builtin(), id);
            protobuf::put_message(&mut out, 1, &message);
        }
        out
    };
    let message = match object.get("items") {
        None => alone(object),
        Some(items) => {
            let mut out = Vec::new();
            if let Some(id) = builtin().by_name(LIST_META) {
                let metadata = object.get("metadata").unwrap_or(&Value::Null);
                let message = protobuf::encode_message(metadata, builtin(), id);
                protobuf::put_message(&mut out, 1, &message);
            }
            for item in items.as_array().into_iter().flatten() {
                protobuf::put_message(&mut out, 2, &alone(item));
            }
            out
        }
    };
    protobuf::envelope(version, kind, &message)
}

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";

/// An event of a watch after its length.
pub(super) fn event(type_: &str, object: &Value) -> Vec<u8> {
    let event = protobuf::watch_event(type_, &write(object));
    let length = u32::try_from(event.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes()[..], &event].concat()
}
