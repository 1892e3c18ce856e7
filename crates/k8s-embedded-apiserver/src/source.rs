//! The one place where wall-clock time and randomness come from.

use std::fmt;
use std::time::SystemTime;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use tokio::time::Instant;

/// Letters and digits of generated name suffixes: no vowels, and no digits that look like letters.
const SUFFIX_ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// Length of a generated name suffix.
pub(crate) const SUFFIX_LENGTH: usize = 5;

type Clock = Box<dyn Fn() -> Timestamp + Send + Sync>;

/// Time and randomness of one server.
pub(crate) struct Source {
    clock: Clock,
    rng: StdRng,
    /// Of its own, so that the number of requests says nothing about the uids of objects.
    audit: StdRng,
    secret: [u8; 32],
    /// The time while a write that begins anew is at work.
    fixed: Option<Timestamp>,
}

/// Randomness and time of one write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fixed {
    seed: u64,
    now: Timestamp,
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").finish_non_exhaustive()
    }
}

impl Source {
    pub(crate) fn new(clock: Option<Clock>, seed: Option<u64>) -> Self {
        let seed = seed.unwrap_or_else(|| rand::rng().next_u64());
        Self {
            clock: clock.unwrap_or_else(|| Box::new(virtual_clock())),
            rng: StdRng::seed_from_u64(seed),
            audit: StdRng::seed_from_u64(!seed),
            // Of another stream, so that a secret more changes no uid.
            secret: StdRng::seed_from_u64((!seed).rotate_left(1)).random(),
            fixed: None,
        }
    }

    /// What tokens are signed with.
    pub(crate) fn secret(&self) -> &[u8] {
        &self.secret
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.fixed.unwrap_or_else(|| (self.clock)())
    }

    /// Randomness and time of a write that may begin several times, each time with the same.
    pub(crate) fn fix(&mut self) -> Fixed {
        Fixed {
            seed: self.rng.next_u64(),
            now: self.now(),
        }
    }

    /// Goes on with the randomness and time of a write; what there was is given back and set with [`Self::resume`].
    pub(crate) fn begin(&mut self, fixed: Fixed) -> StdRng {
        self.fixed = Some(fixed.now);
        std::mem::replace(&mut self.rng, StdRng::seed_from_u64(fixed.seed))
    }

    pub(crate) fn resume(&mut self, rng: StdRng) {
        self.fixed = None;
        self.rng = rng;
    }

    /// Now in whole seconds, as in `creationTimestamp`.
    pub(crate) fn stamp(&self) -> String {
        stamp(self.now())
    }

    /// A random uid (UUID version 4).
    pub(crate) fn uid(&mut self) -> String {
        uuid(self.rng.random())
    }

    /// A random uid for a request.
    pub(crate) fn audit_id(&mut self) -> String {
        uuid(self.audit.random())
    }

    /// What `generateName` appends.
    pub(crate) fn suffix(&mut self) -> String {
        (0..SUFFIX_LENGTH)
            .map(|_| char::from(SUFFIX_ALPHABET[self.rng.random_range(0..SUFFIX_ALPHABET.len())]))
            .collect()
    }

    /// A number in `low..high`.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        self.rng.random_range(low..high)
    }
}

fn uuid(mut bytes: [u8; 16]) -> String {
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let mut text = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        crate::body::push_hex(*byte, &mut text);
    }
    text
}

/// `time` in whole seconds.
pub(crate) fn stamp(time: Timestamp) -> String {
    let seconds = Timestamp::from_second(time.as_second()).unwrap_or(time);
    format!("{seconds:.0}")
}

/// The wall clock at this moment, moved on by tokio's clock.
fn virtual_clock() -> impl Fn() -> Timestamp + Send + Sync {
    let since_epoch = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let start = Timestamp::UNIX_EPOCH
        .saturating_add(SignedDuration::try_from(since_epoch).unwrap_or_default())
        .unwrap_or(Timestamp::UNIX_EPOCH);
    let begun = Instant::now();
    move || {
        let elapsed = SignedDuration::try_from(Instant::now().saturating_duration_since(begun))
            .unwrap_or_default();
        start.saturating_add(elapsed).unwrap_or(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_fixes_uids_and_suffixes() {
        let mut one = Source::new(None, Some(7));
        let mut two = Source::new(None, Some(7));
        assert_eq!(one.uid(), two.uid());
        assert_eq!(one.suffix(), two.suffix());
        assert_ne!(one.uid(), two.suffix());
    }

    #[test]
    fn a_uid_has_the_form_of_version_four() {
        let uid = Source::new(None, Some(1)).uid();
        assert_eq!(uid.len(), 36);
        assert_eq!(uid.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&uid.as_bytes()[19]));
    }

    #[test]
    fn a_stamp_has_whole_seconds() {
        let time: Timestamp = "2026-01-02T03:04:05.678Z".parse().expect("a time");
        assert_eq!(stamp(time), "2026-01-02T03:04:05Z");
    }

    #[tokio::test(start_paused = true)]
    async fn virtual_time_moves_stamps() {
        let source = Source::new(None, None);
        let before = source.now();
        tokio::time::advance(std::time::Duration::from_secs(3600)).await;
        assert_eq!(source.now().as_second() - before.as_second(), 3600);
    }
}
