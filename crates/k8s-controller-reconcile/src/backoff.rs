//! How long to wait before the next pass.

use std::time::Duration;

use crate::jitter::between;

/// The longest `Retry-After` that is believed.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);

/// The wait after the first conflict in a row. Long enough for a writer that is mid-way through
/// several writes, short enough for nobody to notice.
const CONFLICT_BASE: Duration = Duration::from_millis(20);

/// From this many conflicts in a row on, the wait stays the same: 20 ms times 2^8 is about 5 s.
const MAX_CONFLICT_DOUBLINGS: u32 = 8;

/// The wait after a success: 40 minutes to an hour. Watches miss nothing in theory.
pub(crate) fn after_success() -> Duration {
    Duration::from_secs_f64(between(2400.0, 3600.0))
}

/// The wait after a failure that followed `failures` others: 1 to 2 s at first, twice as long
/// each time, up to 128 to 256 s.
pub(crate) fn after_failures(failures: u32) -> Duration {
    let seconds = f64::from(2u32.pow(failures.min(7) + 1));
    Duration::from_secs_f64(seconds * between(0.5, 1.0))
}

/// At least as long as the server asked for. A tenth more at most, so that not everybody who
/// was sent away comes back at the same moment.
pub(crate) fn at_least(backoff: Duration, retry_after: Duration) -> Duration {
    let asked = retry_after.min(MAX_RETRY_AFTER);
    if asked < backoff {
        backoff
    } else {
        asked.mul_f64(between(1.0, 1.1))
    }
}

/// The wait after a conflict that followed `conflicts` others.
pub(crate) fn after_conflicts(conflicts: u32) -> Duration {
    let longest = CONFLICT_BASE * 2u32.pow(conflicts.min(MAX_CONFLICT_DOUBLINGS));
    longest.mul_f64(between(0.5, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_double_up_to_256_seconds() {
        let cases = [
            (0, 2),
            (1, 4),
            (2, 8),
            (6, 128),
            (7, 256),
            (8, 256),
            (u32::MAX, 256),
        ];
        for (failures, seconds) in cases {
            let longest = Duration::from_secs(seconds);
            for _ in 0..100 {
                let wait = after_failures(failures);
                assert!(
                    wait >= longest / 2 && wait <= longest,
                    "{failures}: {wait:?}"
                );
            }
        }
    }

    #[test]
    fn conflicts_begin_at_milliseconds_and_end_at_seconds() {
        for (conflicts, millis) in [(0, 20), (1, 40), (8, 5120), (u32::MAX, 5120)] {
            let longest = Duration::from_millis(millis);
            let wait = after_conflicts(conflicts);
            assert!(
                wait >= longest / 2 && wait <= longest,
                "{conflicts}: {wait:?}"
            );
        }
    }

    #[test]
    fn a_server_that_asks_for_time_gets_it_within_reason() {
        let second = Duration::from_secs(1);
        assert_eq!(at_least(30 * second, 7 * second), 30 * second);
        let wait = at_least(second, 30 * second);
        assert!(wait >= 30 * second && wait <= 33 * second, "{wait:?}");
        assert!(at_least(second, Duration::from_secs(u64::from(u32::MAX))) <= 3960 * second);
    }

    #[test]
    fn success_waits_most_of_an_hour() {
        let wait = after_success().as_secs();
        assert!((2400..=3600).contains(&wait), "{wait}");
    }
}
