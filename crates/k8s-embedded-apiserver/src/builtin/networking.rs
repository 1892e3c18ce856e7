//! The group `networking.k8s.io`.

use crate::kinds::Kind;

pub(super) fn kinds() -> Vec<Kind> {
    vec![]
}
