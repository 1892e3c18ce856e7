//! The recorder.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::jiff::Timestamp;
use kube::{Client, Resource};
use tokio::time::Instant;
use tracing::error;

use crate::attempt::{Attempt, Sent};
use crate::deliver::Delivery;
use crate::draft::Draft;
use crate::environment::Environment;
use crate::key::Digester;
use crate::stats::Counters;
use crate::sweep::Sweeper;
use crate::table::Table;
use crate::{
    DEFAULT_MAX_SERIES, DEFAULT_TIMEOUT, Event, PublishError, Reporter, Scope, Stats, check,
};

/// Publishes events, and counts repeats into the series of the event that they repeat.
///
/// One recorder serves all objects of a controller; share it in an [`Arc`]. It has to be used on a
/// tokio runtime with time enabled.
///
/// A publish that is dropped before it ends is counted and logged, and blocks no later one.
pub struct EventRecorder {
    client: Client,
    reporter: Reporter,
    timeout: Duration,
    digester: Digester,
    environment: Environment,
    table: Arc<Table>,
    sweeper: Sweeper,
    counters: Counters,
}

impl EventRecorder {
    /// Makes a recorder that never fails to be made: with a reporter that an API server would
    /// refuse it logs an error now, and every publish gives that error. See
    /// [`try_new`](Self::try_new).
    #[must_use]
    pub fn new(client: Client, reporter: Reporter) -> Self {
        if let Err(error) = check::reporter(&reporter) {
            error!(%error, controller = %reporter.controller, "reporter is invalid, no event will be sent");
        }
        Self {
            client,
            reporter,
            timeout: DEFAULT_TIMEOUT,
            digester: Digester::default(),
            environment: Environment::system(),
            table: Arc::new(Table::new(DEFAULT_MAX_SERIES)),
            sweeper: Sweeper::default(),
            counters: Counters::default(),
        }
    }

    /// Makes a recorder after a check of the reporter.
    ///
    /// # Errors
    ///
    /// If the controller is not a qualified name (`website-controller` or `example.com/website`),
    /// or the instance, or the controller that stands in for it, does not have 1 to 128 bytes.
    pub fn try_new(client: Client, reporter: Reporter) -> Result<Self, PublishError> {
        check::reporter(&reporter)?;
        Ok(Self::new(client, reporter))
    }

    /// Sets how long a publish may take, waiting for a concurrent one of the same event included.
    /// [`DEFAULT_TIMEOUT`] if not set.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets how many series are tracked at most; beyond that the one that was published least
    /// recently goes first, and its next repeat is a new event. With 0 every publish is a new
    /// event. [`DEFAULT_MAX_SERIES`] if not set.
    #[must_use]
    pub fn with_max_series(self, max: usize) -> Self {
        self.table.lock().set_max(max);
        self
    }

    /// Sets where the times in events come from; the system's clock if not set. The series window
    /// and the timeout use tokio's clock.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.environment.set_clock(clock);
        self
    }

    /// Makes the names of events a function of `seed`, for tests and simulations that have to come
    /// out the same each time. Two recorders of one seed find names taken, and go on to others.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.environment.set_seed(seed);
        self
    }

    /// The reporter of all events.
    #[must_use]
    pub fn reporter(&self) -> &Reporter {
        &self.reporter
    }

    /// Publishes an event about an object, in the ordinary scope.
    ///
    /// If it is equal to the last event published with the same object uid, reason and action, and
    /// that was less than [`SERIES_WINDOW`](crate::SERIES_WINDOW) ago, the series of that event
    /// counts up; otherwise there is a new event. It is `Ok` as well when the event was dropped
    /// because its namespace is being deleted; [`stats`](Self::stats) counts those.
    ///
    /// # Errors
    ///
    /// If a field is one that an API server would refuse, if the server refused the event or gave
    /// no answer that can be read, or after the timeout. An error is also logged, as a warning.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with time enabled.
    pub async fn publish<K>(&self, object: &K, event: &Event) -> Result<(), PublishError>
    where
        K: Resource,
        K::DynamicType: Default,
    {
        let reference = object.object_ref(&K::DynamicType::default());
        self.publish_to(&reference, Scope::Ordinary, event).await
    }

    /// Publishes an event about the object of a reference, in a scope of its own choice.
    ///
    /// The reference needs a name. One without a namespace is that of a cluster-scoped object,
    /// whose events are in the namespace `default`. Without a uid, series are told apart by API
    /// version, kind, namespace and name, and `kubectl describe` may not find the event.
    ///
    /// # Errors
    ///
    /// As [`publish`](Self::publish).
    ///
    /// # Panics
    ///
    /// As [`publish`](Self::publish).
    pub async fn publish_to(
        &self,
        reference: &ObjectReference,
        scope: Scope,
        event: &Event,
    ) -> Result<(), PublishError> {
        let attempt = Attempt::start(&self.counters, reference, event);
        attempt.finish(self.deliver(reference, scope, event).await)
    }

    /// Ends the series of an object in the ordinary scope: the next publish of each is a new event.
    pub fn forget<K>(&self, object: &K)
    where
        K: Resource,
        K::DynamicType: Default,
    {
        self.forget_scope(
            &object.object_ref(&K::DynamicType::default()),
            Scope::Ordinary,
        );
    }

    /// Ends the series of an object in one scope. Of a reference with a uid, that is enough.
    ///
    /// A publish that is under way is not called back, but no later one counts into its event.
    pub fn forget_scope(&self, reference: &ObjectReference, scope: Scope) {
        let group = self.digester.group(reference, scope);
        self.table.lock().forget(group);
    }

    /// What became of the events so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.counters.read(self.table.lock().evicted())
    }

    /// How many series are tracked at this moment.
    #[must_use]
    pub fn tracked_series(&self) -> usize {
        let mut series = self.table.lock();
        series.expire(Instant::now());
        series.len()
    }

    async fn deliver(
        &self,
        reference: &ObjectReference,
        scope: Scope,
        event: &Event,
    ) -> Result<Sent, PublishError> {
        let draft = Draft::new(reference, scope, event, &self.reporter, &self.digester)?;
        let delivery = Delivery {
            client: &self.client,
            table: &self.table,
            environment: &self.environment,
            timeout: self.timeout,
        };
        let sent = delivery.send(&draft).await;
        self.sweeper.wake(&self.table);
        sent
    }
}

impl fmt::Debug for EventRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventRecorder")
            .field("reporter", &self.reporter)
            .field("timeout", &self.timeout)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
