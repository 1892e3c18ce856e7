//! The group `flowcontrol.apiserver.k8s.io`, stored only.

use k8s_openapi::api::flowcontrol::v1 as flowcontrol;

use crate::codec::typed;
use crate::defaults;
use crate::kinds::{Generation, Kind};

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(
            ("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema"),
            "flowschemas",
            "flowschema",
            typed::<flowcontrol::FlowSchema>,
        )
        .cluster()
        .with_status()
        .generation(Generation::Spec)
        .keeps_metadata_in_status()
        .defaults(defaults::flowcontrol::flow_schema),
        Kind::row(
            (
                "flowcontrol.apiserver.k8s.io",
                "v1",
                "PriorityLevelConfiguration",
            ),
            "prioritylevelconfigurations",
            "prioritylevelconfiguration",
            typed::<flowcontrol::PriorityLevelConfiguration>,
        )
        .cluster()
        .with_status()
        .generation(Generation::Spec)
        .keeps_metadata_in_status()
        .defaults(defaults::flowcontrol::priority_level),
    ]
}
