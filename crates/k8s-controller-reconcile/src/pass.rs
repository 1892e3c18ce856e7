//! One pass over one object.

mod conclude;

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use k8s_controller_error::{Error, display_chain};
use k8s_controller_observe::Phase;
use kube::Resource;
use kube::runtime::controller::Action;
use kube::runtime::finalizer::Error as FinalizerError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;
use tracing::Instrument;

use crate::backoff;
use crate::context::Context;
use crate::finalizer;
use crate::metadata::{Reference, TraceMetadata};
use crate::report::Report;
use crate::running::Turn;
use crate::shared::Shared;
use crate::tracker::{Cleanup, key_of};
use crate::unwind::{catch, catch_async};

/// Runs a pass and returns what the scheduler is to do. Errors were dealt with.
pub(crate) async fn run<Ctx>(
    shared: Arc<Shared<Ctx>>,
    object: Arc<Ctx::Resource>,
    turn: Turn<Ctx::Resource>,
) -> Result<Action, Infallible>
where
    Ctx: Context + Send + Sync + 'static,
    Ctx::Error: Send + 'static,
    Ctx::Resource: Resource + Clone + Debug + DeserializeOwned + Serialize + Send + Sync,
    <Ctx::Resource as Resource>::DynamicType: Eq + Clone + Hash + Default + Debug + Unpin,
{
    let pass = Pass {
        key: key_of(&*object),
        events: shared.recorder.as_ref().map(|_| {
            let (object, dyntype) = (Arc::clone(&object), shared.dyntype.clone());
            Arc::new(move || object.object_ref(&dyntype)) as Reference
        }),
        shared: &shared,
    };
    let randomness = shared.randomness.clone();
    let running = catch_async(|| randomness.during(pass.run(Arc::clone(&object)))).await;
    let next = running.unwrap_or_else(|panic| {
        // Not in a method of the context, each of which is caught on its own: a log subscriber,
        // the clock of a recorder. A panic that got through would end the whole controller.
        conclude::log_panic(&panic, None);
        Action::requeue(backoff::after_failures(0))
    });
    // Somebody wanted the object while it was taken.
    if turn.end() {
        return Ok(Action::requeue(Duration::ZERO));
    }
    Ok(match &shared.agenda {
        Some(agenda) => {
            agenda.note(&object, next);
            Action::await_change()
        }
        None => next,
    })
}

struct Pass<'a, Ctx>
where
    Ctx: Context,
    Ctx::Resource: Clone + 'static,
    <Ctx::Resource as Resource>::DynamicType: Eq + Hash,
{
    shared: &'a Shared<Ctx>,
    /// What the tracker knows the object by.
    key: Cow<'a, str>,
    /// Where events about the object go, if there is a recorder.
    events: Option<Reference>,
}

/// A pass that went well.
struct Done {
    /// What the user's code returned.
    returned: Option<Action>,
    /// What to do next.
    next: Action,
}

impl Done {
    fn until_change() -> Self {
        Self {
            returned: None,
            next: Action::await_change(),
        }
    }
}

