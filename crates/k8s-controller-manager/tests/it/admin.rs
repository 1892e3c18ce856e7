//! The admin server next to the controllers, on real sockets and so in real time.

use std::net::{SocketAddr, TcpListener as StdListener};
use std::time::Duration;

use k8s_controller_admin::AdminServer;
use k8s_controller_manager::{Error, Manager};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::network::Network;
use crate::support::*;

const LOCAL: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

/// An address that was free a moment ago.
fn free() -> SocketAddr {
    StdListener::bind(SocketAddr::from(LOCAL))
        .unwrap()
        .local_addr()
        .unwrap()
}

/// The status and body of an answer; none if nobody listens.
async fn get(address: SocketAddr, path: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, body.to_owned()))
}

/// Asks again until the answer has this status and contains this.
async fn answers(address: SocketAddr, path: &str, status: u16, part: &str) -> String {
    let mut last = None;
    let wait = async {
        loop {
            last = get(address, path).await;
            if let Some((got, body)) = &last
                && *got == status
                && body.contains(part)
            {
                return body.clone();
            }
            sleep(Duration::from_millis(5)).await;
        }
    };
    let got = timeout(30 * SECOND, wait).await;
    got.unwrap_or_else(|_| panic!("{path}: expected {status} {part}"))
}

#[tokio::test]
async fn probes_are_answered_from_the_start_to_the_end() {
    let server = server();
    create(&server, "a").await;
    let (network, lease) = (Network::to(&server), Network::to(&server));
    lease.cut();
    network.cut();
    let address = free();
    let probe = Probe::sleeping(SECOND);
    let manager = Manager::new(network.client())
        .with_leader_election(election(lease.client(), "us"))
        .with_ready_when_leading(true)
        .with_admin(AdminServer::new(address))
        .with_controller(probe.controller("example.com/c"));
    let mut run = Run::start(manager);

    // Before the lease.
    let live = answers(address, "/livez?verbose", 200, "passed").await;
    assert!(live.contains("[+]controller/example.com/c ok"), "{live}");
    assert!(live.contains("[+]leader-election ok"), "{live}");
    let ready = answers(address, "/readyz?verbose", 500, "[-]leading").await;
    assert!(ready.contains("[+]controller/example.com/c ok"), "{ready}");
    assert!(ready.contains("[+]shutdown ok"), "{ready}");
    // Before the first list.
    lease.mend();
    let ready = answers(
        address,
        "/readyz?verbose",
        500,
        "[-]controller/example.com/c",
    )
    .await;
    assert!(ready.contains("[+]leading ok"), "{ready}");
    network.mend();
    answers(address, "/readyz", 200, "ok").await;
    answers(address, "/readyz/controller/example.com/c", 200, "ok").await;

    // While passes end.
    while probe.notes.count("a begins") == 0 {
        sleep(Duration::from_millis(1)).await;
    }
    run.ask();
    let ready = answers(address, "/readyz?verbose", 500, "[-]shutdown").await;
    assert!(ready.contains("the manager is stopping"), "{ready}");
    answers(address, "/livez", 200, "ok").await;
    assert!(run.end().await.unwrap().abandoned.is_empty());
    assert_eq!(get(address, "/livez").await, None);
    assert_eq!(probe.notes.count("a ends"), 1);
}

#[tokio::test]
async fn an_occupied_port_is_an_error_before_anything_runs() {
    let server = server();
    let listener = StdListener::bind(SocketAddr::from(LOCAL)).unwrap();
    let address = listener.local_addr().unwrap();
    let manager = Manager::new(client(&server))
        .with_leader_election(election(client(&server), "us"))
        .with_admin(AdminServer::new(address))
        .with_controller(Probe::sleeping(SECOND).controller("c"));
    let health = manager.health();
    let error = manager.run_until(std::future::pending()).await.unwrap_err();
    assert!(matches!(error, Error::Admin(_)), "{error:?}");
    let shown = k8s_controller_error::display_chain(&error).to_string();
    assert!(shown.contains(&address.to_string()), "{shown}");
    assert!(lease(&server).await.is_none());
    assert!(health.live().is_err());
}

/// Two managers in one process share nothing.
#[tokio::test]
async fn two_managers_in_one_process() {
    let server = server();
    create(&server, "a").await;
    let (one, two) = (free(), free());
    let manager = |address| {
        Manager::new(client(&server))
            .with_admin(AdminServer::new(address))
            .with_controller(Probe::sleeping(Duration::ZERO).controller("c"))
    };
    let first = Run::start(manager(one));
    let second = Run::start(manager(two));
    answers(one, "/readyz", 200, "ok").await;
    answers(two, "/readyz", 200, "ok").await;
    first.stop().await.0.unwrap();
    assert_eq!(get(one, "/readyz").await, None);
    answers(two, "/readyz", 200, "ok").await;
    second.stop().await.0.unwrap();
}
