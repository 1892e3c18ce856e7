//! What all processes have in common, and what is found about them.

use std::sync::Mutex;

use tokio::time::Instant;

use crate::Fence;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Findings {
    /// Each makes the library unfit.
    pub(super) violations: Vec<String>,
    pub(super) terms: usize,
    pub(super) sent: usize,
    pub(super) refused: usize,
}

/// What is common to all processes.
pub(super) struct World {
    start: Instant,
    /// Of each term.
    fences: Mutex<Vec<Fence>>,
    findings: Mutex<Findings>,
    is_calm: Mutex<bool>,
}

impl World {
    pub(super) fn new() -> Self {
        Self {
            start: Instant::now(),
            fences: Mutex::default(),
            findings: Mutex::default(),
            is_calm: Mutex::default(),
        }
    }

    pub(super) fn findings(&self) -> Findings {
        self.findings.lock().unwrap().clone()
    }

    pub(super) fn violation(&self, what: &str) {
        let at = self.start.elapsed();
        let mut findings = self.findings.lock().unwrap();
        findings.violations.push(format!("at {at:?}: {what}"));
    }

    /// A new term begins; no earlier one may be able to write.
    pub(super) fn begin(&self, fence: &Fence) -> usize {
        let mut fences = self.fences.lock().unwrap();
        let term = fences.len();
        for (earlier, fence) in fences.iter().enumerate() {
            if fence.is_held() {
                self.violation(&format!("term {term} begins while {earlier} is held"));
            }
        }
        fences.push(fence.clone());
        self.findings.lock().unwrap().terms += 1;
        term
    }

    /// A write of a term goes out.
    pub(super) fn sent(&self, term: usize) {
        let terms = self.fences.lock().unwrap().len();
        if term + 1 != terms {
            self.violation(&format!("a write of term {term} after {} began", terms - 1));
        }
        self.findings.lock().unwrap().sent += 1;
    }

    pub(super) fn is_calm(&self) -> bool {
        *self.is_calm.lock().unwrap()
    }

    /// A write was refused.
    pub(super) fn refused(&self) {
        self.findings.lock().unwrap().refused += 1;
    }

    /// From now on no work ends by itself.
    pub(super) fn calm_down(&self) {
        *self.is_calm.lock().unwrap() = true;
    }
}
