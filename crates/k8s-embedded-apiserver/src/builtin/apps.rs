//! The group `apps`.

use crate::kinds::{Generation, Kind, NameRule};
use crate::{defaults, pod_warnings, validation};

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(("apps", "v1", "Deployment"), "deployments", "deployment")
            .short(&["deploy"])
            .in_all()
            .with_status()
            .scaled()
            .generation(Generation::SpecAndAnnotations)
            .defaults(defaults::apps::deployment)
            .validated(validation::apps::deployment)
            .warned(pod_warnings::replicated),
        Kind::row(("apps", "v1", "ReplicaSet"), "replicasets", "replicaset")
            .short(&["rs"])
            .in_all()
            .with_status()
            .scaled()
            .generation(Generation::Spec)
            .defaults(defaults::apps::replica_set)
            .validated(validation::apps::replica_set)
            .warned(pod_warnings::replicated),
        Kind::row(("apps", "v1", "StatefulSet"), "statefulsets", "statefulset")
            .short(&["sts"])
            .in_all()
            .with_status()
            .scaled()
            .names(NameRule::Label)
            .generation(Generation::Spec)
            .defaults(defaults::apps::stateful_set)
            .validated(validation::apps::stateful_set)
            .warned(pod_warnings::stateful_set),
        Kind::row(("apps", "v1", "DaemonSet"), "daemonsets", "daemonset")
            .short(&["ds"])
            .in_all()
            .with_status()
            .generation(Generation::Spec)
            .defaults(defaults::apps::daemon_set)
            .on_create(defaults::apps::new_daemon_set)
            .on_update(|new, old, _| defaults::apps::updated_daemon_set(new, old))
            .validated(validation::apps::daemon_set)
            .warned(pod_warnings::unnamed),
        Kind::row(
            ("apps", "v1", "ControllerRevision"),
            "controllerrevisions",
            "controllerrevision",
        )
        .defaults(defaults::apps::controller_revision)
        .validated(validation::apps::controller_revision),
    ]
}
