//! Defaults: the group `discovery.k8s.io`.
