//! Validation: the group `admissionregistration.k8s.io`.
