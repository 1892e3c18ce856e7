//! Pods, and what core/v1 has to make them.

use crate::kinds::{Generation, Kind, Subresource};
use crate::selector::FieldRules;
use crate::{defaults, pod_warnings, validation};

const POD_FIELDS: &[(&str, &str)] = &[
    ("spec.nodeName", "spec.nodeName"),
    ("spec.restartPolicy", "spec.restartPolicy"),
    ("spec.schedulerName", "spec.schedulerName"),
    ("spec.serviceAccountName", "spec.serviceAccountName"),
    ("spec.hostNetwork", "spec.hostNetwork"),
    ("status.phase", "status.phase"),
    ("status.podIP", "status.podIP"),
    ("status.podIPs", "status.podIPs"),
    ("status.nominatedNodeName", "status.nominatedNodeName"),
];
const CONNECT: &[&str] = &["create", "get"];
const PROXY: &[&str] = &["create", "delete", "get", "patch", "update"];
const CHANGE: &[&str] = &["get", "patch", "update"];
const POD_SUBRESOURCES: &[Subresource] = &[
    kind_of("attach", "", "", "PodAttachOptions", CONNECT),
    kind_of("binding", "", "", "Binding", &["create"]),
    Subresource::own("ephemeralcontainers", CHANGE),
    kind_of("eviction", "policy", "v1", "Eviction", &["create"]),
    kind_of("exec", "", "", "PodExecOptions", CONNECT),
    Subresource::own("log", &["get"]),
    kind_of("portforward", "", "", "PodPortForwardOptions", CONNECT),
    kind_of("proxy", "", "", "PodProxyOptions", PROXY),
    Subresource::own("resize", CHANGE),
];

const fn kind_of(
    name: &'static str,
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    verbs: &'static [&'static str],
) -> Subresource {
    Subresource {
        name,
        group,
        version,
        kind,
        verbs,
    }
}

const REPLICAS: &[(&str, &str)] = &[("status.replicas", "status.replicas")];

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(("", "v1", "Pod"), "pods", "pod")
            .short(&["po"])
            .in_all()
            .with_status()
            .answers_with_object()
            .generation(Generation::Spec)
            .fields(FieldRules::Listed(POD_FIELDS))
            .defaults(defaults::pods::pod)
            .on_create(defaults::pods::new_pod)
            .on_update(|new, old, _| defaults::pods::updated_pod(new, old))
            .validated(validation::pods::pod)
            .warned(pod_warnings::pod)
            .subresources(POD_SUBRESOURCES),
        Kind::row(("", "v1", "Binding"), "bindings", "binding").verbs(&["create"]),
        Kind::row(("", "v1", "PodTemplate"), "podtemplates", "podtemplate")
            .answers_with_object()
            .generation(Generation::Content)
            .defaults(defaults::pods::pod_template)
            .validated(validation::pods::pod_template),
        Kind::row(
            ("", "v1", "ReplicationController"),
            "replicationcontrollers",
            "replicationcontroller",
        )
        .short(&["rc"])
        .in_all()
        .with_status()
        .scaled()
        .generation(Generation::Spec)
        .fields(FieldRules::Listed(REPLICAS))
        .defaults(defaults::pods::replication_controller)
        .validated(validation::pods::replication_controller),
    ]
}
