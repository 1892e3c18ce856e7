//! Being asked to stop.

use std::future::pending;
use std::time::Duration;

use k8s_controller_events::{Event as NewEvent, EventType};
use k8s_controller_manager::{Abandoned, Manager};
use k8s_controller_reconcile::{Context, Controller, TraceMetadata};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, ListParams, PostParams};
use kube::runtime::controller::Action;
use kube::runtime::watcher;
use kube::{Client, ResourceExt};
use tokio::time::{Instant, sleep, timeout};

use crate::network::Network;
use crate::support::*;

struct Secrets(Notes);

#[async_trait::async_trait]
impl Context for Secrets {
    type Resource = Secret;
    type Error = kube::Error;

    async fn apply(
        &self,
        _: Client,
        secret: &Secret,
        _: &mut TraceMetadata,
    ) -> Result<Option<Action>, kube::Error> {
        self.0.add(format!("secret {}", secret.name_any()));
        Ok(None)
    }
}

#[tokio::test(start_paused = true)]
async fn controllers_of_several_kinds_and_tasks_run_and_stop() {
    let server = server();
    create(&server, "a").await;
    let mut secret = Secret::default();
    secret.metadata.name = Some("s".into());
    let secrets = Api::default_namespaced(client(&server));
    secrets
        .create(&PostParams::default(), &secret)
        .await
        .unwrap();

    let probe = Probe::sleeping(Duration::ZERO);
    let (notes, task_notes) = (probe.notes.clone(), probe.notes.clone());
    let manager = Manager::new(client(&server))
        .with_controller(probe.controller("config-maps"))
        .with_controller(move |client| {
            Controller::namespaced_all(client, Secrets(notes.clone()), watcher::Config::default())
        })
        .with_task("clock", move |_, stop| {
            let notes = task_notes.clone();
            async move {
                stop.cancelled().await;
                sleep(SECOND).await;
                notes.add("clock ends");
                Ok(())
            }
        });
    let run = Run::start(manager);
    sleep(SECOND).await;
    let (stopped, seconds) = run.stop().await;
    assert!(stopped.unwrap().abandoned.is_empty());
    assert!((1.0..1.01).contains(&seconds), "{seconds}");
    let mut notes = probe.notes.all();
    notes.sort();
    let expected = [
        "a begins",
        "a ends",
        "clock ends",
        "config-maps made",
        "secret s",
    ];
    assert_eq!(notes, expected);
}

/// Readiness, then the passes and their events while the lease is renewed, then the lease.
#[tokio::test(start_paused = true)]
async fn the_order_of_a_stop() {
    let server = server();
    create(&server, "a").await;
    let network = Network::to(&server);
    let manager =
        Manager::new(network.client()).with_leader_election(election(network.client(), "us"));
    let health = manager.health();
    let probe = Probe::new({
        let (health, server) = (health.clone(), server.clone());
        move |client, object| {
            let (health, server) = (health.clone(), server.clone());
            async move {
                sleep(SECOND / 2).await;
                assert_eq!(health.ready(), Ok(()));
                sleep(12 * SECOND).await;
                assert_eq!(
                    health.ready(),
                    Err("shutdown: the manager is stopping".into())
                );
                assert_eq!(health.live(), Ok(()));
                assert!(health.is_leading());
                assert_eq!(holder(&server).await, "us");
                let event = NewEvent {
                    type_: EventType::Normal,
                    reason: "Done".into(),
                    action: "Work".into(),
                    note: None,
                    related: None,
                };
                recorder(client).publish(&*object, &event).await.unwrap();
                Ok(())
            }
        }
    });
    let run = Run::start(manager.with_controller(probe.controller("c")));
    sleep(SECOND).await;
    let asked = Instant::now();
    let (stopped, seconds) = run.stop().await;
    assert!(stopped.unwrap().abandoned.is_empty());
    assert!((11.4..11.6).contains(&seconds), "{seconds}");
    assert_eq!(probe.notes.all(), ["c made", "a begins", "a ends"]);

    let events = Api::<Event>::all(client(&server))
        .list(&ListParams::default())
        .await
        .unwrap();
    assert_eq!(events.items.len(), 1);
    assert_eq!(holder(&server).await, "");
    let lease = network.writes("/leases");
    let event = network.writes("/events").pop().unwrap();
    let renewals = lease
        .iter()
        .filter(|write| write.at > asked && write.at < event.at);
    assert!(renewals.count() >= 2, "{lease:?}");
    assert!(lease.last().unwrap().at >= event.at);
    assert!(health.live().is_err() && health.ready().is_err());
}

#[tokio::test(start_paused = true)]
async fn what_takes_too_long_is_abandoned_and_named() {
    let server = server();
    create(&server, "a").await;
    let probe = Probe::sleeping(3600 * SECOND);
    let manager = Manager::new(client(&server))
        .with_leader_election(election(client(&server), "us"))
        .with_stop_deadline(5 * SECOND)
        .with_controller(probe.controller("c"))
        .with_task("t", |_, _| pending());
    let run = Run::start(manager);
    sleep(SECOND).await;
    let (stopped, seconds) = run.stop().await;
    let abandoned = stopped.unwrap().abandoned;
    let shown: Vec<_> = abandoned.iter().map(ToString::to_string).collect();
    assert_eq!(shown.len(), 2, "{shown:?}");
    let Abandoned::Pass { controller, object } = &abandoned[0] else {
        panic!("{abandoned:?}");
    };
    assert_eq!((controller.as_str(), object.name.as_str()), ("c", "a"));
    assert_eq!(shown[1], "task t");
    assert!((5.0..5.6).contains(&seconds), "{seconds}");
    assert_eq!(holder(&server).await, "");
}

