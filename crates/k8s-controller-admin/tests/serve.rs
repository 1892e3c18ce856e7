//! The server on sockets.
#![allow(clippy::unwrap_used, clippy::expect_used)] // Also in the helpers of tests.

mod common;

use std::collections::HashMap;
use std::error::Error as _;
use std::io;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::mpsc;
use std::time::Duration;

use common::{CLOSE, KEEP, Running, ask, exchange, local, pass_time, soon};
use k8s_controller_admin::{AdminServer, Error};
use prometheus::Registry;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn connect(address: SocketAddr) -> TcpStream {
    soon(TcpStream::connect(address)).await.unwrap()
}

#[tokio::test]
async fn answers_until_it_is_stopped() {
    let server = Running::new(local().bind().await.unwrap());
    let address = server.address;
    let answer = exchange(&mut connect(address).await, CLOSE).await;
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nok"),
        "{answer}"
    );
    let unknown = CLOSE.replace("/livez", "/");
    let answer = exchange(&mut connect(address).await, &unknown).await;
    assert!(answer.starts_with("HTTP/1.1 404 Not Found\r\n"), "{answer}");
    assert!(answer.contains("/healthz"), "{answer}");

    // One that keeps its connection open, and one that never says anything, do not hold up the end.
    let mut idle = connect(address).await;
    ask(&mut idle, KEEP, "ok").await;
    let mut silent = connect(address).await;
    let begun = tokio::time::Instant::now();
    server.stop().await.unwrap();
    assert!(begun.elapsed().as_secs() < 7, "{:?}", begun.elapsed());
    for stream in [&mut idle, &mut silent] {
        assert_eq!(soon(stream.read(&mut [0; 8])).await.unwrap_or(0), 0);
    }
    let refused = TcpStream::connect(address).await.unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_in_flight_is_answered() {
    let (asked, was_asked) = mpsc::channel();
    let (answer, answered) = mpsc::channel::<()>();
    let answered = Mutex::new(answered);
    let server = local().with_liveness("slow", move || {
        let _ = asked.send(());
        let _ = answered.lock().unwrap().recv();
        Ok(())
    });
    let server = Running::new(server.bind().await.unwrap());
    let mut stream = connect(server.address).await;
    stream.write_all(KEEP.as_bytes()).await.unwrap();
    tokio::task::spawn_blocking(move || was_asked.recv().unwrap())
        .await
        .unwrap();
    let stopping = tokio::spawn(server.stop());
    answer.send(()).unwrap();
    // The connection is closed, although the client would have kept it.
    let answer = exchange(&mut stream, "").await;
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("ok"),
        "{answer}"
    );
    soon(stopping).await.unwrap().unwrap();
}

#[tokio::test]
async fn malformed_requests_hurt_nobody() {
    let server = Running::new(local().bind().await.unwrap());
    let mut neighbour = connect(server.address).await;
    ask(&mut neighbour, KEEP, "ok").await;
    let long = format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "a".repeat(100_000));
    let many = "h: x\r\n".repeat(1000);
    let many = format!("GET /livez HTTP/1.1\r\nhost: x\r\n{many}\r\n");
    for (request, status) in [
        ("\0\u{1}\u{2}\r\n\r\n", "400"),
        ("GET\r\n\r\n", "400"),
        ("GET /livez HTTP/9.9\r\n\r\n", "400"),
        ("GET /livez HTTP/1.1\r\ncontent-length: x\r\n\r\n", "400"),
        ("\u{16}\u{3}\u{1}\0\u{1}", ""),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", ""),
        (&long, "4"),
        (&many, "431"),
    ] {
        let mut stream = connect(server.address).await;
        // It may have been closed before everything was sent.
        let _ = stream.write_all(request.as_bytes()).await;
        let _ = stream.shutdown().await;
        let mut answer = Vec::new();
        let _ = soon(stream.read_to_end(&mut answer)).await;
        let answer = String::from_utf8_lossy(&answer);
        assert!(
            answer.is_empty() || answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{request:?}: {answer}"
        );
    }
    ask(&mut neighbour, KEEP, "ok").await;
    server.stop().await.unwrap();
}

