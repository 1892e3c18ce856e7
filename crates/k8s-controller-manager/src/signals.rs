//! Signals that ask the process to end.

use std::io;

pub(crate) use platform::Signals;

#[cfg(unix)]
mod platform {
    use std::future::pending;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread::{self, JoinHandle};
    use std::time::Duration;

    use signal_hook::consts::signal::{SIGINT, SIGTERM};
    use signal_hook::iterator::{Handle, Signals as Incoming};
    use signal_hook::low_level;
    use tokio::sync::oneshot;
    use tokio::time::Instant;

    use super::io;

    /// Signals that come so soon after the first are the same request: `timeout` sends one to its
    /// child and then to the whole process group, a terminal to a program and to what wraps it,
    /// which passes it on.
    const SAME_REQUEST: Duration = Duration::from_millis(500);

    /// Listens for SIGTERM and SIGINT, in a thread of its own: that the second of them ends the
    /// process must not depend on a runtime whose threads may all be blocked.
    #[derive(Debug)]
    pub(crate) struct Signals {
        first: Option<oneshot::Receiver<&'static str>>,
        received: Arc<AtomicBool>,
        handle: Handle,
        thread: Option<JoinHandle<()>>,
    }

    impl Signals {
        pub(crate) fn listen() -> io::Result<Self> {
            let incoming = Incoming::new([SIGTERM, SIGINT])?;
            let handle = incoming.handle();
            let received = Arc::<AtomicBool>::default();
            let (sender, first) = oneshot::channel();
            let thread = thread::Builder::new().name("signals".into()).spawn({
                let received = Arc::clone(&received);
                move || listen(incoming, sender, &received)
            })?;
            Ok(Self {
                first: Some(first),
                received,
                handle,
                thread: Some(thread),
            })
        }

        /// Waits for the first; returns its name.
        pub(crate) async fn first(&mut self) -> &'static str {
            if let Some(first) = self.first.take()
                && let Ok(name) = first.await
            {
                return name;
            }
            pending().await
        }

        /// Never returns; the thread does what there is to do.
        pub(crate) async fn exit_at_second() {
            pending::<()>().await;
        }
    }

    /// Tells of the first, and ends the process at the second.
    fn listen(
        mut incoming: Incoming,
        sender: oneshot::Sender<&'static str>,
        received: &AtomicBool,
    ) {
        let mut sender = Some(sender);
        let mut since = Instant::now();
        for number in incoming.forever() {
            if let Some(sender) = sender.take() {
                since = Instant::now();
                received.store(true, Ordering::SeqCst);
                let name = if number == SIGTERM {
                    "SIGTERM"
                } else {
                    "SIGINT"
                };
                // Nobody waits if the manager is stopping for another reason.
                let _ = sender.send(name);
            } else if since.elapsed() > SAME_REQUEST {
                low_level::exit(128 + number);
            }
        }
    }

    impl Drop for Signals {
        fn drop(&mut self) {
            // After the first the process is about to end, which a blocked thread can hold up:
            // then the second still has to end it, and the thread lives as long as the process.
            if self.received.load(Ordering::SeqCst) {
                return;
            }
            self.handle.close();
            if let Some(thread) = self.thread.take() {
                // It does nothing that could panic, and returns when it is closed.
                let _ = thread.join();
            }
        }
    }
}

#[cfg(not(unix))]
mod platform {
    use super::io;

    /// Listens for Ctrl-C.
    #[derive(Debug)]
    pub(crate) struct Signals;

    impl Signals {
        #[allow(clippy::unnecessary_wraps)] // As elsewhere.
        pub(crate) fn listen() -> io::Result<Self> {
            Ok(Self)
        }

        /// Waits for the first; returns its name.
        pub(crate) async fn first(&mut self) -> &'static str {
            pressed().await;
            "Ctrl-C"
        }

        /// Ends the process at the second.
        pub(crate) async fn exit_at_second() {
            pressed().await;
            pressed().await;
            std::process::exit(130);
        }
    }

    async fn pressed() {
        if let Err(error) = tokio::signal::ctrl_c().await {
            tracing::error!(%error, "cannot listen for Ctrl-C");
            std::future::pending::<()>().await;
        }
    }
}
