//! Defaults: the group `autoscaling`.
