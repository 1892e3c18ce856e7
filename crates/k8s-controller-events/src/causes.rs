//! The series of one group.

use std::collections::HashSet;

use crate::key::{BuildDigestHasher, Digest};

/// What the events of an object are about. As a rule that is one thing, which then takes no
/// memory of its own.
#[derive(Debug, Default)]
pub(crate) enum Causes {
    #[default]
    None,
    One(Digest),
    Many(HashSet<Digest, BuildDigestHasher>),
}

impl Causes {
    pub(crate) fn insert(&mut self, cause: Digest) {
        match self {
            Self::None => *self = Self::One(cause),
            Self::One(one) if *one == cause => {}
            Self::One(one) => *self = Self::Many([*one, cause].into_iter().collect()),
            Self::Many(many) => {
                many.insert(cause);
            }
        }
    }

    pub(crate) fn remove(&mut self, cause: Digest) {
        match self {
            Self::One(one) if *one == cause => *self = Self::None,
            Self::None | Self::One(_) => {}
            Self::Many(many) => {
                many.remove(&cause);
                if many.is_empty() {
                    *self = Self::None;
                }
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::None)
    }

    pub(crate) fn into_vec(self) -> Vec<Digest> {
        match self {
            Self::None => Vec::new(),
            Self::One(one) => vec![one],
            Self::Many(many) => many.into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ObjectReference;
    use proptest::prelude::*;

    use super::*;
    use crate::key::Digester;
    use crate::{Event, EventType, Scope};

    proptest! {
        #[test]
        fn it_is_a_set(steps in prop::collection::vec((any::<bool>(), 0..4_usize), 0..40)) {
            let digester = Digester::default();
            let digests = ["a", "b", "c", "d"].map(|reason| {
                let event = Event {
                    type_: EventType::Normal,
                    reason: reason.into(),
                    action: "A".into(),
                    note: None,
                    related: None,
                };
                digester.series(&ObjectReference::default(), Scope::Ordinary, &event).cause
            });
            let mut causes = Causes::default();
            let mut model = std::collections::BTreeSet::new();
            for (insert, which) in steps {
                if insert {
                    causes.insert(digests[which]);
                    model.insert(which);
                } else {
                    causes.remove(digests[which]);
                    model.remove(&which);
                }
                prop_assert_eq!(causes.is_empty(), model.is_empty());
            }
            let left = causes.into_vec();
            prop_assert_eq!(left.len(), model.len());
            prop_assert!(model.iter().all(|which| left.contains(&digests[*which])));
        }
    }
}
