//! A context made of closures.

use std::marker::PhantomData;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::future::BoxFuture;
use k8s_controller_error::{Error, TerminalError};
use k8s_controller_events::Event;
use k8s_controller_observe::Phase;
use k8s_controller_reconcile::{Context, TraceMetadata};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::runtime::controller::Action;

pub const OURS: &str = "example.com/ours";

#[derive(Debug, thiserror::Error)]
pub enum TestError {
    #[error("{0}")]
    Text(&'static str),
    #[error(transparent)]
    Kube(#[from] kube::Error),
    #[error(transparent)]
    Terminal(#[from] TerminalError),
}

pub type Answer = Result<Option<Action>, TestError>;
type Handler = Box<
    dyn for<'a> Fn(Client, &'a ConfigMap, &'a mut TraceMetadata) -> BoxFuture<'a, Answer>
        + Send
        + Sync,
>;

pub trait Flavor: Send + Sync + 'static {
    const NAME: Option<&'static str>;
}
pub struct WithFinalizer;
impl Flavor for WithFinalizer {
    const NAME: Option<&'static str> = Some(OURS);
}
pub struct NoFinalizer;
impl Flavor for NoFinalizer {
    const NAME: Option<&'static str> = None;
}

type ErrorAction = Box<dyn Fn(&Error<TestError>, u32) -> Action + Send + Sync>;

/// Each method does what its closure says, or what the trait does.
pub struct Probe<F> {
    pub apply: Handler,
    pub cleanup: Option<Handler>,
    pub success_action: Option<Box<dyn Fn() -> Action + Send + Sync>>,
    pub error_action: Option<ErrorAction>,
    pub failure_event: Option<Box<dyn Fn(Phase) -> Option<Event> + Send + Sync>>,
    /// What `error_action` was asked.
    pub asked: Arc<Mutex<Vec<u32>>>,
    flavor: PhantomData<F>,
}

/// A handler from a closure that needs no more than the object.
pub fn answer(
    answer: impl Fn(&ConfigMap) -> Answer + Send + Sync + 'static,
) -> impl for<'a> Fn(Client, &'a ConfigMap, &'a mut TraceMetadata) -> BoxFuture<'a, Answer> + Send + Sync
{
    move |_client, object, _metadata| {
        let answer = answer(object);
        Box::pin(async move { answer })
    }
}

impl<F: Flavor> Probe<F> {
    pub fn new(
        apply: impl for<'a> Fn(Client, &'a ConfigMap, &'a mut TraceMetadata) -> BoxFuture<'a, Answer>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self {
            apply: Box::new(apply),
            cleanup: None,
            success_action: None,
            error_action: None,
            failure_event: None,
            asked: Arc::default(),
            flavor: PhantomData,
        }
    }

    pub fn answering(apply: impl Fn(&ConfigMap) -> Answer + Send + Sync + 'static) -> Self {
        Self::new(answer(apply))
    }

    pub fn cleanup(
        mut self,
        cleanup: impl Fn(&ConfigMap) -> Answer + Send + Sync + 'static,
    ) -> Self {
        self.cleanup = Some(Box::new(answer(cleanup)));
        self
    }

    pub fn on_error(
        mut self,
        action: impl Fn(&Error<TestError>, u32) -> Action + Send + Sync + 'static,
    ) -> Self {
        self.error_action = Some(Box::new(action));
        self
    }
}

/// The default methods of the trait.
struct Defaults;
#[async_trait]
impl Context for Defaults {
    type Resource = ConfigMap;
    type Error = TestError;
    async fn apply(&self, _: Client, _: &ConfigMap, _: &mut TraceMetadata) -> Answer {
        Ok(None)
    }
}

#[async_trait]
impl<F: Flavor> Context for Probe<F> {
    type Resource = ConfigMap;
    type Error = TestError;
    const FINALIZER_NAME: Option<&'static str> = F::NAME;

    async fn apply(
        &self,
        client: Client,
        object: &ConfigMap,
        metadata: &mut TraceMetadata,
    ) -> Answer {
        (self.apply)(client, object, metadata).await
    }

    async fn cleanup(
        &self,
        client: Client,
        object: &ConfigMap,
        metadata: &mut TraceMetadata,
    ) -> Answer {
        match &self.cleanup {
            Some(cleanup) => cleanup(client, object, metadata).await,
            None => Defaults.cleanup(client, object, metadata).await,
        }
    }

    fn success_action(&self, object: &ConfigMap) -> Action {
        match &self.success_action {
            Some(action) => action(),
            None => Defaults.success_action(object),
        }
    }

    fn error_action(
        self: Arc<Self>,
        object: Arc<ConfigMap>,
        err: &Error<TestError>,
        consecutive_errors: u32,
    ) -> Action {
        self.asked.lock().unwrap().push(consecutive_errors);
        match &self.error_action {
            Some(action) => action(err, consecutive_errors),
            None => Arc::new(Defaults).error_action(object, err, consecutive_errors),
        }
    }

    fn failure_event(
        &self,
        object: &ConfigMap,
        phase: Phase,
        err: &Error<TestError>,
    ) -> Option<Event> {
        match &self.failure_event {
            Some(event) => event(phase),
            None => Defaults.failure_event(object, phase, err),
        }
    }
}
