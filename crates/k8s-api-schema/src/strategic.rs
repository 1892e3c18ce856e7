//! Strategic merge patch: a merge patch that merges lists as the types of the API say.

use std::fmt;

use serde_json::{Map, Value};

use crate::go::{go_type, go_value};
use crate::model::{Field, Schema, Type, TypeId};

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ORDER: &str = "$setElementOrder";
const DELETE_PRIMITIVES: &str = "$deleteFromPrimitiveList";

/// Why a patch was not applied; the texts are the server's.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StrategicError {
    /// The patch is malformed: answered with 400.
    Format(&'static str),
    /// Lists of lists: answered with 422.
    ListOfLists,
    /// Anything else: answered with 500.
    Other(String),
}

impl fmt::Display for StrategicError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format(text) => f.write_str(text),
            Self::ListOfLists => f.write_str("lists of lists are not supported"),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for StrategicError {}

const BAD_PRIMITIVE_LIST: StrategicError =
    StrategicError::Format("invalid patch format of primitive list");
const BAD_RETAIN_KEYS: StrategicError =
    StrategicError::Format("invalid patch format of retainKeys");
const BAD_SET_ORDER: StrategicError =
    StrategicError::Format("invalid patch format of setElementOrder list");

fn other(text: impl Into<String>) -> StrategicError {
    StrategicError::Other(text.into())
}

/// Merges a patch into an object of a type.
///
/// ```
/// use k8s_api_schema::{builtin, strategic};
/// use serde_json::json;
///
/// let pod = builtin().find("", "v1", "Pod").expect("a built-in kind");
/// let object = json!({"spec": {"containers": [{"name": "a", "image": "x"}, {"name": "b"}]}});
/// let patch = json!({"spec": {"containers": [{"name": "b", "image": "y"}]}});
/// let merged = strategic::merge(&object, &patch, builtin(), pod)?;
/// assert_eq!(
///     merged,
///     json!({"spec": {"containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "y"}]}}),
/// );
/// # Ok::<(), strategic::StrategicError>(())
/// ```
///
/// # Errors
///
/// If the patch has a directive that is wrong, an item without its key, or goes into a field that the type does not
/// have.
pub fn merge(
    object: &Value,
    patch: &Value,
    schema: &Schema,
    id: TypeId,
) -> Result<Value, StrategicError> {
    let original = object.as_object().cloned().unwrap_or_default();
    let patch = patch.as_object().cloned().unwrap_or_default();
    merge_maps(original, patch, Place { schema, id }).map(Value::Object)
}

/// The type of a value.
#[derive(Clone, Copy)]
struct Place<'a> {
    schema: &'a Schema,
    id: TypeId,
}

impl<'a> Place<'a> {
    fn name(self) -> &'a str {
        let name = self.schema.go_name(self.id);
        name.rsplit('.').next().unwrap_or(name)
    }

    fn field(self, key: &str) -> Result<&'a Field, StrategicError> {
        let found = match self.schema.get(self.id) {
            Type::Struct(struct_) => struct_.fields.get(key),
            Type::Any => None,
            Type::Map(_) => {
                return Err(other(
                    "merging an object in json but data type is not struct, instead is: map",
                ));
            }
            Type::List(_) | Type::Scalar(_) => {
                return Err(other(
                    "merging an object in json but data type is not struct, instead is: slice",
                ));
            }
        };
        found.ok_or_else(|| {
            other(format!(
                "unable to find api field in struct {} for the json field {key:?}",
                self.name()
            ))
        })
    }

    /// The type of the value of a field, or of its items.
    fn below(self, field: &Field) -> Self {
        let id = match self.schema.get(field.type_) {
            Type::List(list) => list.items,
            _ => field.type_,
        };
        Self { id, ..self }
    }
}

