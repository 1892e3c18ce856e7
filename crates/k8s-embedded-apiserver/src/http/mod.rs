//! The server over HTTP, for kubectl and other programs (feature `http`).
//!
//! Plain HTTP/1.1, without authentication: whoever can connect may do everything. Listen on a loopback address.
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

mod body;
mod kubeconfig;

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::time::Duration;

use ::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tower::ServiceExt;
use tracing::{debug, warn};

use crate::EmbeddedApiServer;
use body::EndingBody;

pub use kubeconfig::{KubeconfigError, KubeconfigFile, kubeconfig};

/// How long open requests may take to end once the server shuts down. Watches end at once.
const GRACE: Duration = Duration::from_secs(1);

/// Pause after a failed accept, which is mostly for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves `server` on `listener` until `shutdown` ends.
///
/// Then watches are ended, requests that are being answered get a second to end, and what is open after that is
/// closed. Every connection is closed when this returns. Dropping the future closes them, too.
///
/// # Errors
///
/// If the listener does not know its address, which means that it is none.
pub async fn serve(
    server: EmbeddedApiServer,
    listener: TcpListener,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let address = listener.local_addr()?;
    debug!(%address, "serving");
    let (stop, stopped) = watch::channel(false);
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let connection = graceful.watch(connection(server.clone(), stream, stopped.clone()));
                    connections.spawn(async move {
                        if let Err(error) = connection.await {
                            debug!(%error, "connection failed");
                        }
                    });
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

/// One connection; its watches end when `stopped` turns true.
fn connection(
    server: EmbeddedApiServer,
    stream: TcpStream,
    stopped: watch::Receiver<bool>,
) -> impl hyper_util::server::graceful::GracefulConnection<Error = hyper::Error> {
    if let Err(error) = stream.set_nodelay(true) {
        debug!(%error, "delay of small writes kept");
    }
    let service = service_fn(move |request: Request<Incoming>| {
        let (server, stopped) = (server.clone(), stopped.clone());
        async move {
            let response = server.oneshot(request).await?;
            Ok::<_, Infallible>(response.map(|body| EndingBody::new(body, stopped)))
        }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service)
}
