//! The group `storage.k8s.io`.

use crate::kinds::{Generation, Kind};
use crate::{defaults, validation};

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(
            ("storage.k8s.io", "v1", "CSIDriver"),
            "csidrivers",
            "csidriver",
        )
        .cluster()
        .needs_version()
        .answers_with_object()
        .generation(Generation::SpecFromZero)
        .defaults(defaults::storage::csi_driver)
        .validated(validation::storage::csi_driver),
        Kind::row(("storage.k8s.io", "v1", "CSINode"), "csinodes", "csinode")
            .cluster()
            .with_status()
            .needs_version()
            .answers_with_object()
            .keeps_metadata_in_status()
            .defaults(defaults::storage::csi_node),
        Kind::row(
            ("storage.k8s.io", "v1", "CSIStorageCapacity"),
            "csistoragecapacities",
            "csistoragecapacity",
        )
        .needs_version(),
        Kind::row(
            ("storage.k8s.io", "v1", "StorageClass"),
            "storageclasses",
            "storageclass",
        )
        .short(&["sc"])
        .cluster()
        .answers_with_object()
        .defaults(defaults::storage::storage_class)
        .validated(validation::storage::storage_class),
        Kind::row(
            ("storage.k8s.io", "v1", "VolumeAttachment"),
            "volumeattachments",
            "volumeattachment",
        )
        .cluster()
        .with_status()
        .needs_version()
        .answers_with_object()
        .keeps_metadata_in_status()
        .defaults(defaults::storage::volume_attachment),
        Kind::row(
            ("storage.k8s.io", "v1", "VolumeAttributesClass"),
            "volumeattributesclasses",
            "volumeattributesclass",
        )
        .short(&["vac"])
        .cluster()
        .answers_with_object(),
    ]
}
