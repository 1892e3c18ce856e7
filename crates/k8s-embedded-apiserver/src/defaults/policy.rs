//! Defaults: the group `policy`.
