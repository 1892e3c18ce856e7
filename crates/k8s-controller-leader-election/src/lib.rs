//! Leader election by a Kubernetes Lease, and a client that is fenced by it.

mod attempts;
mod candidate;
mod config;
mod election;
mod environment;
mod failure;
mod fence;
mod health;
mod leases;
mod outlook;
mod record;
mod shared;
#[cfg(test)]
mod simulation;
mod tenure;
mod timings;

pub use config::{ConfigError, MAX_IDENTITY_BYTES};
pub use election::LeaderElection;
pub use fence::{Fence, FenceLayer, FenceService};
pub use health::Stalled;
pub use timings::{
    DEFAULT_LEASE_DURATION, DEFAULT_RENEW_DEADLINE, DEFAULT_RETRY_PERIOD, JITTER_FACTOR,
    MAX_LEASE_DURATION, Timings,
};
