//! The group `networking.k8s.io`.

use crate::kinds::{Generation, Kind};
use crate::{defaults, validation};

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(
            ("networking.k8s.io", "v1", "Ingress"),
            "ingresses",
            "ingress",
        )
        .short(&["ing"])
        .with_status()
        .generation(Generation::Spec)
        .defaults(defaults::networking::ingress)
        .validated(validation::networking::ingress)
        .warned(validation::networking::ingress_warnings),
        Kind::row(
            ("networking.k8s.io", "v1", "IngressClass"),
            "ingressclasses",
            "ingressclass",
        )
        .cluster()
        .generation(Generation::Spec)
        .defaults(defaults::networking::ingress_class)
        .validated(validation::networking::ingress_class),
        Kind::row(
            ("networking.k8s.io", "v1", "IPAddress"),
            "ipaddresses",
            "ipaddress",
        )
        .short(&["ip"])
        .cluster(),
        Kind::row(
            ("networking.k8s.io", "v1", "NetworkPolicy"),
            "networkpolicies",
            "networkpolicy",
        )
        .short(&["netpol"])
        .generation(Generation::Spec)
        .defaults(defaults::networking::network_policy)
        .validated(validation::networking::network_policy)
        .warned(validation::networking::network_policy_warnings),
        Kind::row(
            ("networking.k8s.io", "v1", "ServiceCIDR"),
            "servicecidrs",
            "servicecidr",
        )
        .cluster()
        .with_status()
        .keeps_metadata_in_status()
        .defaults(defaults::networking::service_cidr),
    ]
}
