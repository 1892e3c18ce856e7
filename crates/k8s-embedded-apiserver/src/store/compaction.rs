//! Which versions are too old for a list of the past.

use std::time::Duration;

use tokio::time::Instant;

/// Forgets every `interval` what was known at the end of the interval before, as kube-apiserver has etcd do.
///
/// Nothing runs by itself: what has passed is made up for before each write and each list.
#[derive(Debug)]
pub(super) struct Compaction {
    interval: Duration,
    next: Instant,
    /// The version at the end of the last interval.
    candidate: u64,
    /// Versions before this one are forgotten.
    floor: u64,
}

impl Compaction {
    /// None, if `interval` is zero.
    pub(super) fn new(interval: Duration, version: u64) -> Self {
        Self {
            interval,
            next: Instant::now() + interval.min(Duration::from_secs(u32::MAX.into())),
            candidate: 0,
            floor: version,
        }
    }

    /// Takes notice of the time; `version` is the last one so far.
    pub(super) fn advance(&mut self, version: u64) {
        if self.interval.is_zero() {
            return;
        }
        let now = Instant::now();
        if now < self.next {
            return;
        }
        let passed = now.duration_since(self.next).as_nanos() / self.interval.as_nanos();
        // Nothing was written in between, so that every end but the first found the same version.
        self.floor = self
            .floor
            .max(if passed > 0 { version } else { self.candidate });
        self.candidate = version;
        let rest = now.duration_since(self.next).as_nanos() % self.interval.as_nanos();
        let rest = Duration::from_nanos(u64::try_from(rest).unwrap_or(0));
        self.next = now + self.interval.saturating_sub(rest);
    }

    pub(super) fn floor(&self) -> u64 {
        self.floor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_version_lasts_for_one_to_two_intervals() {
        let mut compaction = Compaction::new(Duration::from_secs(300), 10);
        let mut floors = Vec::new();
        for version in 11..17 {
            tokio::time::advance(Duration::from_secs(200)).await;
            compaction.advance(version);
            floors.push(compaction.floor());
        }
        // Ends at 300, 600, 900 and 1,200 seconds.
        assert_eq!(floors, [10, 10, 12, 12, 13, 15]);
        tokio::time::advance(Duration::from_secs(3600)).await;
        compaction.advance(16);
        assert_eq!(compaction.floor(), 16);
    }
}
