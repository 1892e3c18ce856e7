//! Running and stopping a controller.

use std::fmt::Debug;
use std::future::{self, Future};
use std::hash::Hash;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_controller_error::{Error, display_chain};
use k8s_controller_observe::ControllerRecord;
use kube::Resource;
use kube::runtime::controller::{Action, Error as RuntimeError};
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout};

use crate::agenda::Agenda;
use crate::context::Context;
use crate::controller::Controller;
use crate::finalizer;
use crate::health::Lifeline;
use crate::pass;
use crate::running::Running;
use crate::shared::Shared;
use crate::waiting::{self, Waiting};
use crate::watch::Memory;
use crate::watch_log::WatchLog;

/// How long running passes may go on after a stop was asked for: 25 s. Kubernetes kills a pod 30
/// s after it asked it to end (`terminationGracePeriodSeconds`), which leaves 5 s for the rest.
pub const DEFAULT_STOP_DEADLINE: Duration = Duration::from_secs(25);

/// How long to wait for passes that were abandoned to be dropped. They are dropped as soon as
/// they next wait for something; only code that blocks its thread takes longer.
const DROP_GRACE: Duration = Duration::from_millis(50);

/// How often a first list that does not come is complained about.
const FIRST_LIST_NOTICE: Duration = Duration::from_secs(30);

/// How a controller ended; returned by [`Controller::run_until`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Stopped<K>
where
    K: Resource,
    K::DynamicType: Debug,
{
    /// The objects whose passes were still running at the deadline and were dropped, in the
    /// order in which they began. Another run will take them up again.
    pub abandoned: Vec<ObjectRef<K>>,
}

impl<Ctx> Controller<Ctx>
where
    Ctx: Context + Send + Sync + 'static,
    Ctx::Error: Send + 'static,
    Ctx::Resource: Resource + Clone + Debug + DeserializeOwned + Serialize + Send + Sync,
    <Ctx::Resource as Resource>::DynamicType: Eq + Clone + Hash + Default + Debug + Unpin,
{
    /// Runs forever. Errors of watches are logged and retried.
    ///
    /// Dropping the future abandons the running passes. It returns only if a shutdown trigger
    /// was given to the runtime's controller in [`with_controller`](Self::with_controller).
    ///
    /// # Panics
    ///
    /// If a mapper that was given to the runtime's controller there panics.
    pub async fn run(self) {
        self.run_until(future::pending()).await;
    }

    /// Runs until `stop` is ready, then stops gracefully: no new pass begins, running ones have
    /// until the deadline ([`with_stop_deadline`](Self::with_stop_deadline)) to end and to
    /// publish their events, and the rest is dropped.
    ///
    /// Returns as soon as no pass is running, and no later than the deadline (save for code that
    /// blocks its thread), also if the API server never answered. Give a cancellation token as
    /// `token.cancelled_owned()`, a signal as `async { tokio::signal::ctrl_c().await.ok(); }`.
    ///
    /// # Panics
    ///
    /// As [`run`](Self::run).
    pub async fn run_until(self, stop: impl Future<Output = ()>) -> Stopped<Ctx::Resource> {
        let vitals = self.lifeline.vitals();
        let mut running = pin!(self.run_and_stop(stop));
        future::poll_fn(|cx| {
            vitals.beat(cx.waker());
            running.as_mut().poll(cx)
        })
        .await
    }

    async fn run_and_stop(self, stop: impl Future<Output = ()>) -> Stopped<Ctx::Resource> {
        let deadline = self.stop_deadline;
        let concurrency = self.concurrency;
        let (runtime, shared, lifeline) = self.into_parts();
        lifeline.start();
        // Dropped after the loop, whatever ends that.
        let _left = Left(Arc::clone(&shared.memory));
        shared.observers.controller_started(&ControllerRecord::new(
            &shared.controller,
            &shared.kind,
            concurrency,
        ));
        if let Some(name) = Ctx::FINALIZER_NAME.filter(|name| !finalizer::is_valid_name(name)) {
            let error = Error::<Ctx::Error>::InvalidFinalizerName {
                name: name.to_owned(),
            };
            tracing::error!(controller = %shared.controller, %error, "no object can be worked on");
        }
        let running = Arc::clone(&shared.running);
        let controller = Arc::clone(&shared.controller);
        let mut watches = WatchLog::new(Arc::clone(&controller), Arc::clone(&shared.kind));
        let dyntype = shared.dyntype.clone();
        let mut results =
            Box::pin(runtime.run(begin::<Ctx>, |_, never, _| match *never {}, shared.clone()));

        let mut synced = false;
        let mut stop = pin!(stop);
        let mut first_list = pin!(first_list(&shared.store, &controller, &shared.kind));
        loop {
            tokio::select! {
                biased;
                () = &mut stop => break,
                () = &mut first_list, if !synced => {
                    synced = true;
                    lifeline.set_synced();
                }
                result = results.next() => match result {
                    Some(Ok(_)) => {}
                    Some(Err(RuntimeError::QueueError(error))) => {
                        watches.failed(&error, shared.memory.take_failed());
                    }
                    Some(Err(error)) => log(&controller, &error),
                    None => break,
                },
            }
        }
        // Passes are tasks of their own; without anybody asking for results, none is begun.
        tracing::info!(%controller, running = running.len(), ?deadline, "stopping");
        let ended = timeout(deadline, running.idle()).await;
        let left = if ended.is_ok() {
            Vec::new()
        } else {
            running.objects()
        };
        // Aborts the tasks that are left.
        drop(results);
        if !left.is_empty() && timeout(DROP_GRACE, running.idle()).await.is_err() {
            tracing::warn!(%controller, running = running.len(), "passes block their thread");
        }
        let abandoned: Vec<_> = left
            .iter()
            .map(|object| ObjectRef::from_obj_with(&**object, dyntype.clone()))
            .collect();
        tracing::info!(%controller, abandoned = abandoned.len(), "stopped");
        Stopped { abandoned }
    }

    #[allow(clippy::type_complexity)]
    fn into_parts(
        self,
    ) -> (
        kube::runtime::Controller<Ctx::Resource>,
        Arc<Shared<Ctx>>,
        Lifeline,
    ) {
        let dyntype = <Ctx::Resource as Resource>::DynamicType::default();
        let kind: Arc<str> = Ctx::Resource::kind(&dyntype).into();
        let controller: Arc<str> = self.name.into();
        if let Some(recorder) = &self.recorder {
            // Set once: a controller is run once.
            let _ = self.memory.recorder.set(Arc::clone(recorder));
        }
        if !self.observers.is_empty() {
            let (controller, kind) = (Arc::clone(&controller), Arc::clone(&kind));
            let waiting = Waiting::new(controller, kind, self.observers.clone());
            let _ = self.memory.waiting.set(waiting);
        }
        let store = self.runtime.store();
        let mut runtime = self.runtime;
        let mut agenda = None;
        if !self.namespaced {
            let (new, due) = Agenda::new(store.clone(), dyntype.clone());
            runtime = runtime.reconcile_on(due);
            agenda = Some(new);
        }
        let shared = Shared {
            context: Arc::new(self.context),
            client: self.client,
            controller,
            kind,
            dyntype,
            namespaced: self.namespaced,
            api_of: self.api_of,
            pass_timeout: self.pass_timeout,
            observers: self.observers,
            recorder: self.recorder,
            memory: self.memory,
            store,
            running: Running::new(),
            agenda,
            randomness: self.randomness,
        };
        (runtime, Arc::new(shared), self.lifeline)
    }
}

