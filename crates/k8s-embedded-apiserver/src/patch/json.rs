//! JSON patch (RFC 6902) as the real server applies it.
//!
//! It differs from the RFC where the real server does: a `test` without a value, or of `null`, passes
//! on a missing member; `replace` of a missing member of an object sets it; array indices may be
//! negative and then count from the end.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use k8s_api_schema::TakenApart;
use k8s_api_schema::json::{Checked, MAX_KEPT_DEPTH};

use super::{Apart, Patched, not_decoded};
use crate::json_error::{too_deep, type_name};
use crate::status::Failure;

/// Most operations that one patch may have; a limit of the real server.
const MAX_OPERATIONS: usize = 10_000;

/// Most bytes that all `copy` operations of a patch may add together; a limit of the real server.
const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;

pub(super) fn apply(mut document: Value, text: Checked<'_>) -> Result<Patched, Failure> {
    let (operations, strict) = decode_operations(text)?;
    if operations.len() > MAX_OPERATIONS {
        let mut failure = Failure::request_too_large(MAX_OPERATIONS);
        failure.message = format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            operations.len()
        );
        return Err(failure);
    }
    let mut copied = 0;
    for operation in &operations {
        apply_one(&mut document, operation, &mut copied).map_err(|why| match why {
            DoesNotApply => Failure::unprocessable(),
            TooDeep => Failure::bad_request(format!("error applying patch: {}", too_deep())),
        })?;
    }
    Ok(Patched {
        object: document,
        strict,
        apart: Apart::By(operations),
        ..Patched::default()
    })
}

pub(super) type Operation = Map<String, Value>;

/// What operations take apart together.
pub(super) fn taken_apart(operations: &[Operation]) -> TakenApart {
    let mut apart = TakenApart::Members(BTreeMap::new());
    for operation in operations {
        take_apart(&mut apart, operation);
    }
    apart
}

/// Marks what an operation takes apart: what its pointers lead through, and all that it compares or brings.
fn take_apart(apart: &mut TakenApart, operation: &Map<String, Value>) {
    let text = |key: &str| operation.get(key).and_then(Value::as_str);
    let brings = matches!(text("op"), Some("add" | "replace" | "test"));
    for (key, wholly) in [("from", false), ("path", brings)] {
        let Some(Pointer(Some((way, last)))) = text(key).map(Pointer::parse) else {
            continue;
        };
        mark(apart, &way, wholly.then_some(&*last));
    }
}

