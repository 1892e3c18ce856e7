//! Defaults: the group `networking.k8s.io`.
