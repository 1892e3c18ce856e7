//! The group `policy`.

use crate::kinds::Kind;

pub(super) fn kinds() -> Vec<Kind> {
    vec![]
}
