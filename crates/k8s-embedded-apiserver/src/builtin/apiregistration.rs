//! The group `apiregistration.k8s.io`.

use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1 as apiregistration;

use crate::codec::typed;
use crate::defaults;
use crate::kinds::Kind;

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(
            ("apiregistration.k8s.io", "v1", "APIService"),
            "apiservices",
            "apiservice",
            typed::<apiregistration::APIService>,
        )
        .cluster()
        .with_status()
        .in_category("api-extensions")
        .needs_version()
        .defaults(defaults::apiregistration::api_service),
    ]
}
