//! From taking the lease to losing or releasing it.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use tokio::task::{JoinError, JoinHandle};
use tracing::{debug, error, warn};

use crate::candidate::{Claim, Renewed};
use crate::{Fence, LeaderElection};

/// A tenure. When it is dropped, nothing more is renewed or written.
pub(crate) struct Tenure<'a> {
    election: &'a LeaderElection,
    fence: Fence,
    renewal: JoinHandle<End>,
    ended: Option<Result<End, JoinError>>,
}

/// Why the renewing ended.
#[derive(Debug)]
pub(crate) enum End {
    /// The fence was closed: the work is done, or the lease is to be released.
    Closed,
    /// No renewal succeeded in time.
    Expired,
    /// Somebody else has the lease.
    Taken { holder: String },
}

impl<'a> Tenure<'a> {
    /// Renews in a task of its own, so that work that is busy does not hinder it.
    pub(crate) fn begin(election: &'a LeaderElection, fence: Fence) -> Self {
        let renewal = keep(election.clone(), fence.clone());
        Self {
            election,
            renewal: election.environment.spawn(renewal),
            fence,
            ended: None,
        }
    }

    /// Works until the work is done or the lease is lost, and drops the work then.
    pub(crate) async fn run<F: Future>(&mut self, work: F) -> Option<F::Output> {
        let mut work = pin!(work);
        poll_fn(|cx| {
            // Before the work: it must not go on once the lease is lost.
            if self.poll_end(cx).is_ready() || !self.fence.is_held() {
                return Poll::Ready(None);
            }
            work.as_mut().poll(cx).map(Some)
        })
        .await
    }

    /// Ends the renewing, then releases the lease where it may still be held.
    pub(crate) async fn end(mut self) {
        self.fence.close();
        poll_fn(|cx| self.poll_end(cx)).await;
        let lease = self.fence.lease();
        match self.ended.take() {
            Some(Ok(End::Expired)) => {
                warn!(
                    lease,
                    "lease lost: no renewal succeeded before the deadline"
                );
            }
            Some(Ok(End::Taken { holder })) => warn!(lease, holder, "lease lost to another holder"),
            Some(Err(error)) => {
                error!(lease, %error, "lease given up: renewing it ended unexpectedly");
                self.election.leave(Claim::Written).await;
            }
            Some(Ok(End::Closed)) | None => self.election.leave(Claim::Written).await,
        }
    }

    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.ended.is_none() {
            match Pin::new(&mut self.renewal).poll(cx) {
                Poll::Ready(end) => self.ended = Some(end),
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(())
    }
}

impl Drop for Tenure<'_> {
    fn drop(&mut self) {
        self.fence.close();
        self.renewal.abort();
    }
}

/// Renews until the fence is closed or the lease is lost.
async fn keep(election: LeaderElection, fence: Fence) -> End {
    let environment = &election.environment;
    while let Some(deadline) = fence.deadline() {
        let next = environment.now() + environment.jittered(election.timings.retry_period);
        tokio::select! {
            biased;
            () = fence.closed() => break,
            () = environment.sleep_until(next.min(deadline)) => {}
        }
        if environment.now() >= deadline {
            fence.close();
            return End::Expired;
        }
        let renewed = tokio::select! {
            biased;
            () = fence.closed() => break,
            renewed = election.renew(deadline) => renewed,
        };
        match renewed {
            Some(Renewed::Held { since }) => {
                debug!(lease = fence.lease(), "lease renewed");
                if !fence.extend(since + election.timings.renew_deadline) {
                    break;
                }
            }
            Some(Renewed::Lost { holder }) => {
                fence.close();
                return End::Taken { holder };
            }
            None => {}
        }
    }
    // A fence that was closed by nobody has run out.
    if fence.deadline().is_some() {
        End::Expired
    } else {
        End::Closed
    }
}
