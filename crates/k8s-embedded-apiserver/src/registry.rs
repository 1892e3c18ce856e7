//! The kinds that are served: the built-in ones, and those of the CustomResourceDefinitions.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::builtin::builtin;
use crate::kinds::Kind;

/// Kinds by where they are served.
#[derive(Debug)]
pub(crate) struct Registry {
    builtin: Vec<Arc<Kind>>,
    /// By the name of the definition, one entry per served version.
    custom: BTreeMap<String, Vec<Arc<Kind>>>,
    /// Sorted by group, version and plural.
    by_path: Vec<Arc<Kind>>,
}

fn path(kind: &Kind) -> (&str, &str, &str) {
    (&kind.group, &kind.version, &kind.plural)
}

impl Registry {
    pub(crate) fn new() -> Self {
        let builtin: Vec<Arc<Kind>> = builtin().into_iter().map(Arc::new).collect();
        let mut registry = Self {
            builtin,
            custom: BTreeMap::new(),
            by_path: Vec::new(),
        };
        registry.index();
        registry
    }

    fn index(&mut self) {
        // Of two with the same path the last one counts.
        let by_path: BTreeMap<_, _> = self.kinds().map(|kind| (path(kind), kind)).collect();
        self.by_path = by_path.into_values().cloned().collect();
    }

    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Kind>> {
        let found = self
            .by_path
            .binary_search_by(|kind| path(kind).cmp(&(group, version, plural)));
        found.ok().map(|at| self.by_path[at].clone())
    }

    /// The kind of an owner reference, in whichever version is served.
    pub(crate) fn by_kind(&self, api_version: &str, kind: &str) -> Option<Arc<Kind>> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        self.kinds()
            .find(|found| found.group == group && found.kind == kind)
            .cloned()
    }

    /// The kind in the version that the objects of a collection are stored in.
    pub(crate) fn stored_in(&self, storage: &str) -> Option<&Arc<Kind>> {
        self.kinds().find(|kind| {
            let stored = |version: &str| kind.version == version;
            kind.storage == storage
                && !kind.is_view
                && kind
                    .custom
                    .as_ref()
                    .is_none_or(|custom| stored(&custom.storage_version))
        })
    }

    /// Every kind: the built-in ones first.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.builtin.iter().chain(self.custom.values().flatten())
    }

    /// Whether an unknown resource of the group and version is answered as a JSON `Status`.
    pub(crate) fn is_builtin(&self, group: &str) -> bool {
        self.builtin.iter().any(|kind| kind.group == group)
    }

    /// Whether a resource is built in, in whichever version.
    pub(crate) fn is_builtin_resource(&self, group: &str, plural: &str) -> bool {
        self.builtin
            .iter()
            .any(|kind| kind.group == group && kind.plural == plural)
    }

    /// What a definition serves.
    pub(crate) fn served(&self, definition: &str) -> &[Arc<Kind>] {
        self.custom.get(definition).map_or(&[], Vec::as_slice)
    }

    /// Serves what a definition says; replaces what it said before.
    pub(crate) fn serve(&mut self, definition: &Value, kinds: Vec<Kind>) {
        let name = crate::metadata::name(definition).to_owned();
        self.custom
            .insert(name, kinds.into_iter().map(Arc::new).collect());
        self.index();
    }

    /// Serves nothing of a definition any more.
    pub(crate) fn withdraw(&mut self, definition: &str) {
        if self.custom.remove(definition).is_some() {
            self.index();
        }
    }
}
