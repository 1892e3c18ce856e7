//! The built-in kinds, one row each.

use k8s_openapi::api::apps::v1 as apps;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::events::v1 as events;
use k8s_openapi::api::rbac::v1 as rbac;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions;

use crate::codec::typed;
use crate::kinds::{Generation, Kind, NameRule};
use crate::selector::FieldRules;
use crate::{convert, defaults, times, validation};

/// Labels of fieldSelector and the paths of their values.
const POD_FIELDS: &[(&str, &str)] = &[
    ("spec.nodeName", "spec.nodeName"),
    ("spec.restartPolicy", "spec.restartPolicy"),
    ("spec.schedulerName", "spec.schedulerName"),
    ("spec.serviceAccountName", "spec.serviceAccountName"),
    ("spec.hostNetwork", "spec.hostNetwork"),
    ("status.phase", "status.phase"),
    ("status.podIP", "status.podIP"),
    ("status.nominatedNodeName", "status.nominatedNodeName"),
];
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
const SECRET_FIELDS: &[(&str, &str)] = &[("type", "type")];
const NAMESPACE_FIELDS: &[(&str, &str)] = &[("status.phase", "status.phase")];
const NODE_FIELDS: &[(&str, &str)] = &[("spec.unschedulable", "spec.unschedulable")];
const SERVICE_FIELDS: &[(&str, &str)] = &[
    ("spec.clusterIP", "spec.clusterIP"),
    ("spec.type", "spec.type"),
];

/// Every built-in kind that is served.
pub(crate) fn builtin() -> Vec<Kind> {
    let mut kinds = core_kinds();
    kinds.extend([
        Kind::row(
            ("apps", "v1", "Deployment"),
            "deployments",
            "deployment",
            typed::<apps::Deployment>,
        )
        .short(&["deploy"])
        .in_all()
        .with_status()
        .scaled()
        .generation(Generation::SpecAndAnnotations)
        .defaults(defaults::deployment)
        .validated(validation::deployment),
        Kind::row(
            ("apps", "v1", "ReplicaSet"),
            "replicasets",
            "replicaset",
            typed::<apps::ReplicaSet>,
        )
        .short(&["rs"])
        .in_all()
        .with_status()
        .scaled()
        .generation(Generation::Spec)
        .defaults(defaults::replica_set),
        Kind::row(
            ("coordination.k8s.io", "v1", "Lease"),
            "leases",
            "lease",
            times::lease,
        )
        .created_by_put()
        .needs_version()
        .defaults(defaults::lease)
        .validated(validation::lease),
        Kind::row(
            ("events.k8s.io", "v1", "Event"),
            "events",
            "event",
            times::event::<events::Event>,
        )
        .short(&["ev"])
        .created_by_put()
        .names(NameRule::Subdomain)
        .fields(FieldRules::Listed(EVENT_FIELDS))
        .view_of("events", convert::event_to_core, convert::event_from_core)
        .defaults(defaults::event)
        .validated(validation::event),
        Kind::row(
            ("rbac.authorization.k8s.io", "v1", "ClusterRole"),
            "clusterroles",
            "clusterrole",
            typed::<rbac::ClusterRole>,
        )
        .cluster()
        .names(NameRule::PathSegment)
        .defaults(defaults::role),
        Kind::row(
            ("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding"),
            "clusterrolebindings",
            "clusterrolebinding",
            typed::<rbac::ClusterRoleBinding>,
        )
        .cluster()
        .names(NameRule::PathSegment)
        .defaults(defaults::role_binding),
        Kind::row(
            ("rbac.authorization.k8s.io", "v1", "Role"),
            "roles",
            "role",
            typed::<rbac::Role>,
        )
        .names(NameRule::PathSegment)
        .defaults(defaults::role),
        Kind::row(
            ("rbac.authorization.k8s.io", "v1", "RoleBinding"),
            "rolebindings",
            "rolebinding",
            typed::<rbac::RoleBinding>,
        )
        .names(NameRule::PathSegment)
        .defaults(defaults::role_binding),
        Kind::row(
            ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
            "customresourcedefinitions",
            "customresourcedefinition",
            typed::<apiextensions::CustomResourceDefinition>,
        )
        .short(&["crd", "crds"])
        .cluster()
        .with_status()
        .needs_version()
        .generation(Generation::Spec)
        .defaults(defaults::custom_resource_definition)
        .on_create(defaults::new_custom_resource_definition)
        .validated(validation::custom_resource_definition),
    ]);
    kinds
}

fn core_kinds() -> Vec<Kind> {
    vec![
        Kind::row(
            ("", "v1", "ConfigMap"),
            "configmaps",
            "configmap",
            typed::<core::ConfigMap>,
        )
        .short(&["cm"])
        .validated(validation::config_map),
        Kind::row(
            ("", "v1", "Secret"),
            "secrets",
            "secret",
            typed::<core::Secret>,
        )
        .fields(FieldRules::Listed(SECRET_FIELDS))
        .defaults(defaults::secret)
        .validated(validation::secret),
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
        .defaults(defaults::namespace)
        .on_create(defaults::new_namespace),
        Kind::row(("", "v1", "Pod"), "pods", "pod", typed::<core::Pod>)
            .short(&["po"])
            .in_all()
            .with_status()
            .answers_with_object()
            .generation(Generation::Spec)
            .fields(FieldRules::Listed(POD_FIELDS))
            .defaults(defaults::pod)
            .on_create(defaults::new_pod)
            .validated(validation::pod),
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
        .defaults(defaults::service),
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
            .defaults(defaults::node),
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
        .defaults(defaults::event)
        .validated(validation::core_event),
    ]
}
