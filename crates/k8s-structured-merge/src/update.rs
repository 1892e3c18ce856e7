//! What a write that is no apply does to the entries of managers.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::kept::{Change, Kept};
use crate::managed::{
    Entry, Managed, ManagerId, Operation, is_reset, known_name, take_managed_fields,
};
use crate::set::Set;
use crate::typed::{Comparison, TypeRef};

/// How many entries of operation `Update` an object keeps, as on the server.
pub(crate) const MAX_UPDATE_MANAGERS: usize = 10;

/// The manager of the entries that are too old to be kept apart.
const ANCIENT: &str = "ancient-changes";

/// The versions of a kind.
pub trait Versions {
    /// The type of the kind in a version; `None` if the version is not served.
    fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>>;

    /// An object of the kind in another version; `None` if that is not served.
    fn convert(&self, object: &Value, api_version: &str) -> Option<Value>;

    /// The object with nothing in it but its version and kind, which the first entries are made by comparison with.
    fn empty(&self, api_version: &str) -> Value;

    /// The fields of a version that writes by way of this resource or subresource cannot own, since the server resets
    /// them.
    fn reset_fields(&self, api_version: &str) -> Option<&Set>;
}

/// Who writes, in which version, and when.
#[derive(Clone, Copy, Debug)]
pub struct Writer<'a> {
    /// Name of the manager.
    pub manager: &'a str,
    /// The version of the request.
    pub api_version: &'a str,
    /// The subresource that is written; empty for the object itself.
    pub subresource: &'a str,
    /// Now, as RFC 3339 in whole seconds.
    pub now: &'a str,
}

impl Writer<'_> {
    pub(crate) fn id(&self, operation: Operation) -> ManagerId {
        ManagerId::new(self.manager, operation, self.api_version, self.subresource)
    }

    /// The name that its entries have.
    pub(crate) fn name(&self) -> &str {
        known_name(self.manager)
    }
}

/// Paths that no entry has.
pub(crate) fn strip_set() -> &'static Set {
    static SET: std::sync::OnceLock<Set> = std::sync::OnceLock::new();
    SET.get_or_init(|| {
        Set::of_names(&[
            &["apiVersion"],
            &["kind"],
            &["metadata"],
            &["metadata", "name"],
            &["metadata", "namespace"],
            &["metadata", "creationTimestamp"],
            &["metadata", "selfLink"],
            &["metadata", "uid"],
            &["metadata", "clusterName"],
            &["metadata", "generation"],
            &["metadata", "managedFields"],
            &["metadata", "resourceVersion"],
        ])
    })
}

/// Writes into `new` who owns its fields after it was written over `live`. Both are in the writer's version; for a create,
/// `live` is [`empty_object`](crate::empty_object).
pub fn update(versions: &dyn Versions, live: &Value, new: &mut Value, writer: &Writer<'_>) {
    let live_fields = fields_of(live);
    let sent = take_managed_fields(new);
    let mut compared = Compared::new(versions, live, new, writer.api_version);
    if let (Some(before), Some(compared)) = (live_fields, &mut compared) {
        // Nothing but the entries as they are can be sent by way of a subresource.
        let is_as_before =
            !writer.subresource.is_empty() || sent.as_ref().is_none_or(|sent| sent == before);
        let kept = is_as_before.then(|| compared.kept(before, writer));
        if let Some(kept) = kept.flatten() {
            let list = sent.filter(|sent| sent == before);
            let list = kept.write(list.unwrap_or_else(|| before.clone()));
            return restore(Some(list), new);
        }
    }
    let old = || {
        live_fields
            .and_then(|list| Managed::decode(list).ok())
            .unwrap_or_default()
    };
    let managed = if !writer.subresource.is_empty() {
        old()
    } else if is_reset(sent.as_ref()) {
        Managed::default()
    } else {
        match sent.as_ref().map(Managed::decode) {
            Some(Ok(managed)) if !managed.entries.is_empty() => managed,
            _ => old(),
        }
    };
    let exists = live
        .get("metadata")
        .and_then(|metadata| metadata.get("uid"))
        .and_then(Value::as_str)
        .is_some_and(|uid| !uid.is_empty());
    if managed.entries.is_empty() && exists {
        // Ownership is tracked from the beginning or not before the first apply.
        return;
    }
    let Some(mut compared) = compared else {
        return restore(live_fields.cloned(), new);
    };
    let managed = reconcile(versions, live, managed, writer.api_version);
    give(&mut compared, managed, writer).write_to(new);
}

fn fields_of(object: &Value) -> Option<&Value> {
    object.get("metadata")?.get("managedFields")
}

fn restore(fields: Option<Value>, object: &mut Value) {
    if let (Some(fields), Some(metadata)) = (fields, crate::managed::metadata_mut(object)) {
        metadata.insert("managedFields".into(), fields);
    }
}

