//! The fence over real connections, whose thread is blocked at any moment of a request.
#![allow(clippy::unwrap_used)] // Also in the helpers of tests.

mod common;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use common::{Wire, seconds, server};
use http::Request;
use k8s_controller_error::is_not_leading;
use k8s_controller_leader_election::Fence;
use kube::{Client, Config};
use tokio::sync::oneshot;

const DEADLINE: Duration = Duration::from_millis(50);

/// What the server got.
#[derive(Default)]
struct Received {
    connections: usize,
    /// When requests were complete.
    requests: Vec<Instant>,
}

/// A server in a thread of its own, which ends with the process.
fn listen() -> (SocketAddr, Arc<Mutex<Received>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let received = Arc::<Mutex<Received>>::default();
    let counts = received.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            counts.lock().unwrap().connections += 1;
            let mut reader = BufReader::new(stream);
            // None if the connection ends before the request does.
            if read_request(&mut reader).is_some() {
                counts.lock().unwrap().requests.push(Instant::now());
                let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
                let _ = reader.get_mut().write_all(answer);
            }
        }
    });
    (address, received)
}

fn read_request(reader: &mut BufReader<std::net::TcpStream>) -> Option<()> {
    let (mut length, mut chunked) = (0, false);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse().unwrap();
        }
        chunked |= line == "transfer-encoding: chunked";
    }
    if chunked {
        // Of a request without a body: the last chunk and the end.
        length = b"0\r\n\r\n".len();
    }
    reader.read_exact(&mut vec![0; length]).ok()
}

async fn fence_of(wire: &Wire) -> Fence {
    let election = wire
        .election("a")
        .with_lease_duration(seconds(1))
        .with_renew_deadline(DEADLINE)
        .with_retry_period(Duration::from_millis(10));
    let (fence, got) = oneshot::channel();
    tokio::spawn(async move {
        let work = |held| async move {
            fence.send(held).ok();
            std::future::pending::<()>().await;
        };
        election.with_fenced_lease(work).await
    });
    got.await.unwrap()
}

/// One thread does everything, and stands still for longer than the deadline, after any number of
/// steps of the request. What was not sent by then is never sent.
#[tokio::test]
async fn blocked_thread_sends_nothing_afterwards() {
    let (mut sent, mut refused_to_connections) = (0, 0);
    for body in [&b"{}"[..], b""] {
        for steps in (0..8).chain([40]) {
            let (address, received) = listen();
            let config = Config::new(format!("http://{address}").parse().unwrap());
            let wire = Wire::to(&server());
            let fence = fence_of(&wire).await;
            let client = fence.client(&Client::try_from(config).unwrap());
            let request = Request::post("/api").body(body.to_vec()).unwrap();
            let request = tokio::spawn(async move { client.request_text(request).await });
            for _ in 0..steps {
                tokio::task::yield_now().await;
            }
            // Long enough for the server to read what was sent before.
            thread::sleep(DEADLINE + Duration::from_millis(100));
            assert!(!fence.is_held());
            let goes_on = Instant::now();
            let result = request.await.unwrap();

            let received = received.lock().unwrap();
            for complete in &received.requests {
                assert!(
                    *complete < goes_on,
                    "{steps} steps: sent by who may not lead"
                );
            }
            sent += received.requests.len();
            if received.requests.is_empty() {
                assert!(is_not_leading(&result.unwrap_err()), "{steps} steps");
                refused_to_connections += received.connections;
            }
        }
    }
    assert!(sent > 0, "no block came after the sending");
    assert!(
        refused_to_connections > 0,
        "no block came between connecting and sending"
    );
}
