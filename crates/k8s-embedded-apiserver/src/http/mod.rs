//! The server over HTTP, for kubectl and other programs (feature `http`).
//!
//! [`serve`] speaks plain HTTP/1.1; a [`Front`] with a [`Certificate`] speaks HTTPS, and HTTP/2 to the clients that
//! ask for it, as those of Go do. Listen on a loopback address: whoever can connect may do everything, unless the server was built
//! with users ([`Builder::default_user`](crate::Builder::default_user)).
//!
//! ```
//! use k8s_embedded_apiserver::{EmbeddedApiServer, http};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! println!("{}", http::kubeconfig(listener.local_addr()?));
//! let until_done = async { /* such as tokio::signal::ctrl_c() */ };
//! http::serve(EmbeddedApiServer::new(), listener, until_done).await
//! # }
//! ```
//!
//! # Limits
//!
//! Those of a kube-apiserver: a request has 1 MiB of headers at most (431), and 32 seconds to send them (the
//! connection is closed). A connection that waits for its next request is closed then, too. What a request may send
//! after its headers, and for how long, is bounded by the server itself. An HTTP/2 connection has at most 250 requests
//! at a time.

mod body;
mod certificate;
mod connection;
mod kubeconfig;

use std::future::Future;
use std::io;
use std::time::Duration;

use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::{debug, warn};

use crate::EmbeddedApiServer;
use connection::Door;

pub use certificate::{Certificate, CertificateError};
pub use kubeconfig::{Kubeconfig, KubeconfigError, KubeconfigFile, kubeconfig};

/// How long open requests may take to end once the server shuts down. Watches end at once.
const GRACE: Duration = Duration::from_secs(1);

/// Pause after a failed accept, which is mostly for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves `server` over plain HTTP on `listener` until `shutdown` ends: [`Front::serve`] without a certificate.
///
/// # Errors
///
/// If the listener does not know its address, which means that it is none.
pub async fn serve(
    server: EmbeddedApiServer,
    listener: TcpListener,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    Front::new(server).serve(listener, shutdown).await
}

/// A server and how it is reached.
///
/// ```
/// use k8s_embedded_apiserver::EmbeddedApiServer;
/// use k8s_embedded_apiserver::http::{Certificate, Front, Kubeconfig};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
/// let certificate = Certificate::for_address(listener.local_addr()?)?;
/// let kubeconfig = Kubeconfig::new(listener.local_addr()?).certificate(&certificate);
/// println!("{kubeconfig}");
/// let until_done = async { /* such as tokio::signal::ctrl_c() */ };
/// Front::new(EmbeddedApiServer::new())
///     .certificate(&certificate)
///     .serve(listener, until_done)
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "a front does nothing until it serves"]
pub struct Front {
    server: EmbeddedApiServer,
    certificate: Option<Certificate>,
}

impl Front {
    /// Plain HTTP.
    pub fn new(server: EmbeddedApiServer) -> Self {
        Self {
            server,
            certificate: None,
        }
    }

    /// HTTPS with this certificate.
    pub fn certificate(mut self, certificate: &Certificate) -> Self {
        self.certificate = Some(certificate.clone());
        self
    }

    /// Serves on `listener` until `shutdown` ends.
    ///
    /// Then watches are ended, requests that are being answered get a second to end, and what is open after that is
    /// closed. Every connection is closed when this returns. Dropping the future closes them, too.
    ///
    /// # Errors
    ///
    /// If the listener does not know its address, which means that it is none.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
    ) -> io::Result<()> {
        let address = listener.local_addr()?;
        debug!(%address, "serving");
        let (stop, stopped) = watch::channel(false);
        let graceful = GracefulShutdown::new();
        let door = Door::new(self.server, self.certificate, stopped);
        let mut connections = JoinSet::new();
        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            tokio::select! {
                () = &mut shutdown => break,
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        connections.spawn(door.clone().admit(stream, graceful.watcher()));
                    }
                    Err(error) => {
                        warn!(%error, "connection not accepted");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
                Some(_) = connections.join_next() => {}
            }
        }
        drop(listener);
        drop(door);
        stop.send_replace(true);
        if tokio::time::timeout(GRACE, graceful.shutdown())
            .await
            .is_err()
        {
            debug!("connections cut");
        }
        connections.shutdown().await;
        Ok(())
    }
}
