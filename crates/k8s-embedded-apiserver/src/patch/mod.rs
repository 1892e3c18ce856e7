//! Patches: JSON patch, merge patch, strategic merge patch. No storage, no validation of the result.

mod json;
mod merge;
mod strategic;

use k8s_api_schema::json::Checked;
use k8s_api_schema::{Schema, TakenApart, TypeId, print_ordered};
use serde_json::Value;

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

/// What a patch makes of an object.
#[derive(Debug, Default)]
pub(crate) struct Patched {
    /// The outcome. Whether it is an object of its kind is not checked here.
    pub(crate) object: Value,
    /// What a strict reader says of the patch.
    pub(crate) strict: Vec<String>,
    /// Why the outcome is not of its type, where that is known.
    pub(crate) mismatch: Option<String>,
    /// The patch as it is quoted where the outcome is refused; of other patches the outcome is quoted.
    quoted: Option<String>,
    /// What the patch went through.
    apart: Apart,
}

/// What a patch went through, or how to tell.
#[derive(Debug)]
enum Apart {
    Of(TakenApart),
    By(Vec<json::Operation>),
}

impl Default for Apart {
    fn default() -> Self {
        Self::Of(TakenApart::default())
    }
}

impl Patched {
    /// What is quoted where the outcome, which should be of a type where its kind is built in, is refused.
    pub(crate) fn quoted(&self, types: Option<(&Schema, TypeId)>) -> String {
        match &self.quoted {
            Some(patch) => patch.clone(),
            None => match &self.apart {
                Apart::Of(apart) => print_ordered(&self.object, types, apart),
                Apart::By(operations) => {
                    print_ordered(&self.object, types, &json::taken_apart(operations))
                }
            },
        }
    }
}

/// `object`, which is of a type where its kind is built in, with the patch in `body` applied.
pub(crate) fn apply(
    kind: PatchKind,
    object: Value,
    body: &[u8],
    types: Option<(&Schema, TypeId)>,
) -> Result<Patched, Failure> {
    let text = checked(body)?;
    match (kind, types) {
        (PatchKind::Json, _) => json::apply(object, text),
        (PatchKind::Merge, _) => merge::apply(object, text),
        (PatchKind::Strategic, Some((schema, id))) => strategic::apply(&object, text, schema, id),
        (PatchKind::Strategic, None) => Err(Failure::unclassified(
            "strategic merge patch of a kind without a known type",
        )),
    }
}

/// Checks that a patch is JSON at all.
pub(crate) fn check_syntax(body: &[u8]) -> Result<(), Failure> {
    checked(body).map(drop)
}

fn checked(body: &[u8]) -> Result<Checked<'_>, Failure> {
    Checked::new(body).map_err(|_| Failure::bad_request("invalid JSON patch".to_owned()))
}

/// The text of a patch that cannot be decoded.
fn not_decoded(why: &str) -> Failure {
    Failure::bad_request(format!("error decoding patch: {why}"))
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
