//! The log of this thread.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use tracing::subscriber::DefaultGuard;

#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub struct Logs {
    buffer: Buffer,
    _guard: DefaultGuard,
}

impl Logs {
    /// Keeps what is logged from info upwards until dropped.
    pub fn capture() -> Self {
        let buffer = Buffer::default();
        let writer = buffer.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .without_time()
            .with_max_level(tracing::Level::INFO)
            .with_writer(move || writer.clone())
            .finish();
        Self {
            buffer,
            _guard: tracing::subscriber::set_default(subscriber),
        }
    }

    pub fn lines(&self) -> Vec<String> {
        let bytes = self.buffer.0.lock().unwrap().clone();
        String::from_utf8(bytes)
            .unwrap()
            .lines()
            .map(|line| line.trim().to_owned())
            .collect()
    }

    /// The lines that contain all of these.
    pub fn with(&self, parts: &[&str]) -> Vec<String> {
        let mut lines = self.lines();
        lines.retain(|line| parts.iter().all(|part| line.contains(part)));
        lines
    }
}
