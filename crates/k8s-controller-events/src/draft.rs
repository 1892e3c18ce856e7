//! An event that was found good, ready to be sent.

use std::borrow::Cow;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event as ApiEvent;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};

use crate::key::{Digester, Fingerprint, SeriesKey};
use crate::{Event, EventType, PublishError, Reporter, Scope, check, note};

/// Where events of objects without a namespace go: the API server takes them nowhere else but
/// here and in `kube-system`.
const CLUSTER_NAMESPACE: &str = "default";

/// A checked event with all that its sending needs but a name and a time.
pub(crate) struct Draft<'a> {
    pub(crate) key: SeriesKey,
    pub(crate) fingerprint: Fingerprint,
    reference: Cow<'a, ObjectReference>,
    event: &'a Event,
    note: Option<String>,
    reporter: &'a Reporter,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(
        reference: &'a ObjectReference,
        scope: Scope,
        event: &'a Event,
        reporter: &'a Reporter,
        digester: &Digester,
    ) -> Result<Self, PublishError> {
        check::reporter(reporter)?;
        check::short_text("reason", &event.reason)?;
        check::short_text("action", &event.action)?;
        let reference = checked(reference)?;
        let note = event.note.as_deref().map(note::cut);
        Ok(Self {
            key: digester.series(&reference, scope, event),
            fingerprint: digester.fingerprint(&reference, event, note.as_deref()),
            reference,
            event,
            note,
            reporter,
        })
    }

    /// The namespace that the event is kept in.
    pub(crate) fn namespace(&self) -> &str {
        self.reference
            .namespace
            .as_deref()
            .unwrap_or(CLUSTER_NAMESPACE)
    }

    /// The name of the object.
    pub(crate) fn object_name(&self) -> &str {
        self.reference.name.as_deref().unwrap_or_default()
    }

    /// The event as the API server takes it.
    pub(crate) fn to_api(&self, name: &str, time: MicroTime) -> ApiEvent {
        ApiEvent {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                namespace: Some(self.namespace().to_owned()),
                ..ObjectMeta::default()
            },
            event_time: Some(time),
            type_: Some(type_name(self.event.type_).to_owned()),
            reason: Some(self.event.reason.clone()),
            action: Some(self.event.action.clone()),
            note: self.note.clone(),
            regarding: Some(self.reference.clone().into_owned()),
            related: self.event.related.clone(),
            reporting_controller: Some(self.reporter.controller.clone()),
            reporting_instance: Some(check::instance(self.reporter).to_owned()),
            ..ApiEvent::default()
        }
    }
}

/// The reference with a name and with a good namespace or none.
fn checked(reference: &ObjectReference) -> Result<Cow<'_, ObjectReference>, PublishError> {
    if reference.name.as_deref().is_none_or(str::is_empty) {
        return Err(PublishError::Empty {
            field: "regarding.name",
            expected: "an object's name",
        });
    }
    match reference.namespace.as_deref() {
        None => Ok(Cow::Borrowed(reference)),
        Some("") => Ok(Cow::Owned(ObjectReference {
            namespace: None,
            ..reference.clone()
        })),
        Some(namespace) => {
            check::namespace("regarding.namespace", namespace)?;
            Ok(Cow::Borrowed(reference))
        }
    }
}

fn type_name(type_: EventType) -> &'static str {
    match type_ {
        EventType::Normal => "Normal",
        EventType::Warning => "Warning",
    }
}
