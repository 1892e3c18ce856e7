//! The group `scheduling.k8s.io`.

use crate::kinds::Kind;
use crate::{defaults, validation};

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(
            ("scheduling.k8s.io", "v1", "PriorityClass"),
            "priorityclasses",
            "priorityclass",
        )
        .short(&["pc"])
        .cluster()
        .defaults(defaults::scheduling::priority_class)
        .on_create(defaults::scheduling::new_priority_class)
        .validated(validation::scheduling::priority_class),
    ]
}
