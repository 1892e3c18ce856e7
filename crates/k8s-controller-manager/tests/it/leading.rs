//! Losing the lease, and taking turns.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_controller_error::is_not_leading;
use k8s_controller_manager::{Error, LostLease, Manager};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::network::Network;
use crate::support::*;

/// Writes the name of the replica into the object every second, from a task of its own that
/// outlives the pass and the lease.
fn ghost(client: Client, name: String, errors: Arc<Mutex<Vec<kube::Error>>>) {
    tokio::spawn(async move {
        let api = Api::<ConfigMap>::default_namespaced(client);
        loop {
            let patch = Patch::Merge(json!({"data": {"written": "yes"}}));
            match api.patch(&name, &PatchParams::default(), &patch).await {
                Ok(_) => {}
                Err(error) if is_not_leading(&error) => {
                    errors.lock().unwrap().push(error);
                    return;
                }
                Err(error) => panic!("{error}"),
            }
            sleep(SECOND).await;
        }
    });
}

#[tokio::test(start_paused = true)]
async fn a_lost_lease_ends_it_and_what_is_left_cannot_write() {
    let server = server();
    create(&server, "a").await;
    let network = Network::to(&server);
    let errors: Arc<Mutex<Vec<kube::Error>>> = Arc::default();
    let probe = Probe::new({
        let errors = errors.clone();
        move |client, object| {
            ghost(client, object.name_any(), errors.clone());
            async {
                sleep(3600 * SECOND).await;
                Ok(())
            }
        }
    });
    let manager = Manager::new(network.client())
        .with_leader_election(election(network.client(), "us"))
        .with_controller(probe.controller("c"));
    let health = manager.health();
    let run = Run::start(manager);
    sleep(5 * SECOND).await;
    assert!(health.is_leading());
    network.cut();
    let cut = Instant::now();
    let error = run.end().await.unwrap_err();
    assert!(
        matches!(&error, Error::LeaseLost { lease } if lease == "default/operator"),
        "{error}"
    );
    let seconds = cut.elapsed().as_secs_f64();
    assert!((8.0..10.1).contains(&seconds), "{seconds}");
    assert!(!health.is_leading() && health.live().is_err());

    network.mend();
    let mended = Instant::now();
    sleep(30 * SECOND).await;
    let written = network.writes("/configmaps");
    let late: Vec<_> = written.iter().filter(|write| write.at > mended).collect();
    assert!(late.is_empty(), "{late:?}");
    assert!(written.len() >= 4, "{written:?}");
    assert_eq!(probe.notes.all(), ["c made", "a begins"]);
    assert_eq!(errors.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn it_rejoins_with_new_controllers() {
    let server = server();
    create(&server, "a").await;
    let network = Network::to(&server);
    let probe = Probe::new(|_, _| async {
        sleep(7 * SECOND).await;
        Ok(())
    });
    let manager = Manager::new(network.client())
        .with_leader_election(election(network.client(), "us"))
        .with_lost_lease(LostLease::Rejoin)
        .with_controller(probe.controller("c"));
    let health = manager.health();
    let run = Run::start(manager);
    sleep(5 * SECOND).await;
    network.cut();
    sleep(40 * SECOND).await;
    assert!(!health.is_leading());
    assert_eq!((health.live(), health.ready()), (Ok(()), Ok(())));
    assert_eq!(probe.notes.all(), ["c made", "a begins", "a ends"]);
    network.mend();
    sleep(40 * SECOND).await;
    assert!(health.is_leading());
    let twice = [
        "c made", "a begins", "a ends", "c made", "a begins", "a ends",
    ];
    assert_eq!(probe.notes.all(), twice);
    run.stop().await.0.unwrap();
    assert_eq!(holder(&server).await, "");
}

/// The passes that were ending are dropped, which is no graceful stop.
#[tokio::test(start_paused = true)]
async fn a_lease_lost_during_a_stop_is_an_error() {
    for then in [LostLease::Exit, LostLease::Rejoin] {
        let server = server();
        create(&server, "a").await;
        let network = Network::to(&server);
        let probe = Probe::sleeping(3600 * SECOND);
        let manager = Manager::new(network.client())
            .with_leader_election(election(network.client(), "us"))
            .with_lost_lease(then)
            .with_controller(probe.controller("c"));
        let run = Run::start(manager);
        sleep(5 * SECOND).await;
        network.cut();
        let (result, seconds) = run.stop().await;
        assert!(matches!(result, Err(Error::LeaseLost { .. })), "{result:?}");
        assert!(seconds < 10.1, "{seconds}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_replica_works_and_the_next_follows_at_once() {
    let server = server();
    create(&server, "a").await;
    let replica = |name: &str| {
        let probe = Probe::sleeping(Duration::ZERO);
        let network = Network::to(&server);
        let manager = Manager::new(network.client())
            .with_leader_election(election(network.client(), name))
            .with_controller(probe.controller("c"));
        let health = manager.health();
        (probe.notes, health, Run::start(manager))
    };
    let (first, first_health, first_run) = replica("first");
    sleep(SECOND).await;
    let (second, second_health, second_run) = replica("second");
    sleep(60 * SECOND).await;
    assert!(first_health.is_leading() && !second_health.is_leading());
    assert_eq!(
        (second_health.live(), second_health.ready()),
        (Ok(()), Ok(()))
    );
    assert_eq!(first.all(), ["c made", "a begins", "a ends"]);
    assert_eq!(second.all(), ["c made"]);

    first_run.stop().await.0.unwrap();
    // Two retry periods.
    sleep(4 * SECOND).await;
    assert!(second_health.is_leading());
    assert_eq!(second.all(), ["c made", "a begins", "a ends"]);
    second_run.stop().await.0.unwrap();
}

/// The client that a closure is given can be used before the lease is held; it waits.
#[tokio::test(start_paused = true)]
async fn a_client_from_before_the_lease_waits_for_it() {
    let server = server();
    create(&server, "a").await;
    let other = Run::start(
        Manager::new(client(&server))
            .with_leader_election(election(client(&server), "other"))
            .with_task("t", |_, stop| async move {
                stop.cancelled().await;
                Ok(())
            }),
    );
    sleep(SECOND).await;
    let network = Network::to(&server);
    let written = Notes::default();
    let manager = Manager::new(network.client())
        .with_leader_election(election(network.client(), "us"))
        .with_controller({
            let written = written.clone();
            move |client| {
                let (api, written) = (Api::<ConfigMap>::all(client.clone()), written.clone());
                tokio::spawn(async move {
                    let maps = api.list(&ListParams::default()).await.unwrap();
                    written.add(maps.items.len().to_string());
                });
                controller(client, Probe::sleeping(Duration::ZERO))
            }
        });
    let run = Run::start(manager);
    sleep(60 * SECOND).await;
    assert!(written.all().is_empty());
    other.stop().await.0.unwrap();
    sleep(4 * SECOND).await;
    assert_eq!(written.all(), ["1"]);
    run.stop().await.0.unwrap();
}

/// Somebody gives the lease away while the manager leads: the controllers are dropped then, and
/// not when the server has answered.
#[tokio::test(start_paused = true)]
async fn what_runs_is_dropped_when_the_lease_is_lost_and_not_later() {
    let server = server();
    create(&server, "a").await;
    let network = Network::to(&server);
    let notes = Notes::default();
    let probe = Probe::new({
        let notes = notes.clone();
        move |_, _| {
            let notes = notes.clone();
            async move {
                loop {
                    sleep(SECOND / 10).await;
                    notes.add("tick");
                }
            }
        }
    });
    let election = election(network.client(), "us");
    let manager = Manager::new(network.client())
        .with_leader_election(election.clone())
        .with_controller(probe.controller("c"));
    let run = Run::start(manager);
    sleep(5 * SECOND).await;
    network.delay(SECOND);
    tokio::spawn(async move { election.release().await });
    sleep(SECOND / 20).await;
    let ticks = notes.count("tick");
    assert!(ticks > 40, "{ticks}");
    assert!(!run.is_over());
    let error = run.end().await.unwrap_err();
    assert!(matches!(error, Error::LeaseLost { .. }), "{error}");
    assert!(notes.count("tick") <= ticks + 1, "{}", notes.count("tick"));
}
