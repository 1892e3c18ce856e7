//! Room for what goes down a tree call by call.

use std::thread;

/// Trees that are deeper may need more stack than a thread has left.
const SHALLOW: usize = 30;
/// Enough for the deepest tree that is let in, in bytes. Of this memory only what is touched is used.
const SIZE: usize = 512 * 1024 * 1024;

/// Works on a tree of this depth, with as much stack as it takes.
///
/// # Errors
///
/// If there is no memory for it.
pub(crate) fn for_depth<T: Send>(
    depth: usize,
    work: impl FnOnce() -> T + Send,
) -> Result<T, String> {
    if depth > SHALLOW {
        large(work)
    } else {
        Ok(work())
    }
}

/// Works with much stack, in a thread that ends with the call.
///
/// # Errors
///
/// If there is no memory for it.
pub(crate) fn large<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, String> {
    thread::scope(|scope| {
        let thread = thread::Builder::new()
            .name("deep".into())
            .stack_size(SIZE)
            .spawn_scoped(scope, work)
            .map_err(|error| format!("no memory for what is nested so deeply: {error}"))?;
        thread
            .join()
            .map_err(|panic| std::panic::resume_unwind(panic))
    })
}
