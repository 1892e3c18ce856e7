//! The election.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::Client;

use crate::candidate::Claim;
use crate::environment::Environment;
use crate::leases::{KubeLeases, Leases};
use crate::shared::Shared;
use crate::tenure::Tenure;
use crate::timings::positive;
use crate::{ConfigError, Fence, Stalled, Timings, config};

/// Lets one candidate at a time do some work, by a Lease.
///
/// Clones are one candidate: they share what they know of the lease, and at most one of them waits
/// for it or holds it at a time; the others wait for their turn.
///
/// It has to be used on a tokio runtime with time enabled.
#[derive(Clone)]
pub struct LeaderElection {
    /// `namespace/name`.
    pub(crate) lease: Arc<str>,
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) identity: Arc<str>,
    pub(crate) timings: Timings,
    pub(crate) leases: Arc<dyn Leases>,
    pub(crate) environment: Environment,
    pub(crate) shared: Arc<Shared>,
}

impl LeaderElection {
    /// A candidate for the lease `lease_name` in `namespace`, called `identity`.
    ///
    /// No two processes may have the same identity. The name of the Pod is a good one; a
    /// hostname with a random suffix another.
    ///
    /// # Panics
    ///
    /// Where [`try_new`](Self::try_new) gives an error.
    #[must_use]
    pub fn new(client: Client, namespace: &str, lease_name: &str, identity: &str) -> Self {
        match Self::try_new(client, namespace, lease_name, identity) {
            Ok(election) => election,
            Err(error) => panic!("{error}"),
        }
    }

    /// The same, for names that come from a user.
    ///
    /// # Errors
    ///
    /// If the namespace is no DNS label, the lease name no DNS subdomain, or the identity empty,
    /// longer than [`MAX_IDENTITY_BYTES`](crate::MAX_IDENTITY_BYTES), or no printable text.
    pub fn try_new(
        client: Client,
        namespace: &str,
        lease_name: &str,
        identity: &str,
    ) -> Result<Self, ConfigError> {
        config::namespace(namespace)?;
        config::lease_name(lease_name)?;
        config::identity(identity)?;
        let leases = KubeLeases::new(client, namespace, lease_name);
        Ok(Self::over(
            Arc::new(leases),
            namespace,
            lease_name,
            identity,
        ))
    }

    pub(crate) fn over(
        leases: Arc<dyn Leases>,
        namespace: &str,
        lease_name: &str,
        identity: &str,
    ) -> Self {
        Self {
            lease: format!("{namespace}/{lease_name}").into(),
            namespace: namespace.into(),
            name: lease_name.into(),
            identity: identity.into(),
            timings: Timings::default(),
            leases,
            environment: Environment::system(),
            shared: Arc::default(),
        }
    }

    /// Sets how long others wait before they take a lease that is not renewed: 15 s if not set.
    /// A lease says it in whole seconds, so that a fraction is rounded up.
    ///
    /// Whether the timings are consistent is checked when the lease is first asked for, so that
    /// the order of these methods does not matter.
    ///
    /// # Panics
    ///
    /// If it is zero.
    #[must_use]
    pub fn with_lease_duration(mut self, lease_duration: Duration) -> Self {
        require(positive("lease_duration", lease_duration));
        self.timings.lease_duration = lease_duration;
        self.timings = self.timings.rounded();
        self
    }

    /// Sets how long after the last good renewal was sent the lease counts as lost: 10 s if not
    /// set.
    ///
    /// # Panics
    ///
    /// If it is zero.
    #[must_use]
    pub fn with_renew_deadline(mut self, renew_deadline: Duration) -> Self {
        require(positive("renew_deadline", renew_deadline));
        self.timings.renew_deadline = renew_deadline;
        self
    }

    /// Sets how long to wait between two attempts, up to [`JITTER_FACTOR`](crate::JITTER_FACTOR)
    /// times as long: 2 s if not set.
    ///
    /// # Panics
    ///
    /// If it is zero.
    #[must_use]
    pub fn with_retry_period(mut self, retry_period: Duration) -> Self {
        require(positive("retry_period", retry_period));
        self.timings.retry_period = retry_period;
        self
    }

    /// Sets all three, for timings that come from a user.
    ///
    /// # Errors
    ///
    /// If they are not consistent; see [`Timings`].
    pub fn with_timings(mut self, timings: Timings) -> Result<Self, ConfigError> {
        timings.check()?;
        self.timings = timings.rounded();
        Ok(self)
    }

