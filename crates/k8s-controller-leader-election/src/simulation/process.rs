//! A process that has its own clock, and may stand still.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::Mutex;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// The clocks and the life of one process.
#[derive(Debug)]
pub(crate) struct Process {
    start: Instant,
    /// How many seconds its clock counts in one.
    rate: f64,
    measures_from_the_answer: bool,
    stopped_until: Mutex<Instant>,
}

impl Process {
    pub(super) fn new(rate: f64, measures_from_the_answer: bool) -> Self {
        let now = Instant::now();
        Self {
            start: now,
            rate,
            measures_from_the_answer,
            stopped_until: Mutex::new(now),
        }
    }

    /// What its own clock says, which goes on while it stands still.
    pub(crate) fn now(&self) -> Instant {
        self.start + self.start.elapsed().mul_f64(self.rate)
    }

    /// When its own clock says that.
    pub(crate) fn real(&self, local: Instant) -> Instant {
        let since = local.saturating_duration_since(self.start);
        // Never before its own clock says so.
        self.start + since.div_f64(self.rate) + Duration::from_nanos(1)
    }

    /// Whether the renew deadline is counted from the answer of a renewal: the mistake that the
    /// simulation has to notice.
    pub(crate) fn measures_from_the_answer(&self) -> bool {
        self.measures_from_the_answer
    }

    /// Nothing of it runs for a while.
    pub(super) fn stop(&self, time: Duration) {
        let mut until = self.stopped_until.lock().unwrap();
        *until = (*until).max(Instant::now() + time);
    }

    /// How long it stands still yet.
    pub(super) fn stopped_for(&self) -> Duration {
        self.stopped_until
            .lock()
            .unwrap()
            .saturating_duration_since(Instant::now())
    }

    /// Nothing of it runs any more.
    pub(super) fn kill(&self) {
        self.stop(DEAD);
    }

    pub(super) fn is_dead(&self) -> bool {
        *self.stopped_until.lock().unwrap() > Instant::now() + DEAD / 2
    }

    /// Runs a task of it.
    pub(crate) async fn run<F: Future>(self: Arc<Self>, task: F) -> F::Output {
        let mut task = pin!(task);
        let mut stopped: Option<std::pin::Pin<Box<Sleep>>> = None;
        poll_fn(|cx| {
            loop {
                let until = *self.stopped_until.lock().unwrap();
                if until <= Instant::now() {
                    stopped = None;
                    return task.as_mut().poll(cx);
                }
                let sleep = stopped.get_or_insert_with(|| Box::pin(sleep_until(until)));
                sleep.as_mut().reset(until);
                if sleep.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
            }
        })
        .await
    }
}

/// Longer than any simulation.
const DEAD: Duration = Duration::from_secs(100_000);
