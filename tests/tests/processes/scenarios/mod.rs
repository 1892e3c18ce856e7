//! The scenarios, by subject.

pub(crate) mod admin;
pub(crate) mod failover;
pub(crate) mod paused;
pub(crate) mod server;
pub(crate) mod signals;
