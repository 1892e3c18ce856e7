//! What a write has learnt from webhooks so far.
//!
//! Verbs work under the lock of the state and never wait, so a webhook cannot be called from within. A write that needs
//! one stops before it changes anything and says what it would ask; the server asks without the lock, and the write
//! begins anew with the answers at hand. An answer counts only for the very question that was put: where the object
//! has changed meanwhile the question is another one, and is put again.

use std::sync::Arc;

use serde_json::Value;

use super::hook::Hook;
use super::review::Response;
use crate::source::Fixed;

/// A question to a webhook.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(super) hook: Arc<Hook>,
    pub(super) mutating: bool,
    /// 1 when it is put again after later webhooks have changed the object.
    pub(super) round: u8,
    /// The request without its uid.
    pub(super) request: Value,
    pub(super) uid: String,
}

impl Question {
    fn is_same(&self, other: &Self) -> bool {
        self.hook == other.hook
            && self.mutating == other.mutating
            && self.round == other.round
            && self.request == other.request
    }
}

/// One write, over all times that it begins.
#[derive(Debug, Default)]
pub(crate) struct Session {
    answered: Vec<(Question, Result<Response, String>)>,
    open: Vec<Question>,
    /// Said by webhooks; told with the answer to the write.
    warnings: Vec<String>,
    /// The same randomness and time for each beginning, so that the same object comes of it.
    pub(crate) fixed: Option<Fixed>,
}

impl Session {
    /// The answer to a question, which is to be put first if there is none.
    pub(super) fn ask(&mut self, question: Question) -> Option<Result<Response, String>> {
        let known = self
            .answered
            .iter()
            .find(|(known, _)| known.is_same(&question));
        if let Some((_, answer)) = known {
            return Some(answer.clone());
        }
        self.open.push(question);
        None
    }

    /// Whether the write waits for answers.
    pub(crate) fn waits(&self) -> bool {
        !self.open.is_empty()
    }

    /// The questions that the write waits for.
    pub(crate) fn take_open(&mut self) -> Vec<Question> {
        std::mem::take(&mut self.open)
    }

    pub(crate) fn answer(&mut self, question: Question, answer: Result<Response, String>) {
        self.answered.push((question, answer));
    }

    /// Notes warnings; each is told once.
    pub(super) fn say(&mut self, texts: &[String]) {
        for text in texts {
            if !self.warnings.contains(text) {
                self.warnings.push(text.clone());
            }
        }
    }

    pub(crate) fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// Begins the write anew; what webhooks said will be said again.
    pub(crate) fn restart(&mut self) {
        self.warnings.clear();
        self.open.clear();
    }
}
