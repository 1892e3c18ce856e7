//! Pods.

use k8s_openapi::api::core::v1 as core;

use crate::codec::typed;
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
    ("status.nominatedNodeName", "status.nominatedNodeName"),
];

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(("", "v1", "Pod"), "pods", "pod", typed::<core::Pod>)
            .short(&["po"])
            .in_all()
            .with_status()
            .answers_with_object()
            .generation(Generation::Spec)
            .fields(FieldRules::Listed(POD_FIELDS))
            .defaults(defaults::pods::pod)
            .on_create(defaults::pods::new_pod)
            .validated(validation::pods::pod),
    ]
}
