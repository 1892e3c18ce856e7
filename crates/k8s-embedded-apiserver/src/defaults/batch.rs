//! Defaults: the group `batch`.