fn mark(apart: &mut TakenApart, way: &[Cow<'_, str>], wholly: Option<&str>) {
    let Some(members) = apart.members() else {
        return;
    };
    match (way, wholly) {
        ([first, rest @ ..], wholly) => {
            let member = members.entry(first.clone().into_owned()).or_default();
            mark(member, rest, wholly);
        }
        ([], Some(last)) => {
            members.insert(last.into(), TakenApart::Wholly);
        }
        ([], None) => {}
    }
}

/// The operations, and what a strict reader says of them.
fn decode_operations(text: Checked<'_>) -> Result<(Vec<Operation>, Vec<String>), Failure> {
    let target = "[]handlers.jsonPatchOp";
    let read = text.decode_value().map_err(|why| not_decoded(&why))?;
    let mut strict = unknown_members(&read.value);
    strict.extend(read.strict);
    let strict = strict
        .iter()
        .map(|text| format!("json patch {text}"))
        .collect();
    let items = match read.value {
        Value::Array(items) => items,
        Value::Null => Vec::new(),
        other => return Err(wrong_type(type_name(&other), target)),
    };
    let operations: Result<Vec<_>, Failure> = items
        .into_iter()
        .map(|item| match item {
            Value::Object(operation) => {
                for key in ["op", "path", "from"] {
                    if let Some(value) = operation.get(key).filter(|value| !value.is_string() && !value.is_null()) {
                        return Err(Failure::bad_request(format!(
                            "error decoding patch: json: cannot unmarshal {} into Go struct field jsonPatchOp.{key} of type string",
                            type_name(value)
                        )));
                    }
                }
                Ok(operation)
            }
            Value::Null => Ok(Map::new()),
            other => Err(wrong_type(type_name(&other), "handlers.jsonPatchOp")),
        })
        .collect();
    Ok((operations?, strict))
}

fn unknown_members(patch: &Value) -> Vec<String> {
    let operations = patch.as_array().into_iter().flatten().enumerate();
    operations
        .flat_map(|(index, operation)| {
            let members = operation.as_object().into_iter().flatten();
            members
                .filter(|(key, _)| !matches!(key.as_str(), "op" | "path" | "from" | "value"))
                .map(move |(key, _)| {
                    let place = format!("[{index}].{key}");
                    format!("unknown field {}", k8s_api_schema::quote(&place))
                })
        })
        .collect()
}

fn wrong_type(found: &str, target: &str) -> Failure {
    Failure::bad_request(format!(
        "error decoding patch: json: cannot unmarshal {found} into Go value of type {target}"
    ))
}

/// Why an operation is refused.
enum Refused {
    /// The real server tells the client nothing more than this.
    DoesNotApply,
    /// The outcome would be nested deeper than any body may be.
    TooDeep,
}

use Refused::{DoesNotApply, TooDeep};

type Applied<T> = Result<T, Refused>;

fn apply_one(
    document: &mut Value,
    operation: &Map<String, Value>,
    copied: &mut usize,
) -> Applied<()> {
    let text = |key: &str| operation.get(key).and_then(Value::as_str);
    let path = Pointer::parse(text("path").ok_or(DoesNotApply)?);
    let value = operation.get("value");
    match text("op").ok_or(DoesNotApply)? {
        "add" => add(document, &path, value.cloned().unwrap_or_default()),
        "remove" => remove(document, &path).map(drop),
        "replace" => replace(document, &path, value.cloned().unwrap_or_default()),
        "test" => test(document, &path, value.unwrap_or(&Value::Null)),
        "move" => {
            let from = Pointer::parse(text("from").ok_or(DoesNotApply)?);
            let moved = remove(document, &from)?;
            add(document, &path, moved)
        }
        "copy" => {
            let from = Pointer::parse(text("from").ok_or(DoesNotApply)?);
            let value = get(document, &from)?.cloned().unwrap_or_default();
            *copied += value.to_string().len();
            if *copied > MAX_COPIED_BYTES {
                return Err(DoesNotApply);
            }
            add(document, &path, value)
        }
        _ => Err(DoesNotApply),
    }
}

/// A JSON pointer, split into the way to the parent and the last token; `None` names the document.
struct Pointer<'t>(Option<(Vec<Cow<'t, str>>, Cow<'t, str>)>);

impl<'t> Pointer<'t> {
    fn parse(text: &'t str) -> Self {
        let mut tokens: Vec<Cow<'t, str>> = text
            .split('/')
            .skip(1)
            .map(|token| {
                if token.contains('~') {
                    token.replace("~1", "/").replace("~0", "~").into()
                } else {
                    token.into()
                }
            })
            .collect();
        Self(tokens.pop().map(|last| (tokens, last)))
    }

    fn parent_mut<'d, 's>(&'s self, document: &'d mut Value) -> Applied<(&'d mut Value, &'s str)> {
        let (way, last) = self.0.as_ref().ok_or(DoesNotApply)?;
        let mut at = document;
        for token in way {
            at = match at {
                Value::Object(map) => map.get_mut(&**token),
                Value::Array(items) => {
                    let index = existing_index(token, items.len())?;
                    items.get_mut(index)
                }
                _ => None,
            }
            .ok_or(DoesNotApply)?;
        }
        Ok((at, last))
    }
}

/// An index of an element that exists; negative ones count from the end.
fn existing_index(token: &str, len: usize) -> Applied<usize> {
    let index: i64 = token.parse().map_err(|_| DoesNotApply)?;
    let len = i64::try_from(len).map_err(|_| DoesNotApply)?;
    let index = if index < 0 { index + len } else { index };
    if (0..len).contains(&index) {
        usize::try_from(index).map_err(|_| DoesNotApply)
    } else {
        Err(DoesNotApply)
    }
}

/// The value at the pointer; `None` is a missing member of an existing object.
fn get<'d>(document: &'d Value, pointer: &Pointer<'_>) -> Applied<Option<&'d Value>> {
    let Some((way, last)) = &pointer.0 else {
        return Err(DoesNotApply);
    };
    let mut at = document;
    for token in way {
        at = child(at, token)?.ok_or(DoesNotApply)?;
    }
    child(at, last)
}

fn child<'d>(parent: &'d Value, token: &str) -> Applied<Option<&'d Value>> {
    match parent {
        Value::Object(map) => Ok(map.get(token)),
        Value::Array(items) => Ok(items.get(existing_index(token, items.len())?)),
        _ => Err(DoesNotApply),
    }
}

