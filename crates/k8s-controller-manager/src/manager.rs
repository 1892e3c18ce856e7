//! How a manager is put together and run.

use std::fmt::Debug;
use std::future::Future;
use std::hash::Hash;
use std::pin::pin;
use std::time::Duration;

use futures::FutureExt;
#[cfg(feature = "admin")]
use k8s_controller_admin::AdminServer;
use k8s_controller_error::display_chain;
use k8s_controller_leader_election::LeaderElection;
use k8s_controller_reconcile::{Context, Controller, DEFAULT_STOP_DEADLINE};
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::crew::Ended;
use crate::error::{BoxError, Error};
use crate::health::ManagerHealth;
use crate::lead::Leader;
use crate::serving::Serving;
use crate::signals::Signals;
use crate::stopped::Stopped;
use crate::unit::{self, Make};

/// What a manager does when it loses the lease. Its controllers are dropped either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LostLease {
    /// It ends with [`Error::LeaseLost`], so that the process ends and is started again with
    /// nothing left over from before. So does controller-runtime.
    #[default]
    Exit,
    /// It waits for the lease again, and then runs new controllers.
    Rejoin,
}

/// Runs controllers together: one lease, one stop, one set of health checks. See the
/// [crate documentation](crate) for an example.
#[must_use = "a manager does nothing until it is run"]
pub struct Manager {
    client: Client,
    makes: Vec<Make>,
    election: Option<LeaderElection>,
    lost_lease: LostLease,
    stop_deadline: Duration,
    ready_when_leading: bool,
    health: ManagerHealth,
    #[cfg(feature = "admin")]
    admin: Option<AdminServer>,
}

