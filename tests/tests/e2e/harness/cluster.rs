//! One server, one namespace of its own, and what scenarios ask of them.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use k8s_controller::error::display_chain;
use k8s_controller::events::{EventRecorder, Reporter};
use k8s_controller::{Context, Controller};
use k8s_embedded_apiserver::EmbeddedApiServer;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::watcher;
use kube::{Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::OnceCell;
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::Instant;

use super::faults::Faults;
use super::kinds::{Realm, Widget, WidgetSpec};
use super::logs::Logs;
use super::script::{Finalizer, Kind, Script};
use super::setup::{define, strip_finalizers, strip_finalizers_of};

/// How long [`Cluster::eventually`] waits, in the time of the server: virtual for the embedded one.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone)]
pub(crate) struct Cluster(Arc<Inner>);

struct Inner {
    client: Client,
    namespace: String,
    real: bool,
    logs: Logs,
    running: Mutex<Vec<AbortHandle>>,
    leftovers: Mutex<Vec<BoxFuture<'static, ()>>>,
}

impl Cluster {
    /// A new embedded server.
    pub(crate) async fn embedded(logs: Logs) -> Result<Self, String> {
        let client = Client::new(EmbeddedApiServer::new(), "default");
        define(&client).await?;
        Self::with_namespace(client, "e2e", false, logs).await
    }

    /// A new namespace of a server that runs elsewhere.
    pub(crate) async fn real(
        config: kube::Config,
        scenario: &str,
        logs: Logs,
    ) -> Result<Self, String> {
        static DEFINED: OnceCell<()> = OnceCell::const_new();
        let client = Client::try_from(config)
            .map_err(|error| format!("no client: {}", display_chain(&error)))?;
        DEFINED.get_or_try_init(|| define(&client)).await?;
        let stamp = std::time::UNIX_EPOCH
            .elapsed()
            .map_or(0, |since| since.as_nanos() % (1 << 40));
        let (_, short) = scenario.rsplit_once("::").unwrap_or(("", scenario));
        let short: String = short
            .chars()
            .take(35)
            .map(|c| if c == '_' { '-' } else { c })
            .collect();
        Self::with_namespace(client, &format!("e2e-{short}-{stamp:x}"), true, logs).await
    }

    async fn with_namespace(
        client: Client,
        namespace: &str,
        real: bool,
        logs: Logs,
    ) -> Result<Self, String> {
        let cluster = Self(Arc::new(Inner {
            client,
            namespace: namespace.to_owned(),
            real,
            logs,
            running: Mutex::default(),
            leftovers: Mutex::default(),
        }));
        cluster
            .add_namespace(namespace)
            .await
            .map_err(|error| format!("namespace {namespace}: {}", display_chain(&error)))?;
        Ok(cluster)
    }

    async fn add_namespace(&self, name: &str) -> kube::Result<()> {
        let namespaces: Api<Namespace> = self.all();
        namespaces
            .create(&PostParams::default(), &named::<Namespace>(name))
            .await?;
        let (name, client) = (name.to_owned(), self.client());
        self.at_end(async move {
            strip_finalizers(&Api::<Widget>::namespaced(client.clone(), &name)).await;
            strip_finalizers(&Api::<ConfigMap>::namespaced(client.clone(), &name)).await;
            let namespaces: Api<Namespace> = Api::all(client);
            let _ = namespaces.delete(&name, &DeleteParams::default()).await;
        });
        Ok(())
    }

    /// One more namespace, gone at the end like the first.
    pub(crate) async fn another_namespace(&self, suffix: &str) -> String {
        let name = format!("{}-{suffix}", self.0.namespace);
        self.add_namespace(&name).await.unwrap();
        name
    }

    pub(crate) fn namespace(&self) -> &str {
        &self.0.namespace
    }

    /// For what cannot be the same: a name of a cluster-scoped object, for example, must be unique
    /// on a server that others use.
    pub(crate) fn unique(&self, name: &str) -> String {
        format!("{name}-{}", self.0.namespace)
    }

    pub(crate) fn client(&self) -> Client {
        self.0.client.clone()
    }

    /// Whether the server checks custom resources against the schemas of their definitions, which
    /// the embedded one does not.
    pub(crate) fn checks_schemas(&self) -> bool {
        self.0.real
    }

    /// A client with a layer that can misbehave.
    pub(crate) fn faulty(&self) -> (Client, Faults) {
        let faults = Faults::default();
        (faults.wrap(self.client()), faults)
    }

    pub(crate) fn logs(&self) -> &Logs {
        &self.0.logs
    }

    /// The API of a namespaced kind in the namespace of the scenario.
    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType: Default>,
    {
        Api::namespaced(self.client(), self.namespace())
    }

    pub(crate) fn all<K: Resource<DynamicType: Default>>(&self) -> Api<K> {
        Api::all(self.client())
    }

    pub(crate) fn widgets(&self) -> Api<Widget> {
        self.api()
    }

    pub(crate) async fn create_widget(&self, name: &str) -> Widget {
        self.create_widget_with(name, |_| ()).await
    }

    pub(crate) async fn create_widget_with(
        &self,
        name: &str,
        edit: impl FnOnce(&mut Widget),
    ) -> Widget {
        let mut widget = Widget::new(name, WidgetSpec::default());
        edit(&mut widget);
        self.widgets()
            .create(&PostParams::default(), &widget)
            .await
            .unwrap()
    }

    pub(crate) async fn set_text(&self, name: &str, text: &str) {
        let patch = Patch::Merge(json!({"spec": {"text": text}}));
        self.widgets()
            .patch(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    /// Asks for the deletion of a widget.
    pub(crate) async fn delete_widget(&self, name: &str) {
        self.widgets()
            .delete(name, &DeleteParams::default())
            .await
            .unwrap();
    }

    /// Waits until the object is gone.
    pub(crate) async fn gone<K>(&self, api: &Api<K>, name: &str)
    where
        K: Clone + DeserializeOwned + Debug,
    {
        self.eventually(&format!("{name} gone"), async || {
            match api.get_opt(name).await {
                Ok(None) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    }

    /// Events about an object, the oldest first.
    pub(crate) async fn events<K: Resource<DynamicType: Default>>(&self, object: &K) -> Vec<Event> {
        let namespace = object.namespace().unwrap_or_else(|| "default".to_owned());
        self.events_in(&namespace, &object.uid().unwrap()).await
    }

    /// The latest event about an object, once there is one.
    pub(crate) async fn latest_event<K: Resource<DynamicType: Default>>(
        &self,
        object: &K,
    ) -> Event {
        self.eventually("an event", async || {
            let event = self.events(object).await.pop();
            event.ok_or_else(|| "none".into())
        })
        .await
    }

    pub(crate) async fn events_in(&self, namespace: &str, uid: &str) -> Vec<Event> {
        let api: Api<Event> = Api::namespaced(self.client(), namespace);
        let mut events = api.list(&ListParams::default()).await.unwrap().items;
        events.retain(|event| {
            event
                .regarding
                .as_ref()
                .and_then(|about| about.uid.as_deref())
                == Some(uid)
        });
        events.sort_by(|a, b| {
            (a.event_time.as_ref().map(|t| t.0)).cmp(&b.event_time.as_ref().map(|t| t.0))
        });
        events
    }

    pub(crate) fn recorder(&self) -> Arc<EventRecorder> {
        recorder_with(self.client())
    }

    /// A controller of the widgets of this scenario.
    pub(crate) fn controller<F: Finalizer>(
        &self,
        client: Client,
        script: &Script<Widget, F>,
    ) -> Controller<Script<Widget, F>> {
        Controller::namespaced(
            client,
            script.clone(),
            self.namespace(),
            watcher::Config::default(),
        )
    }

    /// Runs a controller until it is killed or the scenario ends.
    pub(crate) fn run<C>(&self, controller: Controller<C>) -> Running
    where
        C: Context<Resource: Kind, Error: Send + 'static> + Send + Sync + 'static,
        <C::Resource as Resource>::DynamicType:
            Default + Eq + std::hash::Hash + Clone + Debug + Unpin,
    {
        self.spawn(async move { controller.run().await })
    }

    /// Runs a task until it is killed or the scenario ends.
    pub(crate) fn spawn(&self, run: impl Future<Output = ()> + Send + 'static) -> Running {
        let task = tokio::spawn(run);
        self.0.running.lock().unwrap().push(task.abort_handle());
        Running(task)
    }

    /// Polls until the probe succeeds.
    ///
    /// # Panics
    /// With what was seen last, when patience ends.
    pub(crate) async fn eventually<T>(
        &self,
        what: &str,
        mut probe: impl AsyncFnMut() -> Result<T, String>,
    ) -> T {
        let deadline = Instant::now() + PATIENCE;
        let interval = Duration::from_millis(if self.0.real { 25 } else { 10 });
        loop {
            match probe().await {
                Ok(value) => return value,
                Err(seen) if Instant::now() >= deadline => {
                    panic!("not within {PATIENCE:?}: {what}; last seen: {seen}")
                }
                Err(_) => tokio::time::sleep(interval).await,
            }
        }
    }

    /// Lets time pass in which something must not happen.
    pub(crate) async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// Runs when the scenario has ended, well or badly.
    pub(crate) fn at_end(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.0.leftovers.lock().unwrap().push(work.boxed());
    }

    /// Ends controllers and removes what the scenario left on the server.
    pub(crate) async fn finish(&self) {
        for running in self.0.running.lock().unwrap().drain(..) {
            running.abort();
        }
        if self.0.real {
            let leftovers: Vec<_> = self.0.leftovers.lock().unwrap().drain(..).collect();
            for work in leftovers {
                let _ = tokio::time::timeout(Duration::from_secs(5), work).await;
            }
        }
    }

    /// Creates a realm that is gone at the end.
    pub(crate) async fn create_realm(&self, realm: &Realm) -> Realm {
        let api: Api<Realm> = self.all();
        let created = api.create(&PostParams::default(), realm).await.unwrap();
        let name = created.name_any();
        self.at_end(async move {
            strip_finalizers_of(&api, &name).await;
            let _ = api.delete(&name, &DeleteParams::default()).await;
        });
        created
    }
}

/// A recorder whose requests go through this client.
pub(crate) fn recorder_with(client: Client) -> Arc<EventRecorder> {
    let reporter = Reporter {
        controller: "e2e.example.com/tests".into(),
        instance: Some("tests-0".into()),
    };
    Arc::new(EventRecorder::new(client, reporter))
}

/// A task that runs a controller.
pub(crate) struct Running(JoinHandle<()>);

impl Running {
    /// Ends it at once, like the death of the process, and waits until nothing of it runs.
    pub(crate) async fn kill(self) {
        self.0.abort();
        let _ = self.0.await;
    }

    /// Waits for its own end.
    pub(crate) async fn ended(self) {
        self.0.await.unwrap();
    }

    pub(crate) fn is_running(&self) -> bool {
        !self.0.is_finished()
    }
}

/// An object of a kind without required fields, of which only the name matters.
pub(crate) fn named<K: DeserializeOwned + Resource<DynamicType: Default>>(name: &str) -> K {
    serde_json::from_value(json!({
        "apiVersion": K::api_version(&K::DynamicType::default()),
        "kind": K::kind(&K::DynamicType::default()),
        "metadata": {"name": name},
    }))
    .unwrap()
}
