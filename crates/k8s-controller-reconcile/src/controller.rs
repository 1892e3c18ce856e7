//! How a controller is put together.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use k8s_controller_events::EventRecorder;
use k8s_controller_observe::{Observers, ReconcileObserver};
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};
use kube::runtime::{controller, watcher};
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::context::Context;
use crate::health::{ControllerHealth, Lifeline};
use crate::jitter::Randomness;
use crate::run::DEFAULT_STOP_DEADLINE;
use crate::shared::ApiOf;
use crate::watch::{Memory, watch};
use crate::watch_backoff::WatchBackoff;

/// How many passes run at once, unless [`Controller::with_concurrency`] says otherwise.
///
/// A pass mostly waits for the API server, of which it asks for a handful of things at some
/// milliseconds each: 32 at once are some hundred passes and a few thousand requests a second,
/// more than a server gives to one client. Every pass that is waiting costs the scheduler of
/// `kube::runtime`, whose default is no limit, time with every pass that ends.
pub const DEFAULT_CONCURRENCY: u16 = 32;

/// Runs a [`Context`] over the objects of its kind.
#[must_use = "a controller does nothing until it is run"]
pub struct Controller<Ctx>
where
    Ctx: Context,
    Ctx::Resource: Clone + Debug + 'static,
    <Ctx::Resource as Resource>::DynamicType: Eq + Hash,
{
    pub(crate) context: Ctx,
    pub(crate) client: Client,
    pub(crate) runtime: kube::runtime::Controller<Ctx::Resource>,
    pub(crate) memory: Arc<Memory>,
    pub(crate) namespaced: bool,
    pub(crate) api_of: ApiOf<Ctx::Resource>,
    pub(crate) name: String,
    pub(crate) concurrency: u16,
    pub(crate) pass_timeout: Option<Duration>,
    pub(crate) lifeline: Lifeline,
    pub(crate) observers: Observers,
    pub(crate) recorder: Option<Arc<EventRecorder>>,
    pub(crate) randomness: Randomness,
    pub(crate) stop_deadline: Duration,
}

