//! Whether a controller is alive, for probes.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;
use std::time::Duration;

use futures::task::AtomicWaker;
use tokio::time::Instant;

/// How long the loop of a controller may take to answer before it counts as stuck: 60 s. It
/// answers within microseconds, unless code blocks its thread: a mapper of the user's, or a list
/// of very many objects that is being decoded, on a processor that the container may hardly use.
pub const HEARTBEAT_LIMIT: Duration = Duration::from_secs(60);

/// Tells how a controller is, also from another task and after it ended; made by
/// [`Controller::health`](crate::Controller::health).
///
/// Clones ask the same controller.
#[derive(Clone)]
pub struct ControllerHealth {
    name: Arc<str>,
    vitals: Arc<Vitals>,
}

/// What a controller is up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ControllerState {
    /// It has not begun to run.
    NotStarted,
    /// It runs, or stops gracefully.
    Running,
    /// Its loop was asked for a sign of life more than [`HEARTBEAT_LIMIT`] ago and has given
    /// none: something blocks its thread, or nobody polls its future.
    Stuck,
    /// It has ended, panicked or been dropped.
    Ended,
}

impl ControllerState {
    /// The state in snake case.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::NotStarted => "not_started",
            Self::Running => "running",
            Self::Stuck => "stuck",
            Self::Ended => "ended",
        }
    }
}

impl fmt::Display for ControllerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl ControllerHealth {
    pub(crate) fn new(name: &str, vitals: Arc<Vitals>) -> Self {
        Self {
            name: name.into(),
            vitals,
        }
    }

    /// The name of the controller.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the first list of the controller's objects is complete, so that passes can begin.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        self.vitals.synced.load(Ordering::Relaxed)
    }

    /// Whether it is fine to go on: false once the controller is
    /// [stuck](ControllerState::Stuck) or has [ended](ControllerState::Ended).
    #[must_use]
    pub fn is_alive(&self) -> bool {
        matches!(
            self.state(),
            ControllerState::NotStarted | ControllerState::Running
        )
    }

    /// What the controller is up to.
    ///
    /// An idle loop has nothing to show, so each call also asks it for a sign of life, for the
    /// next call to see. That a loop is stuck is therefore found by asking now and then, as
    /// probes do, and not by the first call.
    #[must_use]
    pub fn state(&self) -> ControllerState {
        match self.vitals.stage.load(Ordering::Acquire) {
            NOT_STARTED => ControllerState::NotStarted,
            RUNNING if self.vitals.answers() => ControllerState::Running,
            RUNNING => ControllerState::Stuck,
            _ => ControllerState::Ended,
        }
    }
}

impl fmt::Debug for ControllerHealth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControllerHealth")
            .field("name", &self.name)
            .field("synced", &self.is_synced())
            .finish_non_exhaustive()
    }
}

const NOT_STARTED: u8 = 0;
const RUNNING: u8 = 1;
const ENDED: u8 = 2;

/// What a loop shows of itself.
///
/// There is no timer that makes it show something: that would keep an idle program busy, and
/// make virtual time crawl. Who asks also wakes the loop.
#[derive(Default)]
pub(crate) struct Vitals {
    stage: AtomicU8,
    synced: AtomicBool,
    /// How often the loop was polled.
    beats: AtomicU64,
    waker: AtomicWaker,
    /// The beats that were last seen, and when they were first.
    seen: Mutex<Option<(u64, Instant)>>,
}

impl Vitals {
    /// Called each time the loop is polled.
    pub(crate) fn beat(&self, waker: &Waker) {
        self.beats.fetch_add(1, Ordering::Relaxed);
        self.waker.register(waker);
    }

    fn answers(&self) -> bool {
        let now = Instant::now();
        // Replaced as a whole.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let beats = self.beats.load(Ordering::Relaxed);
        match *seen {
            Some((old, since)) if old == beats => {
                now.saturating_duration_since(since) <= HEARTBEAT_LIMIT
            }
            _ => {
                *seen = Some((beats, now));
                drop(seen);
                self.waker.wake();
                true
            }
        }
    }
}

/// Held by the controller and its loop: when it is dropped, the controller has ended.
pub(crate) struct Lifeline(Arc<Vitals>);

impl Lifeline {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    pub(crate) fn vitals(&self) -> Arc<Vitals> {
        Arc::clone(&self.0)
    }

    pub(crate) fn set_synced(&self) {
        self.0.synced.store(true, Ordering::Relaxed);
    }

    pub(crate) fn start(&self) {
        self.0.stage.store(RUNNING, Ordering::Release);
    }
}

impl Drop for Lifeline {
    fn drop(&mut self) {
        self.0.stage.store(ENDED, Ordering::Release);
    }
}
