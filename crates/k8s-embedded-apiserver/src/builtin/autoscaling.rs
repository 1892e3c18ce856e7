//! The group `autoscaling`. Stored is the form of autoscaling/v2.

use k8s_openapi::api::autoscaling::{v1, v2};

use crate::codec::typed;
use crate::convert;
use crate::kinds::{Generation, Kind};
use crate::{defaults, validation};

/// Where autoscalers are stored, whichever version they are in.
const STORAGE: &str = "horizontalpodautoscalers.autoscaling";

pub(super) fn kinds() -> Vec<Kind> {
    let row = |version, normalize| {
        Kind::row(
            ("autoscaling", version, "HorizontalPodAutoscaler"),
            "horizontalpodautoscalers",
            "horizontalpodautoscaler",
            normalize,
        )
        .short(&["hpa"])
        .in_all()
        .with_status()
        .generation(Generation::Spec)
        .defaults(defaults::autoscaling::horizontal_pod_autoscaler)
        .validated(validation::autoscaling::horizontal_pod_autoscaler)
    };
    vec![
        row("v2", typed::<v2::HorizontalPodAutoscaler>),
        row("v1", typed::<v1::HorizontalPodAutoscaler>).view_of(
            STORAGE,
            convert::autoscaler::to_v2,
            convert::autoscaler::to_v1,
        ),
    ]
}
