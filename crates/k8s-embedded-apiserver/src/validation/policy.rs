//! Validation: the group `policy`.
