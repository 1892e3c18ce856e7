//! What `Manager::health` says.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use k8s_controller_manager::Manager;
use tokio::time::{sleep, timeout};

use crate::network::Network;
use crate::support::*;

const SYNCED: &str = "controller/c: the first list of objects has not come yet";

#[tokio::test(start_paused = true)]
async fn from_before_the_start_to_after_the_end() {
    let server = server();
    let network = Network::to(&server);
    let slow = Network::to(&server);
    slow.cut();
    let probe = Probe::sleeping(Duration::ZERO);
    let manager = Manager::new(slow.client())
        .with_leader_election(election(network.client(), "us"))
        .with_ready_when_leading(true)
        .with_controller(probe.controller("c"));
    network.cut();
    let health = manager.health();
    let not_started = "shutdown: the manager has not started";
    assert_eq!(
        (health.live(), health.ready()),
        (Ok(()), Err(not_started.into()))
    );

    let run = Run::start(manager);
    sleep(60 * SECOND).await;
    let waiting = "leading: this replica does not lead";
    assert_eq!(
        (health.live(), health.ready()),
        (Ok(()), Err(waiting.into()))
    );
    assert!(!health.is_leading());

    network.mend();
    sleep(10 * SECOND).await;
    assert_eq!(
        (health.live(), health.ready()),
        (Ok(()), Err(SYNCED.into()))
    );
    assert!(health.is_leading());

    slow.mend();
    sleep(10 * SECOND).await;
    assert_eq!((health.live(), health.ready()), (Ok(()), Ok(())));

    run.stop().await.0.unwrap();
    assert_eq!(health.live(), Err("manager: the manager has ended".into()));
    assert!(!health.is_leading());
}

#[tokio::test(start_paused = true)]
async fn without_an_election_it_leads_at_once() {
    let manager = Manager::new(client(&server()))
        .with_ready_when_leading(true)
        .with_controller(Probe::sleeping(Duration::ZERO).controller("c"));
    let health = manager.health();
    let run = Run::start(manager);
    sleep(SECOND).await;
    assert!(health.is_leading());
    assert_eq!((health.live(), health.ready()), (Ok(()), Ok(())));
    run.stop().await.0.unwrap();
}

/// A program that holds the future and no longer polls it.
#[tokio::test(start_paused = true)]
async fn a_lease_that_nobody_looks_after_is_not_live() {
    let network = Network::to(&server());
    network.cut();
    let manager = Manager::new(network.client())
        .with_leader_election(election(network.client(), "us"))
        .with_controller(Probe::sleeping(Duration::ZERO).controller("c"));
    let health = manager.health();
    let mut run = pin!(manager.run_until(std::future::pending()));
    assert!(timeout(5 * SECOND, run.as_mut()).await.is_err());
    assert_eq!(health.live(), Ok(()));
    sleep(600 * SECOND).await;
    let failed = health.live().unwrap_err();
    assert!(failed.starts_with("leader-election: "), "{failed}");
    assert!(!failed.contains('\n'), "{failed}");
    assert!(!health.is_leading());
}

fn is_send<F: Future + Send>(future: F) -> F {
    future
}

#[tokio::test(start_paused = true)]
async fn its_futures_can_be_sent() {
    let new = || Manager::new(client(&server()));
    drop(is_send(new().run()));
    drop(is_send(new().run_until(async {})));
}