    /// Sets where the times in the lease come from; the system's clock if not set. They are for
    /// people to read: all waiting uses tokio's clock.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.environment.set_clock(clock);
        self
    }

    /// Makes the jitter a function of `seed`, for tests and simulations that have to come out the
    /// same each time.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.environment.set_seed(seed);
        self
    }

    /// The namespace of the lease.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The name of the lease.
    #[must_use]
    pub fn lease_name(&self) -> &str {
        &self.name
    }

    /// What this candidate is called in the lease.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// How long others wait before they take a lease that is not renewed; whole seconds.
    #[must_use]
    pub fn lease_duration(&self) -> Duration {
        self.timings.lease_duration
    }

    /// How long after the last good renewal was sent the lease counts as lost.
    #[must_use]
    pub fn renew_deadline(&self) -> Duration {
        self.timings.renew_deadline
    }

    /// How long to wait between two attempts, without the jitter.
    #[must_use]
    pub fn retry_period(&self) -> Duration {
        self.timings.retry_period
    }

    /// All three durations; [`Timings::check`] tells whether they are consistent.
    #[must_use]
    pub fn timings(&self) -> Timings {
        self.timings
    }

    /// Waits for the lease, then runs `future` while renewing it.
    ///
    /// Returns what `future` returned, after the lease was released; or `None` if the lease was
    /// lost, after `future` was dropped where it stood. An attempt that fails is logged and made
    /// again: without a server, or without the permission, it waits for ever.
    ///
    /// `future` is polled by the caller, and the lease renewed by a task of its own. A `future`
    /// that blocks its thread is only noticed to have to end when it yields; what it writes in the
    /// meantime is refused if it writes through the fence of
    /// [`with_fenced_lease`](Self::with_fenced_lease).
    ///
    /// When the future that this returns is dropped, `future` is dropped, nothing more is renewed,
    /// and nothing more passes the fence; but the lease is **not** released, since that takes a
    /// request that somebody has to await. Others then wait for its expiry. Call
    /// [`withdraw`](Self::withdraw) to spare them that.
    ///
    /// # Panics
    ///
    /// If the [timings](Timings) are not consistent.
    pub async fn with_lease<F: Future>(&self, future: F) -> Option<F::Output> {
        self.with_fenced_lease(|_| future).await
    }

    /// As [`with_lease`](Self::with_lease), and hands over the [`Fence`] of this tenure.
    ///
    /// # Panics
    ///
    /// If the [timings](Timings) are not consistent.
    pub async fn with_fenced_lease<F, Fut>(&self, lead: F) -> Option<Fut::Output>
    where
        F: FnOnce(Fence) -> Fut,
        Fut: Future,
    {
        require(self.timings.check());
        let _order = self.shared.turn.lock().await;
        let _turn = self.shared.pulse.begin(self.environment.now());
        let fence = self.acquire().await;
        let mut tenure = Tenure::begin(self, fence.clone());
        let output = tenure.run(lead(fence)).await;
        tenure.end().await;
        output
    }

    /// Leaves the lease to others, if an attempt of this candidate took it whose future was
    /// dropped.
    ///
    /// Nothing happens while a clone waits for the lease or leads, or if another process took it,
    /// also under the same identity. A failure is logged; it is tried again for half of the renew
    /// deadline, and then left to expire.
    ///
    /// # Panics
    ///
    /// If the [timings](Timings) are not consistent.
    pub async fn withdraw(&self) {
        require(self.timings.check());
        if let Ok(_order) = self.shared.turn.try_lock() {
            self.leave(Claim::Written).await;
        }
    }

    /// Leaves the lease to others, if it is held under the identity of this candidate, by
    /// whichever process: see [`withdraw`](Self::withdraw) for what is certainly one's own.
    ///
    /// A clone whose work runs under the lease loses it first: its fence is closed, its work
    /// dropped, and it returns `None`. A failure is logged; it is tried again for half of the
    /// renew deadline, and then left to expire.
    ///
    /// # Panics
    ///
    /// If the [timings](Timings) are not consistent.
    pub async fn release(&self) {
        require(self.timings.check());
        self.leave(Claim::Identity).await;
    }

    pub(crate) async fn leave(&self, claim: Claim) {
        self.shared.close_fence();
        let mut candidate = self.shared.candidate.lock().await;
        // Again: the attempt that this waited for may have taken the lease.
        self.shared.close_fence();
        self.give_up(&mut candidate, claim).await;
    }

    /// Whether the lease is certainly held right now, by this or a clone.
    #[must_use]
    pub fn is_leading(&self) -> bool {
        self.shared.is_leading()
    }

    /// Whether attempts at the lease are being made, for a liveness probe.
    ///
    /// It is `Ok` while nobody waits for the lease or holds it, and also while attempts fail: a
    /// restart does not help against a server that is away.
    ///
    /// # Errors
    ///
    /// If this or a clone waits for the lease or holds it, but began no attempt for a lease
    /// duration and a renew deadline: because the future of [`with_lease`](Self::with_lease) is
    /// not polled, the task that renews has died, or the runtime is blocked.
    pub fn health(&self) -> Result<(), Stalled> {
        let Timings {
            lease_duration,
            renew_deadline,
            ..
        } = self.timings;
        let limit = lease_duration.saturating_add(renew_deadline);
        match self.shared.pulse.age(self.environment.now()) {
            Some(age) if age > limit => Err(Stalled {
                lease: self.lease.to_string(),
                since: age,
            }),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for LeaderElection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaderElection")
            .field("lease", &self.lease)
            .field("identity", &self.identity)
            .field("timings", &self.timings)
            .field("is_leading", &self.is_leading())
            .finish_non_exhaustive()
    }
}

fn require(result: Result<(), ConfigError>) {
    if let Err(error) = result {
        panic!("{error}");
    }
}
