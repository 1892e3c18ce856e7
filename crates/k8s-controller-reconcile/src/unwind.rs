//! Panics of the user's code as values.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures::FutureExt;
use k8s_controller_error::Panic;

/// Runs `code`; a panic in it is returned.
///
/// Whoever uses this must not look at state that the panic may have left half-changed: all that
/// is lent to the user's code is read-only, or is only ever appended to.
pub(crate) fn catch<T>(code: impl FnOnce() -> T) -> Result<T, Panic> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|payload| Panic::from_payload(payload.as_ref()))
}

/// Like [`catch`], also for what happens when `code` is called rather than awaited.
pub(crate) async fn catch_async<F: Future>(code: impl FnOnce() -> F) -> Result<F::Output, Panic> {
    AssertUnwindSafe(async { code().await })
        .catch_unwind()
        .await
        .map_err(|payload| Panic::from_payload(payload.as_ref()))
}
