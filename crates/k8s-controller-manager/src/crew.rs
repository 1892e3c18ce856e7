//! The controllers and tasks of one term, each in a task of its own.

use std::collections::HashMap;
use std::time::Duration;

use k8s_controller_error::Panic;
use tokio::task::{self, JoinError, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::error::Error;
use crate::health::ManagerHealth;
use crate::stopped::Abandoned;
use crate::unit::{Id, Outcome, Unit};

/// How long after the deadline what still runs is aborted. Controllers end a little after the
/// deadline by themselves, and then know which passes they abandoned.
const ABORT_AFTER: Duration = Duration::from_millis(250);

/// How long to wait for what was aborted. It ends as soon as it next waits for something; only
/// code that blocks its thread takes longer.
const DROP_GRACE: Duration = Duration::from_millis(250);

/// How a term, or the wait for one, ended.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    pub(crate) abandoned: Vec<Abandoned>,
    pub(crate) error: Option<Error>,
}

/// What is running. Dropped, it aborts all of it.
#[derive(Debug, Default)]
pub(crate) struct Crew {
    tasks: JoinSet<Outcome>,
    running: HashMap<task::Id, Id>,
    /// What is known by now. It outlives a term that the loss of the lease cuts short.
    pub(crate) ended: Ended,
}

impl Crew {
    /// Runs until somebody asks for the stop or somebody ends, then stops all. How that went is
    /// in [`ended`](Self::ended).
    pub(crate) async fn run(
        &mut self,
        units: Vec<Unit>,
        stop: CancellationToken,
        deadline: Duration,
        health: &ManagerHealth,
    ) {
        for unit in units {
            let id = unit.id();
            let handle = self.tasks.spawn(unit.run.in_current_span());
            self.running.insert(handle.id(), id);
        }
        let guard = Guard { crew: self, health };
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            Some((id, outcome)) = guard.crew.next() => {
                if id.is_controller {
                    health.ended(&id.name);
                }
                let error = early(id, outcome);
                tracing::error!(error = %k8s_controller_error::display_chain(&error), why = "failed", "stopping");
                guard.crew.ended.error = Some(error);
                health.stopping();
                stop.cancel();
            }
        }
        guard.crew.stop(deadline).await;
    }

    /// Waits for the end of those that were asked to stop.
    async fn stop(&mut self, deadline: Duration) {
        let mut abort = std::pin::pin!(sleep(deadline.saturating_add(ABORT_AFTER)));
        loop {
            tokio::select! {
                biased;
                next = self.next() => match next {
                    Some((id, outcome)) => late(id, outcome, &mut self.ended),
                    None => return,
                },
                () = &mut abort => break,
            }
        }
        for id in self.abort().await {
            tracing::warn!(
                name = id.name,
                ?deadline,
                "did not end in time and was dropped"
            );
            self.ended.abandoned.push(id.abandoned());
        }
    }

    /// Drops all that is running, and returns what was.
    pub(crate) async fn abort(&mut self) -> Vec<Id> {
        let left: Vec<_> = self.running.drain().map(|(_, id)| id).collect();
        self.tasks.abort_all();
        let gone = async { while self.tasks.join_next().await.is_some() {} };
        if timeout(DROP_GRACE, gone).await.is_err() {
            let blocked = self.tasks.len();
            tracing::warn!(blocked, "controllers or tasks block their thread");
            self.tasks.detach_all();
        }
        left
    }

    /// The next that has ended; none if none is left.
    async fn next(&mut self) -> Option<(Id, Result<Outcome, JoinError>)> {
        loop {
            let (task, outcome) = match self.tasks.join_next_with_id().await? {
                Ok((task, outcome)) => (task, Ok(outcome)),
                Err(error) => (error.id(), Err(error)),
            };
            if let Some(id) = self.running.remove(&task) {
                return Some((id, outcome));
            }
        }
    }
}

/// Dropped with the work under the lease when that is lost: then what is running is aborted, and
/// whether it is alive is nobody's question anymore.
struct Guard<'a> {
    crew: &'a mut Crew,
    health: &'a ManagerHealth,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.crew.tasks.abort_all();
        self.health.follow();
    }
}

/// What it means that this one ended before it was asked to.
fn early(id: Id, outcome: Result<Outcome, JoinError>) -> Error {
    match outcome {
        Ok(Ok(_)) => id.ended(),
        Ok(Err(error)) => id.failed(error),
        Err(error) => match error.try_into_panic() {
            Ok(payload) => id.panicked(Panic::from_payload(payload.as_ref())),
            Err(_aborted) => id.ended(),
        },
    }
}

/// Notes how this one ended after it was asked to. What fails while it stops has failed too.
fn late(id: Id, outcome: Result<Outcome, JoinError>, ended: &mut Ended) {
    match outcome {
        Ok(Ok(abandoned)) => ended.abandoned.extend(abandoned),
        Err(error) if error.is_cancelled() => ended.abandoned.push(id.abandoned()),
        outcome => {
            let error = early(id, outcome);
            tracing::error!(error = %k8s_controller_error::display_chain(&error), "failed while stopping");
            ended.error.get_or_insert(error);
        }
    }
}
