//! The task that does what the controllers of a cluster do, when it is due.
//!
//! It runs only while there is something to do, belongs to the server, and ends with it.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use crate::server::Shared;

/// Tasks that are done under one lock of the state.
const BATCH: usize = 100;

/// The task of one server.
#[derive(Debug, Default)]
pub(crate) struct Background {
    task: Mutex<Option<JoinHandle<()>>>,
    /// Something was noted that may be due before what the task sleeps for.
    noted: Arc<Notify>,
}

impl Drop for Background {
    fn drop(&mut self) {
        let task = self.task.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = task.take() {
            task.abort();
        }
    }
}

/// Who works through an agenda.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Attendance {
    #[default]
    Nobody,
    /// A task that looks at the agenda again at this time, or at once.
    Until(Option<Instant>),
}

/// Sees to it that what is on the agenda is done in time. Outside a runtime there is no time to wait for: then it is
/// done when a request comes after it was due.
pub(crate) fn attend(shared: &Arc<Shared>) {
    let (runtime, wake) = shared.with(|state| {
        let Some(due) = state.next_due() else {
            return (None, false);
        };
        match state.attendance {
            Attendance::Nobody => {
                let runtime = Handle::try_current().ok();
                if runtime.is_some() {
                    state.attendance = Attendance::Until(None);
                }
                (runtime, false)
            }
            Attendance::Until(Some(planned)) => (None, due < planned),
            Attendance::Until(None) => (None, false),
        }
    });
    if wake {
        shared.background().noted.notify_one();
    }
    if let Some(runtime) = runtime {
        let guard = Attending {
            shared: Arc::downgrade(shared),
            finished: false,
        };
        let task = runtime.spawn(work(guard, shared.background().noted.clone()));
        let slot = shared.background().task.lock();
        *slot.unwrap_or_else(PoisonError::into_inner) = Some(task);
    }
}

/// Says that nobody attends any more if the task does not come to its end: a runtime that stops drops it.
struct Attending {
    shared: Weak<Shared>,
    finished: bool,
}

impl Drop for Attending {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade().filter(|_| !self.finished) {
            shared.with(|state| state.attendance = Attendance::Nobody);
        }
    }
}

async fn work(mut guard: Attending, noted: Arc<Notify>) {
    loop {
        let Some(shared) = guard.shared.upgrade() else {
            return;
        };
        let (all, next) = shared.with(|state| {
            let all = state.run_due(Instant::now(), BATCH);
            let next = state.next_due();
            // In the same breath, so that whatever is noted from now on starts a task of its own.
            state.attendance = match next {
                None => Attendance::Nobody,
                Some(due) => Attendance::Until(all.then_some(due)),
            };
            (all, next)
        });
        drop(shared);
        match next {
            None => {
                guard.finished = true;
                return;
            }
            Some(_) if !all => tokio::task::yield_now().await,
            Some(due) => tokio::select! {
                biased;
                () = noted.notified() => {}
                () = sleep_until(due) => {}
            },
        }
    }
}
