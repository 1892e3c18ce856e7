//! A way to the server that can be blocked.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Hands bytes on to a server. While it is blocked, those of clients wait; those of the server
/// still arrive, so that a watch goes on.
///
/// It ends with this value.
#[derive(Debug)]
pub(crate) struct Proxy {
    address: SocketAddr,
    blocked: watch::Sender<bool>,
    _tasks: JoinSet<()>,
}

impl Proxy {
    pub(crate) async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (blocked, is_blocked) = watch::channel(false);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let is_blocked = is_blocked.clone();
                connections.spawn(async move {
                    // A connection that breaks is the business of its two ends.
                    let _ = connect(client, server, is_blocked).await;
                });
            }
        });
        Self {
            address,
            blocked,
            _tasks: tasks,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn block(&self) {
        self.blocked.send_replace(true);
    }

    pub(crate) fn unblock(&self) {
        self.blocked.send_replace(false);
    }
}

async fn connect(
    client: TcpStream,
    server: SocketAddr,
    is_blocked: watch::Receiver<bool>,
) -> io::Result<()> {
    let (from_server, to_server) = TcpStream::connect(server).await?.into_split();
    let (from_client, to_client) = client.into_split();
    let (_, never) = watch::channel(false);
    tokio::try_join!(
        copy(from_client, to_server, is_blocked),
        copy(from_server, to_client, never),
    )?;
    Ok(())
}

async fn copy(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut is_blocked: watch::Receiver<bool>,
) -> io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = from.read(&mut buffer).await?;
        if count == 0 {
            return to.shutdown().await;
        }
        // An error means that the proxy is gone, and this task with it.
        let _ = is_blocked.wait_for(|blocked| !blocked).await;
        to.write_all(&buffer[..count]).await?;
    }
}
