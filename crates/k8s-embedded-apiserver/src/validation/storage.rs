//! Validation: the group `storage.k8s.io`.
