//! The lease is lost while something else goes wrong.

use std::time::Duration;

use k8s_controller_manager::{Error, LostLease, Manager};
use tokio::time::sleep;

use crate::network::Network;
use crate::support::*;

/// A task fails, another takes its time to end, and meanwhile the lease is lost: the failure is
/// what the manager ends with, and it does not go on.
#[tokio::test(start_paused = true)]
async fn a_failure_is_not_forgotten_when_the_lease_is_lost_after_it() {
    for then in [LostLease::Exit, LostLease::Rejoin] {
        let server = server();
        let network = Network::to(&server);
        let manager = Manager::new(network.client())
            .with_leader_election(election(network.client(), "us"))
            .with_lost_lease(then)
            .with_task("fails", |_, _| async {
                sleep(5 * SECOND).await;
                Err("no luck".into())
            })
            .with_task("slow", |_, _| async {
                sleep(3600 * SECOND).await;
                Ok(())
            });
        let run = Run::start(manager);
        sleep(4 * SECOND).await;
        network.cut();
        sleep(60 * SECOND).await;
        assert!(run.is_over(), "{then:?}");
        let error = run.end().await.unwrap_err();
        assert!(
            matches!(&error, Error::TaskFailed { name, .. } if name == "fails"),
            "{then:?}: {error}"
        );
    }
}

/// Controllers that were dropped because the lease is gone are no controllers that died.
#[tokio::test(start_paused = true)]
async fn it_stays_live_while_it_gives_the_lease_away_and_rejoins() {
    let server = server();
    create(&server, "a").await;
    let network = Network::to(&server);
    let election = election(network.client(), "us");
    let probe = Probe::sleeping(Duration::ZERO);
    let manager = Manager::new(network.client())
        .with_leader_election(election.clone())
        .with_lost_lease(LostLease::Rejoin)
        .with_controller(probe.controller("c"));
    let health = manager.health();
    let run = Run::start(manager);
    sleep(5 * SECOND).await;
    network.delay(SECOND);
    tokio::spawn(async move { election.release().await });
    for _ in 0..300 {
        sleep(SECOND / 10).await;
        assert_eq!(health.live(), Ok(()));
    }
    assert!(health.is_leading());
    run.stop().await.0.unwrap();
}

/// Without any time to end, what is idle ends all the same.
#[tokio::test(start_paused = true)]
async fn a_deadline_of_zero_abandons_what_runs() {
    let server = server();
    create(&server, "a").await;
    let probe = Probe::sleeping(3600 * SECOND);
    let manager = Manager::new(client(&server))
        .with_leader_election(election(client(&server), "us"))
        .with_stop_deadline(Duration::ZERO)
        .with_controller(probe.controller("c"))
        .with_task("t", |_, _| std::future::pending());
    let run = Run::start(manager);
    sleep(5 * SECOND).await;
    let (stopped, seconds) = run.stop().await;
    let mut abandoned: Vec<_> = (stopped.unwrap().abandoned.iter())
        .map(ToString::to_string)
        .collect();
    abandoned.sort();
    assert_eq!(abandoned.len(), 2, "{abandoned:?}");
    assert!(seconds < 0.6, "{seconds}");
    assert_eq!(holder(&server).await, "");
}
