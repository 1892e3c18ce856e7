//! Validation: the group `rbac.authorization.k8s.io`.
