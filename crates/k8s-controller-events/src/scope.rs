//! Groups of series that are forgotten together.

/// Which group of an object's series an event belongs to.
///
/// Equal events of different scopes never count into one series, and
/// [`EventRecorder::forget_scope`](crate::EventRecorder::forget_scope) ends the series of one
/// scope alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Scope {
    /// What a controller publishes of its own accord; used by
    /// [`EventRecorder::publish`](crate::EventRecorder::publish).
    #[default]
    Ordinary,
    /// Failures that end with the next success. After it the same failure is a new event, while
    /// the series of the ordinary scope go on.
    Failure,
}
