//! The group `storagemigration.k8s.io`, stored only.

use crate::defaults;
use crate::kinds::Kind;

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(
            ("storagemigration.k8s.io", "v1", "StorageVersionMigration"),
            "storageversionmigrations",
            "storageversionmigration",
        )
        .cluster()
        .with_status()
        .needs_version()
        .keeps_metadata_in_status()
        .defaults(defaults::resource::with_status),
    ]
}
