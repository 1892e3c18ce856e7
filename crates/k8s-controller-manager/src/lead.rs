//! Waiting for the lease, leading, losing it, giving it back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_controller_leader_election::LeaderElection;
use k8s_controller_reconcile::ControllerHealth;
use kube::Client;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::crew::{Crew, Ended};
use crate::error::Error;
use crate::gate::{Gate, gated};
use crate::health::ManagerHealth;
use crate::manager::{LostLease, lease};
use crate::unit::{Id, Make, Term, Unit, try_make};

/// How long the lease may take to be released. It is two requests; if the API server does not
/// answer them, the lease expires by itself after its duration.
const RELEASE_LIMIT: Duration = Duration::from_secs(2);

/// Leads whenever the lease is held, until it is asked to stop.
pub(crate) struct Leader {
    client: Client,
    election: Option<LeaderElection>,
    lost_lease: LostLease,
    makes: Vec<(Id, Make)>,
    /// Of the first term, made at the start.
    first: Option<First>,
    stop_deadline: Duration,
    health: ManagerHealth,
    halt: CancellationToken,
}

struct First {
    units: Vec<Unit>,
    stop: CancellationToken,
    /// Closed as long as the lease is not held.
    gate: Option<Gate>,
}

/// How the wait for the lease, and holding it, ended.
enum Tenure {
    Over(Ended),
    Lost,
}

impl Leader {
    /// Makes the controllers of the first term.
    ///
    /// # Errors
    ///
    /// Two have the same name, or there are none, or the timings of the election cannot work.
    pub(crate) fn new(
        client: Client,
        election: Option<LeaderElection>,
        lost_lease: LostLease,
        mut makes: Vec<Make>,
        stop_deadline: Duration,
        health: ManagerHealth,
    ) -> Result<Self, Error> {
        if makes.is_empty() {
            return Err(Error::NothingToRun);
        }
        if let Some(election) = &election {
            election.timings().check().map_err(Error::Election)?;
        }
        let halt = CancellationToken::new();
        let stop = halt.child_token();
        let (first_client, gate) = if election.is_some() {
            let (client, gate) = gated(&client);
            (client, Some(gate))
        } else {
            (client.clone(), None)
        };
        let term = Term {
            client: first_client,
            stop: stop.clone(),
            stop_deadline,
        };
        let units: Vec<_> = makes.iter_mut().map(|make| make(term.clone())).collect();
        let ids: Vec<_> = units.iter().map(Unit::id).collect();
        check_names(&ids)?;
        Ok(Self {
            client,
            election,
            lost_lease,
            makes: ids.into_iter().zip(makes).collect(),
            first: Some(First { units, stop, gate }),
            stop_deadline,
            health,
            halt,
        })
    }

    pub(crate) fn controllers(&self) -> Vec<String> {
        let ids = self.makes.iter().map(|(id, _)| id);
        ids.filter(|id| id.is_controller)
            .map(|id| id.name.clone())
            .collect()
    }

    pub(crate) fn tasks(&self) -> usize {
        self.makes.len() - self.controllers().len()
    }

    /// Asks for the stop, when cancelled.
    pub(crate) fn halt(&self) -> CancellationToken {
        self.halt.clone()
    }

    /// Runs until it is asked to stop or something ends that should not. Returns when the
    /// controllers have ended and the lease is released.
    pub(crate) async fn run(&mut self) -> Ended {
        let Some(election) = self.election.clone() else {
            let (client, mut crew) = (self.client.clone(), Crew::default());
            self.term(client, &mut crew).await;
            return crew.ended;
        };
        loop {
            if let Tenure::Over(ended) = self.tenure(&election).await {
                return ended;
            }
            let lease = lease(&election);
            tracing::warn!(lease, then = ?self.lost_lease, "lost the lease");
            if self.lost_lease == LostLease::Exit || self.halt.is_cancelled() {
                self.health.stopping();
                let error = Some(Error::LeaseLost { lease });
                let abandoned = Vec::new();
                return Ended { abandoned, error };
            }
        }
    }

