//! Accepting connections, and ending them.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinError, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, info, warn};

use crate::Error;
use crate::connection::{END_TIMEOUT, Transport};

/// Kubelets and a few Prometheus servers need a handful. When there are as many, the oldest makes room for a new one:
/// were the new one to wait, whoever held them all would make a kubelet's probe time out, and the operator restart.
const MAX_CONNECTIONS: usize = 128;

/// Until accepting is tried again, after the system had no file descriptor or no memory for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// An [`AdminServer`](crate::AdminServer) that listens.
///
/// Connections wait in the system's queue until [`serve`](Self::serve) runs; dropped, it listens no more.
pub struct BoundAdminServer {
    listener: TcpListener,
    local_addr: SocketAddr,
    router: Router,
    transport: Transport,
}

impl BoundAdminServer {
    pub(crate) fn new(
        listener: TcpListener,
        local_addr: SocketAddr,
        router: Router,
        transport: Transport,
    ) -> Self {
        Self {
            listener,
            local_addr,
            router,
            transport,
        }
    }

    /// The address that is listened on, with the port that the system chose if none was asked for.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Answers until `stop` is ready; then ends what is being answered, for five seconds at most, and returns.
    ///
    /// No request can end it or hold up another: at most 128 connections are served at once, of which the oldest is cut
    /// off when another comes; each is served for five minutes at most, and closed if it sends no request for ten
    /// seconds. Metrics are gathered on a thread for work that blocks, for two requests at once, while others wait. No
    /// connection outlives the returned future, also when that is dropped; a collector that runs then, ends by itself.
    ///
    /// # Errors
    ///
    /// [`Error::Accept`] if the listening socket has broken. That there is no file descriptor or no memory for a
    /// connection is logged, and accepting goes on when there is.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> Result<(), Error> {
        let Self {
            listener,
            local_addr,
            router,
            transport,
        } = self;
        let stopped = CancellationToken::new();
        let mut connections = JoinSet::new();
        let result = tokio::select! {
            biased;
            () = stop => Ok(()),
            never = transport.keep_fresh() => match never {},
            source = accept_all(&listener, &mut connections, |stream| {
                transport.clone().serve(stream, router.clone(), stopped.clone())
            }) => Err(Error::Accept { address: local_addr, source }),
        };
        // Whoever comes now is refused rather than left waiting.
        drop(listener);
        stopped.cancel();
        let ending = async {
            while let Some(ended) = connections.join_next().await {
                report(ended);
            }
        };
        if timeout(END_TIMEOUT, pin!(ending)).await.is_err() {
            connections.shutdown().await;
        }
        result
    }
}

impl fmt::Debug for BoundAdminServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundAdminServer")
            .field("local_addr", &self.local_addr)
            .finish_non_exhaustive()
    }
}

/// Accepts connections until the socket is broken.
async fn accept_all<F>(
    listener: &TcpListener,
    connections: &mut JoinSet<()>,
    serve: impl Fn(tokio::net::TcpStream) -> F,
) -> io::Error
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut failing = false;
    // From the oldest to the newest.
    let mut open: VecDeque<AbortHandle> = VecDeque::with_capacity(MAX_CONNECTIONS);
    loop {
        let accepted = tokio::select! {
            Some(ended) = connections.join_next() => {
                report(ended);
                open.retain(|connection| !connection.is_finished());
                continue;
            }
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                if failing {
                    failing = false;
                    info!("connections are accepted again");
                }
                if open.len() >= MAX_CONNECTIONS
                    && let Some(oldest) = open.pop_front()
                {
                    debug!("the oldest connection is cut off for a new one");
                    oldest.abort();
                }
                open.push_back(connections.spawn(serve(stream)));
            }
            // It does not listen (any more).
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => return error,
            Err(error) => {
                if !failing {
                    failing = true;
                    warn!(error = %error, "connections cannot be accepted");
                }
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn report(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        error!(error = %error, "a connection of the admin server panicked");
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use crate::{AdminServer, Error};

    #[tokio::test]
    async fn a_broken_socket_is_an_error() {
        let server = AdminServer::new(([127, 0, 0, 1], 0).into())
            .bind()
            .await
            .unwrap();
        let address = server.local_addr();
        let same = server.listener.as_fd().try_clone_to_owned().unwrap();
        std::net::TcpStream::from(same)
            .shutdown(std::net::Shutdown::Both)
            .unwrap();
        let error = server.serve(std::future::pending()).await.unwrap_err();
        assert!(matches!(error, Error::Accept { address: a, .. } if a == address));
    }
}