impl<Ctx> Controller<Ctx>
where
    Ctx: Context + Send + Sync + 'static,
    Ctx::Error: Send + 'static,
    Ctx::Resource: Resource + Clone + Debug + DeserializeOwned + Serialize + Send + Sync,
    <Ctx::Resource as Resource>::DynamicType: Eq + Clone + Hash + Default + Debug + Unpin,
{
    /// A controller of the objects in the namespace `ns`, further limited by the selectors in
    /// `wc`.
    pub fn namespaced(client: Client, context: Ctx, ns: &str, wc: watcher::Config) -> Self
    where
        Ctx::Resource: Resource<Scope = NamespaceResourceScope>,
    {
        let api = Api::namespaced(client.clone(), ns);
        Self::new(client, context, api, wc, Some(Api::namespaced))
    }

    /// A controller of the objects in all namespaces.
    pub fn namespaced_all(client: Client, context: Ctx, wc: watcher::Config) -> Self
    where
        Ctx::Resource: Resource<Scope = NamespaceResourceScope>,
    {
        let api = Api::all(client.clone());
        Self::new(client, context, api, wc, Some(Api::namespaced))
    }

    /// A controller of a kind whose objects are in no namespace.
    pub fn cluster(client: Client, context: Ctx, wc: watcher::Config) -> Self
    where
        Ctx::Resource: Resource<Scope = ClusterResourceScope>,
    {
        let api = Api::all(client.clone());
        Self::new(client, context, api, wc, None)
    }

    fn new(
        client: Client,
        context: Ctx,
        api: Api<Ctx::Resource>,
        wc: watcher::Config,
        api_of: Option<ApiOf<Ctx::Resource>>,
    ) -> Self {
        let memory = Arc::<Memory>::default();
        let (objects, store) = watch(api, wc, Arc::clone(&memory));
        let config = controller::Config::default().concurrency(DEFAULT_CONCURRENCY);
        let dyntype = <Ctx::Resource as Resource>::DynamicType::default();
        let kind = Ctx::Resource::kind(&dyntype).into_owned();
        let randomness = Randomness::unseeded();
        let runtime = kube::runtime::Controller::for_stream(objects, store)
            .with_config(config)
            .trigger_backoff(WatchBackoff::new(randomness.clone()));
        Self {
            context,
            client,
            runtime,
            memory,
            namespaced: api_of.is_some(),
            api_of: api_of.unwrap_or(|client, _no_namespace| Api::all(client)),
            name: Ctx::FINALIZER_NAME.map_or(kind, str::to_owned),
            concurrency: DEFAULT_CONCURRENCY,
            pass_timeout: None,
            lifeline: Lifeline::new(),
            observers: Observers::default(),
            recorder: None,
            randomness,
            stop_deadline: DEFAULT_STOP_DEADLINE,
        }
    }

    /// The name in spans, logs and records. The default is the name of the finalizer, or else
    /// the kind.
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The name, be it given or the default.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What tells how this controller is, once it runs and after.
    ///
    /// ```
    /// # use k8s_controller_reconcile::{Context, Controller, TraceMetadata};
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// # async fn example<Ctx>(controller: Controller<Ctx>)
    /// # where Ctx: Context<Resource = ConfigMap, Error = kube::Error> + Send + Sync + 'static {
    /// let health = controller.health();
    /// tokio::spawn(controller.run());
    /// // In the handler of a readiness and a liveness probe:
    /// let (ready, alive) = (health.is_synced(), health.is_alive());
    /// # }
    /// ```
    #[must_use]
    pub fn health(&self) -> ControllerHealth {
        ControllerHealth::new(&self.name, self.lifeline.vitals())
    }

    /// Tells this observer of passes, steps and what waits; more than one can be added.
    pub fn with_observer(mut self, observer: Arc<dyn ReconcileObserver>) -> Self {
        self.observers = self.observers.with(observer);
        self
    }

    /// Publishes events through this recorder: those of
    /// [`failure_event`](Context::failure_event) and of
    /// [`publish_event`](crate::TraceMetadata::publish_event). Without one there are no events.
    pub fn with_event_recorder(mut self, recorder: Arc<EventRecorder>) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Changes the controller of [`kube::runtime`] underneath, for example to watch the kinds
    /// that `apply` makes:
    ///
    /// ```
    /// # use k8s_controller_reconcile::{Context, Controller, TraceMetadata};
    /// # use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// # use kube::{Api, Client, runtime::{controller::{Action, Config}, watcher}};
    /// # struct Mirror;
    /// # #[async_trait::async_trait]
    /// # impl Context for Mirror {
    /// #     type Resource = ConfigMap;
    /// #     type Error = kube::Error;
    /// #     async fn apply(&self, _: Client, _: &ConfigMap, _: &mut TraceMetadata)
    /// #         -> Result<Option<Action>, kube::Error> { Ok(None) }
    /// # }
    /// # fn make(client: Client) -> Controller<Mirror> {
    /// let secrets = Api::<Secret>::all(client.clone());
    /// Controller::namespaced_all(client, Mirror, watcher::Config::default())
    ///     .with_controller(|controller| controller.owns(secrets, watcher::Config::default()))
    /// # }
    /// ```
    ///
    /// A `Config` set here replaces ours, so that it should set a concurrency: its own default
    /// is no limit. It cannot be read back, so tell the same number to
    /// [`with_concurrency`](Self::with_concurrency) before, for observers to hear of it. Change
    /// the controller that is given rather than return another: the watch of that one tells which
    /// objects are gone, whose failure counts can be freed.
    ///
    /// # When watches fail
    ///
    /// The runtime has one backoff for all watches of a controller: after any of them failed, none
    /// is listened to until the wait is over. Ours waits 200 to 400 ms at first, and then a random
    /// time of half to all of an eighth of what was waited so far, up to 2.5 to 5 s. A change made
    /// after the API server was away for 5 s is so seen after a second or less for each watch, and
    /// a server that is away for long gets a request every 2.5 to 5 s per controller, however many
    /// kinds that one watches. A minute without a failure ends it; objects that other watches
    /// bring do not, but the time from then on counts against what was waited. A kind that the
    /// server does not have thus slows the other watches down by up to 5 s.
    ///
    /// [`trigger_backoff`](kube::runtime::Controller::trigger_backoff), called here, replaces it.
    /// That of the runtime itself waits 0.8 s and then twice as long with each failure of any of
    /// the watches, up to 30 s and more: a minute without ears for two or three watches.
    pub fn with_controller(
        mut self,
        change: impl FnOnce(
            kube::runtime::Controller<Ctx::Resource>,
        ) -> kube::runtime::Controller<Ctx::Resource>,
    ) -> Self {
        self.runtime = change(self.runtime);
        self
    }

    /// How many passes may run at once, over different objects; the default is
    /// [`DEFAULT_CONCURRENCY`]. As with [`kube::runtime`], 0 is no limit.
    ///
    /// Replaces a `Config` that was set in [`with_controller`](Self::with_controller) before.
    pub fn with_concurrency(mut self, limit: u16) -> Self {
        let config = controller::Config::default().concurrency(limit);
        self.runtime = self.runtime.with_config(config);
        self.concurrency = limit;
        self
    }

    /// How long a pass may take; there is no limit by default, nor with a zero duration.
    ///
    /// A pass that takes longer ends as failed with [`Error::TimedOut`]: it is logged,
    /// published, told to observers and retried like any failure. The future of
    /// [`apply`](Context::apply) or [`cleanup`](Context::cleanup) is dropped wherever it waits,
    /// which may be in the middle of several writes, so that the next pass has to be able to go
    /// on from there. Steps that were open are abandoned. A cleanup that timed out keeps the
    /// finalizer, and one that had completed is not called again.
    ///
    /// The limit is for the whole pass, from the fresh copy that a conflict asks for to the
    /// writing of the finalizer; publishing the event of a failure is not part of it. It should be
    /// longer than the timeouts of the requests that a pass makes, whose errors say more. Code
    /// that blocks its thread cannot be interrupted.
    ///
    /// [`Error::TimedOut`]: crate::Error::TimedOut
    pub fn with_pass_timeout(mut self, limit: Duration) -> Self {
        self.pass_timeout = Some(limit).filter(|limit| !limit.is_zero());
        self
    }

    /// Draws the random part of waiting times from this seed, for tests that are the same each
    /// time.
    pub fn with_seed(self, seed: u64) -> Self {
        self.randomness.reseed(seed);
        self
    }

    /// How long [`run_until`](Self::run_until) lets running passes go on; the default is
    /// [`DEFAULT_STOP_DEADLINE`].
    pub fn with_stop_deadline(mut self, deadline: Duration) -> Self {
        self.stop_deadline = deadline;
        self
    }
}

impl<Ctx> Debug for Controller<Ctx>
where
    Ctx: Context,
    Ctx::Resource: Clone + Debug + 'static,
    <Ctx::Resource as Resource>::DynamicType: Eq + Hash,
{
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Controller")
            .field("name", &self.name)
            .field("concurrency", &self.concurrency)
            .field("pass_timeout", &self.pass_timeout)
            .field("observers", &self.observers)
            .field("stop_deadline", &self.stop_deadline)
            .finish_non_exhaustive()
    }
}
