//! What the clones of an election have in common.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::Fence;
use crate::candidate::Candidate;

#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Of whoever waits for the lease or holds it: one of the clones at a time.
    pub(crate) turn: tokio::sync::Mutex<()>,
    /// Locked from the first to the last request of one attempt.
    pub(crate) candidate: tokio::sync::Mutex<Candidate>,
    pub(crate) pulse: Pulse,
    fence: Mutex<Option<Fence>>,
}

impl Shared {
    pub(crate) fn set_fence(&self, fence: Fence) {
        *lock(&self.fence) = Some(fence);
    }

    pub(crate) fn is_leading(&self) -> bool {
        lock(&self.fence).as_ref().is_some_and(Fence::is_held)
    }

    /// Ends the tenure, if there is one.
    pub(crate) fn close_fence(&self) {
        if let Some(fence) = lock(&self.fence).take() {
            fence.close();
        }
    }
}

/// When the last attempt at the lease began, while somebody waits for it or holds it.
#[derive(Debug, Default)]
pub(crate) struct Pulse(Mutex<Option<Instant>>);

/// Stops the pulse at the end of a turn.
pub(crate) struct Turn<'a>(&'a Pulse);

impl Pulse {
    pub(crate) fn begin(&self, now: Instant) -> Turn<'_> {
        self.beat(now);
        Turn(self)
    }

    pub(crate) fn beat(&self, now: Instant) {
        *lock(&self.0) = Some(now);
    }

    /// How long ago the last attempt began, if there should be any.
    pub(crate) fn age(&self, now: Instant) -> Option<Duration> {
        lock(&self.0).map(|last| now.saturating_duration_since(last))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *lock(&self.0.0) = None;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
