//! Entries of an object as its `scale` subresource sees them.

use std::collections::BTreeMap;

use crate::element::Path;
use crate::managed::{Entry, Managed};
use crate::set::Set;

/// The version of `Scale`.
const SCALE: &str = "autoscaling/v1";

/// Where the replica count is, by version; `None` for a version without `scale`.
pub type ReplicasPaths = BTreeMap<String, Option<Path>>;

fn replicas() -> Set {
    Set::of_names(&[&["spec", "replicas"]])
}

/// The entries that own the replica count, as entries of the `Scale`.
#[must_use]
pub fn to_scale(parent: &Managed, paths: &ReplicasPaths) -> Managed {
    let owns = |entry: &Entry| {
        paths
            .get(&entry.api_version)
            .and_then(Option::as_ref)
            .is_some_and(|path| entry.fields.contains(path))
    };
    let entries = parent.entries.iter().filter(|(_, entry)| owns(entry));
    let to_scale = |entry: &Entry| Entry {
        api_version: SCALE.into(),
        time: entry.time.clone(),
        fields: replicas(),
    };
    Managed {
        entries: entries
            .map(|(id, entry)| (id.clone(), to_scale(entry)))
            .collect(),
    }
}

/// The entries of the object after its `Scale` was written in a request for a version of the object.
#[must_use]
pub fn from_scale(
    parent: &Managed,
    scale: Managed,
    api_version: &str,
    paths: &ReplicasPaths,
) -> Managed {
    let mut entries = BTreeMap::new();
    let mut left = scale.entries;
    for (id, entry) in &parent.entries {
        let Some(path) = paths.get(&entry.api_version) else {
            continue;
        };
        let Some(path) = path.as_ref().filter(|path| entry.fields.contains(path)) else {
            entries.insert(id.clone(), entry.clone());
            continue;
        };
        // Entries of operation `Update` are told apart by their version, too, and that of the scale is another: those a
        // real server never finds again, so that it takes the replica count from them and adds an entry for it alone.
        if left.remove(id).is_some() {
            entries.insert(id.clone(), entry.clone());
            continue;
        }
        let stolen = Set::from_iter([path.clone()]);
        let fields = entry.fields.difference(&stolen);
        if !fields.is_empty() {
            let entry = Entry {
                fields,
                ..entry.clone()
            };
            entries.insert(id.clone(), entry);
        }
    }
    let Some(path) = paths.get(api_version).and_then(Option::as_ref) else {
        return Managed { entries };
    };
    let owned = replicas().paths();
    for (id, entry) in left {
        if !entry.fields.contains(&owned[0]) {
            continue;
        }
        // A real server loses the time of these entries.
        let entry = Entry {
            api_version: api_version.into(),
            time: None,
            fields: Set::from_iter([path.clone()]),
        };
        entries.insert(id, entry);
    }
    Managed { entries }
}
