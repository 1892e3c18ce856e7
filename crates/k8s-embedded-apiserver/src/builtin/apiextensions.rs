//! The group `apiextensions.k8s.io`.

use crate::kinds::{Generation, Kind};
use crate::{defaults, validation};

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(
            ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
            "customresourcedefinitions",
            "customresourcedefinition",
        )
        .short(&["crd", "crds"])
        .in_category("api-extensions")
        .cluster()
        .with_status()
        .needs_version()
        .generation(Generation::Spec)
        .defaults(defaults::apiextensions::custom_resource_definition)
        .on_create(defaults::apiextensions::new_custom_resource_definition)
        .validated(validation::apiextensions::custom_resource_definition)
        .warned(validation::apiextensions::definition_warnings),
    ]
}
