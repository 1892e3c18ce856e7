//! What a manager runs: controllers and tasks.

use std::fmt::Debug;
use std::future::Future;
use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_controller_error::Panic;
use k8s_controller_reconcile::{Context, Controller, ControllerHealth};
use kube::runtime::reflector::ObjectRef;
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::error::{BoxError, Error};
use crate::stopped::Abandoned;

/// Who something is about.
#[derive(Clone, Debug)]
pub(crate) struct Id {
    pub(crate) name: String,
    pub(crate) is_controller: bool,
}

impl Id {
    pub(crate) fn ended(self) -> Error {
        let name = self.name;
        if self.is_controller {
            Error::ControllerEnded { name }
        } else {
            Error::TaskEnded { name }
        }
    }

    pub(crate) fn failed(self, source: BoxError) -> Error {
        let name = self.name;
        Error::TaskFailed { name, source }
    }

    pub(crate) fn panicked(self, panic: Panic) -> Error {
        let name = self.name;
        if self.is_controller {
            Error::ControllerPanicked { name, panic }
        } else {
            Error::TaskPanicked { name, panic }
        }
    }

    pub(crate) fn abandoned(self) -> Abandoned {
        let name = self.name;
        if self.is_controller {
            Abandoned::Controller { name }
        } else {
            Abandoned::Task { name }
        }
    }
}

pub(crate) type Outcome = Result<Vec<Abandoned>, BoxError>;

/// A controller or task that is ready to run.
pub(crate) struct Unit {
    pub(crate) name: String,
    /// Of a controller.
    pub(crate) health: Option<ControllerHealth>,
    /// To be polled until it has ended after the stop.
    pub(crate) run: BoxFuture<'static, Outcome>,
}

impl Unit {
    pub(crate) fn id(&self) -> Id {
        Id {
            name: self.name.clone(),
            is_controller: self.health.is_some(),
        }
    }
}

/// What a controller or task is made with, for one term of leadership.
#[derive(Clone)]
pub(crate) struct Term {
    pub(crate) client: Client,
    pub(crate) stop: CancellationToken,
    pub(crate) stop_deadline: Duration,
}

pub(crate) type Make = Box<dyn FnMut(Term) -> Unit + Send>;

/// Calls `make`; a panic in it is returned.
pub(crate) fn try_make(make: &mut Make, term: Term) -> Result<Unit, Panic> {
    catch_unwind(AssertUnwindSafe(|| make(term)))
        .map_err(|payload| Panic::from_payload(payload.as_ref()))
}

pub(crate) fn controllers<Ctx>(
    mut make: impl FnMut(Client) -> Controller<Ctx> + Send + 'static,
) -> Make
where
    Ctx: Context + Send + Sync + 'static,
    Ctx::Error: Send + 'static,
    Ctx::Resource: Resource + Clone + Debug + DeserializeOwned + Serialize + Send + Sync,
    <Ctx::Resource as Resource>::DynamicType: Eq + Clone + Hash + Default + Debug + Unpin,
{
    Box::new(move |term| {
        let controller = make(term.client).with_stop_deadline(term.stop_deadline);
        let name = controller.name().to_owned();
        Unit {
            name: name.clone(),
            health: Some(controller.health()),
            run: run(name, controller, term.stop).boxed(),
        }
    })
}

async fn run<Ctx>(name: String, controller: Controller<Ctx>, stop: CancellationToken) -> Outcome
where
    Ctx: Context + Send + Sync + 'static,
    Ctx::Error: Send + 'static,
    Ctx::Resource: Resource + Clone + Debug + DeserializeOwned + Serialize + Send + Sync,
    <Ctx::Resource as Resource>::DynamicType: Eq + Clone + Hash + Default + Debug + Unpin,
{
    let stopped = controller.run_until(stop.cancelled_owned()).await;
    let pass = |object: ObjectRef<Ctx::Resource>| Abandoned::Pass {
        controller: name.clone(),
        object: object.erase(),
    };
    Ok(stopped.abandoned.into_iter().map(pass).collect())
}

pub(crate) fn tasks<Fut>(
    name: String,
    mut make: impl FnMut(Client, CancellationToken) -> Fut + Send + 'static,
) -> Make
where
    Fut: Future<Output = Result<(), BoxError>> + Send + 'static,
{
    Box::new(move |term| {
        let task = make(term.client, term.stop);
        Unit {
            name: name.clone(),
            health: None,
            run: task.map(|result| result.map(|()| Vec::new())).boxed(),
        }
    })
}
