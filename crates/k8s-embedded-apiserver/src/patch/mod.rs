//! Patches: JSON patch, merge patch, strategic merge patch. No storage, no validation of the result.

mod json;
mod merge;
mod strategic;

use serde_json::Value;

use crate::json_error::syntax_error;
use crate::status::Failure;

/// Which patch a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchKind {
    Json,
    Merge,
    /// Of built-in kinds only: the real server answers 415 for a custom resource.
    Strategic,
}

impl PatchKind {
    /// From a `Content-Type`, parameters ignored; `None` where it is no such patch (server-side apply included).
    pub(crate) fn from_content_type(content_type: &str) -> Option<Self> {
        let essence = content_type.split(';').next().unwrap_or_default().trim();
        match essence {
            "application/json-patch+json" => Some(Self::Json),
            "application/merge-patch+json" => Some(Self::Merge),
            "application/strategic-merge-patch+json" => Some(Self::Strategic),
            _ => None,
        }
    }
}

/// `object` with the patch in `body` applied. What the patch makes of the object is not checked here.
pub(crate) fn apply(kind: PatchKind, object: &Value, body: &[u8]) -> Result<Value, Failure> {
    match kind {
        PatchKind::Json => json::apply(object, body),
        PatchKind::Merge => merge::apply(object, body),
        PatchKind::Strategic => strategic::apply(object, body),
    }
}

/// The JSON of a patch; where there is none, the error names `found` and `target` as the real server does.
fn decode(body: &[u8], found: &str, target: &str) -> Result<Value, Failure> {
    serde_json::from_slice(body).map_err(|error| {
        let text = syntax_error(body).unwrap_or_else(|| {
            tracing::debug!(%error, "patch not decoded");
            format!("json: cannot unmarshal {found} into Go value of type {target}")
        });
        Failure::bad_request(format!("error decoding patch: {text}"))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    /// Small JSON of any shape.
    pub(super) fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-3i64..3).prop_map(Value::from),
            "[a-c/~]{0,2}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("[abc/~]{1,2}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }
}