/// At the end of the loop, whatever ends it, nothing waits any more.
struct Left(Arc<Memory>);

impl Drop for Left {
    fn drop(&mut self) {
        if let Some(waiting) = self.0.waiting.get() {
            waiting.retain(|_| false);
        }
    }
}

/// Begins a pass over an object, unless one is running that will ask for another.
fn begin<Ctx>(
    object: Arc<Ctx::Resource>,
    shared: Arc<Shared<Ctx>>,
) -> impl Future<Output = Result<Action, std::convert::Infallible>> + Send + 'static
where
    Ctx: Context + Send + Sync + 'static,
    Ctx::Error: Send + 'static,
    Ctx::Resource: Resource + Clone + Debug + DeserializeOwned + Serialize + Send + Sync,
    <Ctx::Resource as Resource>::DynamicType: Eq + Clone + Hash + Default + Debug + Unpin,
{
    let exclusive = if shared.namespaced {
        None
    } else {
        object.meta().name.as_deref()
    };
    let turn = shared.running.begin(&object, exclusive);
    if let (Some(_), Some(waiting)) = (&turn, shared.memory.waiting.get()) {
        waiting.leave(waiting::key_of(&*object));
    }
    // Boxed, since the runtime moves it several times on its way to a task.
    Box::pin(async move {
        match turn {
            Some(turn) => pass::run(shared, object, turn).await,
            None => Ok(Action::await_change()),
        }
    })
}

/// Waits for the first list, and says now and then that it has not come yet: without it nothing
/// happens, and a server that does not answer gives no error either.
async fn first_list<K>(store: &Store<K>, controller: &str, kind: &str)
where
    K: Resource + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    let started = Instant::now();
    loop {
        match timeout(FIRST_LIST_NOTICE, store.wait_until_ready()).await {
            Ok(Ok(())) => return,
            // The watch is gone, and will give no list.
            Ok(Err(_)) => return future::pending().await,
            Err(_elapsed) => {}
        }
        let waited_seconds = started.elapsed().as_secs();
        tracing::warn!(
            controller,
            kind,
            waited_seconds,
            "still waiting for the first list of objects"
        );
    }
}

fn log(controller: &str, error: &RuntimeError<std::convert::Infallible, watcher::Error>) {
    match error {
        // It was deleted while a request for it was waiting.
        RuntimeError::ObjectNotFound(object) => {
            tracing::debug!(controller, %object, "object is gone");
        }
        error => tracing::error!(controller, source = %display_chain(error), "runtime failed"),
    }
}
