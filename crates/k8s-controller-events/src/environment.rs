//! The one place where the recorder reads the wall clock and random numbers.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Wall clock and randomness.
pub(crate) struct Environment {
    clock: Box<dyn Fn() -> Timestamp + Send + Sync>,
    rng: Mutex<StdRng>,
}

impl Environment {
    /// The system's clock, and names that nobody can foresee.
    pub(crate) fn system() -> Self {
        Self {
            clock: Box::new(Timestamp::now),
            rng: Mutex::new(rand::make_rng()),
        }
    }

    pub(crate) fn set_clock(&mut self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) {
        self.clock = Box::new(clock);
    }

    pub(crate) fn set_seed(&mut self, seed: u64) {
        self.rng = Mutex::new(StdRng::seed_from_u64(seed));
    }

    /// The time to write into an event.
    pub(crate) fn now(&self) -> MicroTime {
        MicroTime((self.clock)())
    }

    /// A number that makes a name unique.
    pub(crate) fn unique(&self) -> u64 {
        self.rng
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .random()
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").finish_non_exhaustive()
    }
}