/// The entries after `new`, which has no `managedFields`, was written over `live`; `None` if the writer's version has no
/// type.
pub(crate) fn track(
    versions: &dyn Versions,
    live: &Value,
    new: &Value,
    managed: Managed,
    writer: &Writer<'_>,
) -> Option<Managed> {
    let mut compared = Compared::new(versions, live, new, writer.api_version)?;
    let managed = reconcile(versions, live, managed, writer.api_version);
    Some(give(&mut compared, managed, writer))
}

/// Takes what was changed from all managers, and gives the writer what it can own of it.
fn give(compared: &mut Compared<'_>, mut managed: Managed, writer: &Writer<'_>) -> Managed {
    let mut own = compared.owned();
    let found = conflicts(compared, &mut managed, None);
    give_up(compared, &mut managed, None, &found);
    if !own.is_empty() {
        let id = writer.id(Operation::Update);
        if let Some(before) = managed.entries.get(&id) {
            own = own.union(&before.fields);
        }
        let entry = Entry {
            api_version: writer.api_version.into(),
            time: Some(writer.now.into()),
            fields: own,
        };
        managed.entries.insert(id, entry);
    }
    cap(&mut managed);
    managed
}

/// What a write changed, seen in every version that has an entry.
pub(crate) struct Compared<'a> {
    versions: &'a dyn Versions,
    live: &'a Value,
    new: &'a Value,
    /// The writer's version.
    own_version: &'a str,
    /// In the writer's version, with the fields that the server resets.
    own: Comparison,
    /// Without the fields that the server resets. The writer's version is missing where there are none.
    by_version: BTreeMap<String, Option<Comparison>>,
}

impl<'a> Compared<'a> {
    pub(crate) fn new(
        versions: &'a dyn Versions,
        live: &'a Value,
        new: &'a Value,
        own_version: &'a str,
    ) -> Option<Self> {
        let own = versions.type_of(own_version)?.compare_objects(live, new);
        let reset = versions.reset_fields(own_version);
        let filtered = reset.map(|fields| (own_version.to_owned(), Some(own.without(fields))));
        Some(Self {
            versions,
            live,
            new,
            own_version,
            own,
            by_version: filtered.into_iter().collect(),
        })
    }

    /// What the writer owns now of what it has changed.
    fn owned(&self) -> Set {
        let mut own = self.own.modified.union(&self.own.added);
        if let Some(reset) = self.versions.reset_fields(self.own_version) {
            own = own.recursive_difference(reset);
        }
        own.difference(strip_set())
    }

    /// The entries, if they may stay as they are.
    fn kept<'w>(&mut self, entries: &Value, writer: &Writer<'w>) -> Option<Kept<'w>> {
        let own = &self.owned();
        let type_ = self.versions.type_of(self.own_version)?;
        let comparison = self.of(writer.api_version)?;
        let change = Change {
            changed: &comparison.modified.union(&comparison.added),
            removed: &comparison.removed,
            own,
        };
        Kept::of(entries, type_, &change, writer)
    }

    /// The changes in a version; `None` if it is not served.
    fn of(&mut self, api_version: &str) -> Option<&Comparison> {
        if api_version == self.own_version && !self.by_version.contains_key(api_version) {
            return Some(&self.own);
        }
        if !self.by_version.contains_key(api_version) {
            let compared = self.compare(api_version);
            self.by_version.insert(api_version.into(), compared);
        }
        self.by_version.get(api_version)?.as_ref()
    }

    fn compare(&self, api_version: &str) -> Option<Comparison> {
        let type_ = self.versions.type_of(api_version)?;
        let live = self.versions.convert(self.live, api_version)?;
        let new = self.versions.convert(self.new, api_version)?;
        let compared = type_.compare_objects(&live, &new);
        Some(match self.versions.reset_fields(api_version) {
            Some(fields) => compared.without(fields),
            None => compared,
        })
    }
}

/// The fields of other managers that a write changed, by manager.
pub(crate) fn conflicts(
    compared: &mut Compared<'_>,
    managed: &mut Managed,
    except: Option<&ManagerId>,
) -> BTreeMap<ManagerId, Set> {
    let mut found = BTreeMap::new();
    managed.entries.retain(|id, entry| {
        if Some(id) == except {
            return true;
        }
        let Some(comparison) = compared.of(&entry.api_version) else {
            return false;
        };
        if comparison.modified.is_empty() && comparison.added.is_empty() {
            return true;
        }
        let changed = comparison.modified.union(&comparison.added);
        let conflict = entry.fields.intersection(&changed);
        if !conflict.is_empty() {
            found.insert(id.clone(), conflict);
        }
        true
    });
    found
}

