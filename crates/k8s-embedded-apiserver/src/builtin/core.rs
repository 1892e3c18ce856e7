//! The core group, but for pods.

use crate::kinds::{Kind, NameRule, Subresource};
use crate::selector::FieldRules;
use crate::{defaults, validation};

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

/// Verbs of a subresource that passes requests on.
const PROXY: &[&str] = &["create", "delete", "get", "patch", "update"];
const FINALIZE: Subresource = Subresource::own("finalize", &["update"]);
const NODE_PROXY: Subresource = Subresource::of("proxy", "NodeProxyOptions", PROXY);
const SERVICE_PROXY: Subresource = Subresource::of("proxy", "ServiceProxyOptions", PROXY);
const TOKEN: Subresource = Subresource {
    name: "token",
    group: "authentication.k8s.io",
    version: "v1",
    kind: "TokenRequest",
    verbs: &["create"],
};

#[allow(clippy::too_many_lines, reason = "a table")]
pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(
            ("", "v1", "ComponentStatus"),
            "componentstatuses",
            "componentstatus",
        )
        .short(&["cs"])
        .cluster()
        .verbs(&["get", "list"])
        .deprecated("v1 ComponentStatus is deprecated in v1.19+"),
        Kind::row(("", "v1", "ConfigMap"), "configmaps", "configmap")
            .short(&["cm"])
            .validated(validation::core::config_map),
        Kind::row(("", "v1", "Endpoints"), "endpoints", "endpoints")
            .short(&["ep"])
            .list_kind("EndpointsList")
            .created_by_put()
            .deprecated(
                "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
            )
            .defaults(defaults::core::endpoints)
            .validated(validation::nodes::endpoints),
        Kind::row(("", "v1", "LimitRange"), "limitranges", "limitrange")
            .short(&["limits"])
            .created_by_put()
            .defaults(defaults::core::limit_range)
            .validated(validation::quota::limit_range),
        Kind::row(("", "v1", "Namespace"), "namespaces", "namespace")
            .short(&["ns"])
            .cluster()
            .with_status()
            .answers_with_object()
            .names(NameRule::Label)
            .verbs(&[
                "create", "delete", "get", "list", "patch", "update", "watch",
            ])
            .subresources(&[FINALIZE])
            .fields(FieldRules::Listed(NAMESPACE_FIELDS))
            .defaults(defaults::core::namespace)
            .on_create(defaults::core::new_namespace)
            .validated(validation::nodes::namespace),
        Kind::row(("", "v1", "Node"), "nodes", "node")
            .short(&["no"])
            .cluster()
            .with_status()
            .keeps_status()
            .subresources(&[NODE_PROXY])
            .fields(FieldRules::Listed(NODE_FIELDS))
            .defaults(defaults::core::node)
            .on_create(defaults::core::new_node)
            .validated(validation::nodes::node),
        Kind::row(
            ("", "v1", "PersistentVolume"),
            "persistentvolumes",
            "persistentvolume",
        )
        .short(&["pv"])
        .cluster()
        .with_status()
        .answers_with_object()
        .defaults(defaults::persistence::persistent_volume)
        .on_create(defaults::persistence::new_persistent_volume)
        .on_update(defaults::persistence::updated_persistent_volume)
        .validated(validation::persistence::persistent_volume)
        .warned(validation::persistence::persistent_volume_warnings),
        Kind::row(
            ("", "v1", "PersistentVolumeClaim"),
            "persistentvolumeclaims",
            "persistentvolumeclaim",
        )
        .short(&["pvc"])
        .with_status()
        .answers_with_object()
        .defaults(defaults::persistence::claim)
        .on_create(defaults::persistence::new_claim)
        .validated(validation::persistence::claim),
        Kind::row(
            ("", "v1", "ResourceQuota"),
            "resourcequotas",
            "resourcequota",
        )
        .short(&["quota"])
        .with_status()
        .answers_with_object()
        .defaults(defaults::core::resource_quota)
        .validated(validation::quota::resource_quota),
        Kind::row(("", "v1", "Secret"), "secrets", "secret")
            .fields(FieldRules::Listed(SECRET_FIELDS))
            .defaults(defaults::core::secret)
            .validated(validation::core::secret),
        Kind::row(("", "v1", "Service"), "services", "service")
            .short(&["svc"])
            .in_all()
            .with_status()
            .answers_with_object()
            .created_by_put()
            .names(NameRule::Label)
            .subresources(&[SERVICE_PROXY])
            .fields(FieldRules::Listed(SERVICE_FIELDS))
            .defaults(defaults::services::service)
            .on_update(|new, old, _| defaults::services::update(new, old))
            .validated(validation::services::service)
            .warned(validation::services::warnings),
        Kind::row(
            ("", "v1", "ServiceAccount"),
            "serviceaccounts",
            "serviceaccount",
        )
        .short(&["sa"])
        .answers_with_object()
        .subresources(&[TOKEN])
        .defaults(defaults::core::service_account),
        Kind::row(("", "v1", "Event"), "events", "event")
            .short(&["ev"])
            .created_by_put()
            .names(NameRule::Any)
            .fields(FieldRules::Listed(CORE_EVENT_FIELDS))
            .defaults(defaults::events::event)
            .validated(validation::events::core_event),
    ]
}
