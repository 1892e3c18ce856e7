//! Fields that are unknown or there twice.

use crate::field_error::quote;

/// How many are told.
const MAX: usize = 100;

/// What is told of a text, and where in it the reader is.
#[derive(Debug, Default)]
pub(super) struct Strict {
    pub(super) found: Vec<String>,
    path: String,
}

impl Strict {
    /// Goes into a field; [`Strict::leave`] with what this gives goes back.
    pub(super) fn enter(&mut self, key: &str) -> usize {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(key);
        length
    }

    /// Goes into an item of a list.
    pub(super) fn enter_item(&mut self, index: usize) -> usize {
        use std::fmt::Write as _;

        let length = self.path.len();
        // Writing to a String cannot fail.
        let _ = write!(self.path, "[{index}]");
        length
    }

    pub(super) fn leave(&mut self, length: usize) {
        self.path.truncate(length);
    }

    pub(super) fn unknown(&mut self, key: &str) {
        self.tell("unknown", key);
    }

    pub(super) fn duplicate(&mut self, key: &str) {
        self.tell("duplicate", key);
    }

    fn tell(&mut self, what: &str, key: &str) {
        if self.found.len() >= MAX {
            return;
        }
        let path = if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        };
        let text = format!("{what} field {}", quote(&path));
        if !self.found.contains(&text) {
            self.found.push(text);
        }
    }
}
