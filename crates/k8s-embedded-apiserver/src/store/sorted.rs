//! A map in key order that can count: pages of lists tell how many objects follow them.

use std::collections::HashMap;
use std::sync::Arc;

/// Entries of one piece at most. More make inserts slower, fewer make counting slower.
const PIECE: usize = 512;

/// A map from texts, in their order.
#[derive(Clone, Debug)]
pub(super) struct Sorted<V> {
    /// None is empty, all are in order.
    pieces: Vec<Vec<(Arc<str>, V)>>,
    /// The same entries. To look for one in order is to look at a dozen others, each somewhere else in memory.
    by_key: HashMap<Arc<str>, V>,
}

/// A place between two entries: a piece, and an index into it.
type At = (usize, usize);

impl<V: Clone> Sorted<V> {
    pub(super) fn new() -> Self {
        Self {
            pieces: Vec::new(),
            by_key: HashMap::new(),
        }
    }

    /// The place of the first entry whose key is not `before`.
    fn first(&self, before: impl Fn(&str) -> bool) -> At {
        let piece = self
            .pieces
            .partition_point(|piece| piece.last().is_some_and(|(key, _)| before(key)));
        let index = self
            .pieces
            .get(piece)
            .map_or(0, |piece| piece.partition_point(|(key, _)| before(key)));
        (piece, index)
    }

    fn entry(&self, (piece, index): At, key: &str) -> bool {
        let found = self.pieces.get(piece).and_then(|piece| piece.get(index));
        found.is_some_and(|(found, _)| **found == *key)
    }

    pub(super) fn get(&self, key: &str) -> Option<&V> {
        self.by_key.get(key)
    }

    /// Gives back what was there.
    pub(super) fn insert(&mut self, key: Arc<str>, value: V) -> Option<V> {
        if let Some(known) = self.by_key.get_mut(&key) {
            *known = value.clone();
        } else {
            self.by_key.insert(key.clone(), value.clone());
        }
        let (mut at, mut index) = self.first(|found| found < &*key);
        if self.entry((at, index), &key) {
            return Some(std::mem::replace(&mut self.pieces[at][index].1, value));
        }
        if at == self.pieces.len() {
            // Behind everything. Keys often come in order, so that a full piece stays full.
            match self.pieces.last() {
                Some(last) if last.len() < PIECE => {
                    at -= 1;
                    index = self.pieces[at].len();
                }
                _ => self.pieces.push(Vec::new()),
            }
        } else if self.pieces[at].len() == PIECE {
            let upper = self.pieces[at].split_off(PIECE / 2);
            self.pieces.insert(at + 1, upper);
            if index > PIECE / 2 {
                (at, index) = (at + 1, index - PIECE / 2);
            }
        }
        self.pieces[at].insert(index, (key, value));
        None
    }

    pub(super) fn remove(&mut self, key: &str) -> Option<V> {
        self.by_key.remove(key)?;
        let (at, index) = self.first(|found| found < key);
        if !self.entry((at, index), key) {
            return None;
        }
        let (_, value) = self.pieces[at].remove(index);
        self.join(at);
        Some(value)
    }

    /// Joins a piece that has become small with the next one.
    fn join(&mut self, at: usize) {
        let length = self.pieces[at].len();
        if length == 0 {
            self.pieces.remove(at);
        } else if length < PIECE / 4
            && self
                .pieces
                .get(at + 1)
                .is_some_and(|next| length + next.len() <= PIECE / 2)
        {
            let next = self.pieces.remove(at + 1);
            self.pieces[at].extend(next);
        }
    }

    /// The entries behind `low` (all, if there is none) and before `high`.
    pub(super) fn range<'a>(
        &'a self,
        low: Option<&str>,
        high: Option<&str>,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a V)> + use<'a, V> {
        let (piece, index) = self.after(low);
        let (end, last) = self.before(high);
        (piece..self.pieces.len().min(end + 1)).flat_map(move |at| {
            let entries = self.pieces[at].as_slice();
            let from = if at == piece { index } else { 0 };
            let to = if at == end { last } else { entries.len() };
            let entries = entries.get(from..to).unwrap_or_default();
            entries.iter().map(|(key, value)| (key, value))
        })
    }

    /// How many entries [`range`](Self::range) has.
    pub(super) fn count(&self, low: Option<&str>, high: Option<&str>) -> usize {
        let (piece, index) = self.after(low);
        let (end, last) = self.before(high);
        if piece > end {
            return 0;
        }
        let whole: usize = self.pieces[piece..end.min(self.pieces.len())]
            .iter()
            .map(Vec::len)
            .sum();
        (whole + last).saturating_sub(index)
    }

    fn after(&self, low: Option<&str>) -> At {
        low.map_or((0, 0), |low| self.first(|key| key <= low))
    }

    fn before(&self, high: Option<&str>) -> At {
        high.map_or((self.pieces.len(), 0), |high| self.first(|key| key < high))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn bound() -> impl Strategy<Value = Option<String>> {
        proptest::option::of("[a-c]{1,3}")
    }

    proptest! {
        #[test]
        fn is_a_map_in_order(
            steps in proptest::collection::vec(("[a-c]{1,3}", any::<bool>()), 0..200), low in bound(), high in bound(),
        ) {
            let (mut map, mut model) = (Sorted::new(), BTreeMap::new());
            for (number, (key, insert)) in steps.into_iter().enumerate() {
                if insert {
                    prop_assert_eq!(map.insert(key.as_str().into(), number), model.insert(key, number));
                } else {
                    prop_assert_eq!(map.remove(&key), model.remove(&key));
                }
            }
            for key in ["a", "b", "aa", "abc", "ccc"].into_iter().chain(model.keys().map(String::as_str)) {
                prop_assert_eq!(map.get(key), model.get(key));
            }
            let within = |key: &String| {
                low.as_ref().is_none_or(|low| key > low) && high.as_ref().is_none_or(|high| key < high)
            };
            let expected: Vec<_> = model.iter().filter(|(key, _)| within(key)).map(|(key, value)| (key.clone(), *value)).collect();
            let found: Vec<_> =
                map.range(low.as_deref(), high.as_deref()).map(|(key, value)| (key.to_string(), *value)).collect();
            prop_assert_eq!(map.count(low.as_deref(), high.as_deref()), found.len());
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn holds_many_whichever_order_they_come_in() {
        let key = |number: usize| -> Arc<str> { format!("{number:05}").into() };
        for step in [1, 7919, 9999] {
            let mut map = Sorted::new();
            for number in 0..10_000 {
                map.insert(key(number * step % 10_000), number);
            }
            assert_eq!(map.count(None, None), 10_000);
            assert!(map.range(None, None).map(|(key, _)| key).is_sorted());
            assert_eq!(map.count(Some("00999"), Some("02000")), 1_000);
            for number in 0..9_990 {
                assert!(map.remove(&key(number * step % 10_000)).is_some());
            }
            assert_eq!(map.range(None, None).count(), 10);
            assert!(map.pieces.len() <= 10);
        }
    }
}
