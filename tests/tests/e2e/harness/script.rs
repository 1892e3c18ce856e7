//! A controller whose work is given as closures.

use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::{BoxFuture, FutureExt as _};
use k8s_controller::events::Event;
use k8s_controller::{Context, Error, Phase, TraceMetadata};
use kube::runtime::controller::Action;
use kube::{Client, Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

/// The finalizer of a controller, as a type.
pub(crate) trait Finalizer: Clone + Send + Sync + 'static {
    const NAME: Option<&'static str>;
}

macro_rules! finalizers {
    ($($(#[$doc:meta])* $type:ident = $name:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone)]
        pub(crate) struct $type;
        impl Finalizer for $type {
            const NAME: Option<&'static str> = $name;
        }
    )*};
}

finalizers! {
    Without = None;
    Mine = Some("e2e.example.com/mine");
    Other = Some("e2e.example.com/other");
    /// One that this server refuses on core kinds, whose finalizers need a domain.
    Undomained = Some("undomained");
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum AppError {
    #[error("request failed")]
    Kube(#[from] kube::Error),
    #[error(transparent)]
    Terminal(#[from] k8s_controller::error::TerminalError),
    #[error("{0}")]
    Text(String),
}

impl From<&str> for AppError {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

pub(crate) type Done = Result<Option<Action>, AppError>;
type Job<R> = Arc<dyn Fn(Client, R) -> BoxFuture<'static, Done> + Send + Sync>;

/// A call of user code.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) at: Instant,
    pub(crate) phase: Phase,
    pub(crate) name: String,
    pub(crate) uid: String,
}

/// A call of the error action.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) uid: String,
    pub(crate) consecutive: u32,
    pub(crate) conflict: bool,
    pub(crate) chain: String,
}

/// Clones share what was seen.
#[derive(Clone)]
pub(crate) struct Script<R, F> {
    apply: Job<R>,
    cleanup: Job<R>,
    retry: Option<Duration>,
    quiet: bool,
    calls: Arc<Mutex<Vec<Call>>>,
    failures: Arc<Mutex<Vec<Failure>>>,
    finalizer: PhantomData<F>,
}

/// How long scripted controllers wait after a failure.
pub(crate) const RETRY: Duration = Duration::from_millis(200);

impl<R, F> Script<R, F> {
    /// Does nothing, retries failures after [`RETRY`].
    pub(crate) fn new() -> Self {
        Self {
            apply: Arc::new(|_, _| async { Ok(None) }.boxed()),
            cleanup: Arc::new(|_, _| async { Ok(None) }.boxed()),
            retry: Some(RETRY),
            quiet: false,
            calls: Arc::default(),
            failures: Arc::default(),
            finalizer: PhantomData,
        }
    }

    pub(crate) fn apply<D: Future<Output = Done> + Send + 'static>(
        mut self,
        job: impl Fn(Client, R) -> D + Send + Sync + 'static,
    ) -> Self {
        self.apply = Arc::new(move |client, object| job(client, object).boxed());
        self
    }

    pub(crate) fn cleanup<D: Future<Output = Done> + Send + 'static>(
        mut self,
        job: impl Fn(Client, R) -> D + Send + Sync + 'static,
    ) -> Self {
        self.cleanup = Arc::new(move |client, object| job(client, object).boxed());
        self
    }

    /// Another delay after failures; `None` is the library's default backoff.
    pub(crate) fn retry(mut self, delay: impl Into<Option<Duration>>) -> Self {
        self.retry = delay.into();
        self
    }

    /// No event for failures.
    pub(crate) fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    pub(crate) fn calls(&self, phase: Phase) -> Vec<Call> {
        self.calls
            .lock()
            .unwrap()
            .iter()
            .filter(|call| call.phase == phase)
            .cloned()
            .collect()
    }

    pub(crate) fn failures(&self) -> Vec<Failure> {
        self.failures.lock().unwrap().clone()
    }

    fn note(&self, phase: Phase, object: &R)
    where
        R: Resource,
    {
        let (name, uid) = (object.name_any(), object.uid().unwrap_or_default());
        self.calls.lock().unwrap().push(Call {
            at: Instant::now(),
            phase,
            name,
            uid,
        });
    }
}

/// What the kinds of scripted controllers can do.
pub(crate) trait Kind:
    Resource<DynamicType: Default + Eq + Hash + Clone + Debug + Unpin>
    + DeserializeOwned
    + Serialize
    + Clone
    + Debug
    + Send
    + Sync
    + 'static
{
}

impl<R> Kind for R where
    R: Resource<DynamicType: Default + Eq + Hash + Clone + Debug + Unpin>
        + DeserializeOwned
        + Serialize
        + Clone
        + Debug
        + Send
        + Sync
        + 'static
{
}

#[async_trait]
impl<R: Kind, F: Finalizer> Context for Script<R, F> {
    type Resource = R;
    type Error = AppError;
    const FINALIZER_NAME: Option<&'static str> = F::NAME;

    async fn apply(&self, client: Client, object: &R, _: &mut TraceMetadata) -> Done {
        self.note(Phase::Apply, object);
        (self.apply)(client, object.clone()).await
    }

    async fn cleanup(&self, client: Client, object: &R, _: &mut TraceMetadata) -> Done {
        self.note(Phase::Cleanup, object);
        (self.cleanup)(client, object.clone()).await
    }

    fn error_action(
        self: Arc<Self>,
        object: Arc<R>,
        error: &Error<AppError>,
        consecutive_errors: u32,
    ) -> Action {
        self.failures.lock().unwrap().push(Failure {
            uid: object.uid().unwrap_or_default(),
            consecutive: consecutive_errors,
            conflict: error.is_conflict(),
            chain: error.display_chain(),
        });
        match self.retry {
            Some(delay) => Action::requeue(delay),
            None => Defaults::<R>(PhantomData).default_action(object, error, consecutive_errors),
        }
    }

    fn failure_event(&self, object: &R, phase: Phase, error: &Error<AppError>) -> Option<Event> {
        if self.quiet {
            None
        } else {
            Defaults::<R>(PhantomData).failure_event(object, phase, error)
        }
    }
}

/// A context without overrides, to reach the defaults from one that has some.
struct Defaults<R>(PhantomData<R>);

impl<R: Kind> Defaults<R> {
    fn default_action(
        self,
        object: Arc<R>,
        error: &Error<AppError>,
        consecutive_errors: u32,
    ) -> Action {
        Arc::new(self).error_action(object, error, consecutive_errors)
    }
}

#[async_trait]
impl<R: Kind> Context for Defaults<R> {
    type Resource = R;
    type Error = AppError;

    async fn apply(&self, _: Client, _: &R, _: &mut TraceMetadata) -> Done {
        Ok(None)
    }
}
