//! An observer that writes down all that it is told.

use std::sync::{Arc, Mutex};

use k8s_controller_observe::{
    ControllerRecord, DequeueRecord, QueueRecord, ReconcileObserver, ReconcileRecord, StartRecord,
};

#[derive(Default)]
pub struct Ledger(Mutex<Vec<String>>);

impl Ledger {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// The lines since the last call.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// The lines since the last call that begin with this.
    pub fn take_only(&self, start: &str) -> Vec<String> {
        let mut lines = self.take();
        lines.retain(|line| line.starts_with(start));
        lines
    }

    fn write(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }
}

impl ReconcileObserver for Ledger {
    fn reconciled(&self, record: &ReconcileRecord<'_>) {
        let failure = record.failure.map_or("-", |failure| failure.as_str());
        self.write(format!(
            "ended {} {} {failure} {}",
            record.name, record.outcome, record.requeue
        ));
    }

    fn controller_started(&self, record: &ControllerRecord<'_>) {
        let ControllerRecord {
            controller,
            kind,
            concurrency,
            ..
        } = record;
        self.write(format!("controller {controller} {kind} {concurrency}"));
    }

    fn pass_started(&self, record: &StartRecord<'_>) {
        self.write(format!("began {}", record.name));
    }

    fn enqueued(&self, record: &QueueRecord<'_>) {
        self.write(format!("queue +{}", record.depth));
    }

    fn dequeued(&self, record: &DequeueRecord<'_>) {
        let seconds = record.waited.as_secs_f64().round();
        self.write(format!("queue -{} after {seconds}", record.depth));
    }
}