    /// Waits for the lease and leads while it is held.
    async fn tenure(&mut self, election: &LeaderElection) -> Tenure {
        let mut crew = Crew::default();
        let mut finished = false;
        let leading = AtomicBool::new(false);
        let over = CancellationToken::new();
        let halt = self.halt.clone();
        {
            let (this, crew) = (&mut *self, &mut crew);
            let (finished, leading) = (&mut finished, &leading);
            let over_when_dropped = over.clone().drop_guard();
            let lead = election.with_fenced_lease(move |fence| {
                leading.store(true, Ordering::Relaxed);
                async move {
                    // Dropped when the work is done, and also when the lease is lost before.
                    let _over = over_when_dropped;
                    let client = fence.client(&this.client);
                    this.term(client, crew).await;
                    *finished = true;
                }
            });
            let asked_while_waiting = async {
                halt.cancelled().await;
                if leading.load(Ordering::Relaxed) {
                    std::future::pending::<()>().await;
                }
            };
            let release_is_overdue = async {
                over.cancelled().await;
                sleep(RELEASE_LIMIT).await;
            };
            tokio::select! {
                biased;
                () = asked_while_waiting => {}
                () = release_is_overdue => {
                    tracing::warn!("the lease could not be released in time and will expire");
                }
                _ = lead => {}
            }
        }
        if finished {
            return Tenure::Over(crew.ended);
        }
        if leading.into_inner() {
            let dropped = crew.abort().await;
            let mut ended = crew.ended;
            if ended.error.is_none() {
                return Tenure::Lost;
            }
            // It was stopping because something had failed, which is why it ends.
            ended
                .abandoned
                .extend(dropped.into_iter().map(Id::abandoned));
            return Tenure::Over(ended);
        }
        // The attempt that was being made may have taken the lease.
        if timeout(RELEASE_LIMIT, election.withdraw()).await.is_err() {
            tracing::warn!("the lease could not be looked at, and expires if it was taken");
        }
        Tenure::Over(Ended::default())
    }

    /// Runs controllers and tasks, with this client.
    async fn term(&mut self, client: Client, crew: &mut Crew) {
        let made = match self.first.take() {
            Some(first) => {
                if let Some(gate) = first.gate {
                    gate.open(client);
                }
                Ok((first.units, first.stop))
            }
            None => self.make(client),
        };
        let (units, stop) = match made {
            Ok(made) => made,
            Err(error) => {
                self.health.stopping();
                crew.ended.error = Some(error);
                return;
            }
        };
        tracing::info!(controllers = ?self.controllers(), tasks = self.tasks(), "leading");
        self.health.lead(healths(&units));
        let deadline = self.stop_deadline;
        crew.run(units, stop, deadline, &self.health).await;
    }

    /// Makes the controllers and tasks of another term.
    fn make(&mut self, client: Client) -> Result<(Vec<Unit>, CancellationToken), Error> {
        let stop = self.halt.child_token();
        let term = Term {
            client,
            stop: stop.clone(),
            stop_deadline: self.stop_deadline,
        };
        let make = |(id, make): &mut (Id, Make)| {
            try_make(make, term.clone()).map_err(|panic| id.clone().panicked(panic))
        };
        let units: Result<_, _> = self.makes.iter_mut().map(make).collect();
        Ok((units?, stop))
    }
}

fn healths(units: &[Unit]) -> Vec<ControllerHealth> {
    let healths = units.iter().map(|unit| unit.health.clone());
    healths.flatten().collect()
}

fn check_names(ids: &[Id]) -> Result<(), Error> {
    for (index, id) in ids.iter().enumerate() {
        if id.name.is_empty() {
            return Err(Error::EmptyName);
        }
        if ids[..index].iter().any(|other| other.name == id.name) {
            let name = id.name.clone();
            return Err(Error::DuplicateName { name });
        }
    }
    Ok(())
}