/// How many objects and lists are nested in `value`.
fn nesting(value: &Value) -> usize {
    match value {
        Value::Object(map) => 1 + map.values().map(nesting).max().unwrap_or(0),
        Value::Array(items) => 1 + items.iter().map(nesting).max().unwrap_or(0),
        _ => 0,
    }
}

/// Refuses what would make the document nested too deep; everything that walks through objects recurses.
fn check_depth(pointer: &Pointer<'_>, value: &Value) -> Applied<()> {
    let above = pointer.0.as_ref().map_or(0, |(way, _)| way.len() + 1);
    if above + nesting(value) > MAX_KEPT_DEPTH {
        return Err(TooDeep);
    }
    Ok(())
}

fn add(document: &mut Value, pointer: &Pointer<'_>, value: Value) -> Applied<()> {
    check_depth(pointer, &value)?;
    let (parent, last) = pointer.parent_mut(document)?;
    match parent {
        Value::Object(map) => {
            map.insert(last.into(), value);
            Ok(())
        }
        Value::Array(items) => {
            let index = if last == "-" {
                items.len()
            } else {
                existing_index(last, items.len() + 1)?
            };
            items.insert(index, value);
            Ok(())
        }
        _ => Err(DoesNotApply),
    }
}

fn remove(document: &mut Value, pointer: &Pointer<'_>) -> Applied<Value> {
    let (parent, last) = pointer.parent_mut(document)?;
    match parent {
        Value::Object(map) => map.remove(last).ok_or(DoesNotApply),
        Value::Array(items) => {
            let index = existing_index(last, items.len())?;
            Ok(items.remove(index))
        }
        _ => Err(DoesNotApply),
    }
}

fn replace(document: &mut Value, pointer: &Pointer<'_>, value: Value) -> Applied<()> {
    check_depth(pointer, &value)?;
    if pointer.0.is_none() {
        return match value {
            Value::Object(_) | Value::Array(_) => {
                *document = value;
                Ok(())
            }
            _ => Err(DoesNotApply),
        };
    }
    let (parent, last) = pointer.parent_mut(document)?;
    match parent {
        Value::Object(map) => {
            map.insert(last.into(), value);
            Ok(())
        }
        Value::Array(items) => {
            let index = existing_index(last, items.len())?;
            items[index] = value;
            Ok(())
        }
        _ => Err(DoesNotApply),
    }
}