fn merge_maps(
    mut original: Map<String, Value>,
    mut patch: Map<String, Value>,
    place: Place<'_>,
) -> Result<Map<String, Value>, StrategicError> {
    if let Some(directive) = patch.get(PATCH) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(PATCH);
                Ok(patch)
            }
            Some("delete") => Ok(Map::new()),
            _ => Err(bad_directive(directive, &patch)),
        };
    }
    retain_keys(&mut original, &mut patch)?;
    order_lists(&mut original, &mut patch, place)?;
    for (key, change) in patch {
        let (key, deletes) = if key.starts_with(DELETE_PRIMITIVES) {
            (suffix(&key, DELETE_PRIMITIVES, BAD_PRIMITIVE_LIST)?, true)
        } else {
            (key, false)
        };
        if change.is_null() {
            original.remove(&key);
            continue;
        }
        let Some(before) = original.remove(&key) else {
            if !deletes && let Some(new) = fresh(change) {
                original.insert(key, new);
            }
            continue;
        };
        let after = match (before, change) {
            (Value::Object(before), Value::Object(change)) => {
                let field = place.field(&key)?;
                if field.patch.replace {
                    Some(Value::Object(change))
                } else {
                    let merged = merge_maps(before, change, place.below(field))?;
                    Some(Value::Object(merged))
                }
            }
            (Value::Array(before), Value::Array(change)) => {
                let field = place.field(&key)?;
                let merged = merge_field_lists(before, change, field, place, deletes)?;
                Some(Value::Array(merged))
            }
            (before, _) if deletes => Some(before),
            (_, change) => fresh(change),
        };
        if let Some(after) = after {
            original.insert(key, after);
        }
    }
    Ok(original)
}

fn bad_directive(directive: &Value, patch: &Map<String, Value>) -> StrategicError {
    other(format!(
        "unknown patch type: {} in map: {}",
        go_value(directive),
        go_value(&Value::Object(patch.clone()))
    ))
}

/// What follows the prefix of a directive and its slash.
fn suffix(key: &str, prefix: &str, error: StrategicError) -> Result<String, StrategicError> {
    let rest = key
        .strip_prefix(prefix)
        .and_then(|rest| rest.strip_prefix('/'));
    rest.map(ToOwned::to_owned).ok_or(error)
}

/// A value of a patch where there was none: without nulls and directives.
fn fresh(change: Value) -> Option<Value> {
    match change {
        Value::Object(map) if map.contains_key(PATCH) => None,
        Value::Object(map) => Some(Value::Object(
            map.into_iter()
                .filter(|(_, value)| !value.is_null())
                .filter_map(|(key, value)| Some((key, fresh(value)?)))
                .collect(),
        )),
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(fresh).collect())),
        single => Some(single),
    }
}

/// Of `$retainKeys`: only those keys survive, and the patch sets no others.
fn retain_keys(
    original: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
) -> Result<(), StrategicError> {
    let Some(directive) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let Value::Array(kept) = directive else {
        return Err(BAD_RETAIN_KEYS);
    };
    let keeps = |key: &str| kept.iter().any(|kept| kept == key);
    let is_directive = |key: &str| key.starts_with(DELETE_PRIMITIVES) || key.starts_with(SET_ORDER);
    if patch
        .iter()
        .any(|(key, value)| !value.is_null() && !is_directive(key) && !keeps(key))
    {
        return Err(BAD_RETAIN_KEYS);
    }
    original.retain(|key, _| keeps(key));
    Ok(())
}

/// Merges and orders the lists that `$setElementOrder` names, and takes them out of the patch.
fn order_lists(
    original: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
    place: Place<'_>,
) -> Result<(), StrategicError> {
    let directives: Vec<String> = patch
        .keys()
        .filter(|key| key.starts_with(SET_ORDER))
        .cloned()
        .collect();
    for directive in directives {
        let order = list_of(patch.remove(&directive).unwrap_or_default())?;
        let key = suffix(&directive, SET_ORDER, BAD_SET_ORDER)?;
        let before = original.get(&key).cloned().map(list_of).transpose()?;
        let change = patch.get(&key).cloned().map(list_of).transpose()?;
        let field = place.field(&key)?;
        let merge_key = field.patch.key.as_deref();
        check_order(change.as_deref().unwrap_or_default(), &order, merge_key)?;
        let server_order = before.clone().unwrap_or_default();
        let merged = match (before, change) {
            (None, None) => continue,
            (Some(before), None) => before,
            (None, Some(change)) => change.into_iter().filter_map(fresh).collect(),
            (Some(before), Some(change)) => merge_field_lists(before, change, field, place, false)?,
        };
        let (ordered, rest) = partition(merged, &order, merge_key);
        let both = in_order(ordered, rest, &order, &server_order, merge_key);
        original.insert(key.clone(), Value::Array(both));
        patch.remove(&key);
    }
    Ok(())
}

