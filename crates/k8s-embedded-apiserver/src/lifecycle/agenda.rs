//! What is to be done in the background, and when.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

/// Work in the order of its time, and of work of one time what was noted first.
#[derive(Debug)]
pub(crate) struct Agenda<T> {
    /// To be done before the request that caused it is answered.
    at_once: VecDeque<T>,
    later: BTreeMap<(Instant, u64), T>,
    noted: u64,
}

impl<T> Agenda<T> {
    pub(crate) fn new() -> Self {
        Self {
            at_once: VecDeque::new(),
            later: BTreeMap::new(),
            noted: 0,
        }
    }

    pub(crate) fn at_once(&mut self, work: T) {
        self.at_once.push_back(work);
    }

    /// Notes work that is to be done after a while; none is at once.
    pub(crate) fn after(&mut self, delay: Duration, work: T) {
        if delay.is_zero() {
            return self.at_once(work);
        }
        self.noted += 1;
        self.later
            .insert((Instant::now() + delay, self.noted), work);
    }

    /// Whether there is nothing to do, now or later.
    pub(crate) fn is_empty(&self) -> bool {
        self.at_once.is_empty() && self.later.is_empty()
    }

    /// Takes what is due by now.
    pub(crate) fn take(&mut self, now: Instant) -> Option<T> {
        if let Some(work) = self.at_once.pop_front() {
            return Some(work);
        }
        let first = self.later.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// Takes what is to be done at once.
    pub(crate) fn take_urgent(&mut self) -> Option<T> {
        self.at_once.pop_front()
    }

    /// When there is something to do next.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.later.first_key_value().map(|((due, _), _)| *due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn work_is_done_in_the_order_of_its_time() {
        let mut agenda = Agenda::new();
        agenda.after(Duration::from_secs(2), "late");
        agenda.after(Duration::from_secs(1), "early");
        agenda.after(Duration::from_secs(1), "second");
        agenda.after(Duration::ZERO, "now");
        assert_eq!(agenda.take(Instant::now()), Some("now"));
        assert_eq!(agenda.take(Instant::now()), None);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(agenda.take(Instant::now()), Some("early"));
        assert_eq!(agenda.take(Instant::now()), Some("second"));
        assert_eq!(agenda.take(Instant::now()), None);
        assert_eq!(agenda.next(), Some(Instant::now() + Duration::from_secs(1)));
    }
}
