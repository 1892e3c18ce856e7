//! Writes that were not sent because somebody else may lead.

use std::error::Error as StdError;
use std::io;

use crate::chain::{as_type, links};

/// A write was not sent, because the lease that it depends on is no longer certainly held.
///
/// A client that is fenced by a lease gives it instead of sending a POST, PUT, PATCH or DELETE.
/// Through kube it arrives as the cause of a [`kube::Error::Service`]; [`is_not_leading`] finds
/// it there.
///
/// ```
/// use k8s_controller_error::{ErrorClass, NotLeading, classify, is_not_leading};
///
/// let error = kube::Error::Service(NotLeading::new("shop/website").into());
/// assert!(is_not_leading(&error));
/// assert_eq!(classify(&error), ErrorClass::NotLeading);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not sent: the lease {lease} is no longer certainly held, somebody else may lead")]
#[non_exhaustive]
pub struct NotLeading {
    /// The lease, as `namespace/name`.
    pub lease: String,
}

impl NotLeading {
    /// The error of a write that depends on the lease `namespace/name`.
    pub fn new(lease: impl Into<String>) -> Self {
        Self {
            lease: lease.into(),
        }
    }
}

/// Whether the error, or a cause of it, is a [`NotLeading`].
#[must_use]
pub fn is_not_leading(error: &(dyn StdError + 'static)) -> bool {
    links(error).any(says_not_leading)
}

fn says_not_leading(link: &(dyn StdError + 'static)) -> bool {
    // What an `io::Error` carries is not its source, only the source of what it carries is.
    let carried = as_type::<io::Error>(link).and_then(io::Error::get_ref);
    as_type::<NotLeading>(link).is_some()
        || carried.is_some_and(<dyn StdError + Send + Sync>::is::<NotLeading>)
}
