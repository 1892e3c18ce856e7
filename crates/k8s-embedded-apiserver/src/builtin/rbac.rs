//! The group `rbac.authorization.k8s.io`.

use crate::kinds::{Kind, NameRule};
use crate::{defaults, validation};

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::row(
            ("rbac.authorization.k8s.io", "v1", "ClusterRole"),
            "clusterroles",
            "clusterrole",
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
        )
        .cluster()
        .created_by_put()
        .names(NameRule::PathSegment)
        .defaults(defaults::rbac::role_binding)
        .validated(validation::rbac::cluster_role_binding),
        Kind::row(("rbac.authorization.k8s.io", "v1", "Role"), "roles", "role")
            .created_by_put()
            .names(NameRule::PathSegment)
            .defaults(defaults::rbac::role)
            .validated(validation::rbac::role),
        Kind::row(
            ("rbac.authorization.k8s.io", "v1", "RoleBinding"),
            "rolebindings",
            "rolebinding",
        )
        .created_by_put()
        .names(NameRule::PathSegment)
        .defaults(defaults::rbac::role_binding)
        .validated(validation::rbac::role_binding),
    ]
}
