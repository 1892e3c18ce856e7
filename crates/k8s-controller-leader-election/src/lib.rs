//! Leader election by a Kubernetes Lease, and a client that is fenced by it.
//!
//! Of several replicas of a program, one at a time is to do the work. [`LeaderElection`] waits until
//! this one may, runs the work while it renews the lease, drops the work when the lease is lost, and
//! releases the lease when the work is done. It speaks client-go's protocol on
//! `coordination.k8s.io/v1`, so that candidates written in Go and in Rust can share a lease.
//!
//! That alone does not keep a stalled leader from writing once more: a process that was stopped, a
//! thread that was blocked, a task that outlived the lease. [`Fence::client`] makes a client that
//! does.
//!
//! # Example
//!
//! The embedded server stands in for a cluster here; a program would take its client from
//! `kube::Client::try_default()`.
//!
//! ```
//! use std::time::Duration;
//!
//! use k8s_controller_error::is_not_leading;
//! use k8s_controller_leader_election::LeaderElection;
//! use k8s_embedded_apiserver::EmbeddedApiServer;
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::api::{Api, PostParams};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let client = kube::Client::new(EmbeddedApiServer::new(), "default");
//! let identity = std::env::var("POD_NAME").unwrap_or("website-0".into());
//! let election = LeaderElection::try_new(client.clone(), "default", "website", &identity)?;
//!
//! let outlives = election
//!     .with_fenced_lease(|fence| async move {
//!         // What is to be written by the leader alone.
//!         let maps: Api<ConfigMap> = Api::default_namespaced(fence.client(&client));
//!         let mut map = ConfigMap::default();
//!         map.metadata.name = Some("written-by-the-leader".into());
//!         maps.create(&PostParams::default(), &map).await?;
//!         Ok::<_, kube::Error>(maps)
//!     })
//!     .await
//!     .ok_or("the lease was lost")??;
//!
//! // The lease is released; its fence refuses for ever.
//! let mut map = ConfigMap::default();
//! map.metadata.name = Some("ghost".into());
//! let refused = outlives.create(&PostParams::default(), &map).await.unwrap_err();
//! assert!(is_not_leading(&refused));
//! # Ok(())
//! # }
//! ```
//!
//! # Permissions
//!
//! In a Role of the namespace of the lease. Without it, an error is logged that names the rule.
//!
//! ```yaml
//! - apiGroups: ["coordination.k8s.io"]
//!   resources: ["leases"]
//!   verbs: ["get", "create", "update"]
//! ```
//!
//! # What is guaranteed
//!
//! | | |
//! |---|---|
//! | One leader | No two candidates of this crate hold the lease at once, whatever the network, the server and the wall clocks do, if no clock runs faster than another by more than `lease_duration / renew_deadline` (1.5 by default) |
//! | Loss | Work is dropped, and writes are refused, `renew_deadline` after the last good renewal was **sent** at the latest; others may lead after `lease_duration` |
//! | Takeover | After the death of the leader within `lease_duration` and two `retry_period`s; after a release within two `retry_period`s |
//! | Lost answers | A write whose answer was lost is recognised if it succeeded, and counts only from the next one on whose success is known |
//! | Ghosts | Nothing passes a [`Fence`] after its tenure; it is asked again when the connection takes the body ([`FenceLayer`]) |
//! | Bounded waits | A request takes at most half a `renew_deadline`, also where the client would retry for minutes |
//! | Equal identities | Two processes of one identity do not lead at once, as long as neither calls [`release`](LeaderElection::release); nor do clones |
//!
//! A lease that was edited or deleted by hand is put right by its holder, unless another holder was
//! written into it: then the lease is lost at once. Candidates that have seen the lease before wait
//! until its holder must have given up; one that starts just then, and never saw the lease, takes
//! what is absent, empty, or says a short duration, at its word. A hand that writes what looks like
//! a release, with both times changed, is believed too.
//!
//! All times are measured with tokio's clock, so that tests run in paused time. What the lease says
//! for people to read, `acquireTime` and `renewTime`, is never compared with a clock.
//!
//! # Differences from client-go
//!
//! - Another candidate's lease expires by the duration that it says, not by one's own.
//! - The deadline counts from when a renewal was sent, not from when it was answered.
//! - Between attempts there are at most 1.2 retry periods, not 2.2, and a candidate wakes up when
//!   the lease expires.
//! - A lease that is held under one's own identity, but was not written by this process, is waited
//!   for like any other. An earlier process of that name may have died without a release.
//!
//! # What it does not do
//!
//! - **The machine is suspended**: tokio's clock stands still meanwhile, so that a leader on a
//!   suspended machine believes in its lease when it wakes up. A process that is stopped, or a
//!   container that is frozen, is no such case: the clock goes on.
//! - **Requests under way**: what the connection has taken is sent. It may reach the server late, as
//!   long as the kernel tries to deliver it. Replace and patch with a `resourceVersion` where that
//!   matters.
//! - A fence refuses requests by method. `exec`, `attach` and `port-forward` are GETs and pass.
//! - A runtime with a single thread does not renew while the work blocks that thread.
//! - It does not prefer a candidate (`strategy` and `preferredHolder` are left alone), and publishes
//!   no events about leaders.

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
