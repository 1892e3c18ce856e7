//! What can be chosen about a server.

use std::fmt;

use k8s_openapi::jiff::Timestamp;

use crate::EmbeddedApiServer;
use crate::lifecycle::State;
use crate::source::Source;

/// Changes of each collection that are kept for watches.
const HISTORY_LIMIT: usize = 10_000;

type Clock = Box<dyn Fn() -> Timestamp + Send + Sync>;

/// What can be chosen about an [`EmbeddedApiServer`].
#[must_use = "a builder does nothing until `build`"]
pub struct Builder {
    clock: Option<Clock>,
    seed: Option<u64>,
    garbage_collection: bool,
    history_limit: usize,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("seed", &self.seed)
            .field("garbage_collection", &self.garbage_collection)
            .field("history_limit", &self.history_limit)
            .finish_non_exhaustive()
    }
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            clock: None,
            seed: None,
            garbage_collection: true,
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

    /// Whether dependents go when their owners do (by default they do).
    pub fn garbage_collection(mut self, collect: bool) -> Self {
        self.garbage_collection = collect;
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
        let mut state = State::new(source, self.history_limit, self.garbage_collection);
        crate::start::fill(&mut state);
        crate::plugins::first_classes(&mut state);
        EmbeddedApiServer::with_state(state)
    }
}
