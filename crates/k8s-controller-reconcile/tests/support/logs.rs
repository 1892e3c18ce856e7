//! The log of this thread.

use std::cell::RefCell;
use std::io::{self, Write};
use std::sync::Once;

thread_local! {
    /// What was logged by this thread, on which all of a test runs, while it is captured.
    static CAPTURED: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
}

/// One subscriber for all threads: with one per thread, `tracing` may take a log line for
/// disabled that another thread was the first to meet.
static SUBSCRIBER: Once = Once::new();

struct ToThread;

impl Write for ToThread {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        CAPTURED.with_borrow_mut(|captured| {
            if let Some(captured) = captured {
                captured.extend_from_slice(bytes);
            }
        });
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub struct Logs(());

impl Logs {
    /// Keeps what is logged from info upwards until dropped.
    pub fn capture() -> Self {
        SUBSCRIBER.call_once(|| {
            tracing_subscriber::fmt()
                .with_ansi(false)
                .without_time()
                .with_max_level(tracing::Level::INFO)
                .with_writer(|| ToThread)
                .init();
        });
        CAPTURED.set(Some(Vec::new()));
        Self(())
    }

    pub fn lines(&self) -> Vec<String> {
        let bytes = CAPTURED.with_borrow(|captured| captured.clone().unwrap_or_default());
        let text = String::from_utf8(bytes).unwrap();
        text.lines().map(|line| line.trim().to_owned()).collect()
    }

    /// The lines that contain all of these.
    pub fn with(&self, parts: &[&str]) -> Vec<String> {
        let mut lines = self.lines();
        lines.retain(|line| parts.iter().all(|part| line.contains(part)));
        lines
    }
}

impl Drop for Logs {
    fn drop(&mut self) {
        CAPTURED.set(None);
    }
}
