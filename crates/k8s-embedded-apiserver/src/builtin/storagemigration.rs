//! The group `storagemigration.k8s.io`, stored only.

use k8s_openapi::api::storagemigration::v1 as storagemigration;

use crate::codec::typed;
use crate::defaults;
use crate::kinds::Kind;

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(
            ("storagemigration.k8s.io", "v1", "StorageVersionMigration"),
            "storageversionmigrations",
            "storageversionmigration",
            typed::<storagemigration::StorageVersionMigration>,
        )
        .cluster()
        .with_status()
        .needs_version()
        .keeps_metadata_in_status()
        .defaults(defaults::resource::with_status),
    ]
}