impl<Ctx> Pass<'_, Ctx>
where
    Ctx: Context + Send + Sync + 'static,
    Ctx::Error: Send + 'static,
    Ctx::Resource: Resource + Clone + Debug + DeserializeOwned + Serialize + Send + Sync,
    <Ctx::Resource as Resource>::DynamicType: Eq + Clone + Hash + Default + Debug + Unpin,
{
    async fn run(&self, mut object: Arc<Ctx::Resource>) -> Action {
        let shared = self.shared;
        let subject = shared.subject(&object);
        let events = shared.recorder.clone().zip(self.events.clone());
        let metadata = TraceMetadata::new(Arc::clone(&subject), shared.observers.clone(), events);
        let phase = finalizer::phase_of(&*object, Ctx::FINALIZER_NAME);
        let mut report = Report::start(phase, subject, shared.observers.clone(), metadata);

        let span = report.span.clone();
        let result = match shared.pass_timeout {
            None => self.work(&mut object, &mut report).instrument(span).await,
            Some(limit) => {
                // Boxed, so as not to make passes without a limit big.
                Box::pin(self.work_within(limit, &mut object, &mut report))
                    .instrument(span)
                    .await
            }
        };
        let result = result.map_err(conclude::presentable);
        self.conclude(result, report, object).await
    }

    /// Works, but not for longer than `limit`.
    async fn work_within(
        &self,
        limit: Duration,
        object: &mut Arc<Ctx::Resource>,
        report: &mut Report,
    ) -> Result<Done, Error<Ctx::Error>> {
        let mut work = Box::pin(self.work(object, report));
        if let Ok(result) = timeout(limit, work.as_mut()).await {
            return result;
        }
        // The user's code may panic also when it is dropped.
        match catch(|| drop(work)) {
            Ok(()) => Err(Error::TimedOut { after: limit }),
            Err(panic) => Err(Error::Panicked(panic)),
        }
    }

    /// What the clock of the pass measures.
    async fn work(
        &self,
        object: &mut Arc<Ctx::Resource>,
        report: &mut Report,
    ) -> Result<Done, Error<Ctx::Error>> {
        self.shared.check(object)?;
        let entry = self.shared.memory.tracker.entry(&self.key);
        // What sends requests of its own is rare and big. Boxed, it does not make every pass big.
        if entry.stale && !Box::pin(self.refresh(object)).await {
            report.set_phase(Phase::Delete);
            return Ok(Done::until_change());
        }
        let phase = match finalizer::phase_of(&**object, Ctx::FINALIZER_NAME) {
            // The watch has yet to tell of it.
            Phase::Cleanup if entry.cleanup == Cleanup::Released => Phase::Delete,
            phase => phase,
        };
        report.set_phase(phase);
        match (phase, Ctx::FINALIZER_NAME) {
            (Phase::Init, Some(ours)) => Box::pin(self.init(object, ours)).await,
            (Phase::Apply, _) => self.apply(object, &mut report.metadata).await,
            (Phase::Cleanup, Some(ours)) => {
                let metadata = &mut report.metadata;
                Box::pin(self.cleanup(object, ours, entry.cleanup, metadata)).await
            }
            _ => Ok(Done::until_change()),
        }
    }

    /// After a conflict: gets the object as it is now; false if it is gone. If it cannot be got,
    /// for example because only `list` and `watch` are allowed, the copy of the watch has to do.
    async fn refresh(&self, object: &mut Arc<Ctx::Resource>) -> bool {
        let name = object.meta().name.as_deref().unwrap_or_default();
        match self.shared.api(object).get_opt(name).await {
            Ok(Some(fresh)) if fresh.meta().uid == object.meta().uid => *object = Arc::new(fresh),
            // One that was made anew under the same name comes with a watch event of its own.
            Ok(_) => return false,
            Err(error) => tracing::debug!(
                error = %display_chain(&error),
                "no fresh copy after a conflict, using that of the watch"
            ),
        }
        true
    }

    async fn init(&self, object: &Ctx::Resource, ours: &str) -> Result<Done, Error<Ctx::Error>> {
        if !finalizer::is_valid_name(ours) {
            return Err(Error::InvalidFinalizerName {
                name: ours.to_owned(),
            });
        }
        finalizer::add(&self.shared.api(object), object, ours)
            .await
            .map_err(|error| Error::FinalizerError(FinalizerError::AddFinalizer(error)))?;
        // The change asks for the next pass.
        Ok(Done::until_change())
    }

    async fn apply(
        &self,
        object: &Ctx::Resource,
        metadata: &mut TraceMetadata,
    ) -> Result<Done, Error<Ctx::Error>> {
        let context = &self.shared.context;
        let client = self.shared.client.clone();
        let returned = catch_async(|| context.apply(client, object, metadata))
            .await
            .map_err(Error::Panicked)?
            .map_err(|error| match Ctx::FINALIZER_NAME {
                Some(_) => Error::FinalizerError(FinalizerError::ApplyFailed(error)),
                None => Error::ControllerError(error),
            })?;
        let next = match &returned {
            Some(action) => action.clone(),
            None => catch(|| context.success_action(object)).map_err(Error::Panicked)?,
        };
        Ok(Done { returned, next })
    }

    async fn cleanup(
        &self,
        object: &Ctx::Resource,
        ours: &str,
        progress: Cleanup,
        metadata: &mut TraceMetadata,
    ) -> Result<Done, Error<Ctx::Error>> {
        let tracker = &self.shared.memory.tracker;
        if progress == Cleanup::Open {
            let client = self.shared.client.clone();
            let returned = catch_async(|| self.shared.context.cleanup(client, object, metadata))
                .await
                .map_err(Error::Panicked)?
                .map_err(|error| Error::FinalizerError(FinalizerError::CleanupFailed(error)))?;
            if let Some(next) = returned
                .clone()
                .filter(|next| *next != Action::await_change())
            {
                return Ok(Done { returned, next });
            }
            tracker.set_cleanup(&self.key, Cleanup::Completed);
        }
        finalizer::remove(&self.shared.api(object), object, ours)
            .await
            .map_err(|error| Error::FinalizerError(FinalizerError::RemoveFinalizer(error)))?;
        tracker.set_cleanup(&self.key, Cleanup::Released);
        Ok(Done::until_change())
    }
}
