//! The group `apiregistration.k8s.io`.

use crate::defaults;
use crate::kinds::Kind;

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(
            ("apiregistration.k8s.io", "v1", "APIService"),
            "apiservices",
            "apiservice",
        )
        .cluster()
        .with_status()
        .in_category("api-extensions")
        .needs_version()
        .defaults(defaults::apiregistration::api_service),
    ]
}
