//! The group `certificates.k8s.io`.

use crate::defaults;
use crate::kinds::{Kind, SUBRESOURCE_VERBS, Subresource};
use crate::selector::FieldRules;

const APPROVAL: Subresource = Subresource::own("approval", SUBRESOURCE_VERBS);
const POD_CERTIFICATE_FIELDS: &[(&str, &str)] = &[
    ("spec.signerName", "spec.signerName"),
    ("spec.podName", "spec.podName"),
    ("spec.nodeName", "spec.nodeName"),
];

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(
            ("certificates.k8s.io", "v1", "CertificateSigningRequest"),
            "certificatesigningrequests",
            "certificatesigningrequest",
        )
        .short(&["csr"])
        .cluster()
        .with_status()
        .subresources(&[APPROVAL])
        .fields(FieldRules::Listed(&[(
            "spec.signerName",
            "spec.signerName",
        )]))
        .defaults(defaults::certificates::request)
        .on_update(|new, old, _| defaults::certificates::keep_spec(new, old)),
        Kind::row(
            ("certificates.k8s.io", "v1", "ClusterTrustBundle"),
            "clustertrustbundles",
            "clustertrustbundle",
        )
        .cluster()
        .needs_version()
        .fields(FieldRules::Listed(&[(
            "spec.signerName",
            "spec.signerName",
        )])),
        Kind::row(
            ("certificates.k8s.io", "v1", "PodCertificateRequest"),
            "podcertificaterequests",
            "podcertificaterequest",
        )
        .with_status()
        .needs_version()
        .keeps_metadata_in_status()
        .fields(FieldRules::Listed(POD_CERTIFICATE_FIELDS))
        .defaults(defaults::certificates::pod_request),
    ]
}
