//! The group `rbac.authorization.k8s.io`.

use k8s_openapi::api::rbac::v1 as rbac;

use crate::codec::typed;
use crate::kinds::{Kind, NameRule};
use crate::{defaults, validation};

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(
            ("rbac.authorization.k8s.io", "v1", "ClusterRole"),
            "clusterroles",
            "clusterrole",
            typed::<rbac::ClusterRole>,
        )
        .cluster()
        .created_by_put()
        .names(NameRule::PathSegment)
        .defaults(defaults::rbac::role)
        .validated(validation::rbac::cluster_role),
        Kind::row(
            ("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding"),
            "clusterrolebindings",
            "clusterrolebinding",
            typed::<rbac::ClusterRoleBinding>,
        )
        .cluster()
        .created_by_put()
        .names(NameRule::PathSegment)
        .defaults(defaults::rbac::role_binding)
        .validated(validation::rbac::cluster_role_binding),
        Kind::row(
            ("rbac.authorization.k8s.io", "v1", "Role"),
            "roles",
            "role",
            typed::<rbac::Role>,
        )
        .created_by_put()
        .names(NameRule::PathSegment)
        .defaults(defaults::rbac::role)
        .validated(validation::rbac::role),
        Kind::row(
            ("rbac.authorization.k8s.io", "v1", "RoleBinding"),
            "rolebindings",
            "rolebinding",
            typed::<rbac::RoleBinding>,
        )
        .created_by_put()
        .names(NameRule::PathSegment)
        .defaults(defaults::rbac::role_binding)
        .validated(validation::rbac::role_binding),
    ]
}
