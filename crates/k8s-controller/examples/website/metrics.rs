//! The metrics of the operator.

use std::sync::{Arc, Mutex, PoisonError};

use k8s_controller::events::EventRecorder;
use k8s_controller::metrics::{
    ClientMetrics, ControllerRuntimeMetrics, EventRecorderMetrics, LeaderMetrics, PrometheusMetrics,
};
use k8s_controller::{Controller, LeaderElection};
use kube::{Client, Config};
use prometheus::Registry;

use crate::controller::NAME;
use crate::failure::Failure;
use crate::operator::WebsiteOperator;

/// Everything that /metrics shows. Clones share it.
#[derive(Clone)]
pub struct Metrics {
    registry: Registry,
    client: ClientMetrics,
    /// By the names that controller-runtime gives them, for dashboards that know those.
    runtime: ControllerRuntimeMetrics,
    /// By names of our own, with phases and steps.
    website: PrometheusMetrics,
    /// Of the recorder that is in use.
    events: Arc<Mutex<Option<EventRecorderMetrics>>>,
}

impl Metrics {
    pub fn new() -> Result<Self, Failure> {
        let metrics = Self {
            registry: Registry::new(),
            client: ClientMetrics::new(),
            runtime: ControllerRuntimeMetrics::new(),
            website: PrometheusMetrics::new(NAME)?,
            events: Arc::default(),
        };
        metrics
            .registry
            .register(Box::new(metrics.client.clone()))?;
        metrics
            .registry
            .register(Box::new(metrics.runtime.clone()))?;
        metrics
            .registry
            .register(Box::new(metrics.website.clone()))?;
        Ok(metrics)
    }

    pub fn registry(&self) -> Registry {
        self.registry.clone()
    }

    /// A client whose requests are counted.
    pub fn connect(&self, config: Config) -> kube::Result<Client> {
        self.client.client_for(config)
    }

    pub fn observe(&self, controller: Controller<WebsiteOperator>) -> Controller<WebsiteOperator> {
        controller
            .with_observer(Arc::new(self.runtime.clone()))
            .with_observer(Arc::new(self.website.clone()))
    }

    pub fn observe_leadership(&self, election: &LeaderElection) -> Result<(), Failure> {
        let leader = election.clone();
        let metrics = LeaderMetrics::new(election.lease_name(), move || leader.is_leading());
        Ok(self.registry.register(Box::new(metrics))?)
    }

    /// Each time that this replica leads it has a new recorder, which takes the place of the last.
    pub fn observe_events(&self, recorder: &Arc<EventRecorder>) {
        let metrics = EventRecorderMetrics::new(recorder.clone());
        let mut shown = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let last = shown.replace(metrics.clone());
        let replaced = last
            .map_or(Ok(()), |last| self.registry.unregister(Box::new(last)))
            .and_then(|()| self.registry.register(Box::new(metrics)));
        if let Err(error) = replaced {
            tracing::warn!(%error, "no metrics of events");
        }
    }
}
