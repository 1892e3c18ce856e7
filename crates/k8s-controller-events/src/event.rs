//! What a user publishes.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::EventType;

/// An event about an object, as its author describes it.
///
/// The object itself, the reporter, the times and the name are added by
/// [`EventRecorder`](crate::EventRecorder) when it is published.
///
/// ```
/// use k8s_controller_events::{Event, EventType};
///
/// let event = Event {
///     type_: EventType::Warning,
///     reason: "ImagePullFailed".into(),
///     action: "Pull".into(),
///     note: Some("registry.example.com: connection refused".into()),
///     related: None,
/// };
/// assert_eq!(event, event.clone());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Whether something is wrong. `kubectl describe` shows it as `Type`.
    pub type_: EventType,
    /// Why it happened, for machines: one word in UpperCamelCase, 1 to 128 bytes.
    /// `kubectl describe` shows it as `Reason`.
    pub reason: String,
    /// What was done, or what was tried in vain, for machines: one word in UpperCamelCase,
    /// 1 to 128 bytes.
    pub action: String,
    /// What happened, for people. `kubectl describe` shows it as `Message`. A note longer than
    /// [`MAX_NOTE_BYTES`](crate::MAX_NOTE_BYTES) is cut.
    pub note: Option<String>,
    /// A second object that has a part in it, for example the child that was created.
    pub related: Option<ObjectReference>,
}
