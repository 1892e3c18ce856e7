//! What the tests share.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use k8s_controller_events::{EventRecorder, Reporter};
use k8s_controller_leader_election::LeaderElection;
use k8s_controller_manager::{Error, Manager, Stopped};
use k8s_controller_reconcile::{Context, Controller, TraceMetadata};
use k8s_embedded_apiserver::EmbeddedApiServer;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use kube::runtime::controller::Action;
use kube::runtime::watcher;
use kube::{Client, ResourceExt};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

pub const SECOND: Duration = Duration::from_secs(1);
pub const LEASE: &str = "operator";

/// What passes do.
type Apply =
    dyn Fn(Client, Arc<ConfigMap>) -> BoxFuture<'static, Result<(), kube::Error>> + Send + Sync;

/// A context of ConfigMaps, and what happened in it.
#[derive(Clone)]
pub struct Probe {
    apply: Arc<Apply>,
    pub notes: Notes,
}

#[async_trait]
impl Context for Probe {
    type Resource = ConfigMap;
    type Error = kube::Error;

    async fn apply(
        &self,
        client: Client,
        object: &ConfigMap,
        _: &mut TraceMetadata,
    ) -> Result<Option<Action>, kube::Error> {
        self.notes.add(format!("{} begins", object.name_any()));
        (self.apply)(client, Arc::new(object.clone())).await?;
        self.notes.add(format!("{} ends", object.name_any()));
        Ok(Some(Action::await_change()))
    }
}

impl Probe {
    pub fn new<Fut>(apply: impl Fn(Client, Arc<ConfigMap>) -> Fut + Send + Sync + 'static) -> Self
    where
        Fut: Future<Output = Result<(), kube::Error>> + Send + 'static,
    {
        Self {
            apply: Arc::new(move |client, object| Box::pin(apply(client, object))),
            notes: Notes::default(),
        }
    }

    /// Each pass takes this long.
    pub fn sleeping(time: Duration) -> Self {
        Self::new(move |_, _| async move {
            sleep(time).await;
            Ok(())
        })
    }

    /// A controller of this name over the ConfigMaps in the namespace `default`.
    pub fn controller(&self, name: &str) -> impl FnMut(Client) -> Controller<Probe> + Send + use<> {
        let (probe, name) = (self.clone(), name.to_owned());
        move |client| {
            probe.notes.add(format!("{name} made"));
            controller(client, probe.clone()).with_name(name.clone())
        }
    }
}

pub fn controller(client: Client, probe: Probe) -> Controller<Probe> {
    Controller::namespaced(client, probe, "default", watcher::Config::default()).with_seed(1)
}

/// What happened, in order.
#[derive(Clone, Default)]
pub struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    pub fn add(&self, note: impl Into<String>) {
        self.0.lock().unwrap().push(note.into());
    }

    pub fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub fn count(&self, note: &str) -> usize {
        self.all().iter().filter(|other| *other == note).count()
    }
}

pub fn server() -> EmbeddedApiServer {
    EmbeddedApiServer::builder().seed(1).build()
}

pub fn client(server: &EmbeddedApiServer) -> Client {
    Client::new(server.clone(), "default")
}

pub async fn create(server: &EmbeddedApiServer, name: &str) {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.into());
    let api = Api::default_namespaced(client(server));
    api.create(&PostParams::default(), &object).await.unwrap();
}

pub fn election(client: Client, identity: &str) -> LeaderElection {
    LeaderElection::new(client, "default", LEASE, identity).with_seed(1)
}

/// Who holds the lease; nobody is "".
pub async fn holder(server: &EmbeddedApiServer) -> String {
    let lease = lease(server).await.and_then(|lease| lease.spec);
    lease
        .and_then(|spec| spec.holder_identity)
        .unwrap_or_default()
}

pub async fn lease(server: &EmbeddedApiServer) -> Option<Lease> {
    let api = Api::<Lease>::default_namespaced(client(server));
    api.get_opt(LEASE).await.unwrap()
}

pub fn recorder(client: Client) -> Arc<EventRecorder> {
    let reporter = Reporter {
        controller: "example.com/test".into(),
        instance: None,
    };
    Arc::new(EventRecorder::new(client, reporter))
}

/// Longer than any test lasts, so that one that would hang fails.
const PATIENCE: Duration = Duration::from_secs(7200);

/// A manager that runs, and the way to stop it.
pub struct Run {
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<Stopped, Error>>,
}

impl Run {
    pub fn start(manager: Manager) -> Self {
        let (stop, asked) = oneshot::channel::<()>();
        let task = tokio::spawn(manager.run_until(async { drop(asked.await) }));
        let stop = Some(stop);
        Self { stop, task }
    }

    pub fn ask(&mut self) {
        self.stop = None;
    }

    pub fn is_over(&self) -> bool {
        self.task.is_finished()
    }

    /// What it returns without being asked to stop.
    pub async fn end(self) -> Result<Stopped, Error> {
        let _keep = self.stop;
        timeout(PATIENCE, self.task).await.unwrap().unwrap()
    }

    /// Asks it to stop; what it returns, and how many seconds later.
    pub async fn stop(mut self) -> (Result<Stopped, Error>, f64) {
        self.ask();
        let asked = Instant::now();
        let result = timeout(PATIENCE, self.task).await.unwrap().unwrap();
        (result, asked.elapsed().as_secs_f64())
    }
}
