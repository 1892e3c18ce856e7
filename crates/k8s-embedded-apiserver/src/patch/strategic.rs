//! Strategic merge patch: a merge patch that merges some lists by a key of their elements.
//!
//! Which lists those are is a property of the built-in kinds' types. The table below covers the kinds
//! that operators patch (workloads, pods, services, service accounts, metadata and conditions); any
//! other list is replaced, as the real server replaces a list without a merge strategy.
//! Understood directives: `$patch: delete | replace | merge`, `$retainKeys`, `$setElementOrder/…`,
//! `$deleteFromPrimitiveList/…`; another `$patch` is refused.

use serde_json::{Map, Value};

use super::decode;
use crate::json_error::type_name;
use crate::status::Failure;
use k8s_api_schema::quote;

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ORDER: &str = "$setElementOrder/";
const DELETE_PRIMITIVES: &str = "$deleteFromPrimitiveList/";

/// How a list merges.
#[derive(Clone, Copy, PartialEq)]
enum ListMerge {
    Replace,
    /// Elements are objects, the same if this member is.
    ByKey(&'static str),
    /// Elements are scalars, a set.
    Set,
}

fn list_merge(parent: &str, field: &str) -> ListMerge {
    if is_container_list(field) {
        return ListMerge::ByKey("name");
    }
    match (parent, field) {
        (
            _,
            "volumes" | "imagePullSecrets" | "env" | "secrets" | "resourceClaims"
            | "schedulingGates",
        ) => ListMerge::ByKey("name"),
        (parent, "ports") if is_container_list(parent) => ListMerge::ByKey("containerPort"),
        ("spec", "ports") => ListMerge::ByKey("port"),
        (_, "volumeMounts") => ListMerge::ByKey("mountPath"),
        (_, "volumeDevices") => ListMerge::ByKey("devicePath"),
        (_, "hostAliases" | "podIPs" | "hostIPs") => ListMerge::ByKey("ip"),
        (_, "topologySpreadConstraints") => ListMerge::ByKey("topologyKey"),
        ("status", "conditions") => ListMerge::ByKey("type"),
        ("metadata", "ownerReferences") => ListMerge::ByKey("uid"),
        ("metadata" | "spec", "finalizers") => ListMerge::Set,
        _ => ListMerge::Replace,
    }
}

fn is_container_list(field: &str) -> bool {
    matches!(
        field,
        "containers" | "initContainers" | "ephemeralContainers"
    )
}

pub(super) fn apply(object: &Value, body: &[u8]) -> Result<Value, Failure> {
    let target = "map[string]interface {}";
    let patch = match decode(body, "value", target)? {
        Value::Object(patch) => patch,
        other => {
            return Err(Failure::bad_request(format!(
                "error decoding patch: json: cannot unmarshal {} into Go value of type {target}",
                type_name(&other)
            )));
        }
    };
    let original = object.as_object().cloned().unwrap_or_default();
    merge_maps(original, patch, "").map(Value::Object)
}

fn merge_maps(
    original: Map<String, Value>,
    mut patch: Map<String, Value>,
    own: &str,
) -> Result<Map<String, Value>, Failure> {
    match patch.remove(PATCH) {
        None => {}
        Some(directive) => match directive.as_str() {
            Some("replace") => return Ok(patch),
            Some("delete") => return Ok(Map::new()),
            Some("merge") => {}
            _ => return Err(unknown_directive(&directive)),
        },
    }
    let mut merged = retain_keys(original, patch.remove(RETAIN_KEYS), &patch)?;
    let orders = take_prefixed(&mut patch, SET_ORDER);
    for (field, removed) in take_prefixed(&mut patch, DELETE_PRIMITIVES) {
        if let (Some(Value::Array(items)), Value::Array(removed)) =
            (merged.get_mut(&field), removed)
        {
            items.retain(|item| !removed.contains(item));
        }
    }
    for (field, change) in patch {
        if change.is_null() {
            merged.remove(&field);
            continue;
        }
        let before = merged.remove(&field);
        let after = merge_field(before, change, own, &field)?;
        merged.insert(field, after);
    }
    for (field, order) in orders {
        if let (Some(Value::Array(items)), Value::Array(order)) = (merged.get_mut(&field), order) {
            reorder(items, &order, list_merge(own, &field));
        }
    }
    Ok(merged)
}

fn merge_field(
    before: Option<Value>,
    change: Value,
    own: &str,
    field: &str,
) -> Result<Value, Failure> {
    match (before, change) {
        (Some(Value::Object(before)), Value::Object(change)) => {
            merge_maps(before, change, field).map(Value::Object)
        }
        (_, Value::Object(change)) => merge_maps(Map::new(), change, field).map(Value::Object),
        (before, Value::Array(change)) => {
            let before = match before {
                Some(Value::Array(items)) => items,
                _ => Vec::new(),
            };
            match list_merge(own, field) {
                ListMerge::Replace => Ok(Value::Array(change)),
                ListMerge::Set => Ok(Value::Array(merge_set(&before, change))),
                ListMerge::ByKey(key) => merge_list(&before, change, key, field).map(Value::Array),
            }
        }
        (_, change) => Ok(change),
    }
}

/// With `$retainKeys` only those members survive; each member that the patch sets must be among them.
fn retain_keys(
    mut original: Map<String, Value>,
    directive: Option<Value>,
    patch: &Map<String, Value>,
) -> Result<Map<String, Value>, Failure> {
    let Some(directive) = directive else {
        return Ok(original);
    };
    let Value::Array(kept) = directive else {
        return Err(Failure::unclassified("invalid patch format of retainKeys"));
    };
    let keeps = |key: &str| kept.iter().any(|kept| kept == key);
    if let Some(key) = patch
        .iter()
        .find(|(key, value)| !value.is_null() && !key.starts_with('$') && !keeps(key))
    {
        return Err(Failure::unclassified(format!(
            "invalid patch format of retainKeys: {} is set but not retained",
            quote(key.0)
        )));
    }
    original.retain(|key, _| keeps(key));
    Ok(original)
}

fn take_prefixed(patch: &mut Map<String, Value>, prefix: &str) -> Vec<(String, Value)> {
    let keys: Vec<String> = patch
        .keys()
        .filter(|key| key.starts_with(prefix))
        .cloned()
        .collect();
    keys.into_iter()
        .filter_map(|key| {
            patch
                .remove(&key)
                .map(|value| (key[prefix.len()..].to_owned(), value))
        })
        .collect()
}

fn unknown_directive(directive: &Value) -> Failure {
    let text = directive
        .as_str()
        .map_or_else(|| directive.to_string(), str::to_owned);
    Failure::bad_request(format!("unknown patch type found: {text}"))
}

fn merge_set(before: &[Value], change: Vec<Value>) -> Vec<Value> {
    let server_only: Vec<Value> = before
        .iter()
        .filter(|item| !change.contains(item))
        .cloned()
        .collect();
    let mut patched: Vec<Value> = Vec::with_capacity(change.len());
    for item in change {
        if !patched.contains(&item) {
            patched.push(item);
        }
    }
    interleave(server_only, patched, |item| {
        before.iter().position(|known| known == item)
    })
}

fn merge_list(
    before: &[Value],
    change: Vec<Value>,
    key: &'static str,
    field: &str,
) -> Result<Vec<Value>, Failure> {
    let mut merged = before.to_vec();
    let mut plain = Vec::with_capacity(change.len());
    let mut replace = false;
    for item in change {
        let Value::Object(mut item) = item else {
            return Err(Failure::unclassified(format!(
                "expected map[string]interface {{}} in list {field}, got {}",
                type_name(&item)
            )));
        };
        match item.get(PATCH).cloned() {
            None => plain.push(item),
            Some(directive) => match directive.as_str() {
                Some("delete") => {
                    let id = key_of(&item, key)?;
                    merged.retain(|known| known.get(key) != Some(&id));
                }
                Some("replace") => {
                    replace = true;
                    item.remove(PATCH);
                    if !item.is_empty() {
                        plain.push(item);
                    }
                }
                Some("merge") => {
                    item.remove(PATCH);
                    plain.push(item);
                }
                _ => return Err(unknown_directive(&directive)),
            },
        }
    }
    if replace {
        return Ok(plain.into_iter().map(Value::Object).collect());
    }
    let mut patched_ids = Vec::with_capacity(plain.len());
    for item in plain {
        let id = key_of(&item, key)?;
        match merged.iter_mut().find(|known| known.get(key) == Some(&id)) {
            Some(known) => {
                let original = known.as_object().cloned().unwrap_or_default();
                *known = Value::Object(merge_maps(original, item, field)?);
            }
            None => merged.push(Value::Object(merge_maps(Map::new(), item, field)?)),
        }
        if !patched_ids.contains(&id) {
            patched_ids.push(id);
        }
    }
    let place = |item: &Value| patched_ids.iter().position(|id| item.get(key) == Some(id));
    let (mut patched, server_only): (Vec<Value>, Vec<Value>) =
        merged.into_iter().partition(|item| place(item).is_some());
    patched.sort_by_key(|item| place(item));
    Ok(interleave(server_only, patched, |item| {
        before
            .iter()
            .position(|known| known.get(key) == item.get(key))
    }))
}

fn key_of(item: &Map<String, Value>, key: &str) -> Result<Value, Failure> {
    item.get(key).cloned().ok_or_else(|| {
        let members: Vec<String> = item
            .iter()
            .map(|(key, value)| match value {
                Value::String(text) => format!("{key}:{text}"),
                other => format!("{key}:{other}"),
            })
            .collect();
        Failure::unclassified(format!(
            "map: map[{}] does not contain declared merge key: {key}",
            members.join(" ")
        ))
    })
}

/// Sorts `items` as a `$setElementOrder` list tells; those that it does not name keep their place among them.
fn reorder(items: &mut Vec<Value>, order: &[Value], how: ListMerge) {
    let same = |item: &Value, wanted: &Value| match how {
        ListMerge::ByKey(key) => item.get(key).is_some() && item.get(key) == wanted.get(key),
        _ => item == wanted,
    };
    let place = |item: &Value| order.iter().position(|wanted| same(item, wanted));
    let before = items.clone();
    let (mut ordered, rest): (Vec<Value>, Vec<Value>) =
        items.drain(..).partition(|item| place(item).is_some());
    ordered.sort_by_key(|item| place(item));
    *items = interleave(rest, ordered, |item| {
        before.iter().position(|known| known == item)
    });
}

/// Merges two lists, each in its order: one of `left` goes first only where both had a place before and its was in front.
fn interleave(
    left: Vec<Value>,
    right: Vec<Value>,
    place: impl Fn(&Value) -> Option<usize>,
) -> Vec<Value> {
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    loop {
        let left_first = match (left.peek(), right.peek()) {
            (None, None) => return merged,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(l), Some(r)) => matches!((place(l), place(r)), (Some(l), Some(r)) if l < r),
        };
        merged.extend(if left_first {
            left.next()
        } else {
            right.next()
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::patch::tests::any_json;

    fn patched(object: &Value, patch: &Value) -> Value {
        apply(object, patch.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn containers_merge_by_name_and_new_ones_come_first() {
        let pod = json!({"spec": {"containers": [{"name": "c", "image": "i", "env": [{"name": "A", "value": "1"}]}]}});
        let patch = json!({"spec": {"containers": [{"name": "d", "image": "j"}, {"name": "c", "env": [{"name": "B", "value": "2"}]}]}});
        assert_eq!(
            patched(&pod, &patch),
            json!({"spec": {"containers": [
                {"name": "d", "image": "j"},
                {"name": "c", "image": "i", "env": [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}]},
            ]}})
        );
    }

    #[test]
    fn directives() {
        let pod = json!({"metadata": {"finalizers": ["a/b", "c/d"], "labels": {"x": "1"}},
            "spec": {"containers": [{"name": "c"}, {"name": "d"}]}});
        for (patch, expected) in [
            (
                json!({"spec": {"containers": [{"name": "d", "$patch": "delete"}]}}),
                json!({"containers": [{"name": "c"}]}),
            ),
            (
                json!({"spec": {"containers": [{"name": "z"}, {"$patch": "replace"}]}}),
                json!({"containers": [{"name": "z"}]}),
            ),
            (
                json!({"spec": {"$patch": "replace", "k": 1}}),
                json!({"k": 1}),
            ),
            (
                json!({"spec": {"$setElementOrder/containers": [{"name": "d"}, {"name": "c"}]}}),
                json!({"containers": [{"name": "d"}, {"name": "c"}]}),
            ),
            (
                json!({"spec": {"$retainKeys": ["k"], "k": 1}}),
                json!({"k": 1}),
            ),
        ] {
            assert_eq!(patched(&pod, &patch)["spec"], expected, "{patch}");
        }
        let gone = patched(
            &pod,
            &json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/b"]}}),
        );
        assert_eq!(gone["metadata"]["finalizers"], json!(["c/d"]));
        let added = patched(&pod, &json!({"metadata": {"finalizers": ["e/f"]}}));
        assert_eq!(
            added["metadata"]["finalizers"],
            json!(["e/f", "a/b", "c/d"])
        );
    }

    #[test]
    fn an_element_without_its_key_is_refused() {
        let body = br#"{"spec":{"containers":[{"image":"nameless"}]}}"#;
        let failure = apply(&json!({}), body).unwrap_err();
        assert_eq!(failure.code, 500);
        assert_eq!(
            failure.message,
            "map: map[image:nameless] does not contain declared merge key: name"
        );
    }

    proptest! {
        #[test]
        fn without_lists_it_is_a_merge_patch(object in any_json(), patch in any_json()) {
            // Keys of `any_json` name no list with a merge key, so lists are replaced in both.
            let (object, patch) = (json!({"o": object}), json!({"o": patch}));
            let mut expected = object.clone();
            crate::patch::merge::merge(&mut expected, &patch);
            prop_assert_eq!(patched(&object, &patch), expected);
        }
    }
}
