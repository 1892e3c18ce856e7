//! The one place where this crate draws random numbers.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// Random numbers of one controller; the same seed gives the same numbers.
#[derive(Clone, Debug)]
pub(crate) struct Randomness(Arc<Mutex<SmallRng>>);

tokio::task_local! {
    /// The randomness of the controller whose pass is running: the default methods of `Context`
    /// have no parameter for it.
    static CURRENT: Randomness;
}

impl Randomness {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(SmallRng::seed_from_u64(seed))))
    }

    pub(crate) fn unseeded() -> Self {
        Self::seeded(rand::rng().random())
    }

    /// Lets [`between`] draw from here while `future` runs.
    pub(crate) fn during<F: Future>(self, future: F) -> impl Future<Output = F::Output> {
        CURRENT.scope(self, future)
    }

    /// Begins anew with this seed, for all who share these numbers.
    pub(crate) fn reseed(&self, seed: u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = SmallRng::seed_from_u64(seed);
    }

    /// A number from `low` up to `high`.
    pub(crate) fn between(&self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.fraction()
    }

    fn fraction(&self) -> f64 {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .random()
    }
}

/// A number from `low` up to `high`, of the controller whose pass is running.
pub(crate) fn between(low: f64, high: f64) -> f64 {
    let fraction = CURRENT
        .try_with(Randomness::fraction)
        .unwrap_or_else(|_outside_of_a_pass| rand::rng().random());
    low + (high - low) * fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_seed_decides() {
        let draw = |seed| {
            Randomness::seeded(seed).during(async { [(); 4].map(|()| between(2.0, 3.0).to_bits()) })
        };
        let first = draw(7).await;
        assert_eq!(first, draw(7).await);
        assert_ne!(first, draw(8).await);
        assert!(
            first
                .iter()
                .all(|bits| (2.0..3.0).contains(&f64::from_bits(*bits)))
        );
    }
}
