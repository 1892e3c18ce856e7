//! The group `discovery.k8s.io`.

use crate::kinds::{Generation, Kind};
use crate::{defaults, validation};

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(
            ("discovery.k8s.io", "v1", "EndpointSlice"),
            "endpointslices",
            "endpointslice",
        )
        .generation(Generation::ContentAndLabels)
        .defaults(defaults::discovery::endpoint_slice)
        .validated(validation::discovery::endpoint_slice)
        .warned(validation::discovery::warnings),
    ]
}
