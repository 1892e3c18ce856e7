//! How a manager stopped.

use std::fmt;

use kube::core::DynamicObject;
use kube::runtime::reflector::ObjectRef;

/// What is left of a manager that was asked to stop; returned by
/// [`Manager::run_until`](crate::Manager::run_until).
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Stopped {
    /// What was still running at the deadline and was dropped.
    pub abandoned: Vec<Abandoned>,
}

/// Something that was dropped because it did not end in time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant)] // There are few, once.
pub enum Abandoned {
    /// The pass over an object. Whoever runs the controller next will take it up again.
    Pass {
        /// The name of the controller.
        controller: String,
        /// The object.
        object: ObjectRef<DynamicObject>,
    },
    /// A controller as a whole, since something blocked its thread.
    Controller {
        /// Its name.
        name: String,
    },
    /// A task.
    Task {
        /// Its name.
        name: String,
    },
}

impl fmt::Display for Abandoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pass { controller, object } => write!(f, "{object} of controller {controller}"),
            Self::Controller { name } => write!(f, "controller {name}"),
            Self::Task { name } => write!(f, "task {name}"),
        }
    }
}
