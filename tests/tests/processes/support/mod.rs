//! What the scenarios are told with.

pub(crate) mod admin;
pub(crate) mod audit;
pub(crate) mod cluster;
pub(crate) mod given;
pub(crate) mod load;
pub(crate) mod operator;
pub(crate) mod pair;
pub(crate) mod proxy;
pub(crate) mod wait;
pub(crate) mod website;
