//! Whether a manager and what it runs are well.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use k8s_controller_error::display_chain;
use k8s_controller_leader_election::LeaderElection;
use k8s_controller_reconcile::{ControllerHealth, ControllerState};

/// The answer of a check: why not, if not.
pub(crate) type Answer = Result<(), String>;

/// Whether a manager and what it runs are well, for probes of your own; see
/// [`Manager::health`](crate::Manager::health). Clones look at the same manager.
///
/// An error lists each check that fails, as `name: reason`, one per line.
#[derive(Clone, Debug)]
pub struct ManagerHealth(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    stage: Stage,
    controllers: Vec<Watched>,
    election: Option<LeaderElection>,
    /// Whether the controllers of a term are running.
    leading: bool,
    ready_when_leading: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    NotStarted,
    Running,
    Stopping,
    Ended,
}

#[derive(Debug)]
struct Watched {
    name: String,
    /// While this replica leads.
    health: Option<ControllerHealth>,
    /// It ended although it should not have.
    ended: bool,
}

impl ManagerHealth {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            stage: Stage::NotStarted,
            controllers: Vec::new(),
            election: None,
            leading: false,
            ready_when_leading: false,
        })))
    }

    /// Whether the process works, for a liveness probe. True before the manager starts, while it
    /// waits for the lease, and during a stop.
    ///
    /// # Errors
    ///
    /// The loop of a controller has ended or is stuck, or the lease is no longer looked after, or
    /// the manager has ended.
    pub fn live(&self) -> Result<(), String> {
        let state = self.state();
        let controllers = state.controllers.iter();
        let mut checks = vec![
            (String::from("leader-election"), state.lease_live()),
            (String::from("manager"), state.not_ended()),
        ];
        checks.extend(controllers.map(|watched| (watched.check(), watched.live(state.stage))));
        summary(checks)
    }

    /// Whether the process does its work, for a readiness probe.
    ///
    /// True on a replica that waits for the lease, unless
    /// [`with_ready_when_leading`](crate::Manager::with_ready_when_leading) was asked for.
    ///
    /// # Errors
    ///
    /// A controller has not got its first list of objects yet, or the manager has not started,
    /// is stopping or has ended.
    pub fn ready(&self) -> Result<(), String> {
        let state = self.state();
        let controllers = state.controllers.iter();
        let mut checks = vec![(String::from("shutdown"), state.running())];
        if state.ready_when_leading {
            checks.push((String::from("leading"), state.leads()));
        }
        checks.extend(controllers.map(|watched| (watched.check(), watched.ready())));
        summary(checks)
    }

    /// Whether the controllers of this manager are running and, with an election, the lease is
    /// certainly held.
    #[must_use]
    pub fn is_leading(&self) -> bool {
        self.state().leads().is_ok()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No change of it can panic half-way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the manager tells.
impl ManagerHealth {
    /// The manager begins to run these controllers.
    pub(crate) fn start(
        &self,
        controllers: Vec<String>,
        election: Option<LeaderElection>,
        ready_when_leading: bool,
    ) -> Running {
        let watched = |name| Watched {
            name,
            health: None,
            ended: false,
        };
        *self.state() = State {
            stage: Stage::Running,
            controllers: controllers.into_iter().map(watched).collect(),
            election,
            leading: false,
            ready_when_leading,
        };
        Running(self.clone())
    }

    /// A term of leadership begins, with these controllers in the order of their names at the
    /// start.
    pub(crate) fn lead(&self, controllers: Vec<ControllerHealth>) {
        let mut state = self.state();
        state.leading = true;
        for (watched, health) in state.controllers.iter_mut().zip(controllers) {
            watched.health = Some(health);
        }
    }

    /// The term is over.
    pub(crate) fn follow(&self) {
        let mut state = self.state();
        state.leading = false;
        for watched in &mut state.controllers {
            watched.health = None;
        }
    }

    /// The controller of this name ended although it should not have.
    pub(crate) fn ended(&self, name: &str) {
        for watched in &mut self.state().controllers {
            watched.ended |= watched.name == name;
        }
    }

    pub(crate) fn stopping(&self) {
        self.state().stage = Stage::Stopping;
    }
}

/// The single checks, for an admin server.
#[cfg(feature = "admin")]
impl ManagerHealth {
    pub(crate) fn controller_names(&self) -> Vec<String> {
        let state = self.state();
        let names = state.controllers.iter();
        names.map(|watched| watched.name.clone()).collect()
    }

    pub(crate) fn lease_live(&self) -> Answer {
        self.state().lease_live()
    }

    pub(crate) fn controller_live(&self, index: usize) -> Answer {
        let state = self.state();
        let watched = state.controllers.get(index);
        watched.map_or(Ok(()), |watched| watched.live(state.stage))
    }

    pub(crate) fn controller_ready(&self, index: usize) -> Answer {
        let state = self.state();
        state.controllers.get(index).map_or(Ok(()), Watched::ready)
    }

    pub(crate) fn running(&self) -> Answer {
        self.state().running()
    }

    pub(crate) fn leading(&self) -> Answer {
        self.state().leads()
    }
}

impl State {
    fn lease_live(&self) -> Answer {
        match &self.election {
            Some(election) if self.stage == Stage::Running => election
                .health()
                .map_err(|stalled| display_chain(&stalled).to_string()),
            _ => Ok(()),
        }
    }

    fn not_ended(&self) -> Answer {
        match self.stage {
            Stage::Ended => Err("the manager has ended".into()),
            _ => Ok(()),
        }
    }

    fn running(&self) -> Answer {
        match self.stage {
            Stage::NotStarted => Err("the manager has not started".into()),
            Stage::Running => Ok(()),
            Stage::Stopping => Err("the manager is stopping".into()),
            Stage::Ended => Err("the manager has ended".into()),
        }
    }

    fn leads(&self) -> Answer {
        let held = self
            .election
            .as_ref()
            .is_none_or(LeaderElection::is_leading);
        if self.leading && held {
            Ok(())
        } else {
            Err("this replica does not lead".into())
        }
    }
}

impl Watched {
    fn check(&self) -> String {
        format!("controller/{}", self.name)
    }

    fn live(&self, stage: Stage) -> Answer {
        if self.ended {
            return Err("the controller has ended".into());
        }
        match &self.health {
            // A controller that was asked to stop ends, and the stop has a deadline of its own.
            Some(health) if stage == Stage::Running => match health.state() {
                ControllerState::Stuck => Err("the loop of the controller is stuck".into()),
                ControllerState::Ended => Err("the controller has ended".into()),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn ready(&self) -> Answer {
        match &self.health {
            Some(health) if !health.is_synced() => {
                Err("the first list of objects has not come yet".into())
            }
            _ => Ok(()),
        }
    }
}

fn summary(checks: Vec<(String, Answer)>) -> Answer {
    let mut failed = String::new();
    for (name, answer) in checks {
        if let Err(reason) = answer {
            let newline = if failed.is_empty() { "" } else { "\n" };
            // Writing to a string does not fail.
            let _ = write!(failed, "{newline}{name}: {reason}");
        }
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err(failed)
    }
}

/// The manager is running, until this is dropped.
#[derive(Debug)]
pub(crate) struct Running(ManagerHealth);

impl Drop for Running {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.stage = Stage::Ended;
        state.leading = false;
    }
}
