//! Counts and times passes, as a metrics system would: through a `ReconcileObserver`.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use k8s_controller::{Outcome, ReconcileObserver, ReconcileRecord, StepRecord};

/// How often something ran.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    pub runs: u32,
    pub failed: u32,
    pub total: Duration,
    pub longest: Duration,
}

impl Count {
    fn add(&mut self, outcome: Outcome, duration: Duration) {
        self.runs += 1;
        self.failed += u32::from(matches!(outcome, Outcome::Failed | Outcome::Abandoned));
        self.total += duration;
        self.longest = self.longest.max(duration);
    }
}

#[derive(Debug, Default)]
struct Counts {
    objects: BTreeMap<String, Count>,
    steps: BTreeMap<&'static str, Count>,
}

/// The counts so far. It keeps one entry for each object that it has seen, which is fine for a
/// demonstration; an operator that runs for long uses labels with few values, as Prometheus wants.
#[derive(Debug, Default)]
pub struct Tally(Mutex<Counts>);

impl Tally {
    /// Passes over the object of this name.
    pub fn object(&self, name: &str) -> Count {
        self.with(|counts| counts.objects.get(name).copied().unwrap_or_default())
    }

    /// Passes over all objects.
    pub fn passes(&self) -> Count {
        self.with(|counts| {
            counts
                .objects
                .values()
                .fold(Count::default(), |sum, count| Count {
                    runs: sum.runs + count.runs,
                    failed: sum.failed + count.failed,
                    total: sum.total + count.total,
                    longest: sum.longest.max(count.longest),
                })
        })
    }

    /// The steps, by name.
    pub fn steps(&self) -> BTreeMap<&'static str, Count> {
        self.with(|counts| counts.steps.clone())
    }

    fn with<T>(&self, f: impl FnOnce(&mut Counts) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ReconcileObserver for Tally {
    fn reconciled(&self, record: &ReconcileRecord<'_>) {
        self.with(|counts| {
            counts
                .objects
                .entry(record.name.to_owned())
                .or_default()
                .add(record.outcome, record.duration);
        });
    }

    fn step_finished(&self, record: &StepRecord<'_>) {
        self.with(|counts| {
            counts
                .steps
                .entry(record.step)
                .or_default()
                .add(record.outcome, record.duration);
        });
    }
}