/// Takes from all managers but one what a write changed (their [`conflicts`]) or removed.
pub(crate) fn give_up(
    compared: &mut Compared<'_>,
    managed: &mut Managed,
    except: Option<&ManagerId>,
    conflicts: &BTreeMap<ManagerId, Set>,
) {
    managed.entries.retain(|id, entry| {
        if Some(id) != except {
            if let Some(conflict) = conflicts.get(id) {
                entry.fields = entry.fields.difference(conflict);
            }
            if let Some(comparison) = compared.of(&entry.api_version)
                && !comparison.removed.is_empty()
            {
                entry.fields = entry.fields.difference(&comparison.removed);
            }
        }
        !entry.fields.is_empty()
    });
}

/// The entries as the types are now. Those of versions that are not served any more are dropped.
pub(crate) fn reconcile(
    versions: &dyn Versions,
    live: &Value,
    managed: Managed,
    own_version: &str,
) -> Managed {
    let mut convertible = BTreeMap::new();
    let entries = managed.entries.into_iter().filter_map(|(id, mut entry)| {
        let type_ = versions.type_of(&entry.api_version)?;
        let served = *convertible
            .entry(entry.api_version.clone())
            .or_insert_with(|| {
                entry.api_version == own_version
                    || versions.convert(live, &entry.api_version).is_some()
            });
        if !served {
            return None;
        }
        if let Some(reconciled) = type_.reconcile(&entry.fields) {
            entry.fields = reconciled;
        }
        Some((id, entry))
    });
    Managed {
        entries: entries.collect(),
    }
}

/// Merges the oldest entries of operation `Update`, version by version, until there are few enough.
fn cap(managed: &mut Managed) {
    let mut updaters: Vec<_> = managed
        .entries
        .iter()
        .filter(|(id, _)| id.operation == Operation::Update)
        .map(|(id, entry)| (entry.time.clone(), id.clone()))
        .collect();
    let mut count = updaters.len();
    if count <= MAX_UPDATE_MANAGERS {
        return;
    }
    updaters.sort();
    let mut first_of: BTreeMap<String, ManagerId> = BTreeMap::new();
    for (time, id) in updaters {
        if count <= MAX_UPDATE_MANAGERS {
            return;
        }
        let version = id.api_version.clone();
        let Some(first) = first_of.get(&version) else {
            first_of.insert(version, id);
            continue;
        };
        let bucket = ManagerId::new(ANCIENT, Operation::Update, &version, "");
        if !managed.entries.contains_key(&bucket)
            && let Some(entry) = managed.entries.remove(first)
        {
            managed.entries.insert(bucket.clone(), entry);
        }
        if id == bucket {
            continue;
        }
        let Some(merged) = managed.entries.remove(&id) else {
            continue;
        };
        if let Some(entry) = managed.entries.get_mut(&bucket) {
            entry.fields = entry.fields.union(&merged.fields);
            entry.time = time;
        }
        count -= 1;
    }
}

/// Gives the entries of `new` the times of those of `old`, if nothing else differs between the two objects.
///
/// The server does this before it stores an object, so that a write that changes nothing is none.
pub fn keep_times(old: &Value, new: &mut Value) {
    let (Some(Value::Array(before)), Some(Value::Array(after))) = (fields_of(old), fields_of(new))
    else {
        return;
    };
    if before.len() != after.len() || before == after {
        return;
    }
    let same_but_time = |(a, b): (&Value, &Value)| {
        let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else {
            return a == b;
        };
        let without_time = |map: &serde_json::Map<String, Value>| {
            map.len() - usize::from(map.contains_key("time"))
        };
        without_time(a) == without_time(b)
            && a.iter()
                .all(|(key, value)| key == "time" || b.get(key) == Some(value))
    };
    let same = match (old.as_object(), new.as_object()) {
        (Some(a), Some(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, value)| match b.get(key) {
                    Some(other) if key == "metadata" => same_but_fields(value, other),
                    other => other == Some(value),
                })
        }
        _ => true,
    };
    if same && before.iter().zip(after).all(same_but_time) {
        restore(Some(Value::Array(before.clone())), new);
    }
}

/// Whether two values of `metadata` that both have `managedFields` are the same but for them.
fn same_but_fields(old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else {
        return old == new;
    };
    old.len() == new.len()
        && old
            .iter()
            .all(|(key, value)| key == "managedFields" || new.get(key) == Some(value))
}

impl TypeRef<'_> {
    /// Compares two objects; of `managedFields` nothing is said.
    fn compare_objects(self, live: &Value, new: &Value) -> Comparison {
        static FIELDS: std::sync::OnceLock<Set> = std::sync::OnceLock::new();
        let fields = FIELDS.get_or_init(|| Set::of_names(&[&["metadata", "managedFields"]]));
        let mut comparison = self.compare(live, new);
        if !comparison.removed.is_empty() {
            comparison.removed = comparison.removed.recursive_difference(fields);
        }
        comparison
    }
}
