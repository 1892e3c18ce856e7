//! One connection: from its first byte to its last answer.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::http::Request;
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::Watcher;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;
use tracing::debug;

use super::body::EndingBody;
use super::certificate::{Certificate, HTTP2};
use crate::EmbeddedApiServer;

/// How long the headers of a request, and a TLS handshake, may take; kube-apiserver's.
const HEADER_PATIENCE: Duration = Duration::from_secs(32);
/// How many bytes the headers of a request may have; Go's.
const HEADER_BYTES: u32 = 1 << 20;
/// How many headers fit into that, at four bytes each (`a:` and the end of the line).
const HEADER_COUNT: usize = 1 << 18;
/// How many requests of one HTTP/2 connection are worked on at a time, as on kube-apiserver; it is 100 there for
/// anonymous clients, and more for others.
const STREAMS: u32 = 250;
/// The first byte of a TLS handshake.
const HANDSHAKE: u8 = 22;
/// What Go's server says to those who speak plainly where it expects TLS.
const PLAIN_TO_TLS: &[u8] =
    b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

/// Where connections come in.
#[derive(Clone)]
pub(super) struct Door {
    server: EmbeddedApiServer,
    certificate: Option<Certificate>,
    stopped: watch::Receiver<bool>,
}

impl Door {
    /// Watches end when `stopped` turns true.
    pub(super) fn new(
        server: EmbeddedApiServer,
        certificate: Option<Certificate>,
        stopped: watch::Receiver<bool>,
    ) -> Self {
        Self {
            server,
            certificate,
            stopped,
        }
    }

    /// Serves one connection until it is closed.
    pub(super) async fn admit(self, stream: TcpStream, watcher: Watcher) {
        if let Err(error) = stream.set_nodelay(true) {
            debug!(%error, "delay of small writes kept");
        }
        let Some(certificate) = &self.certificate else {
            return self.http1(stream, watcher).await;
        };
        let handshake = shake_hands(certificate, stream);
        match tokio::time::timeout(HEADER_PATIENCE, handshake).await {
            Ok(Ok(Some(stream))) if stream.get_ref().1.alpn_protocol() == Some(HTTP2) => {
                self.http2(stream, watcher).await;
            }
            Ok(Ok(Some(stream))) => self.http1(stream, watcher).await,
            Ok(Ok(None)) => debug!("plain HTTP refused"),
            Ok(Err(error)) => debug!(%error, "no TLS handshake"),
            Err(_) => debug!("TLS handshake too slow"),
        }
    }

    async fn http1(
        self,
        stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
        watcher: Watcher,
    ) {
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_PATIENCE)
            .max_headers(HEADER_COUNT)
            .max_buf_size(HEADER_BYTES as usize)
            .serve_connection(TokioIo::new(stream), self.service());
        if let Err(error) = watcher.watch(connection).await {
            debug!(%error, "connection failed");
        }
    }

    async fn http2(
        self,
        stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
        watcher: Watcher,
    ) {
        let tasks = Tasks::default();
        let connection = http2::Builder::new(tasks.clone())
            .timer(TokioTimer::new())
            .max_header_list_size(HEADER_BYTES)
            .max_concurrent_streams(STREAMS)
            .serve_connection(TokioIo::new(stream), self.service());
        let served = watcher.watch(connection).await;
        tasks.end();
        if let Err(error) = served {
            debug!(%error, "connection failed");
        }
    }

    fn service(
        self,
    ) -> impl hyper::service::HttpService<
        Incoming,
        ResBody = EndingBody,
        Error = Infallible,
        Future: Send + 'static,
    > + Send
    + 'static {
        service_fn(move |request: Request<Incoming>| {
            let (server, stopped) = (self.server.clone(), self.stopped.clone());
            async move {
                let response = server.oneshot(request).await?;
                Ok::<_, Infallible>(response.map(|body| EndingBody::new(body, stopped)))
            }
        })
    }
}

/// Nothing, if the client speaks plain HTTP; it has been told then.
async fn shake_hands(
    certificate: &Certificate,
    mut stream: TcpStream,
) -> io::Result<Option<tokio_rustls::server::TlsStream<TcpStream>>> {
    let mut first = [0];
    if stream.peek(&mut first).await? == 1 && first[0] != HANDSHAKE && first[0].is_ascii_uppercase()
    {
        stream.write_all(PLAIN_TO_TLS).await?;
        stream.shutdown().await?;
        return Ok(None);
    }
    let acceptor = TlsAcceptor::from(certificate.config());
    acceptor.accept(stream).await.map(Some)
}

/// The tasks of one HTTP/2 connection, which end with it.
#[derive(Clone, Debug, Default)]
struct Tasks(Arc<Mutex<JoinSet<()>>>);

impl Tasks {
    fn with<T>(&self, work: impl FnOnce(&mut JoinSet<()>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn end(&self) {
        self.with(JoinSet::abort_all);
    }
}

impl<F> Executor<F> for Tasks
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, future: F) {
        self.with(|tasks| {
            // Forget those that are done.
            while tasks.try_join_next().is_some() {}
            tasks.spawn(future);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn tasks_that_are_done_are_forgotten() {
        let tasks = Tasks::default();
        for _ in 0..100 {
            tasks.execute(async {});
            tokio::task::yield_now().await;
        }
        assert!(tasks.with(|tasks| tasks.len()) < 3);
    }

    #[tokio::test]
    async fn tasks_end_with_their_owner() {
        let (alive, ended) = tokio::sync::oneshot::channel::<()>();
        let tasks = Tasks::default();
        tasks.execute(async move {
            let _alive = alive;
            std::future::pending::<()>().await;
        });
        drop(tasks);
        assert!(ended.await.is_err());
    }
}
