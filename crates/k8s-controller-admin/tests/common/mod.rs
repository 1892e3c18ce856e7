//! A server that runs, and an HTTP client of bytes.
#![allow(dead_code, reason = "each test uses its part")]

use std::net::SocketAddr;
use std::time::Duration;

use k8s_controller_admin::{AdminServer, BoundAdminServer, Error};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Nothing here takes long; a test that hangs should say where.
const SOON: Duration = Duration::from_secs(20);

pub(crate) fn local() -> AdminServer {
    AdminServer::new(([127, 0, 0, 1], 0).into())
}

pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), Error>>,
}

impl Running {
    pub(crate) fn new(server: BoundAdminServer) -> Self {
        let (stop, stopped) = oneshot::channel();
        Self {
            address: server.local_addr(),
            stop,
            task: tokio::spawn(server.serve(async {
                let _ = stopped.await;
            })),
        }
    }

    pub(crate) async fn stop(self) -> Result<(), Error> {
        let _ = self.stop.send(());
        soon(self.task).await.unwrap()
    }
}

pub(crate) async fn soon<F: Future>(future: F) -> F::Output {
    timeout(SOON, future).await.expect("it hangs")
}

/// Lets virtual time pass.
pub(crate) async fn pass_time(time: Duration) {
    tokio::time::pause();
    tokio::time::sleep(time).await;
    tokio::time::resume();
}

/// Sends a request and reads until the other side closes.
pub(crate) async fn exchange<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    request: &str,
) -> String {
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let read = soon(stream.read_to_end(&mut answer)).await;
    // A server that cuts a connection off may reset it.
    let _ = read;
    String::from_utf8(answer).unwrap()
}

/// Sends a request and reads one answer that ends with `end`.
pub(crate) async fn ask<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    request: &str,
    end: &str,
) -> String {
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let mut buffer = [0; 1024];
    while !answer.ends_with(end) {
        let read = soon(stream.read(&mut buffer)).await.unwrap();
        assert!(read > 0, "closed after {answer:?}");
        answer.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
    }
    answer
}

pub(crate) const CLOSE: &str = "GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
pub(crate) const KEEP: &str = "GET /livez HTTP/1.1\r\nhost: x\r\n\r\n";
