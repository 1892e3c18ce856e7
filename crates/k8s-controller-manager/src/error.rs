//! Why a manager ended.

use k8s_controller_error::Panic;
use k8s_controller_leader_election::ConfigError;

/// Any error, as tasks return it.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why a manager did not start, or ended although nobody asked it to.
///
/// When it is returned, whatever was running has ended or was dropped, and the lease, if it was
/// held, is released.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Neither a controller nor a task was given.
    #[error("nothing to run: expected at least one controller or task")]
    NothingToRun,

    /// Two controllers or tasks have the same name, which is what errors, logs and health checks
    /// tell them apart by.
    #[error(
        "two controllers or tasks are named {name:?}: expected a name of its own for each; the \
         name of a controller is, unless `Controller::with_name` says otherwise, its finalizer \
         or else its kind"
    )]
    DuplicateName {
        /// The name.
        name: String,
    },

    /// A controller or a task has an empty name.
    #[error("a controller or task has an empty name: expected one that health checks can show")]
    EmptyName,

    /// The timings of the leader election cannot work together.
    #[error("invalid leader election")]
    Election(#[source] ConfigError),

    /// A controller ended by itself, as one does to whose runtime a shutdown trigger was given.
    #[error("controller {name:?} ended although it was not asked to stop")]
    ControllerEnded {
        /// The name of the controller.
        name: String,
    },

    /// A controller panicked outside of a pass, for example in a mapper of a watch.
    #[error("controller {name:?}")]
    ControllerPanicked {
        /// The name of the controller.
        name: String,
        /// What the panic said.
        #[source]
        panic: Panic,
    },

    /// A task returned `Ok` although it was not asked to stop.
    #[error("task {name:?} ended although it was not asked to stop")]
    TaskEnded {
        /// The name of the task.
        name: String,
    },

    /// A task returned an error.
    #[error("task {name:?} failed")]
    TaskFailed {
        /// The name of the task.
        name: String,
        /// The error.
        source: BoxError,
    },

    /// A task panicked.
    #[error("task {name:?}")]
    TaskPanicked {
        /// The name of the task.
        name: String,
        /// What the panic said.
        #[source]
        panic: Panic,
    },

    /// The lease was lost while controllers were running, which were dropped.
    #[error("lease {lease} was lost")]
    LeaseLost {
        /// The lease, as `namespace/name`.
        lease: String,
    },

    /// The admin server could not begin or go on to serve.
    #[cfg(feature = "admin")]
    #[error(transparent)]
    Admin(k8s_controller_admin::Error),

    /// The admin server ended although it was not asked to stop.
    #[error("admin server ended although it was not asked to stop")]
    AdminEnded,

    /// The admin server panicked.
    #[error("admin server")]
    AdminPanicked(#[source] Panic),

    /// Signals cannot be listened for.
    #[error("cannot listen for signals")]
    Signals(#[source] std::io::Error),
}
