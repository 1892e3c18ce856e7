//! The objects of a collection as they were at some version.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::sync::Arc;

use super::history::{Expired, History};
use super::sorted::Sorted;
use crate::object::Object;

/// An object that is no longer, or not yet, what the collection holds: what it was, if it was there.
type Past<'a> = BTreeMap<&'a str, (&'a Arc<str>, Option<&'a Arc<Object>>)>;

/// The objects of a collection at a version. Made in the time that the changes since take, not that of all objects.
#[derive(Debug)]
pub(crate) struct View<'a> {
    now: Option<&'a Sorted<Arc<Object>>>,
    past: Past<'a>,
}

impl<'a> View<'a> {
    pub(super) fn empty() -> Self {
        Self {
            now: None,
            past: Past::new(),
        }
    }

    pub(super) fn new(
        now: &'a Sorted<Arc<Object>>,
        history: &'a History,
        version: u64,
    ) -> Result<Self, Expired> {
        let mut past = Past::new();
        // The oldest change has the last word: what it found is what was there.
        for change in history.since(version)?.rev() {
            past.insert(&change.key, (&change.key, change.before.as_ref()));
        }
        let now = Some(now);
        Ok(Self { now, past })
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'a Arc<Object>> {
        match self.past.get(key) {
            Some((_, object)) => *object,
            None => self.now?.get(key),
        }
    }

    /// The objects of a namespace, or of all, behind `start` and in key order.
    pub(crate) fn range<'v>(
        &'v self,
        namespace: Option<&str>,
        start: Option<&str>,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a Arc<Object>)> + use<'a, 'v> {
        let (low, high) = super::bounds(namespace, start);
        let now = self
            .now
            .into_iter()
            .flat_map({
                let (low, high) = (low.clone(), high.clone());
                move |now| now.range(low.as_deref(), high.as_deref())
            })
            .peekable();
        let past = self
            .past
            .iter()
            .filter(move |(key, _)| {
                low.as_deref().is_none_or(|low| **key > low)
                    && high.as_deref().is_none_or(|high| **key < high)
            })
            .map(|(_, past)| *past)
            .peekable();
        Merged { now, past }
    }

    /// How many objects [`range`](Self::range) has.
    pub(crate) fn count(&self, namespace: Option<&str>, start: Option<&str>) -> usize {
        let Some(now) = self.now else { return 0 };
        let (low, high) = super::bounds(namespace, start);
        let (mut gone, mut come) = (0, 0);
        for (key, (_, before)) in &self.past {
            if low.as_deref().is_some_and(|low| *key <= low)
                || high.as_deref().is_some_and(|high| *key >= high)
            {
                continue;
            }
            gone += usize::from(before.is_some());
            come += usize::from(now.get(key).is_some());
        }
        now.count(low.as_deref(), high.as_deref()) + gone - come
    }
}

/// Two rows in key order as one; where both have a key, the past counts.
struct Merged<N: Iterator, P: Iterator> {
    now: Peekable<N>,
    past: Peekable<P>,
}

impl<'a, N, P> Iterator for Merged<N, P>
where
    N: Iterator<Item = (&'a Arc<str>, &'a Arc<Object>)>,
    P: Iterator<Item = (&'a Arc<str>, Option<&'a Arc<Object>>)>,
{
    type Item = (&'a Arc<str>, &'a Arc<Object>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some(&(past, _)) = self.past.peek() else {
                return self.now.next();
            };
            match self.now.peek() {
                Some(&(now, _)) if now < past => return self.now.next(),
                Some(&(now, _)) if now == past => {
                    self.now.next();
                }
                _ => {}
            }
            if let Some((key, Some(object))) = self.past.next() {
                return Some((key, object));
            }
        }
    }
}
