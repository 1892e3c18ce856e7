//! Signals that ask the process to end.

use std::io;

pub(crate) use platform::Signals;

#[cfg(unix)]
mod platform {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use signal_hook::SigId;
    use signal_hook::consts::signal::{SIGINT, SIGTERM};
    use signal_hook::{flag, low_level};
    use tokio::signal::unix::{Signal, SignalKind, signal};

    use super::io;

    /// Listens for SIGTERM and SIGINT. The second of them ends the process from within the signal
    /// handler, also when every thread is blocked.
    #[derive(Debug)]
    pub(crate) struct Signals {
        terminate: Signal,
        interrupt: Signal,
        received: Arc<AtomicBool>,
        actions: Vec<SigId>,
    }

    impl Signals {
        pub(crate) fn listen() -> io::Result<Self> {
            let mut signals = Self {
                terminate: signal(SignalKind::terminate())?,
                interrupt: signal(SignalKind::interrupt())?,
                received: Arc::default(),
                actions: Vec::new(),
            };
            for number in [SIGTERM, SIGINT] {
                // Actions run in this order, so that the first signal only arms the second.
                let armed = Arc::clone(&signals.received);
                let exit = flag::register_conditional_shutdown(number, 128 + number, armed)?;
                signals.actions.push(exit);
                let arm = flag::register(number, Arc::clone(&signals.received))?;
                signals.actions.push(arm);
            }
            Ok(signals)
        }

        /// Waits for the first; returns its name.
        pub(crate) async fn first(&mut self) -> &'static str {
            tokio::select! {
                _ = self.terminate.recv() => "SIGTERM",
                _ = self.interrupt.recv() => "SIGINT",
            }
        }

        /// Never returns; the signal handler does what there is to do.
        pub(crate) async fn exit_at_second() {
            std::future::pending().await
        }
    }

    impl Drop for Signals {
        fn drop(&mut self) {
            // After the first the process is about to end, which a blocked thread can hold up:
            // the second still has to end it.
            if !self.received.load(Ordering::SeqCst) {
                for action in self.actions.drain(..) {
                    low_level::unregister(action);
                }
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
