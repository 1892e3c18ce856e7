//! Waiting for what happens elsewhere.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How long something may take that takes a second or two on a machine that is busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
const INTERVAL: Duration = Duration::from_millis(50);

/// Polls until the probe succeeds.
///
/// # Panics
///
/// With what was seen last, when the limit is over.
pub(crate) async fn within<T>(
    limit: Duration,
    what: &str,
    mut probe: impl AsyncFnMut() -> Result<T, String>,
) -> T {
    let deadline = Instant::now() + limit;
    loop {
        match probe().await {
            Ok(value) => return value,
            Err(seen) if Instant::now() >= deadline => {
                panic!("not within {limit:?}: {what}; last seen: {seen}")
            }
            Err(_) => sleep(INTERVAL).await,
        }
    }
}
