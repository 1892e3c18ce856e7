//! The group `policy`.

use k8s_openapi::api::policy::v1 as policy;

use crate::codec::typed;
use crate::kinds::{Generation, Kind};
use crate::{defaults, validation};

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(
            ("policy", "v1", "PodDisruptionBudget"),
            "poddisruptionbudgets",
            "poddisruptionbudget",
            typed::<policy::PodDisruptionBudget>,
        )
        .short(&["pdb"])
        .with_status()
        .needs_version()
        .generation(Generation::Spec)
        .defaults(defaults::policy::pod_disruption_budget)
        .validated(validation::policy::pod_disruption_budget),
    ]
}
