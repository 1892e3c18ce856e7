//! Conflicts with a concurrent writer.

use std::error::Error as StdError;

use kube::core::{Status, response::reason};

use crate::chain::{as_status, links};

/// Whether somebody else changed the object in the meantime: an answer 409 with reason
/// `Conflict` anywhere in the chain of causes. `AlreadyExists`, also a 409, is none.
///
/// ```
/// use k8s_controller_error::is_conflict;
/// use kube::core::Status;
///
/// let answer = |reason: &str| kube::Error::Api(Status::failure("", reason).with_code(409).boxed());
/// assert!(is_conflict(&answer("Conflict")));
/// assert!(!is_conflict(&answer("AlreadyExists")));
/// ```
#[must_use]
pub fn is_conflict(error: &(dyn StdError + 'static)) -> bool {
    links(error).filter_map(as_status).any(is_conflict_status)
}

/// Whether the error is the answer of an API server to a JSON patch whose `test` failed.
///
/// The answer is a 422 of reason `Invalid` without details; a 422 that names a kind or causes
/// is a validation failure. Only who sent the patch knows whether it had a `test`, so that
/// [`is_conflict`] does not count this in.
#[must_use]
pub fn is_failed_patch_test(error: &(dyn StdError + 'static)) -> bool {
    links(error)
        .filter_map(as_status)
        .any(is_failed_test_status)
}

pub(crate) fn is_conflict_status(status: &Status) -> bool {
    // Zero if the answer has none.
    matches!(status.code, 0 | 409) && status.reason == reason::CONFLICT
}

fn is_failed_test_status(status: &Status) -> bool {
    status.code == 422
        && status.reason == reason::INVALID
        && status
            .details
            .as_ref()
            .is_none_or(|details| details.kind.is_empty() && details.causes.is_empty())
}
