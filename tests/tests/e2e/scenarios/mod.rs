//! The scenarios, by subject.

pub(crate) mod events;
pub(crate) mod failures;
pub(crate) mod finalizers;
pub(crate) mod nonsense;
pub(crate) mod running;
pub(crate) mod sites;
pub(crate) mod stopping;
