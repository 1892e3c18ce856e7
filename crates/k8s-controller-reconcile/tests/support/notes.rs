//! An observer that writes down what it is told.

use std::sync::{Arc, Mutex};

use k8s_controller_observe::{ReconcileObserver, ReconcileRecord, StepRecord};
use tokio::time::Instant;

#[derive(Default)]
pub struct Notes {
    lines: Mutex<Vec<String>>,
    times: Mutex<Vec<Instant>>,
}

impl Notes {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// `name phase outcome` of each pass since the last call.
    pub fn take(&self) -> Vec<String> {
        self.times.lock().unwrap().clear();
        std::mem::take(&mut *self.lines.lock().unwrap())
    }

    /// Seconds from the end of each pass to the end of the next.
    pub fn gaps(&self) -> Vec<f64> {
        let times = self.times.lock().unwrap();
        times
            .windows(2)
            .map(|pair| (pair[1] - pair[0]).as_secs_f64())
            .collect()
    }
}

impl ReconcileObserver for Notes {
    fn reconciled(&self, record: &ReconcileRecord<'_>) {
        let line = format!("{} {} {}", record.name, record.phase, record.outcome);
        self.lines.lock().unwrap().push(line);
        self.times.lock().unwrap().push(Instant::now());
    }

    fn step_finished(&self, record: &StepRecord<'_>) {
        let line = format!("{} step {} {}", record.name, record.step, record.outcome);
        self.lines.lock().unwrap().push(line);
    }
}
