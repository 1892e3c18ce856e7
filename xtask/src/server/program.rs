//! One running program of the control plane.

use std::{fs, process::ExitStatus};

use anyhow::Result;

use super::commands::Named;
use crate::process::{Guarded, Spec};

/// Lines of a log that an error shows.
const SHOWN_LINES: usize = 15;

/// A program of the control plane, which ends with this value.
#[derive(Debug)]
pub(super) struct Program {
    name: &'static str,
    spec: Spec,
    guarded: Guarded,
}

impl Program {
    pub(super) fn start((name, spec): Named) -> Result<Self> {
        let guarded = Guarded::spawn(&spec)?;
        Ok(Self {
            name,
            spec,
            guarded,
        })
    }

    /// Starts one that has ended as it was started before.
    pub(super) fn start_again(&mut self) -> Result<()> {
        self.guarded = Guarded::spawn(&self.spec)?;
        Ok(())
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Its exit status, once it has ended.
    pub(super) fn try_wait(&mut self) -> Result<Option<ExitStatus>> {
        self.guarded.try_wait()
    }

    pub(super) fn log_text(&self) -> String {
        let bytes = self.spec.log.as_ref().map(fs::read);
        String::from_utf8_lossy(&bytes.and_then(Result::ok).unwrap_or_default()).into_owned()
    }

    pub(super) fn log_end(&self) -> String {
        format!(
            "--- end of the log of {}:\n{}",
            self.name,
            last_lines(&self.log_text(), SHOWN_LINES)
        )
    }
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc");
        assert_eq!(last_lines("a", 2), "a");
        assert_eq!(last_lines("", 2), "");
    }
}
