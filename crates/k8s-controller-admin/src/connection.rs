//! One connection, from its first byte to its last.

use std::convert::Infallible;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::debug;

/// For the head of a request to arrive, and for an idle connection to send another. A kubelet gives a probe one second
/// by default, and Prometheus ten to a scrape.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// For a TLS handshake.
#[cfg(feature = "tls")]
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// After that, a connection ends with its present request; a client that does not read its answer holds one no longer.
const LIFETIME: Duration = Duration::from_secs(300);

/// For the present request of a connection that is to end.
pub(crate) const END_TIMEOUT: Duration = Duration::from_secs(5);

/// Of a request's line and headers. Larger ones are answered 431 or 414, or cut off.
const MAX_HEAD_BYTES: usize = 16 * 1024;

/// What lies between TCP and HTTP.
#[derive(Clone)]
pub(crate) struct Transport {
    #[cfg(feature = "tls")]
    tls: Option<crate::tls::Identity>,
}

impl Transport {
    pub(crate) fn plain() -> Self {
        Self {
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    #[cfg(feature = "tls")]
    pub(crate) fn tls(identity: crate::tls::Identity) -> Self {
        Self {
            tls: Some(identity),
        }
    }

    /// Reads again what may change in the files.
    pub(crate) async fn keep_fresh(&self) -> Infallible {
        #[cfg(feature = "tls")]
        if let Some(identity) = &self.tls {
            return identity.keep_fresh().await;
        }
        std::future::pending().await
    }

    /// Answers the requests of a connection until it ends, or shortly after `stopped`.
    pub(crate) async fn serve(self, stream: TcpStream, router: Router, stopped: CancellationToken) {
        if let Err(error) = stream.set_nodelay(true) {
            debug!(error = %error, "no TCP_NODELAY");
        }
        #[cfg(feature = "tls")]
        if let Some(identity) = &self.tls {
            let handshake = timeout(HANDSHAKE_TIMEOUT, identity.accept(stream));
            let accepted = tokio::select! {
                accepted = handshake => accepted,
                () = stopped.cancelled() => return,
            };
            match accepted {
                Ok(Ok(stream)) => serve_http(stream, router, stopped).await,
                Ok(Err(error)) => debug!(error = %error, "TLS handshake failed"),
                Err(_) => debug!("TLS handshake timed out"),
            }
            return;
        }
        serve_http(stream, router, stopped).await;
    }
}

async fn serve_http<S>(stream: S, router: Router, stopped: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => Some(ended),
        () = stopped.cancelled() => None,
        () = sleep(LIFETIME) => None,
    };
    let ended = if let Some(ended) = ended {
        Ok(ended)
    } else {
        connection.as_mut().graceful_shutdown();
        timeout(END_TIMEOUT, connection).await
    };
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => debug!(error = %error, "connection failed"),
        Err(_) => debug!("connection cut off"),
    }
}
