//! Ctrl-C and other wishes that this program ends.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use anyhow::{Context, Result};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
};

/// Signals that were caught instead of ending the program.
///
/// A second one ends it at once; the guards of [`crate::process`] then end what it started.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signals {
    caught: Arc<AtomicUsize>,
}

impl Signals {
    /// Starts catching SIGINT, SIGTERM and SIGHUP.
    pub(crate) fn catch() -> Result<Self> {
        let signals = Self::default();
        let again = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let number = usize::try_from(signal).unwrap_or_default();
            // The order matters: the first signal arms what the second one triggers.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&again))
                .and_then(|_| flag::register(signal, Arc::clone(&again)))
                .and_then(|_| flag::register_usize(signal, Arc::clone(&signals.caught), number))
                .with_context(|| format!("cannot handle signal {signal}"))?;
        }
        Ok(signals)
    }

    /// An error once a signal was caught.
    pub(crate) fn check(&self) -> Result<(), Interrupted> {
        match self.caught.load(Ordering::SeqCst) {
            0 => Ok(()),
            signal => Err(Interrupted { signal }),
        }
    }
}

/// The program ends because of a signal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interrupted {
    signal: usize,
}

impl Interrupted {
    /// 128 and the signal's number, as shells have it.
    pub(crate) fn exit_code(self) -> u8 {
        u8::try_from(128 + self.signal).unwrap_or(u8::MAX)
    }
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "interrupted by signal {}", self.signal)
    }
}

impl std::error::Error for Interrupted {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_caught_is_no_error() {
        assert_eq!(Signals::default().check(), Ok(()));
    }

    #[test]
    fn the_exit_code_is_that_of_shells() {
        let signals = Signals::default();
        signals.caught.store(2, Ordering::SeqCst);
        assert_eq!(signals.check().unwrap_err().exit_code(), 130);
    }
}
