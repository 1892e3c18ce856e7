//! What the recorder logs.

use std::io;
use std::sync::{Arc, Mutex, Once};

use tracing::subscriber::DefaultGuard;
use tracing_subscriber::fmt::MakeWriter;

/// A subscriber for the threads that capture nothing: `tracing` may take a log line for disabled
/// everywhere that a thread without one was the first to meet.
static OF_OTHER_THREADS: Once = Once::new();

/// The log of the current thread for as long as it lives.
pub(crate) struct Log {
    text: Buffer,
    _guard: DefaultGuard,
}

#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub(crate) fn capture() -> Self {
        OF_OTHER_THREADS.call_once(|| {
            let sees_all = tracing_subscriber::registry();
            tracing::subscriber::set_global_default(sees_all).expect("the only one");
        });
        let text = Buffer::default();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::DEBUG)
            .with_ansi(false)
            .without_time()
            .with_writer(text.clone())
            .finish();
        Self {
            text,
            _guard: tracing::subscriber::set_default(subscriber),
        }
    }

    /// The recorder's own lines of one level.
    pub(crate) fn lines(&self, level: &str) -> Vec<String> {
        let text = String::from_utf8(self.text.0.lock().expect("no panic").clone()).expect("text");
        text.lines()
            .filter(|line| line.trim_start().starts_with(level))
            .filter(|line| line.contains("k8s_controller_events"))
            .map(str::to_owned)
            .collect()
    }
}

impl io::Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Buffer {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
