//! The scenarios, by subject.

pub(crate) mod admin;
pub(crate) mod deploying;
pub(crate) mod failover;
pub(crate) mod paused;
pub(crate) mod server;
pub(crate) mod signals;
pub(crate) mod starting;
