//! `metadata` of an object as JSON.

use serde_json::{Map, Value};

/// What is at a JSON pointer without escapes, which `Value::pointer` would allocate for.
pub(crate) fn at<'a>(object: &'a Value, pointer: &str) -> Option<&'a Value> {
    let mut keys = pointer.split('/').skip(1);
    keys.try_fold(object, |value, key| match value {
        Value::Array(list) => list.get(key.parse::<usize>().ok()?),
        value => value.get(key),
    })
}

/// A text at a JSON pointer, empty where there is none.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    at(object, pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// What is asked of a tree of JSON and of a stored object alike.
pub(crate) trait Meta {
    fn name(&self) -> &str;
    fn namespace(&self) -> &str;
    fn uid(&self) -> &str;
    fn version(&self) -> &str;
    fn is_deleting(&self) -> bool;
    /// The finalizers, in order.
    fn finalizers(&self) -> Vec<&str>;
    fn owners(&self) -> Vec<Owner>;
}

impl Meta for Value {
    fn name(&self) -> &str {
        text(self, "/metadata/name")
    }
    fn namespace(&self) -> &str {
        text(self, "/metadata/namespace")
    }
    fn uid(&self) -> &str {
        text(self, "/metadata/uid")
    }
    fn version(&self) -> &str {
        text(self, "/metadata/resourceVersion")
    }
    fn is_deleting(&self) -> bool {
        at(self, "/metadata/deletionTimestamp").is_some_and(|time| !time.is_null())
    }
    fn finalizers(&self) -> Vec<&str> {
        texts(at(self, "/metadata/finalizers"))
    }
    fn owners(&self) -> Vec<Owner> {
        let list = at(self, "/metadata/ownerReferences").and_then(Value::as_array);
        list.into_iter()
            .flatten()
            .map(|owner| Owner {
                api_version: text(owner, "/apiVersion").into(),
                kind: text(owner, "/kind").into(),
                name: text(owner, "/name").into(),
                uid: text(owner, "/uid").into(),
                blocks: owner.get("blockOwnerDeletion") == Some(&Value::Bool(true)),
            })
            .collect()
    }
}

pub(crate) fn name<M: Meta + ?Sized>(object: &M) -> &str {
    object.name()
}

pub(crate) fn namespace<M: Meta + ?Sized>(object: &M) -> &str {
    object.namespace()
}

pub(crate) fn uid<M: Meta + ?Sized>(object: &M) -> &str {
    object.uid()
}

pub(crate) fn version<M: Meta + ?Sized>(object: &M) -> &str {
    object.version()
}

pub(crate) fn is_deleting<M: Meta + ?Sized>(object: &M) -> bool {
    object.is_deleting()
}

/// The finalizers, in order.
pub(crate) fn finalizers<M: Meta + ?Sized>(object: &M) -> Vec<&str> {
    object.finalizers()
}

/// The owners of an object.
pub(crate) fn owners<M: Meta + ?Sized>(object: &M) -> Vec<Owner> {
    object.owners()
}

/// What is said of owners that are there twice only after admission has changed the object.
pub(crate) const AFTER_ADMISSION: &str = " after mutating admission happens";

/// Drops owners that are there twice, and gives back what is said about it.
pub(crate) fn drop_duplicate_owners(object: &mut Value, when: &str) -> Option<String> {
    let owners = object.pointer_mut("/metadata/ownerReferences")?;
    let owners = owners.as_array_mut().filter(|owners| owners.len() > 1)?;
    let mut kept: Vec<Value> = Vec::with_capacity(owners.len());
    let mut twice = Vec::new();
    for owner in std::mem::take(owners) {
        if kept.contains(&owner) {
            twice.push(text(&owner, "/uid").to_owned());
        } else {
            kept.push(owner);
        }
    }
    *owners = kept;
    (!twice.is_empty()).then(|| {
        format!(
            ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, \
             and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            twice.join(", ")
        )
    })
}

/// The texts of a JSON list.
pub(crate) fn texts(list: Option<&Value>) -> Vec<&str> {
    list.and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// `metadata`, made an object where it is none. `object` itself must be one; anything else is replaced.
pub(crate) fn metadata_mut(object: &mut Value) -> &mut Map<String, Value> {
    entry_mut(object_mut(object), "metadata")
}

/// The JSON object in `value`, which is replaced by an empty one where it is none.
pub(crate) fn object_mut(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("made an object above"),
    }
}

/// The JSON object under `key`, made where there is none.
pub(crate) fn entry_mut<'a>(
    map: &'a mut Map<String, Value>,
    key: &str,
) -> &'a mut Map<String, Value> {
    // The key is only made where there is none.
    if !map.contains_key(key) {
        map.insert(key.into(), Value::Object(Map::new()));
    }
    object_mut(&mut map[key])
}

/// Sets or, with an empty list, removes the finalizers.
pub(crate) fn set_finalizers(object: &mut Value, finalizers: Vec<String>) {
    let metadata = metadata_mut(object);
    if finalizers.is_empty() {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers".into(), finalizers.into());
    }
}

/// Copies `key` of `from` into `to`, or removes it where `from` has none.
pub(crate) fn copy_key(from: &Value, to: &mut Map<String, Value>, key: &str) {
    match from.get(key) {
        Some(value) if !value.is_null() => set(to, key, value),
        _ => {
            to.remove(key);
        }
    }
}

/// Sets a member; one that is as it shall be is left alone.
pub(crate) fn set(map: &mut Map<String, Value>, key: &str, value: &Value) {
    if map.get(key) != Some(value) {
        map.insert(key.into(), value.clone());
    }
}

/// Sets a member to a text; one that is as it shall be is left alone.
pub(crate) fn set_text(map: &mut Map<String, Value>, key: &str, text: &str) {
    match map.get_mut(key) {
        Some(value) if value.as_str() == Some(text) => {}
        Some(value) => *value = text.into(),
        None => {
            map.insert(key.into(), text.into());
        }
    }
}

/// An entry of `ownerReferences`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) blocks: bool,
}

impl Owner {
    /// Whether the reference is to `object`, in whatever version of its group.
    pub(crate) fn is(&self, object: &Value) -> bool {
        let group = |api_version: &str| {
            api_version
                .split_once('/')
                .map(|(group, _)| group.to_owned())
        };
        self.uid == uid(object)
            && self.name == name(object)
            && self.kind == text(object, "/kind")
            && group(&self.api_version) == group(text(object, "/apiVersion"))
    }
}
