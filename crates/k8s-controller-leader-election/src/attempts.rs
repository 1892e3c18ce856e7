//! Attempts at the lease, one after the other.

use tokio::time::Instant;
use tracing::{debug, info, warn};

use crate::candidate::{Bid, Candidate, Claim, Released, Renewed, Taken};
use crate::failure::Failure;
use crate::{Fence, LeaderElection};

impl LeaderElection {
    /// Tries until the lease is certainly held.
    pub(crate) async fn acquire(&self) -> Fence {
        info!(lease = %self.lease, identity = %self.identity, "waiting for the lease");
        let mut last_holder = None;
        loop {
            self.shared.pulse.beat(self.environment.now());
            let mut candidate = self.shared.candidate.lock().await;
            let taken = candidate.acquire(&self.bid(None)).await;
            let mut next =
                self.environment.now() + self.environment.jittered(self.timings.retry_period);
            match taken {
                Ok(Taken::Held { since, transitions }) => {
                    if let Some(fence) = self.open(since) {
                        let lease = fence.lease();
                        info!(lease, identity = %self.identity, transitions, "lease acquired");
                        return fence;
                    }
                }
                Ok(Taken::NotYet { free_at, holder }) => {
                    next = next.min(free_at);
                    if last_holder.as_ref() != Some(&holder) {
                        self.tell(holder.as_deref(), free_at);
                        last_holder = Some(holder);
                    }
                }
                Err(failure) => self.complain(&mut candidate, &failure),
            }
            drop(candidate);
            self.environment.sleep_until(next).await;
        }
    }

    /// Renews the lease once. `None` if that failed, but the lease need not be lost yet.
    pub(crate) async fn renew(&self, deadline: Instant) -> Option<Renewed> {
        self.shared.pulse.beat(self.environment.now());
        let mut candidate = self.shared.candidate.lock().await;
        match candidate.renew(&self.bid(Some(deadline))).await {
            Ok(renewed) => Some(renewed),
            Err(failure) => {
                self.complain(&mut candidate, &failure);
                None
            }
        }
    }

    /// Releases the lease; no fence may be open.
    pub(crate) async fn give_up(&self, candidate: &mut Candidate, claim: Claim) {
        let until = self.environment.now() + self.timings.request_timeout();
        loop {
            match candidate.release(&self.bid(Some(until)), claim).await {
                Ok(Released::Released) => {
                    info!(lease = %self.lease, identity = %self.identity, "lease released");
                    return;
                }
                Ok(Released::NotHeld) => {
                    debug!(lease = %self.lease, "lease not released: it is not held");
                    return;
                }
                Err(failure) => self.complain(candidate, &failure),
            }
            // Far shorter than the wait of others for the expiry.
            let next = self.environment.now() + self.timings.retry_period / 4;
            if next >= until {
                warn!(lease = %self.lease, identity = %self.identity, "lease not released, others wait for its expiry");
                return;
            }
            self.environment.sleep_until(next).await;
        }
    }

    /// The fence of a new tenure, unless the answer came too late for one.
    fn open(&self, since: Instant) -> Option<Fence> {
        let deadline = since + self.timings.renew_deadline;
        let fence = Fence::open(self.lease.clone(), deadline, self.environment.clone());
        let fence = Some(fence).filter(Fence::is_held)?;
        self.shared.set_fence(fence.clone());
        Some(fence)
    }

    fn bid(&self, until: Option<Instant>) -> Bid<'_> {
        Bid {
            namespace: &self.namespace,
            name: &self.name,
            identity: &self.identity,
            lease_duration: self.timings.lease_duration,
            lease_duration_seconds: self.timings.lease_duration_seconds(),
            leases: &*self.leases,
            environment: &self.environment,
            request_timeout: self.timings.request_timeout(),
            until,
        }
    }

    fn tell(&self, holder: Option<&str>, free_at: Instant) {
        let free_in = free_at.saturating_duration_since(self.environment.now());
        let lease = &*self.lease;
        match holder {
            Some(holder) if holder == &*self.identity => warn!(
                lease,
                holder,
                ?free_in,
                "the lease is held under the identity of this process, but by an earlier or another one"
            ),
            Some(holder) => info!(lease, holder, ?free_in, "the lease is held by another"),
            None => info!(
                lease,
                ?free_in,
                "the lease is held by nobody, but was not released"
            ),
        }
    }

    fn complain(&self, candidate: &mut Candidate, failure: &Failure) {
        if failure.is_lost_race() {
            debug!(lease = %self.lease, "somebody else wrote the lease first");
            return;
        }
        let now = self.environment.now();
        candidate
            .complaints
            .log(failure, &self.namespace, &self.lease, now);
    }
}
