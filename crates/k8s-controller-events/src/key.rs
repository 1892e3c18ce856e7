//! What tells one series from another.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;

use crate::{Event, EventType, Scope};

/// The series of one object in one scope, which are forgotten together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GroupKey {
    object: ObjectKey,
    scope: Scope,
}

impl GroupKey {
    pub(crate) fn new(reference: &ObjectReference, scope: Scope) -> Self {
        Self {
            object: ObjectKey::new(reference),
            scope,
        }
    }
}

/// An object: its uid, or what else is known of one that has none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum ObjectKey {
    Uid(Arc<str>),
    /// API version, kind, namespace and name.
    Named(Arc<[Option<String>; 4]>),
}

impl ObjectKey {
    fn new(reference: &ObjectReference) -> Self {
        match reference.uid.as_deref() {
            Some(uid) if !uid.is_empty() => Self::Uid(uid.into()),
            _ => Self::Named(Arc::new([
                reference.api_version.clone(),
                reference.kind.clone(),
                reference.namespace.clone(),
                reference.name.clone(),
            ])),
        }
    }
}

/// What is the same in all events of a series and names it within its group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Cause {
    reason: Arc<str>,
    action: Arc<str>,
}

/// A series.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SeriesKey {
    pub(crate) group: GroupKey,
    pub(crate) cause: Cause,
}

impl SeriesKey {
    pub(crate) fn new(reference: &ObjectReference, scope: Scope, event: &Event) -> Self {
        Self {
            group: GroupKey::new(reference, scope),
            cause: Cause {
                reason: event.reason.as_str().into(),
                action: event.action.as_str().into(),
            },
        }
    }
}

/// Stands for everything in an event that must be equal in a repeat, in 16 bytes rather than the
/// kilobyte or more of the event itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint([u64; 2]);

/// Makes fingerprints. The two hashes have keys of their own that nobody outside knows, so that
/// neither chance nor intent makes two different events look equal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fingerprinter([RandomState; 2]);

impl Fingerprinter {
    /// The fingerprint of an event with the note as it is sent. The resource version of the object
    /// is left out: the object changes between repeats, as a rule.
    pub(crate) fn of(
        &self,
        reference: &ObjectReference,
        event: &Event,
        note: Option<&str>,
    ) -> Fingerprint {
        Fingerprint(self.0.each_ref().map(|state| {
            let mut hasher = state.build_hasher();
            matches!(event.type_, EventType::Warning).hash(&mut hasher);
            (&event.reason, &event.action, note).hash(&mut hasher);
            hash_reference(reference, &mut hasher);
            if let Some(related) = &event.related {
                hash_reference(related, &mut hasher);
                related.resource_version.hash(&mut hasher);
            }
            hasher.finish()
        }))
    }
}

fn hash_reference(reference: &ObjectReference, hasher: &mut impl Hasher) {
    let ObjectReference {
        api_version,
        field_path,
        kind,
        name,
        namespace,
        resource_version: _,
        uid,
    } = reference;
    (api_version, field_path, kind, name, namespace, uid).hash(hasher);
}
