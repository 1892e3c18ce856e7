//! Pods, and what core/v1 has to make them.

use crate::kinds::{Generation, Kind};
use crate::selector::FieldRules;
use crate::{defaults, validation};

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
            .on_update(defaults::pods::updated_pod)
            .validated(validation::pods::pod),
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
