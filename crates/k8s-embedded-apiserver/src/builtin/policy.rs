//! The group `policy`.

use crate::kinds::{Generation, Kind, NameRule};
use crate::{defaults, validation};

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(
            ("policy", "v1", "PodDisruptionBudget"),
            "poddisruptionbudgets",
            "poddisruptionbudget",
        )
        .short(&["pdb"])
        .names(NameRule::PathSegment)
        .with_status()
        .needs_version()
        .generation(Generation::Spec)
        .defaults(defaults::policy::pod_disruption_budget)
        .validated(validation::policy::pod_disruption_budget),
    ]
}
