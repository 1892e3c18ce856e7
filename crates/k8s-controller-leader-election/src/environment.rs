//! The one place where clocks and random numbers are read, and tasks are spawned.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio::time::error::Elapsed;

#[cfg(test)]
use crate::simulation::Process;

/// Wall clock, the clock that measures durations, randomness, and tasks.
#[derive(Clone)]
pub(crate) struct Environment {
    clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    rng: Arc<Mutex<StdRng>>,
    /// The simulated process that all this runs in.
    #[cfg(test)]
    process: Option<Arc<Process>>,
}

impl Environment {
    /// The system's clocks, and jitter that differs between processes.
    pub(crate) fn system() -> Self {
        Self {
            clock: Arc::new(Timestamp::now),
            rng: Arc::new(Mutex::new(rand::make_rng())),
            #[cfg(test)]
            process: None,
        }
    }

    pub(crate) fn set_clock(&mut self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) {
        self.clock = Arc::new(clock);
    }

    pub(crate) fn set_seed(&mut self, seed: u64) {
        self.rng = Arc::new(Mutex::new(StdRng::seed_from_u64(seed)));
    }

    /// The time to write into a lease, in the microseconds that a lease can hold.
    pub(crate) fn stamp(&self) -> MicroTime {
        let now = (self.clock)();
        MicroTime(Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now))
    }

    /// A duration between this one and [`JITTER_FACTOR`](crate::JITTER_FACTOR) times it.
    pub(crate) fn jittered(&self, duration: Duration) -> Duration {
        let mut rng = self.rng.lock().unwrap_or_else(PoisonError::into_inner);
        duration.mul_f64(rng.random_range(1.0..crate::JITTER_FACTOR))
    }
}

#[cfg(not(test))]
impl Environment {
    pub(crate) fn now(&self) -> Instant {
        let _ = self;
        Instant::now()
    }

    pub(crate) async fn sleep_until(&self, deadline: Instant) {
        let _ = self;
        tokio::time::sleep_until(deadline).await;
    }

    pub(crate) async fn timeout_at<F: Future>(
        &self,
        deadline: Instant,
        future: F,
    ) -> Result<F::Output, Elapsed> {
        let _ = self;
        tokio::time::timeout_at(deadline, future).await
    }

    pub(crate) fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let _ = self;
        tokio::spawn(future)
    }

    /// Since when a lease is certainly held, of one whose write was sent at this time.
    pub(crate) fn held_since(&self, sent: Instant) -> Instant {
        let _ = self;
        sent
    }
}

/// The same in a simulated process, whose clock has a rate of its own, and which may stand still.
#[cfg(test)]
impl Environment {
    pub(crate) fn set_process(&mut self, process: Arc<Process>) {
        self.process = Some(process);
    }

    pub(crate) fn now(&self) -> Instant {
        match &self.process {
            Some(process) => process.now(),
            None => Instant::now(),
        }
    }

    pub(crate) async fn sleep_until(&self, deadline: Instant) {
        tokio::time::sleep_until(self.real(deadline)).await;
    }

    pub(crate) async fn timeout_at<F: Future>(
        &self,
        deadline: Instant,
        future: F,
    ) -> Result<F::Output, Elapsed> {
        tokio::time::timeout_at(self.real(deadline), future).await
    }

    pub(crate) fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        match &self.process {
            Some(process) => tokio::spawn(process.clone().run(future)),
            None => tokio::spawn(future),
        }
    }

    pub(crate) fn held_since(&self, sent: Instant) -> Instant {
        match &self.process {
            // What the simulation has to catch.
            Some(process) if process.measures_from_the_answer() => self.now(),
            _ => sent,
        }
    }

    fn real(&self, local: Instant) -> Instant {
        match &self.process {
            Some(process) => process.real(local),
            None => local,
        }
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").finish_non_exhaustive()
    }
}
