//! A simulation of candidates that share one lease, in virtual time, from a seed.
//!
//! Three processes, each with a clock of its own rate and a wall clock of its own idea, reach a
//! server over links that delay, lose and cut. Processes are stopped and go on, die and come back,
//! get a namesake, and a hand edits or deletes the lease. The code under test is all of this crate but the kube
//! client; leaders write through [`FenceService`](crate::FenceService).
#![allow(clippy::unwrap_used)]

mod candidate;
mod link;
mod memory;
mod process;
mod run;
mod tests;
mod world;

pub(crate) use self::process::Process;