/// Whatever the server does not answer to: the first list, the lease, its release.
#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_does_not_hold_it_up() {
    // When it was cut, and when the stop was asked for.
    let rows = [(0, 60), (0, 3), (5, 5), (5, 8), (5, 14)];
    for elected in [false, true] {
        for (cut_at, stop_at) in rows {
            let server = server();
            create(&server, "a").await;
            let network = Network::to(&server);
            let mut manager = Manager::new(network.client())
                .with_controller(Probe::sleeping(Duration::ZERO).controller("c"));
            if elected {
                manager = manager.with_leader_election(election(network.client(), "us"));
            }
            let run = Run::start(manager);
            sleep(cut_at * SECOND).await;
            network.cut();
            sleep((stop_at - cut_at) * SECOND).await;
            let (stopped, seconds) = run.stop().await;
            let row = format!("elected {elected}, cut {cut_at}, stop {stop_at}: {seconds} s");
            assert!(stopped.is_ok(), "{row}: {stopped:?}");
            let limit = if elected { 2.1 } else { 0.01 };
            assert!(seconds < limit, "{row}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn while_waiting_for_the_lease_it_stops_at_once() {
    let server = server();
    let other = Run::start(
        Manager::new(client(&server))
            .with_leader_election(election(client(&server), "other"))
            .with_task("t", |_, stop| async move {
                stop.cancelled().await;
                Ok(())
            }),
    );
    sleep(SECOND).await;
    let probe = Probe::sleeping(Duration::ZERO);
    let manager = Manager::new(client(&server))
        .with_leader_election(election(client(&server), "us"))
        .with_controller(probe.controller("c"));
    let run = Run::start(manager);
    sleep(100 * SECOND).await;
    let (stopped, seconds) = run.stop().await;
    assert!(stopped.unwrap().abandoned.is_empty());
    assert!(seconds < 0.01, "{seconds}");
    assert_eq!(probe.notes.all(), ["c made"]);
    assert_eq!(holder(&server).await, "other");
    other.stop().await.0.unwrap();
}

/// On a slow network, at whatever moment the stop comes: it takes no longer than it may, and the
/// lease is left to nobody.
#[tokio::test(start_paused = true)]
async fn whenever_the_stop_comes_the_lease_is_free_afterwards() {
    for after in (0..60).map(|step| Duration::from_millis(step * 97)) {
        let server = server();
        create(&server, "a").await;
        let network = Network::to(&server);
        network.delay(Duration::from_millis(200));
        let manager = Manager::new(network.client())
            .with_leader_election(election(network.client(), "us"))
            .with_stop_deadline(5 * SECOND)
            .with_controller(Probe::sleeping(2 * SECOND).controller("c"));
        let run = Run::start(manager);
        sleep(after).await;
        let (stopped, seconds) = run.stop().await;
        assert!(stopped.unwrap().abandoned.is_empty());
        assert!(seconds < 4.1, "{after:?}: {seconds} s");
        sleep(SECOND).await;
        assert_eq!(holder(&server).await, "", "{after:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn dropped_it_leaves_nothing_running() {
    let server = server();
    create(&server, "a").await;
    let probe = Probe::sleeping(10 * SECOND);
    let manager = Manager::new(client(&server)).with_controller(probe.controller("c"));
    let health = manager.health();
    tokio::select! {
        _ = manager.run_until(pending()) => {}
        () = sleep(SECOND) => {}
    }
    assert!(health.live().is_err());
    sleep(100 * SECOND).await;
    assert_eq!(probe.notes.all(), ["c made", "a begins"]);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_may_be_endless() {
    let server = server();
    create(&server, "a").await;
    let probe = Probe::sleeping(1000 * SECOND);
    let manager = Manager::new(client(&server))
        .with_stop_deadline(Duration::MAX)
        .with_controller(probe.controller("c"));
    let run = Run::start(manager);
    sleep(SECOND).await;
    let (stopped, seconds) = run.stop().await;
    assert!(stopped.unwrap().abandoned.is_empty());
    assert!((998.0..1000.0).contains(&seconds), "{seconds}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_runs_on_several_threads() {
    let server = server();
    create(&server, "a").await;
    let probe = Probe::sleeping(Duration::ZERO);
    let manager = Manager::new(client(&server))
        .with_leader_election(election(client(&server), "us"))
        .with_controller(probe.controller("c"));
    let notes = probe.notes.clone();
    let worked = async move {
        while notes.count("a ends") == 0 {
            tokio::task::yield_now().await;
        }
    };
    let run = manager.run_until(worked);
    timeout(60 * SECOND, run).await.unwrap().unwrap();
    assert_eq!(holder(&server).await, "");
}

/// In real time, since virtual time stands still while a thread is blocked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pass_that_blocks_its_thread_does_not_hold_it_up() {
    let server = server();
    create(&server, "a").await;
    let probe = Probe::new(|_, _| async {
        std::thread::sleep(4 * SECOND);
        Ok(())
    });
    let manager = Manager::new(client(&server))
        .with_leader_election(election(client(&server), "us"))
        .with_stop_deadline(SECOND / 10)
        .with_controller(probe.controller("c"));
    let run = Run::start(manager);
    while probe.notes.count("a begins") == 0 {
        sleep(Duration::from_millis(1)).await;
    }
    let (stopped, seconds) = run.stop().await;
    let abandoned = stopped.unwrap().abandoned;
    assert!(
        matches!(&abandoned[..], [Abandoned::Pass { .. }]),
        "{abandoned:?}"
    );
    assert!(seconds < 3.0, "{seconds}");
    assert_eq!(holder(&server).await, "");
}
