//! Validation: the group `scheduling.k8s.io`.
