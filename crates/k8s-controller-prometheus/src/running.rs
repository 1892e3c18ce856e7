//! The passes that run now.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_controller_observe::{ReconcileRecord, StartRecord};
use tokio::time::Instant;

/// The passes that run now, by controller. As many as the controllers run at once, at most; a
/// controller stays known once it was seen.
#[derive(Debug, Default)]
pub(crate) struct Running(Mutex<HashMap<String, Passes>>);

/// When passes began, by the object. More than one only if two controllers share a name.
type Passes = HashMap<String, Vec<Instant>>;

/// What a controller is busy with.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    pub(crate) passes: i64,
    /// How long they have run, together.
    pub(crate) total: Duration,
    pub(crate) longest: Duration,
}

impl Running {
    /// A controller that may have nothing to do yet.
    pub(crate) fn meet(&self, controller: &str) {
        passes_of(&mut self.lock(), controller);
    }

    pub(crate) fn begin(&self, record: &StartRecord<'_>) {
        let object = object(record.kind, record.namespace, record.name);
        let now = Instant::now();
        passes_of(&mut self.lock(), record.controller)
            .entry(object)
            .or_default()
            .push(now);
    }

    /// How long the pass ran; none if it was not told of.
    pub(crate) fn end(&self, record: &ReconcileRecord<'_>) -> Option<Duration> {
        let object = object(record.kind, record.namespace, record.name);
        let mut running = self.lock();
        let passes = running.get_mut(record.controller)?;
        let begun = passes.get_mut(&object)?;
        let since = begun.pop()?;
        if begun.is_empty() {
            passes.remove(&object);
        }
        drop(running);
        Some(since.elapsed())
    }

    pub(crate) fn for_each(&self, mut tell: impl FnMut(&str, Load)) {
        let now = Instant::now();
        for (controller, passes) in self.lock().iter() {
            let mut load = Load::default();
            for since in passes.values().flatten() {
                let age = now.saturating_duration_since(*since);
                load.passes += 1;
                load.total += age;
                load.longest = load.longest.max(age);
            }
            tell(controller, load);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Passes>> {
        // Each change of the map is complete before anything could panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn passes_of<'a>(running: &'a mut HashMap<String, Passes>, controller: &str) -> &'a mut Passes {
    running.entry(controller.to_owned()).or_default()
}

fn object(kind: &str, namespace: Option<&str>, name: &str) -> String {
    format!("{kind}/{}/{name}", namespace.unwrap_or_default())
}
