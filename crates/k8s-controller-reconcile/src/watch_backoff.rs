//! How long the watches wait after one of them failed.

use std::time::Duration;

use kube::runtime::utils::Backoff;
use tokio::time::Instant;

use crate::jitter::Randomness;

/// The longest wait at first: `kube` itself logs each refused request, too.
const FIRST: Duration = Duration::from_millis(400);

/// The longest wait ever. All watches of a controller together send one request per wait, so that
/// a server that is away for long hears of a controller every 2.5 to 5 s, whatever it watches.
const LONGEST: Duration = Duration::from_secs(5);

/// A wait is this part of the time that was waited so far.
const PART: u32 = 8;

/// After this much time without a failure, earlier ones are forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60);

/// Waits that grow with how long the trouble lasts.
///
/// `kube::runtime` puts one backoff over all watches of a controller: whichever fails, none is
/// listened to until the wait is over. Each watch fails several times when the server goes and
/// comes back: its connection is cut, new ones are refused, and what it has seen is too old. Were
/// the wait to double with each failure, a controller of many watches would wait for the longest
/// time after an outage of seconds, once for each watch. Here one eighth of what was waited so far
/// is waited next, whether few failures or many made it up.
///
/// An object that one watch brings says nothing about the one that failed, say for a kind that
/// the server does not have: it only begins the good time, which counts against the bad.
#[derive(Debug)]
pub(crate) struct WatchBackoff {
    randomness: Randomness,
    /// What was waited, less the good time since.
    trouble: Duration,
    /// The end of the last wait.
    resumed: Option<Instant>,
    /// When an object came first after the last failure.
    good_since: Option<Instant>,
}

impl WatchBackoff {
    pub(crate) fn new(randomness: Randomness) -> Self {
        Self {
            randomness,
            trouble: Duration::ZERO,
            resumed: None,
            good_since: None,
        }
    }
}

impl Iterator for WatchBackoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let now = Instant::now();
        if let Some(good_since) = self.good_since.take() {
            self.trouble = self.trouble.saturating_sub(now - good_since);
        }
        if self
            .resumed
            .is_some_and(|resumed| now.saturating_duration_since(resumed) > FORGOTTEN_AFTER)
        {
            self.trouble = Duration::ZERO;
        }
        let longest = (self.trouble / PART).clamp(FIRST, LONGEST);
        let wait = longest.mul_f64(self.randomness.between(0.5, 1.0));
        self.trouble = (self.trouble + wait).min(LONGEST * PART);
        self.resumed = Some(now + wait);
        Some(wait)
    }
}

impl Backoff for WatchBackoff {
    /// Called for each object that a watch brings.
    fn reset(&mut self) {
        self.good_since.get_or_insert_with(Instant::now);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn backoff() -> WatchBackoff {
        WatchBackoff::new(Randomness::seeded(1))
    }

    /// Fails at once after each wait for this long; the waits.
    async fn fail_for(backoff: &mut WatchBackoff, time: Duration) -> Vec<Duration> {
        let end = Instant::now() + time;
        let mut waits = Vec::new();
        while Instant::now() < end {
            let wait = backoff.next().unwrap();
            advance(wait).await;
            waits.push(wait);
        }
        waits
    }

    #[tokio::test(start_paused = true)]
    async fn waits_are_an_eighth_of_the_trouble_up_to_5_seconds() {
        let mut backoff = backoff();
        let mut waited = Duration::ZERO;
        for wait in fail_for(&mut backoff, Duration::from_secs(3600)).await {
            let longest = (waited / 8).clamp(FIRST, LONGEST);
            assert!(
                wait >= longest / 2 && wait <= longest,
                "{wait:?} after {waited:?}"
            );
            waited += wait;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn good_time_begins_with_an_object_and_counts_against_the_bad() {
        let mut backoff = backoff();
        fail_for(&mut backoff, Duration::from_secs(100)).await;
        // Requests that take their time to fail.
        advance(Duration::from_secs(30)).await;
        assert!(backoff.next().unwrap() >= LONGEST / 2);
        // Another watch brings objects all the time.
        for _ in 0..10 {
            advance(Duration::from_millis(10)).await;
            backoff.reset();
            advance(Duration::from_millis(10)).await;
            backoff.reset();
            assert!(backoff.next().unwrap() >= LONGEST * 2 / 5);
        }
        advance(LONGEST).await;
        backoff.reset();
        advance(Duration::from_secs(39)).await;
        assert!(backoff.next().unwrap() <= LONGEST / 8);
    }

    #[tokio::test(start_paused = true)]
    async fn a_minute_without_a_failure_ends_the_trouble() {
        let mut backoff = backoff();
        fail_for(&mut backoff, Duration::from_secs(100)).await;
        advance(FORGOTTEN_AFTER + LONGEST).await;
        assert!(backoff.next().unwrap() <= FIRST);
    }
}
