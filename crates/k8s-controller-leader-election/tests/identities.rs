//! Processes that were given the same identity by mistake.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::time::Duration;

use common::{Leader, Wire, holder, seconds, server, spec, until_leading};
use k8s_embedded_apiserver::EmbeddedApiServer;
use kube::Client;
use tokio::runtime::Runtime;
use tokio::time::{advance, sleep};

/// A process, which stands still as long as nobody runs it.
fn process() -> Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
}

/// A process is stopped; one of the same identity takes over; the first goes on. It finds its own
/// identity in the lease, and has to leave it there.
#[test]
fn a_process_that_was_stopped_does_not_release_the_lease_of_its_namesake() {
    let server = EmbeddedApiServer::new();
    let client = || Client::new(server.clone(), "default");
    let (stopped, takes_over) = (process(), process());

    let (first, work) = stopped.block_on(async {
        let first = Wire::to(&client()).election("same");
        let busy = first.clone();
        let work = tokio::spawn(async move {
            let work = async {
                for _ in 0..10_000 {
                    sleep(Duration::from_millis(100)).await;
                }
            };
            busy.with_lease(work).await
        });
        until_leading(&first).await;
        (first, work)
    });
    let (_leads, before) = takes_over.block_on(async {
        let second = Wire::to(&client()).election("same");
        let leads = Leader::start(&second);
        until_leading(&second).await;
        (leads, spec(&client()).await)
    });
    stopped.block_on(async {
        advance(seconds(30)).await;
        assert_eq!(work.await.unwrap(), None);
        assert!(!first.is_leading());
        assert_eq!(spec(&client()).await, before);
    });
}

/// One that waited and no longer wants to cleans up after itself alone.
#[tokio::test(start_paused = true)]
async fn who_gives_up_waiting_does_not_release_the_lease_of_its_namesake() {
    let server = server();
    let (first, second) = (
        Wire::to(&server).election("same"),
        Wire::to(&server).election("same"),
    );
    let leader = Leader::start(&first);
    until_leading(&first).await;
    let waits = Leader::start(&second);
    sleep(seconds(10)).await;
    waits.kill().await;
    second.withdraw().await;
    first.clone().withdraw().await;
    assert_eq!(holder(&server).await, "same");
    assert!(first.is_leading());
    leader.kill().await;
    assert_eq!(holder(&server).await, "same", "not released");
    second.withdraw().await;
    assert_eq!(holder(&server).await, "same", "it is not its own");
    first.withdraw().await;
    assert_eq!(holder(&server).await, "");
}