fn list_of(value: Value) -> Result<Vec<Value>, StrategicError> {
    match value {
        Value::Array(list) => Ok(list),
        other_value => Err(other(format!(
            "expected a []interface {{}}, but received a {}",
            go_type(&other_value)
        ))),
    }
}

/// The items of a patch come in the order that it asks for.
fn check_order(change: &[Value], order: &[Value], key: Option<&str>) -> Result<(), StrategicError> {
    if change.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut wanted = order.iter();
    let in_order = change
        .iter()
        .filter(|item| item.get(PATCH).is_none())
        .all(|item| wanted.any(|wanted| same(item, wanted, key)));
    if in_order {
        return Ok(());
    }
    Err(other(format!(
        "The order in patch list:\n{}\n doesn't match {SET_ORDER} list:\n{}\n",
        go_value(&Value::Array(change.to_vec())),
        go_value(&Value::Array(order.to_vec()))
    )))
}

fn merge_field_lists(
    before: Vec<Value>,
    change: Vec<Value>,
    field: &Field,
    place: Place<'_>,
    deletes: bool,
) -> Result<Vec<Value>, StrategicError> {
    if !field.patch.merge && !deletes {
        return Ok(change);
    }
    if before.is_empty() && change.is_empty() {
        return Ok(before);
    }
    let all_objects = element_type(&before, &change)?;
    if !all_objects {
        if deletes {
            return Ok(before
                .into_iter()
                .filter(|item| !change.contains(item))
                .collect());
        }
        let mut merged: Vec<Value> = Vec::with_capacity(before.len() + change.len());
        for item in before.iter().chain(&change) {
            if !merged.contains(item) {
                merged.push(item.clone());
            }
        }
        let (patched, rest) = partition(merged, &change, None);
        return Ok(in_order(patched, rest, &change, &before, None));
    }
    let Some(key) = field.patch.key.as_deref() else {
        return Err(other(format!(
            "cannot merge lists without merge key for {}",
            place.below(field).name()
        )));
    };
    let (before, change) = directives(before, change, key)?;
    let merged = merge_items(before.clone(), &change, key, place.below(field))?;
    let (patched, rest) = partition(merged, &change, Some(key));
    Ok(in_order(patched, rest, &change, &before, Some(key)))
}

/// Whether the items are objects; all must be of one type.
fn element_type(before: &[Value], change: &[Value]) -> Result<bool, StrategicError> {
    let mut found: Option<&'static str> = None;
    for item in before.iter().chain(change) {
        if item.is_array() {
            return Err(StrategicError::ListOfLists);
        }
        let type_ = go_type(item);
        if *found.get_or_insert(type_) != type_ {
            return Err(other(format!(
                "list element types are not identical: {}",
                go_value(&Value::Array(vec![
                    Value::Array(before.to_vec()),
                    Value::Array(change.to_vec())
                ]))
            )));
        }
    }
    Ok(found == Some("map[string]interface {}"))
}

/// Follows the directives among the items of a patch: the list as it is then, and the other items.
fn directives(
    mut before: Vec<Value>,
    change: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), StrategicError> {
    let mut plain = Vec::with_capacity(change.len());
    let mut replaces = false;
    for item in change {
        let Some(directive) = item.get(PATCH) else {
            plain.push(item);
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                let id = item.get(key).ok_or_else(|| no_key(&item, key))?;
                before.retain(|known| known.get(key) != Some(id));
            }
            Some("replace") => replaces = true,
            Some("merge") => {
                return Err(other("merging lists cannot yet be specified in the patch"));
            }
            _ => {
                let map = item.as_object().cloned().unwrap_or_default();
                return Err(bad_directive(directive, &map));
            }
        }
    }
    if replaces {
        return Ok((plain, Vec::new()));
    }
    Ok((before, plain))
}

fn no_key(item: &Value, key: &str) -> StrategicError {
    other(format!(
        "map: {} does not contain declared merge key: {key}",
        go_value(item)
    ))
}

fn merge_items(
    mut before: Vec<Value>,
    change: &[Value],
    key: &str,
    place: Place<'_>,
) -> Result<Vec<Value>, StrategicError> {
    for item in change {
        let id = item.get(key).ok_or_else(|| no_key(item, key))?;
        match before.iter_mut().find(|known| known.get(key) == Some(id)) {
            Some(known) => {
                let original = known.as_object().cloned().unwrap_or_default();
                let patch = item.as_object().cloned().unwrap_or_default();
                *known = Value::Object(merge_maps(original, patch, place)?);
            }
            None => before.push(item.clone()),
        }
    }
    Ok(before)
}

