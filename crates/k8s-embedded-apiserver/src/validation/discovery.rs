//! Validation: the group `discovery.k8s.io`.
