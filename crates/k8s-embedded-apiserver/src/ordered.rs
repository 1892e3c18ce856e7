//! JSON text in the order in which the real server writes it.

use k8s_api_schema::{Schema, TakenApart, TypeId, builtin, print_ordered};
use serde_json::Value;

use crate::metadata;

/// The text of an object or a document that says of which kind it is. Those of kinds that are not built in come by name.
pub(crate) fn text(value: &Value) -> String {
    let (version, kind) = (
        metadata::text(value, "/apiVersion"),
        metadata::text(value, "/kind"),
    );
    print_ordered(value, type_of(version, kind), &TakenApart::Nothing)
}

/// The built-in type of a kind; documents of discovery leave their version out.
pub(crate) fn type_of(api_version: &str, kind: &str) -> Option<(&'static Schema, TypeId)> {
    let (group, version) = match api_version.split_once('/') {
        Some(both) => both,
        None if api_version.is_empty() => ("", "v1"),
        None => ("", api_version),
    };
    Some((builtin(), builtin().find(group, version, kind)?))
}

/// The text of a value of a type by its name in OpenAPI.
pub(crate) fn text_of_type(value: &Value, openapi_name: &str) -> String {
    let id = builtin().by_name(openapi_name);
    let type_ = id.map(|id| (&**builtin(), id));
    print_ordered(value, type_, &TakenApart::Nothing)
}