fn same(left: &Value, right: &Value, key: Option<&str>) -> bool {
    match key {
        Some(key) => left.get(key).is_some() && left.get(key) == right.get(key),
        None => left == right,
    }
}

fn place_of(item: &Value, order: &[Value], key: Option<&str>) -> Option<usize> {
    order.iter().position(|other| same(item, other, key))
}

/// The items that are in `order`, and the others.
fn partition(items: Vec<Value>, order: &[Value], key: Option<&str>) -> (Vec<Value>, Vec<Value>) {
    let is_in = |item: &Value| place_of(item, order, key).is_some();
    items.into_iter().partition(is_in)
}

/// Both lists in one: items of the patch in its order, the server's in theirs; one of the server goes first only where
/// both were there before and it was in front.
fn in_order(
    mut patched: Vec<Value>,
    mut rest: Vec<Value>,
    order: &[Value],
    server_order: &[Value],
    key: Option<&str>,
) -> Vec<Value> {
    patched.sort_by_key(|item| place_of(item, order, key));
    rest.sort_by_key(|item| place_of(item, server_order, key).unwrap_or(usize::MAX));
    let mut all = Vec::with_capacity(patched.len() + rest.len());
    let (mut rest, mut patched) = (rest.into_iter().peekable(), patched.into_iter().peekable());
    loop {
        let rest_first = match (rest.peek(), patched.peek()) {
            (None, None) => return all,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(l), Some(r)) => {
                let places = (
                    place_of(l, server_order, key),
                    place_of(r, server_order, key),
                );
                matches!(places, (Some(l), Some(r)) if l < r)
            }
        };
        all.extend(if rest_first {
            rest.next()
        } else {
            patched.next()
        });
    }
}

/// Why a merged object is not of its type, in the words that the server has for the outcome of a strategic merge patch.
#[must_use]
pub fn mismatch(value: &Value, schema: &Schema, id: TypeId) -> Option<String> {
    use crate::model::Scalar;

    if value.is_null() {
        return None;
    }
    let kind = match go_type(value) {
        "[]interface {}" => "slice",
        "map[string]interface {}" => "map",
        single => single,
    };
    match (schema.get(id), value) {
        (Type::Struct(struct_), Value::Object(map)) => map.iter().find_map(|(key, value)| {
            let field = struct_.fields.get(key)?;
            mismatch(value, schema, field.type_)
        }),
        (Type::Struct(_), _) => Some(format!("cannot restore struct from: {kind}")),
        (Type::Map(of), Value::Object(map)) => map
            .values()
            .find_map(|value| mismatch(value, schema, of.values)),
        (Type::Map(_), _) => Some(format!("cannot restore map from {kind}")),
        (Type::List(list), Value::Array(items)) => items
            .iter()
            .find_map(|item| mismatch(item, schema, list.items)),
        (Type::List(_), _) => Some(format!("cannot restore slice from {kind}")),
        (Type::Scalar(scalar), value) => {
            let go_kind = match scalar {
                Scalar::String => "string",
                Scalar::Boolean => "bool",
                Scalar::Int32 => "int32",
                Scalar::Int64 => "int64",
                Scalar::Number => "float64",
                Scalar::Bytes if !value.is_string() => {
                    return Some(format!("cannot restore slice from {kind}"));
                }
                // They read themselves.
                _ => {
                    let text = value.to_string();
                    return crate::json::decode(text.as_bytes(), schema, id).err();
                }
            };
            match (scalar, kind) {
                (Scalar::String, "string")
                | (Scalar::Boolean, "bool")
                | (Scalar::Int32 | Scalar::Int64 | Scalar::Number, "int64")
                | (Scalar::Number, "float64") => None,
                (Scalar::String, "int64") | (Scalar::Int32 | Scalar::Int64, "float64") => {
                    Some(format!("cannot convert {kind} to {}", schema.go_name(id)))
                }
                _ => Some(format!("unrecognized type: {go_kind}")),
            }
        }
        (Type::Any, _) => None,
    }
}
