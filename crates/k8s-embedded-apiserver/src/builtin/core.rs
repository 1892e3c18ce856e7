//! The core group, but for pods.

use k8s_openapi::api::core::v1 as core;

use crate::codec::typed;
use crate::kinds::{Kind, NameRule};
use crate::selector::FieldRules;
use crate::{defaults, times, validation};

const CORE_EVENT_FIELDS: &[(&str, &str)] = &[
    ("involvedObject.kind", "involvedObject.kind"),
    ("involvedObject.namespace", "involvedObject.namespace"),
    ("involvedObject.name", "involvedObject.name"),
    ("involvedObject.uid", "involvedObject.uid"),
    ("involvedObject.apiVersion", "involvedObject.apiVersion"),
    (
        "involvedObject.resourceVersion",
        "involvedObject.resourceVersion",
    ),
    ("involvedObject.fieldPath", "involvedObject.fieldPath"),
    ("reason", "reason"),
    ("reportingComponent", "reportingComponent"),
    ("source", "source.component"),
    ("type", "type"),
];
const SECRET_FIELDS: &[(&str, &str)] = &[("type", "type")];
const NAMESPACE_FIELDS: &[(&str, &str)] = &[("status.phase", "status.phase")];
const NODE_FIELDS: &[(&str, &str)] = &[("spec.unschedulable", "spec.unschedulable")];
const SERVICE_FIELDS: &[(&str, &str)] = &[
    ("spec.clusterIP", "spec.clusterIP"),
    ("spec.type", "spec.type"),
];

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(
            ("", "v1", "ConfigMap"),
            "configmaps",
            "configmap",
            typed::<core::ConfigMap>,
        )
        .short(&["cm"])
        .validated(validation::core::config_map),
        Kind::row(
            ("", "v1", "Secret"),
            "secrets",
            "secret",
            typed::<core::Secret>,
        )
        .fields(FieldRules::Listed(SECRET_FIELDS))
        .defaults(defaults::core::secret)
        .validated(validation::core::secret),
        Kind::row(
            ("", "v1", "Namespace"),
            "namespaces",
            "namespace",
            typed::<core::Namespace>,
        )
        .short(&["ns"])
        .cluster()
        .with_status()
        .names(NameRule::Label)
        .fields(FieldRules::Listed(NAMESPACE_FIELDS))
        .defaults(defaults::core::namespace)
        .on_create(defaults::core::new_namespace),
        Kind::row(
            ("", "v1", "Service"),
            "services",
            "service",
            typed::<core::Service>,
        )
        .short(&["svc"])
        .in_all()
        .with_status()
        .answers_with_object()
        .names(NameRule::Label1035)
        .fields(FieldRules::Listed(SERVICE_FIELDS))
        .defaults(defaults::core::service),
        Kind::row(
            ("", "v1", "ServiceAccount"),
            "serviceaccounts",
            "serviceaccount",
            typed::<core::ServiceAccount>,
        )
        .short(&["sa"])
        .answers_with_object(),
        Kind::row(("", "v1", "Node"), "nodes", "node", typed::<core::Node>)
            .short(&["no"])
            .cluster()
            .with_status()
            .fields(FieldRules::Listed(NODE_FIELDS))
            .defaults(defaults::core::node),
        Kind::row(
            ("", "v1", "Event"),
            "events",
            "event",
            times::event::<core::Event>,
        )
        .short(&["ev"])
        .created_by_put()
        .names(NameRule::Any)
        .fields(FieldRules::Listed(CORE_EVENT_FIELDS))
        .defaults(defaults::events::event)
        .validated(validation::events::core_event),
    ]
}
