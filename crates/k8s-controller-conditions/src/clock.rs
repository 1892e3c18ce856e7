//! The one place where the wall clock is read; who wants another time uses `set_at`.

use std::time::{Duration, UNIX_EPOCH};

use k8s_openapi::jiff::Timestamp;

/// The time now. `Timestamp::now` needs a feature of jiff that k8s-openapi does not switch on.
pub(crate) fn now() -> Timestamp {
    let since = UNIX_EPOCH.elapsed().as_ref().map_or(0, Duration::as_secs);
    i64::try_from(since)
        .ok()
        .and_then(|seconds| Timestamp::from_second(seconds).ok())
        .unwrap_or(Timestamp::MAX)
}
