//! The group `autoscaling`. Stored is the form of autoscaling/v2.

use crate::convert;
use crate::kinds::{Generation, Kind};
use crate::{defaults, validation};

/// Where autoscalers are stored, whichever version they are in.
const STORAGE: &str = "horizontalpodautoscalers.autoscaling";

pub(super) fn kinds() -> Vec<Kind> {
    let row = |version| {
        Kind::row(
            ("autoscaling", version, "HorizontalPodAutoscaler"),
            "horizontalpodautoscalers",
            "horizontalpodautoscaler",
        )
        .short(&["hpa"])
        .in_all()
        .with_status()
        .generation(Generation::Spec)
        .defaults(defaults::autoscaling::horizontal_pod_autoscaler)
        .validated(validation::autoscaling::horizontal_pod_autoscaler)
    };
    vec![
        row("v2"),
        row("v1").view_of(
            STORAGE,
            convert::autoscaler::to_v2,
            convert::autoscaler::to_v1,
        ),
    ]
}
