//! Whether the lease is certainly held, and a client that asks before each write.

mod body;
mod layer;

use std::fmt;
use std::sync::Arc;

use k8s_controller_error::NotLeading;
use kube::Client;
use tokio::sync::watch;
use tokio::time::Instant;
use tower::Layer as _;

pub use self::layer::{FenceLayer, FenceService};
use crate::environment::Environment;

/// Tells whether the lease is certainly held, for one tenure of it.
///
/// A fence opens when the lease is taken. It is held until
/// [`renew_deadline`](crate::Timings::renew_deadline) after the last good renewal was sent, and no
/// longer than [`with_fenced_lease`](crate::LeaderElection::with_fenced_lease) runs. Once it is no
/// longer held it never is again, also if the same process takes the lease another time: that
/// tenure has a fence of its own. So what outlives its tenure (a spawned task, a thread that was
/// blocked, a process that was stopped) cannot write as a leader that it no longer is.
#[derive(Clone)]
pub struct Fence {
    lease: Arc<str>,
    /// Until when it is held; nothing once it is closed.
    deadline: Arc<watch::Sender<Option<Instant>>>,
    environment: Environment,
}

impl Fence {
    pub(crate) fn open(lease: Arc<str>, deadline: Instant, environment: Environment) -> Self {
        Self {
            lease,
            deadline: Arc::new(watch::Sender::new(Some(deadline))),
            environment,
        }
    }

    /// Whether the lease is certainly held right now.
    #[must_use]
    pub fn is_held(&self) -> bool {
        let now = self.environment.now();
        self.deadline().is_some_and(|deadline| now < deadline)
    }

    /// The lease, as `namespace/name`.
    #[must_use]
    pub fn lease(&self) -> &str {
        &self.lease
    }

    /// A client that reads as `client` does, and refuses to write once the lease is no longer
    /// certainly held.
    ///
    /// Its POST, PUT, PATCH and DELETE requests then fail as a [`kube::Error::Service`] whose cause
    /// is a [`NotLeading`]; see [`is_not_leading`](k8s_controller_error::is_not_leading). See
    /// [`FenceLayer`] for when that is checked.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime, as [`Client::new`].
    #[must_use]
    pub fn client(&self, client: &Client) -> Client {
        let inner = client.clone();
        let send = tower::service_fn(move |request| {
            let inner = inner.clone();
            async move { inner.send(request).await }
        });
        Client::new(self.layer().layer(send), client.default_namespace())
            .with_valid_until(*client.valid_until())
    }

    /// The layer that [`client`](Self::client) puts around a client, for a stack of one's own.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime, as [`Client::new`].
    #[must_use]
    pub fn layer(&self) -> FenceLayer {
        FenceLayer::new(self.clone())
    }

    /// # Errors
    ///
    /// If the lease is not certainly held.
    pub(crate) fn check(&self) -> Result<(), NotLeading> {
        if self.is_held() {
            return Ok(());
        }
        Err(self.refusal())
    }

    pub(crate) fn refusal(&self) -> NotLeading {
        NotLeading::new(&*self.lease)
    }

    /// Until when it is held, if it is not closed.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        *self.deadline.borrow()
    }

    /// Holds it until then, unless it is not held any longer. Returns whether it is.
    pub(crate) fn extend(&self, until: Instant) -> bool {
        let now = self.environment.now();
        self.deadline.send_if_modified(|deadline| match deadline {
            Some(held) if now < *held => {
                *held = until.max(*held);
                true
            }
            _ => false,
        })
    }

    /// Refuses all writes from now on.
    pub(crate) fn close(&self) {
        self.deadline.send_replace(None);
    }

    /// Returns when it is closed.
    pub(crate) async fn closed(&self) {
        let mut deadline = self.deadline.subscribe();
        // Only fails once the sender is gone, of which this has one.
        let _ = deadline.wait_for(Option::is_none).await;
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fence")
            .field("lease", &self.lease)
            .field("is_held", &self.is_held())
            .finish_non_exhaustive()
    }
}
