//! What scenarios stand on: a cluster, faults, logs, kinds and scripted controllers.

pub(crate) mod cluster;
pub(crate) mod faults;
pub(crate) mod kinds;
pub(crate) mod logs;
pub(crate) mod records;
pub(crate) mod script;
mod setup;
pub(crate) mod trial;

pub(crate) use self::cluster::{Cluster, Running};
pub(crate) use self::faults::Fault;
pub(crate) use self::kinds::{Gadget, Realm, Widget};
pub(crate) use self::records::Records;
pub(crate) use self::script::{AppError, Mine, Other, Script, Undomained, Without};
