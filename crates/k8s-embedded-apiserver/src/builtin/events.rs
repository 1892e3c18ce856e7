//! The group `events.k8s.io`.

use crate::kinds::{Kind, NameRule};
use crate::selector::FieldRules;
use crate::{convert, defaults, validation};

const EVENT_FIELDS: &[(&str, &str)] = &[
    ("regarding.kind", "involvedObject.kind"),
    ("regarding.namespace", "involvedObject.namespace"),
    ("regarding.name", "involvedObject.name"),
    ("regarding.uid", "involvedObject.uid"),
    ("regarding.apiVersion", "involvedObject.apiVersion"),
    (
        "regarding.resourceVersion",
        "involvedObject.resourceVersion",
    ),
    ("regarding.fieldPath", "involvedObject.fieldPath"),
    ("reason", "reason"),
    ("reportingController", "reportingComponent"),
    ("type", "type"),
];

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(("events.k8s.io", "v1", "Event"), "events", "event")
            .short(&["ev"])
            .created_by_put()
            .names(NameRule::Subdomain)
            .fields(FieldRules::Listed(EVENT_FIELDS))
            .view_of("events", convert::event_to_core, convert::event_from_core)
            .defaults(defaults::events::event)
            .validated(validation::events::event),
    ]
}
