//! Validation: the group `autoscaling`.