#[tokio::test]
async fn slow_and_idle_connections_are_closed() {
    let server = Running::new(local().bind().await.unwrap());
    let mut slow = connect(server.address).await;
    slow.write_all(b"GET /livez HT").await.unwrap();
    let mut silent = connect(server.address).await;
    let mut idle = connect(server.address).await;
    ask(&mut idle, KEEP, "ok").await;
    pass_time(Duration::from_secs(9)).await;
    ask(&mut idle, KEEP, "ok").await;
    pass_time(Duration::from_secs(2)).await;
    for stream in [&mut slow, &mut silent] {
        assert_eq!(soon(stream.read(&mut [0; 8])).await.unwrap_or(0), 0);
    }
    ask(&mut idle, KEEP, "ok").await;
    pass_time(Duration::from_secs(11)).await;
    assert_eq!(soon(idle.read(&mut [0; 8])).await.unwrap_or(0), 0);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_busy_connection_is_closed_after_a_while() {
    let server = Running::new(local().bind().await.unwrap());
    let mut busy = connect(server.address).await;
    for _ in 0..37 {
        ask(&mut busy, KEEP, "ok").await;
        pass_time(Duration::from_secs(8)).await;
    }
    pass_time(Duration::from_secs(8)).await;
    assert_eq!(soon(busy.read(&mut [0; 8])).await.unwrap_or(0), 0);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn whoever_holds_all_connections_holds_up_no_probe() {
    let server = Running::new(local().bind().await.unwrap());
    let mut held = Vec::new();
    for _ in 0..128 {
        let mut stream = connect(server.address).await;
        ask(&mut stream, KEEP, "ok").await;
        held.push(stream);
    }
    // The clock of the kubelet, whose probes have a second.
    let probe = async { exchange(&mut connect(server.address).await, CLOSE).await };
    let answer = tokio::time::timeout(Duration::from_secs(5), probe).await;
    let answer = answer.expect("the probe waits for the others");
    assert!(answer.ends_with("ok"), "{answer}");
    // The oldest made room, and no other.
    assert_eq!(soon(held[0].read(&mut [0; 8])).await.unwrap_or(0), 0);
    for stream in &mut held[1..] {
        ask(stream, KEEP, "ok").await;
    }
    server.stop().await.unwrap();
}

#[tokio::test]
async fn slow_collectors_hold_up_no_probe() {
    let (asked, was_asked) = mpsc::channel();
    let (go_on, wait) = mpsc::channel::<()>();
    let registry = Registry::new();
    let slow = Slow {
        desc: Desc::new("slow".into(), "slow".into(), vec![], HashMap::new()).unwrap(),
        asked,
        wait: Mutex::new(wait),
    };
    registry.register(Box::new(slow)).unwrap();
    let server = Running::new(local().with_registry(registry).bind().await.unwrap());
    let mut scrapes = Vec::new();
    for _ in 0..20 {
        let mut stream = connect(server.address).await;
        let request = CLOSE.replace("/livez", "/metrics");
        stream.write_all(request.as_bytes()).await.unwrap();
        scrapes.push(stream);
    }
    tokio::task::spawn_blocking(move || was_asked.recv().unwrap())
        .await
        .unwrap();
    let answer = exchange(&mut connect(server.address).await, CLOSE).await;
    assert!(answer.ends_with("ok"), "{answer}");
    drop(go_on);
    for mut stream in scrapes {
        let answer = exchange(&mut stream, "").await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    }
    server.stop().await.unwrap();
}

/// Waits when it is asked, until the other end of its channel is gone.
struct Slow {
    desc: Desc,
    asked: mpsc::Sender<()>,
    wait: Mutex<mpsc::Receiver<()>>,
}

impl Collector for Slow {
    fn desc(&self) -> Vec<&Desc> {
        vec![&self.desc]
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let _ = self.asked.send(());
        // Where it runs on the thread that would end the wait, the test should fail rather than hang.
        let waited = self
            .wait
            .lock()
            .unwrap()
            .recv_timeout(Duration::from_secs(5));
        assert_eq!(waited, Err(mpsc::RecvTimeoutError::Disconnected));
        Vec::new()
    }
}

#[tokio::test]
async fn dropping_it_ends_its_connections() {
    let server = local().bind().await.unwrap();
    let address = server.local_addr();
    let serving = server.serve(std::future::pending());
    let mut stream = tokio::select! {
        _ = serving => unreachable!(),
        stream = async {
            let mut stream = connect(address).await;
            ask(&mut stream, KEEP, "ok").await;
            stream
        } => stream,
    };
    assert_eq!(soon(stream.read(&mut [0; 8])).await.unwrap_or(0), 0);
}

#[tokio::test]
async fn an_occupied_address() {
    let first = local().bind().await.unwrap();
    let address = first.local_addr();
    let error = AdminServer::new(address).bind().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "the admin server cannot listen on {address}: another socket listens there already"
        )
    );
    let source = error.source().unwrap().downcast_ref::<io::Error>().unwrap();
    assert_eq!(source.kind(), io::ErrorKind::AddrInUse);
    assert!(matches!(error, Error::Bind { address: a, .. } if a == address));
    drop(first);
    AdminServer::new(address).bind().await.unwrap();
}

#[tokio::test]
async fn an_address_of_another_machine() {
    // TEST-NET-1 (RFC 5737) is nobody's.
    let error = AdminServer::new(([192, 0, 2, 1], 8080).into())
        .bind()
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the admin server cannot listen on 192.0.2.1:8080: this machine has no such address"
    );
}

#[test]
fn causes_of_refusals() {
    for (kind, text) in [
        (
            io::ErrorKind::PermissionDenied,
            "it is not allowed to; ports below 1024 usually need the capability NET_BIND_SERVICE",
        ),
        (io::ErrorKind::OutOfMemory, "the system refused"),
    ] {
        let address = SocketAddr::from(([0, 0, 0, 0], 80));
        let error = Error::Bind {
            address,
            source: kind.into(),
        };
        assert_eq!(
            error.to_string(),
            format!("the admin server cannot listen on 0.0.0.0:80: {text}")
        );
    }
}

#[tokio::test]
async fn names_of_checks() {
    for (name, problem) in [
        ("", "the name is empty"),
        ("a b", "the name has whitespace or a control character"),
        ("a\n", "the name has whitespace or a control character"),
        ("/a", "the name has an empty segment"),
        ("a/", "the name has an empty segment"),
        ("a//b", "the name has an empty segment"),
        ("a/../b", "the name has a segment \".\" or \"..\""),
    ] {
        let error = local()
            .with_readiness(name, || Ok(()))
            .bind()
            .await
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with(&format!("readiness check {name:?}: {problem}; expected ")),
            "{error}"
        );
    }
    for name in ["ping", "twice"] {
        let server = local()
            .with_liveness("twice", || Ok(()))
            .with_liveness(name, || Ok(()));
        let error = server.bind().await.unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("liveness check {name:?} was added more than once")),
            "{error}"
        );
    }
    // Of different probes.
    let server = local()
        .with_liveness("cache", || Ok(()))
        .with_readiness("cache", || Ok(()));
    server.bind().await.unwrap();
}
