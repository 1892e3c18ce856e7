//! Whether attempts are being made.

use std::time::Duration;

/// Somebody waits for the lease or holds it, but no attempt at it is made; see
/// [`LeaderElection::health`](crate::LeaderElection::health).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no attempt at the lease {lease} for {since:?}")]
#[non_exhaustive]
pub struct Stalled {
    /// The lease, as `namespace/name`.
    pub lease: String,
    /// How long ago the last attempt began.
    pub since: Duration,
}
