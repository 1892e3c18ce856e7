//! What can be chosen about a server.

use std::fmt;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;

use crate::EmbeddedApiServer;
use crate::lifecycle::{Controllers, State};
use crate::source::Source;

/// How long after a change controllers act: about what it takes in a small cluster.
const CONTROLLER_DELAY: Duration = Duration::from_millis(20);

/// `namespaceDeletionGracePeriod` of kube-controller-manager.
const NAMESPACE_DELAY: Duration = Duration::from_secs(5);

/// Changes of each collection that are kept for watches.
const HISTORY_LIMIT: usize = 10_000;

type Clock = Box<dyn Fn() -> Timestamp + Send + Sync>;

/// What can be chosen about an [`EmbeddedApiServer`].
#[must_use = "a builder does nothing until `build`"]
pub struct Builder {
    clock: Option<Clock>,
    seed: Option<u64>,
    controllers: Controllers,
    history_limit: usize,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("seed", &self.seed)
            .field("controllers", &self.controllers)
            .field("history_limit", &self.history_limit)
            .finish_non_exhaustive()
    }
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            clock: None,
            seed: None,
            controllers: Controllers {
                garbage_collection: true,
                namespace_deletion: true,
                service_accounts: true,
                delay: CONTROLLER_DELAY,
                namespace_delay: NAMESPACE_DELAY,
            },
            history_limit: HISTORY_LIMIT,
        }
    }

    /// Where timestamps come from.
    ///
    /// By default it is the wall clock at the time of [`build`](Self::build), moved on by tokio's clock: under paused
    /// time an hour of virtual time moves timestamps by an hour. Outside a tokio runtime tokio's clock is the
    /// system's, so that a server may be built before the runtime is.
    pub fn clock(mut self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.clock = Some(Box::new(clock));
        self
    }

    /// Fixes uids and generated names. By default every server has its own random seed.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Whether dependents go when their owners do (by default they do), as the garbage collector of a cluster sees to
    /// it. Deletes in the foreground and orphaning deletes wait for it.
    pub fn garbage_collection(mut self, run: bool) -> Self {
        self.controllers.garbage_collection = run;
        self
    }

    /// Whether a namespace that is deleted goes away with its content (by default it does), as the namespace
    /// controller of a cluster sees to it.
    pub fn namespace_deletion(mut self, run: bool) -> Self {
        self.controllers.namespace_deletion = run;
        self
    }

    /// Whether every namespace gets a ServiceAccount `default` (by default it does).
    pub fn default_service_accounts(mut self, run: bool) -> Self {
        self.controllers.service_accounts = run;
        self
    }

    /// How long after a change the controllers of the cluster act (by default 20 ms of tokio's time). With zero what
    /// follows from a request is done before it is answered.
    pub fn controller_delay(mut self, delay: Duration) -> Self {
        self.controllers.delay = delay;
        self
    }

    /// How long after a change of a namespace that goes away its content is looked at (by default 5 s of tokio's time,
    /// as in a real cluster). With zero an empty namespace is gone before its delete is answered.
    pub fn namespace_deletion_delay(mut self, delay: Duration) -> Self {
        self.controllers.namespace_delay = delay;
        self
    }

    /// How many changes of each kind of object are kept for watches (by default 10,000). A watch from an older version
    /// is answered with 410 Expired.
    pub fn history_limit(mut self, changes: usize) -> Self {
        self.history_limit = changes;
        self
    }

    /// A server of its own.
    #[must_use]
    pub fn build(self) -> EmbeddedApiServer {
        let source = Source::new(self.clock, self.seed);
        // A cluster that starts has done what follows from its first objects.
        let at_once = Controllers {
            delay: Duration::ZERO,
            ..self.controllers.clone()
        };
        let mut state = State::new(source, self.history_limit, at_once);
        crate::start::fill(&mut state);
        crate::plugins::first_classes(&mut state);
        state.controllers = self.controllers;
        EmbeddedApiServer::with_state(state)
    }
}
