//! Server-side apply.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::element::{Path, path_text};
use crate::managed::{Entry, Managed, ManagedError, ManagerId, Operation, take_managed_fields};
use crate::set::Set;
use crate::typed::TypeRef;
use crate::update::{Compared, Versions, Writer, conflicts, give_up, reconcile, strip_set, track};
use crate::validate::{Duplicates, Misfits};
use crate::value::equal;

/// The manager of what was there before the first apply, if nothing was tracked till then.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// The manager whose applies take over what `kubectl apply` on the client's side set.
const KUBECTL: &str = "kubectl";

/// Where `kubectl apply` on the client's side keeps its configuration.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// How long the annotations of an object may be together, in bytes.
const MAX_ANNOTATIONS: usize = 256 * 1024;

/// A field that another manager owns and that the configuration would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The other manager.
    pub manager: ManagerId,
    /// The field.
    pub path: Path,
}

/// Conflicts of one apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflicts(pub Vec<Conflict>);

impl std::error::Error for Conflicts {}

impl fmt::Display for Conflicts {
    /// The text of the server's answer.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [single] = self.0.as_slice() {
            let manager = single.manager.describe();
            let path = path_text(&single.path);
            return write!(
                f,
                "Apply failed with 1 conflict: conflict with {manager}: {path}"
            );
        }
        write!(f, "Apply failed with {} conflicts: ", self.0.len())?;
        let mut by_manager: BTreeMap<&ManagerId, Vec<&Path>> = BTreeMap::new();
        for conflict in &self.0 {
            by_manager
                .entry(&conflict.manager)
                .or_default()
                .push(&conflict.path);
        }
        for (index, (manager, paths)) in by_manager.into_iter().enumerate() {
            let newline = if index > 0 { "\n" } else { "" };
            write!(f, "{newline}conflicts with {}:", manager.describe())?;
            for path in paths {
                write!(f, "\n- {}", path_text(path))?;
            }
        }
        Ok(())
    }
}

/// Why a configuration was not applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// Other managers own fields that would change.
    #[error(transparent)]
    Conflicts(#[from] Conflicts),
    /// The configuration does not fit the type.
    #[error(transparent)]
    Misfits(#[from] Misfits),
    /// The entries of the object cannot be read.
    #[error("failed to decode managed fields: {0}")]
    Managed(#[from] ManagedError),
    /// The writer's version has no type.
    #[error("no corresponding type for {0}")]
    NoType(String),
}

/// What an apply came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The object, in the writer's version. Unlike what is stored it is not defaulted yet.
    pub object: Value,
    /// Whether it is the same as before but for `managedFields`.
    pub is_same: bool,
}

/// Applies a configuration to an object. Both are in the writer's version; where there is no object yet, `live` is
/// [`empty_object`](crate::empty_object).
///
/// # Errors
///
/// [`ApplyError`]; [`ApplyError::Conflicts`] only without `force`.
pub fn apply(
    versions: &dyn Versions,
    live: &Value,
    config: &Value,
    writer: &Writer<'_>,
    force: bool,
) -> Result<Applied, ApplyError> {
    let type_ = versions
        .type_of(writer.api_version)
        .ok_or_else(|| ApplyError::NoType(writer.api_version.into()))?;
    let mut managed = Managed::of(live)?;
    let mut live = live.clone();
    take_managed_fields(&mut live);
    if managed.entries.is_empty() {
        let before = Writer {
            manager: BEFORE_FIRST_APPLY,
            ..*writer
        };
        let empty = match live.get("metadata").and_then(|m| m.get("uid")) {
            Some(Value::String(uid)) if !uid.is_empty() => versions.empty(writer.api_version),
            _ => live.clone(),
        };
        managed = track(versions, &empty, &live, managed, &before).unwrap_or_default();
    }
    type_.check(config, Duplicates::Refused)?;
    let applying = Applying {
        versions,
        type_,
        live: &live,
        config,
        writer,
    };
    let outcome = match applying.run(managed.clone(), force) {
        Err(conflicts) if writer.manager == KUBECTL => match applying.upgrade(conflicts) {
            None => applying.run(managed, true),
            Some(left) => Err(left),
        },
        outcome => outcome,
    };
    let (object, managed) = outcome?;
    let is_same = object.is_none();
    let mut object = object.unwrap_or(live);
    if writer.manager == KUBECTL {
        sync_last_applied(&mut object, config);
    }
    managed.write_to(&mut object);
    Ok(Applied { object, is_same })
}

struct Applying<'a> {
    versions: &'a dyn Versions,
    type_: TypeRef<'a>,
    live: &'a Value,
    config: &'a Value,
    writer: &'a Writer<'a>,
}

