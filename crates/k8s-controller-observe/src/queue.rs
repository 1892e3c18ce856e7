//! What observers are told of a controller as a whole: its start, and what waits for a pass.

use std::time::Duration;

/// A controller that begins to run.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ControllerRecord<'a> {
    /// The name of the controller.
    pub controller: &'a str,
    /// The kind of its objects.
    pub kind: &'a str,
    /// How many passes may run at once; 0 is no limit.
    pub concurrency: u16,
}

impl<'a> ControllerRecord<'a> {
    /// The record of a controller.
    #[must_use]
    pub const fn new(controller: &'a str, kind: &'a str, concurrency: u16) -> Self {
        Self {
            controller,
            kind,
            concurrency,
        }
    }
}

/// An object that changed and waits for its pass.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct QueueRecord<'a> {
    /// The name of the controller.
    pub controller: &'a str,
    /// The kind of its objects.
    pub kind: &'a str,
    /// How many objects wait, this one included.
    pub depth: usize,
}

impl<'a> QueueRecord<'a> {
    /// The record of one more that waits.
    #[must_use]
    pub const fn new(controller: &'a str, kind: &'a str, depth: usize) -> Self {
        Self {
            controller,
            kind,
            depth,
        }
    }
}

/// An object that no longer waits: its pass begins, or it is gone.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct DequeueRecord<'a> {
    /// The name of the controller.
    pub controller: &'a str,
    /// The kind of its objects.
    pub kind: &'a str,
    /// How many objects still wait.
    pub depth: usize,
    /// How long it waited.
    pub waited: Duration,
}

impl<'a> DequeueRecord<'a> {
    /// The record of one that no longer waits.
    #[must_use]
    pub const fn new(controller: &'a str, kind: &'a str, depth: usize, waited: Duration) -> Self {
        Self {
            controller,
            kind,
            depth,
            waited,
        }
    }
}
