//! The group `flowcontrol.apiserver.k8s.io`, stored only.

use crate::defaults;
use crate::kinds::{Generation, Kind};

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(
            ("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema"),
            "flowschemas",
            "flowschema",
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
        )
        .cluster()
        .with_status()
        .generation(Generation::Spec)
        .keeps_metadata_in_status()
        .defaults(defaults::flowcontrol::priority_level),
    ]
}