impl Applying<'_> {
    /// The new object, `None` if it is as before, and the entries.
    fn run(&self, managed: Managed, force: bool) -> Result<(Option<Value>, Managed), Conflicts> {
        let version = self.writer.api_version;
        let mut managed = reconcile(self.versions, self.live, managed, version);
        let merged = self.type_.merge(self.live, self.config);
        let id = self.writer.id(Operation::Apply);
        let mut fields = self.type_.field_set(self.config);
        if let Some(reset) = self.versions.reset_fields(version) {
            fields = fields.recursive_difference(reset);
        }
        let entry = Entry {
            api_version: version.into(),
            time: managed.entries.get(&id).and_then(|last| last.time.clone()),
            fields,
        };
        let last = managed.entries.insert(id.clone(), entry);
        let new = match last.filter(|last| !last.fields.is_empty()) {
            Some(last) => self.prune(merged, &managed, &last),
            None => merged,
        };
        if let Some(mut compared) = Compared::new(self.versions, self.live, &new, version) {
            let found = conflicts(&mut compared, &mut managed, Some(&id));
            if !force && !found.is_empty() {
                return Err(list(&found));
            }
            give_up(&mut compared, &mut managed, Some(&id), &found);
        }
        let is_same = equal(self.live, &new);
        if let Some(entry) = managed.entries.get_mut(&id) {
            entry.fields = entry.fields.difference(strip_set());
            if !is_same {
                entry.time = Some(self.writer.now.into());
            }
            if entry.fields.is_empty() {
                managed.entries.remove(&id);
            }
        }
        Ok(((!is_same).then_some(new), managed))
    }

    /// Takes away what the manager applied last time, does not apply now, and no other manager owns.
    fn prune(&self, merged: Value, managed: &Managed, last: &Entry) -> Value {
        let version = last.api_version.as_str();
        let (Some(type_), Some(merged_then)) = (
            self.versions.type_of(version),
            self.convert(&merged, version),
        ) else {
            return merged;
        };
        let named = |type_: TypeRef<'_>, set: &Set| set.with_named_fields(type_.schema, type_.id);
        let last_fields = named(type_, &last.fields);
        let mut pruned = type_.remove(&merged_then, &last_fields);

        let mut owned: BTreeMap<&str, Set> = BTreeMap::new();
        for entry in managed.entries.values() {
            let set = owned.entry(&entry.api_version).or_default();
            *set = set.union(&entry.fields);
        }
        // The version that is pruned comes first, so that what a conversion needs is back before it.
        let first = owned.remove(version).map(|set| (version, set));
        let mut merged_now = merged_then.clone();
        for (version, set) in first.into_iter().chain(owned) {
            let (Some(type_), Some(merged), Some(before)) = (
                self.versions.type_of(version),
                self.convert(&merged_now, version),
                self.convert(&pruned, version),
            ) else {
                continue;
            };
            let all = named(type_, &type_.field_set(&merged));
            let kept = named(type_, &type_.field_set(&before)).union(&named(type_, &set));
            pruned = type_.remove(&merged, &all.difference(&kept));
            merged_now = merged;
        }

        let Some(pruned) = self.convert(&pruned, version) else {
            return merged;
        };
        let kept = named(type_, &type_.field_set(&pruned));
        let all = named(type_, &type_.field_set(&merged_then));
        let gone = all.difference(&kept).intersection(&last_fields);
        let pruned = type_.remove(&merged_then, &gone);
        self.convert(&pruned, self.writer.api_version)
            .unwrap_or(merged)
    }

    fn convert(&self, object: &Value, api_version: &str) -> Option<Value> {
        if object.get("apiVersion").and_then(Value::as_str) == Some(api_version) {
            return Some(object.clone());
        }
        self.versions.convert(object, api_version)
    }

    /// The conflicts that are left when what `kubectl apply` on the client's side set is taken over; `None` if none are.
    fn upgrade(&self, conflicts: Conflicts) -> Option<Conflicts> {
        let Some(allowed) = self.last_applied_fields() else {
            return Some(conflicts);
        };
        let left: Vec<_> = conflicts
            .0
            .into_iter()
            .filter(|conflict| !allowed.contains(&conflict.path))
            .collect();
        (!left.is_empty()).then_some(Conflicts(left))
    }

    /// The fields of the annotation that are as it says.
    fn last_applied_fields(&self) -> Option<Set> {
        let text = last_applied(self.live)?;
        self.type_.check(self.live, Duplicates::Refused).ok()?;
        let last: Value = serde_json::from_str(text).ok()?;
        if last.get("apiVersion").and_then(Value::as_str) != Some(self.writer.api_version) {
            return None;
        }
        self.type_.check(&last, Duplicates::Refused).ok()?;
        let changes = self.type_.compare(&last, self.live);
        let fields = self.type_.field_set(&last);
        Some(
            fields
                .difference(&changes.modified)
                .difference(&changes.added)
                .difference(&changes.removed),
        )
    }
}

fn list(found: &BTreeMap<ManagerId, Set>) -> Conflicts {
    let of = |(manager, set): (&ManagerId, &Set)| {
        let manager = manager.clone();
        set.paths().into_iter().map(move |path| Conflict {
            manager: manager.clone(),
            path,
        })
    };
    Conflicts(found.iter().flat_map(of).collect())
}

fn last_applied(object: &Value) -> Option<&str> {
    object
        .get("metadata")?
        .get("annotations")?
        .get(LAST_APPLIED)?
        .as_str()
        .filter(|text| !text.is_empty())
}

/// Writes the configuration into the annotation of `kubectl apply`, if the object has one.
fn sync_last_applied(object: &mut Value, config: &Value) {
    if last_applied(object).is_none() {
        return;
    }
    let mut config = config.clone();
    if let Some(annotations) = config.pointer_mut("/metadata/annotations")
        && let Some(map) = annotations.as_object_mut()
    {
        map.remove(LAST_APPLIED);
    }
    let text = format!("{config}\n");
    let Some(Value::Object(annotations)) = object.pointer_mut("/metadata/annotations") else {
        return;
    };
    annotations.insert(LAST_APPLIED.into(), text.into());
    let size: usize = annotations
        .iter()
        .map(|(key, value)| key.len() + value.as_str().map_or(0, str::len))
        .sum();
    if size > MAX_ANNOTATIONS {
        annotations.remove(LAST_APPLIED);
    }
}
