//! What all passes of a controller share.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use k8s_controller_error::Error;
use k8s_controller_events::EventRecorder;
use k8s_controller_observe::{Observers, Subject};
use kube::runtime::reflector::{ObjectRef, Store};
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::agenda::Agenda;
use crate::context::Context;
use crate::jitter::Randomness;
use crate::running::Running;
use crate::watch::Memory;

/// How to reach one object, given its namespace. A function, since `Api` asks for the scope of
/// the kind at compile time.
pub(crate) type ApiOf<K> = fn(Client, &str) -> Api<K>;

pub(crate) struct Shared<Ctx>
where
    Ctx: Context,
    Ctx::Resource: Clone + 'static,
    <Ctx::Resource as Resource>::DynamicType: Eq + Hash,
{
    pub(crate) context: Arc<Ctx>,
    pub(crate) client: Client,
    pub(crate) controller: Arc<str>,
    pub(crate) kind: Arc<str>,
    pub(crate) dyntype: <Ctx::Resource as Resource>::DynamicType,
    pub(crate) namespaced: bool,
    pub(crate) api_of: ApiOf<Ctx::Resource>,
    pub(crate) pass_timeout: Option<Duration>,
    pub(crate) observers: Observers,
    pub(crate) recorder: Option<Arc<EventRecorder>>,
    pub(crate) memory: Arc<Memory>,
    pub(crate) store: Store<Ctx::Resource>,
    pub(crate) running: Arc<Running<Ctx::Resource>>,
    /// For cluster-scoped kinds.
    pub(crate) agenda: Option<Agenda<Ctx::Resource>>,
    pub(crate) randomness: Randomness,
}

impl<Ctx> Shared<Ctx>
where
    Ctx: Context,
    Ctx::Resource: Resource + Clone + Debug + DeserializeOwned + Serialize + 'static,
    <Ctx::Resource as Resource>::DynamicType: Eq + Clone + Hash + Default + Debug + Unpin,
{
    pub(crate) fn subject(&self, object: &Ctx::Resource) -> Arc<Subject> {
        let meta = object.meta();
        Arc::new(Subject {
            controller: Arc::clone(&self.controller),
            kind: Arc::clone(&self.kind),
            namespace: meta.namespace.clone(),
            name: meta.name.clone().unwrap_or_default(),
        })
    }

    /// Whether the object has all that every stored object has.
    pub(crate) fn check(&self, object: &Ctx::Resource) -> Result<(), Error<Ctx::Error>> {
        let meta = object.meta();
        let namespace = meta.namespace.as_deref().unwrap_or_default();
        let missing = |field| Err(Error::MissingMetadata { field });
        if meta.name.as_deref().is_none_or(str::is_empty) {
            return missing("metadata.name");
        }
        if meta.uid.as_deref().is_none_or(str::is_empty) {
            return missing("metadata.uid");
        }
        if self.namespaced && namespace.is_empty() {
            return missing("metadata.namespace");
        }
        Ok(())
    }

    /// The API of the object's namespace.
    pub(crate) fn api(&self, object: &Ctx::Resource) -> Api<Ctx::Resource> {
        let namespace = object.meta().namespace.as_deref().unwrap_or_default();
        (self.api_of)(self.client.clone(), namespace)
    }

    /// Whether the watch still knows this very object.
    pub(crate) fn is_stored(&self, object: &Ctx::Resource) -> bool {
        let reference = ObjectRef::from_obj_with(object, self.dyntype.clone());
        self.store
            .get(&reference)
            .is_some_and(|stored| stored.meta().uid == object.meta().uid)
    }
}
