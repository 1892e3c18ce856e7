//! The scenarios, by subject.

pub(crate) mod conditions;
pub(crate) mod conflicts;
pub(crate) mod counting;
pub(crate) mod events;
pub(crate) mod failures;
pub(crate) mod finalizers;
pub(crate) mod leading;
pub(crate) mod nonsense;
pub(crate) mod objects;
pub(crate) mod observing;
pub(crate) mod refusals;
pub(crate) mod running;
pub(crate) mod series;
pub(crate) mod sites;
pub(crate) mod stopping;
pub(crate) mod timeouts;
pub(crate) mod watching;
pub(crate) mod writers;