impl Manager {
    /// A manager of nothing yet, whose controllers use this client.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            makes: Vec::new(),
            election: None,
            lost_lease: LostLease::default(),
            stop_deadline: DEFAULT_STOP_DEADLINE,
            ready_when_leading: false,
            health: ManagerHealth::new(),
            #[cfg(feature = "admin")]
            admin: None,
        }
    }

    /// Adds a controller.
    ///
    /// `make` is called when the manager starts and, with [`LostLease::Rejoin`], again for each
    /// further term of leadership. With an election, its client is that of the term: requests
    /// wait until the term begins, and those that write are refused once the lease is no longer
    /// certainly held. So make of it all that writes for this controller: its
    /// [`Api`](kube::Api)s, its event recorder.
    ///
    /// The [stop deadline](Self::with_stop_deadline) of the manager replaces that of the
    /// controller.
    pub fn with_controller<Ctx>(
        mut self,
        make: impl FnMut(Client) -> Controller<Ctx> + Send + 'static,
    ) -> Self
    where
        Ctx: Context + Send + Sync + 'static,
        Ctx::Error: Send + 'static,
        Ctx::Resource: Resource + Clone + Debug + DeserializeOwned + Serialize + Send + Sync,
        <Ctx::Resource as Resource>::DynamicType: Eq + Clone + Hash + Default + Debug + Unpin,
    {
        self.makes.push(unit::controllers(make));
        self
    }

    /// Adds any other loop that should run while this replica leads, such as a controller of
    /// bare [`kube::runtime`]:
    ///
    /// ```
    /// # use std::{convert::Infallible, sync::Arc};
    /// # use futures::StreamExt;
    /// # use k8s_controller_manager::Manager;
    /// # use k8s_openapi::api::core::v1::Node;
    /// # use kube::{Api, Client, runtime::{Controller, controller::Action, watcher}};
    /// # async fn reconcile(_: Arc<Node>, _: Arc<()>) -> Result<Action, Infallible> {
    /// #     Ok(Action::await_change())
    /// # }
    /// # fn retry(_: Arc<Node>, error: &Infallible, _: Arc<()>) -> Action { match *error {} }
    /// # fn add(manager: Manager) -> Manager {
    /// manager.with_task("nodes", |client, stop| async move {
    ///     Controller::new(Api::<Node>::all(client), watcher::Config::default())
    ///         .graceful_shutdown_on(stop.cancelled_owned())
    ///         .run(reconcile, retry, Arc::new(()))
    ///         .for_each(|_| async {})
    ///         .await;
    ///     Ok(())
    /// })
    /// # }
    /// ```
    ///
    /// `make` is called as that of [`with_controller`](Self::with_controller) is. The task should
    /// end soon after the token is cancelled; it is dropped at the stop deadline. One that ends
    /// before, or fails, ends the manager.
    pub fn with_task<Fut>(
        mut self,
        name: impl Into<String>,
        make: impl FnMut(Client, CancellationToken) -> Fut + Send + 'static,
    ) -> Self
    where
        Fut: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        self.makes.push(unit::tasks(name.into(), make));
        self
    }

    /// Runs the controllers and tasks only while this lease is held, so that of several replicas
    /// one works. Without it, they run at once.
    pub fn with_leader_election(mut self, election: LeaderElection) -> Self {
        self.election = Some(election);
        self
    }

    /// What to do when the lease is lost; the default is to [exit](LostLease::Exit).
    pub fn with_lost_lease(mut self, then: LostLease) -> Self {
        self.lost_lease = then;
        self
    }

    /// How long running passes and tasks may go on after a stop was asked for; the default is
    /// [`DEFAULT_STOP_DEADLINE`], 25 s. The rest of a stop takes at most 4 s more, in which the
    /// lease is released and the admin server ends: together just under the 30 s that Kubernetes
    /// gives a pod (`terminationGracePeriodSeconds`).
    pub fn with_stop_deadline(mut self, deadline: Duration) -> Self {
        self.stop_deadline = deadline;
        self
    }

    /// Runs this admin server too, from the start until all else has ended.
    ///
    /// These checks are added. Liveness: `controller/NAME` (its loop goes on) and
    /// `leader-election` (the lease is looked after). Readiness: `controller/NAME` (its first
    /// list has come, or this replica does not lead), `shutdown` (no stop was asked for) and,
    /// [when asked for](Self::with_ready_when_leading), `leading`.
    #[cfg(feature = "admin")]
    pub fn with_admin(mut self, server: AdminServer) -> Self {
        self.admin = Some(server);
        self
    }

    /// Whether a replica is ready only while it leads; the default is no.
    ///
    /// With it a Service sends to the leader alone. But a Deployment never has all of its
    /// replicas ready then, and a rolling update that waits for a new one to be ready before it
    /// ends the old one (`maxUnavailable: 0`) waits forever.
    pub fn with_ready_when_leading(mut self, when_leading: bool) -> Self {
        self.ready_when_leading = when_leading;
        self
    }

    /// Tells whether all is well, for programs that answer probes themselves.
    #[must_use]
    pub fn health(&self) -> ManagerHealth {
        self.health.clone()
    }

    /// Runs until SIGTERM or SIGINT (elsewhere than on Unix: Ctrl-C) asks it to stop, and stops
    /// as [`run_until`](Self::run_until) does.
    ///
    /// A second signal ends the process at once with status 128 + its number, also while every
    /// thread is blocked, and also when this has returned since: what blocks a thread can keep a
    /// tokio runtime from ending. One within half a second of the first is taken for the same
    /// request, since shells and wrappers tend to pass a signal on to who has it already. When
    /// this returns without any signal, it no longer listens; but as the handlers stay, a signal
    /// then does nothing unless the program listens itself.
    ///
    /// # Errors
    ///
    /// As [`run_until`](Self::run_until), and [`Error::Signals`].
    ///
    /// # Panics
    ///
    /// As [`run_until`](Self::run_until).
    pub async fn run(self) -> Result<(), Error> {
        let mut signals = Signals::listen().map_err(Error::Signals)?;
        tokio::select! {
            stopped = self.run_until_why(signals.first()) => stopped.map(|_| ()),
            () = Signals::exit_at_second() => Ok(()),
        }
    }

    /// Runs until `stop` is ready, then stops gracefully:
    ///
    /// 1. readiness turns false;
    /// 2. no new pass begins, and running ones have until the
    ///    [deadline](Self::with_stop_deadline) to end and to publish their events, while the
    ///    lease is still renewed;
    /// 3. the lease is released, so that another replica can take over at once;
    /// 4. the admin server ends, and this returns.
    ///
    /// The same happens when a controller or task ends or fails by itself. Signals are left
    /// alone. Dropping the future aborts the controllers and tasks, and leaves the lease to
    /// expire.
    ///
    /// # Errors
    ///
    /// The manager could not start, or ended although `stop` was not ready, as the variants of
    /// [`Error`] say. A lease that is lost while passes are still ending is an error too.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with its time driver enabled, as that of `#[tokio::main]` is;
    /// and if a closure that makes a controller or task does so at the start.
    pub async fn run_until(self, stop: impl Future<Output = ()>) -> Result<Stopped, Error> {
        self.run_until_why(stop.map(|()| "asked to")).await
    }

    #[cfg_attr(not(feature = "admin"), allow(clippy::unused_async))]
    async fn run_until_why(
        self,
        stop: impl Future<Output = &'static str>,
    ) -> Result<Stopped, Error> {
        let started = Instant::now();
        let mut leader = Leader::new(
            self.client,
            self.election.clone(),
            self.lost_lease,
            self.makes,
            self.stop_deadline,
            self.health.clone(),
        )?;
        let controllers = leader.controllers();
        let _running = self.health.start(
            controllers.clone(),
            self.election.clone(),
            self.ready_when_leading,
        );
        #[cfg(feature = "admin")]
        let mut serving = Serving::start(self.admin, &self.health, self.ready_when_leading).await?;
        #[cfg(not(feature = "admin"))]
        let mut serving = Serving::default();
        tracing::info!(
            ?controllers,
            tasks = leader.tasks(),
            lease = self.election.as_ref().map(lease),
            identity = self.election.as_ref().map(LeaderElection::identity),
            "manager started"
        );

        let (mut ended, asked) = drive(&mut leader, &mut serving, &self.health, stop).await;
        serving.stop().await;
        let stop_seconds = asked.map(|asked| asked.elapsed().as_secs_f64());
        let up_seconds = started.elapsed().as_secs_f64();
        let abandoned = ended.abandoned.len();
        if let Some(error) = ended.error.take() {
            let shown = display_chain(&error);
            tracing::error!(error = %shown, stop_seconds, up_seconds, abandoned, "manager failed");
            return Err(error);
        }
        tracing::info!(stop_seconds, up_seconds, abandoned, "manager stopped");
        Ok(Stopped {
            abandoned: ended.abandoned,
        })
    }
}

