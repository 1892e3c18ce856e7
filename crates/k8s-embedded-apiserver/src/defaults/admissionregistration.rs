//! Defaults: the group `admissionregistration.k8s.io`.