fn test(document: &Value, pointer: &Pointer<'_>, expected: &Value) -> Applied<()> {
    let found = if pointer.0.is_none() {
        Some(document)
    } else {
        get(document, pointer)?
    };
    if found.unwrap_or(&Value::Null) == expected {
        Ok(())
    } else {
        Err(DoesNotApply)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::patch::tests::any_json;

    fn patched(object: &Value, patch: &Value) -> Result<Value, u16> {
        let patched = applied(object, patch.to_string().as_bytes());
        patched
            .map(|patched| patched.object)
            .map_err(|failure| failure.code)
    }

    fn applied(object: &Value, body: &[u8]) -> Result<Patched, Failure> {
        crate::patch::apply(crate::patch::PatchKind::Json, object.clone(), body, None)
    }

    #[test]
    fn operations() {
        let object = json!({"a": "1", "l": ["x", "y"], "n": null});
        for (patch, expected) in [
            (
                json!([{"op": "add", "path": "/b", "value": 2}]),
                Ok(json!({"a": "1", "b": 2, "l": ["x", "y"], "n": null})),
            ),
            (
                json!([{"op": "add", "path": "/l/-", "value": "z"}]),
                Ok(json!({"a": "1", "l": ["x", "y", "z"], "n": null})),
            ),
            (
                json!([{"op": "add", "path": "/l/2", "value": "z"}]),
                Ok(json!({"a": "1", "l": ["x", "y", "z"], "n": null})),
            ),
            (
                json!([{"op": "add", "path": "/l/3", "value": "z"}]),
                Err(422),
            ),
            (
                json!([{"op": "add", "path": "/m/x", "value": "z"}]),
                Err(422),
            ),
            (
                json!([{"op": "remove", "path": "/l/-1"}]),
                Ok(json!({"a": "1", "l": ["x"], "n": null})),
            ),
            (json!([{"op": "remove", "path": "/zzz"}]), Err(422)),
            (
                json!([{"op": "replace", "path": "/l/5", "value": 1}]),
                Err(422),
            ),
            (
                json!([{"op": "replace", "path": "", "value": {"k": 1}}]),
                Ok(json!({"k": 1})),
            ),
            (json!([{"op": "replace", "path": "", "value": 1}]), Err(422)),
            (
                json!([{"op": "move", "from": "/a", "path": "/b"}]),
                Ok(json!({"b": "1", "l": ["x", "y"], "n": null})),
            ),
            (
                json!([{"op": "copy", "from": "/a", "path": "/l/0"}]),
                Ok(json!({"a": "1", "l": ["1", "x", "y"], "n": null})),
            ),
            (
                json!([{"op": "test", "path": "/a", "value": "2"}]),
                Err(422),
            ),
            (
                json!([{"op": "test", "path": "/missing/deeper", "value": null}]),
                Err(422),
            ),
            (json!([{"op": "bogus", "path": "/a"}]), Err(422)),
            (json!([{"path": "/a"}]), Err(422)),
        ] {
            assert_eq!(patched(&object, &patch), expected, "{patch}");
        }
    }

    #[test]
    fn test_of_null_passes_where_nothing_is() {
        let object = json!({"metadata": {"name": "a"}});
        for patch in [
            json!([{"op": "test", "path": "/metadata/finalizers", "value": null}]),
            json!([{"op": "test", "path": "/metadata/finalizers"}]),
        ] {
            assert_eq!(patched(&object, &patch), Ok(object.clone()));
        }
    }

    #[test]
    fn keys_are_unescaped() {
        let object = json!({"a/b": {"c~d": 1}});
        let patch = json!([{"op": "remove", "path": "/a~1b/c~0d"}]);
        assert_eq!(patched(&object, &patch), Ok(json!({"a/b": {}})));
    }

    #[test]
    fn a_failed_test_tells_nothing() {
        let failure = applied(&json!({}), br#"[{"op":"test","path":"/a","value":1}]"#).unwrap_err();
        assert_eq!(
            failure.to_json(),
            json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 422,
                "reason": "Invalid", "details": {},
                "message": "the server rejected our request due to an error in our request",
            })
        );
    }

    #[test]
    fn bodies_that_are_no_patch() {
        for (body, message) in [
            (
                "{}",
                "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
            ),
            (
                "[1]",
                "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp",
            ),
            ("[", "invalid JSON patch"),
        ] {
            let failure = applied(&json!({}), body.as_bytes()).unwrap_err();
            assert_eq!(
                (failure.code, failure.message.as_str()),
                (400, message),
                "{body}"
            );
        }
    }

    #[test]
    fn members_that_mean_nothing_are_told() {
        let body = br#"[{"op":"add","path":"/x","value":"1","foo":1,"op":"add"}]"#;
        assert_eq!(
            applied(&json!({}), body).unwrap().strict,
            [
                r#"json patch unknown field "[0].foo""#,
                r#"json patch duplicate field "[0].op""#,
            ]
        );
    }

    #[test]
    fn the_number_of_operations_is_bounded() {
        let patch = Value::Array(vec![
            json!({"op": "test", "path": "/x", "value": null});
            MAX_OPERATIONS + 1
        ]);
        assert_eq!(patched(&json!({}), &patch), Err(413));
    }

    proptest! {
        #[test]
        fn applies_what_diff_makes(left in any_json(), right in any_json()) {
            let (left, right) = (json!({"o": left}), json!({"o": right}));
            let patch = serde_json::to_value(json_patch::diff(&left, &right)).unwrap();
            prop_assert_eq!(patched(&left, &patch), Ok(right));
        }

        #[test]
        fn never_panics(object in any_json(), path in "(/(a|b|-|-?[0-9]|~0|~1|)){0,4}", from in "(/(a|b|0)){0,3}",
                        op in "add|remove|replace|test|move|copy|x", value in any_json()) {
            let patch = json!([{"op": op, "path": path, "from": from, "value": value}]);
            let _ = patched(&object, &patch);
        }
    }
}
