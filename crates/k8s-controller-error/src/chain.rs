//! Walking the `source` chain of an error.

use std::error::Error as StdError;
use std::sync::Arc;

use kube::core::Status;

/// How many errors of a chain are looked at. Real chains have fewer than ten links; the bound
/// is there for a `source` that leads back to itself.
const MAX_LINKS: usize = 64;

/// The error itself, then each cause.
pub(crate) fn links<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&link| link.source()).take(MAX_LINKS)
}

/// The error of type `T` that this link is, also behind a `Box` or an `Arc`.
///
/// `thiserror` hands out a boxed source as the box, not as what is in it.
pub(crate) fn as_type<'a, T: StdError + 'static>(
    link: &'a (dyn StdError + 'static),
) -> Option<&'a T> {
    link.downcast_ref::<T>()
        .or_else(|| link.downcast_ref::<Box<T>>().map(AsRef::as_ref))
        .or_else(|| link.downcast_ref::<Arc<T>>().map(AsRef::as_ref))
}

/// The answer of the API server that this link is or carries.
pub(crate) fn as_status<'a>(link: &'a (dyn StdError + 'static)) -> Option<&'a Status> {
    match as_type::<kube::Error>(link) {
        Some(kube::Error::Api(status)) => Some(status),
        Some(_) => None,
        None => as_type::<Status>(link),
    }
}

/// The first answer of the API server in the chain.
pub(crate) fn first_status<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a Status> {
    links(error).find_map(as_status)
}
