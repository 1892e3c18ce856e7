//! What tells one series from another.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};

use k8s_openapi::api::core::v1::ObjectReference;

use crate::{Event, EventType, Scope};

/// Stands for a value in 16 bytes, where the value itself may have a kilobyte or more: two hashes
/// with keys of their own that nobody outside knows, so that neither chance nor intent makes two
/// different values look equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digest([u64; 2]);

impl Hash for Digest {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0[0]);
    }
}

/// The series of one object in one scope, which are forgotten together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GroupKey(Digest);

/// A series: what is the same in all its events, and tells it from the others of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SeriesKey {
    pub(crate) group: GroupKey,
    /// Of reason and action.
    pub(crate) cause: Digest,
}

/// Everything in an event that must be equal in a repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint(Digest);

/// Makes digests, which mean something to the same digester alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Digester([RandomState; 2]);

impl Digester {
    /// An object is its uid, or what else is known of one that has none.
    pub(crate) fn group(&self, reference: &ObjectReference, scope: Scope) -> GroupKey {
        GroupKey(self.digest(|mut hasher| {
            scope.hash(&mut hasher);
            match reference.uid.as_deref() {
                Some(uid) if !uid.is_empty() => uid.hash(&mut hasher),
                _ => (
                    &reference.api_version,
                    &reference.kind,
                    &reference.namespace,
                    &reference.name,
                )
                    .hash(&mut hasher),
            }
            hasher.finish()
        }))
    }

    pub(crate) fn series(
        &self,
        reference: &ObjectReference,
        scope: Scope,
        event: &Event,
    ) -> SeriesKey {
        SeriesKey {
            group: self.group(reference, scope),
            cause: self.digest(|mut hasher| {
                (&event.reason, &event.action).hash(&mut hasher);
                hasher.finish()
            }),
        }
    }

    /// The fingerprint of an event with the note as it is sent. The resource version of the object
    /// is left out: the object changes between repeats, as a rule.
    pub(crate) fn fingerprint(
        &self,
        reference: &ObjectReference,
        event: &Event,
        note: Option<&str>,
    ) -> Fingerprint {
        Fingerprint(self.digest(|mut hasher| {
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

    fn digest(&self, hash: impl Fn(<RandomState as BuildHasher>::Hasher) -> u64) -> Digest {
        Digest(self.0.each_ref().map(|state| hash(state.build_hasher())))
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

/// For maps by digests, which need no more hashing.
pub(crate) type BuildDigestHasher = BuildHasherDefault<DigestHasher>;

#[derive(Debug, Default)]
pub(crate) struct DigestHasher(u64);

impl Hasher for DigestHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, part: u64) {
        self.0 = self.0.rotate_left(32) ^ part;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
