//! The group `apps`.

use k8s_openapi::api::apps::v1 as apps;

use crate::codec::typed;
use crate::kinds::{Generation, Kind};
use crate::{defaults, validation};

pub(super) fn kinds() -> Vec<Kind> {
    vec![
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
        .defaults(defaults::apps::deployment)
        .validated(validation::apps::deployment),
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
        .defaults(defaults::apps::replica_set),
    ]
}
