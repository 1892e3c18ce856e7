//! Validation: the group `batch`.
