//! The group `resource.k8s.io`, stored only.

use crate::defaults;
use crate::kinds::{Generation, Kind};
use crate::selector::FieldRules;

const SLICE_FIELDS: &[(&str, &str)] = &[
    ("spec.nodeName", "spec.nodeName"),
    ("spec.driver", "spec.driver"),
    ("spec.pool.name", "spec.pool.name"),
];

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(
            ("resource.k8s.io", "v1", "DeviceClass"),
            "deviceclasses",
            "deviceclass",
        )
        .cluster()
        .answers_with_object()
        .generation(Generation::Spec),
        Kind::row(
            ("resource.k8s.io", "v1", "DeviceTaintRule"),
            "devicetaintrules",
            "devicetaintrule",
        )
        .cluster()
        .with_status()
        .generation(Generation::Spec)
        .keeps_metadata_in_status()
        .defaults(defaults::resource::with_status),
        Kind::row(
            ("resource.k8s.io", "v1", "ResourceClaim"),
            "resourceclaims",
            "resourceclaim",
        )
        .with_status()
        .answers_with_object()
        .keeps_metadata_in_status()
        .defaults(defaults::resource::claim),
        Kind::row(
            ("resource.k8s.io", "v1", "ResourceClaimTemplate"),
            "resourceclaimtemplates",
            "resourceclaimtemplate",
        )
        .defaults(defaults::resource::claim_template)
        .answers_with_object(),
        Kind::row(
            ("resource.k8s.io", "v1", "ResourceSlice"),
            "resourceslices",
            "resourceslice",
        )
        .cluster()
        .answers_with_object()
        .generation(Generation::Spec)
        .fields(FieldRules::Listed(SLICE_FIELDS)),
    ]
}
