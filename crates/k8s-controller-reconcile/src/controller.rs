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
use crate::jitter::Randomness;
use crate::run::DEFAULT_STOP_DEADLINE;
use crate::shared::ApiOf;
use crate::watch::{Memory, watch};

/// How many passes run at once, unless [`Controller::with_controller`] says otherwise.
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
    pub(crate) name: Option<String>,
    pub(crate) observers: Observers,
    pub(crate) recorder: Option<Arc<EventRecorder>>,
    pub(crate) randomness: Option<Randomness>,
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
        Self {
            context,
            client,
            runtime: kube::runtime::Controller::for_stream(objects, store).with_config(config),
            memory,
            namespaced: api_of.is_some(),
            api_of: api_of.unwrap_or(|client, _no_namespace| Api::all(client)),
            name: None,
            observers: Observers::default(),
            recorder: None,
            randomness: None,
            stop_deadline: DEFAULT_STOP_DEADLINE,
        }
    }

    /// The name in spans, logs and records. The default is the name of the finalizer, or else
    /// the kind.
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Tells this observer of passes and steps; more than one can be added.
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
    /// is no limit. Change the controller that is given rather than return another: the watch of
    /// that one tells which objects are gone, whose failure counts can be freed.
    pub fn with_controller(
        mut self,
        change: impl FnOnce(
            kube::runtime::Controller<Ctx::Resource>,
        ) -> kube::runtime::Controller<Ctx::Resource>,
    ) -> Self {
        self.runtime = change(self.runtime);
        self
    }

    /// Draws the random part of waiting times from this seed, for tests that are the same each
    /// time.
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.randomness = Some(Randomness::seeded(seed));
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
            .field("observers", &self.observers)
            .field("stop_deadline", &self.stop_deadline)
            .finish_non_exhaustive()
    }
}