/// Runs until the controllers have ended, for whatever reason; returns also when a stop was
/// asked for.
async fn drive(
    leader: &mut Leader,
    serving: &mut Serving,
    health: &ManagerHealth,
    stop: impl Future<Output = &'static str>,
) -> (Ended, Option<Instant>) {
    let halt = leader.halt();
    let mut led = pin!(leader.run());
    let failed = tokio::select! {
        biased;
        why = stop => {
            tracing::info!(why, "stopping");
            None
        }
        error = serving.failed() => {
            tracing::error!(error = %display_chain(&error), why = "failed", "stopping");
            Some(error)
        }
        ended = &mut led => return (ended, None),
    };
    let asked = Instant::now();
    health.stopping();
    halt.cancel();
    let mut ended = led.await;
    if failed.is_some() {
        ended.error = failed;
    }
    (ended, Some(asked))
}

/// The lease, as `namespace/name`.
pub(crate) fn lease(election: &LeaderElection) -> String {
    format!("{}/{}", election.namespace(), election.lease_name())
}

impl Debug for Manager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Manager")
            .field("election", &self.election)
            .field("lost_lease", &self.lost_lease)
            .field("stop_deadline", &self.stop_deadline)
            .field("ready_when_leading", &self.ready_when_leading)
            .finish_non_exhaustive()
    }
}
