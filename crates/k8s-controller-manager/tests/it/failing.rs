//! What ends a manager that nobody asked to stop.

use std::error::Error as _;
use std::future::pending;
use std::time::Duration;

use k8s_controller_manager::{Error, LostLease, Manager};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, PostParams};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher;
use tokio::time::{Instant, sleep};

use crate::network::Network;
use crate::support::*;

/// Something that goes wrong in a manager, and what is said about it.
type Row = (&'static str, fn(Manager) -> Manager, &'static str);

const ROWS: &[Row] = &[
    (
        "a controller that a shutdown trigger ends",
        |manager| {
            manager.with_controller(|client| {
                controller(client, Probe::sleeping(Duration::ZERO))
                    .with_name("bad")
                    .with_controller(|runtime| runtime.graceful_shutdown_on(sleep(3 * SECOND)))
            })
        },
        "controller \"bad\" ended although it was not asked to stop",
    ),
    (
        "a mapper that panics",
        |manager| {
            manager.with_controller(|client| {
                let secrets = Api::<Secret>::all(client.clone());
                controller(client, Probe::sleeping(Duration::ZERO))
                    .with_name("bad")
                    .with_controller(move |runtime| {
                        runtime.watches(secrets, watcher::Config::default(), |secret| {
                            assert!(secret.data.is_some(), "no data");
                            None::<ObjectRef<ConfigMap>>
                        })
                    })
            })
        },
        "controller \"bad\": panicked: no data",
    ),
    (
        "a task that ends",
        |manager| {
            manager.with_task("bad", |_, _| async {
                sleep(3 * SECOND).await;
                Ok(())
            })
        },
        "task \"bad\" ended although it was not asked to stop",
    ),
    (
        "a task that fails",
        |manager| {
            manager.with_task("bad", |_, _| async {
                sleep(3 * SECOND).await;
                Err("no luck".into())
            })
        },
        "task \"bad\" failed: no luck",
    ),
    (
        "a task that panics",
        |manager| {
            manager.with_task("bad", |_, _| async {
                sleep(3 * SECOND).await;
                panic!("no luck")
            })
        },
        "task \"bad\": panicked: no luck",
    ),
];

/// The others stop gracefully, the lease is released, the error names who it was.
#[tokio::test(start_paused = true)]
async fn one_that_ends_ends_all() {
    for (name, bad, expected) in ROWS {
        let server = server();
        create(&server, "a").await;
        let good = Probe::sleeping(10 * SECOND);
        let manager = Manager::new(client(&server))
            .with_leader_election(election(client(&server), "us"))
            .with_controller(good.controller("good"));
        let health = manager.health();
        let started = Instant::now();
        let mut run = Run::start(bad(manager));
        sleep(3 * SECOND).await;
        let mut secret = Secret::default();
        secret.metadata.name = Some("s".into());
        let secrets = Api::default_namespaced(client(&server));
        secrets
            .create(&PostParams::default(), &secret)
            .await
            .unwrap();
        sleep(SECOND).await;
        assert!(health.ready().is_err(), "{name}");
        assert_eq!(
            health.live().is_err(),
            expected.starts_with("controller"),
            "{name}"
        );
        assert!(!run.is_over(), "{name}");
        assert_eq!(holder(&server).await, "us", "{name}");
        run.ask();
        let error = run.end().await.unwrap_err();
        let shown = k8s_controller_error::display_chain(&error).to_string();
        assert_eq!(shown, *expected, "{name}");
        let seconds = started.elapsed().as_secs_f64();
        assert!((9.9..10.5).contains(&seconds), "{name}: {seconds}");
        assert_eq!(
            good.notes.all(),
            ["good made", "a begins", "a ends"],
            "{name}"
        );
        assert_eq!(holder(&server).await, "", "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_fails_while_it_stops_has_failed() {
    let manager = Manager::new(client(&server())).with_task("bad", |_, stop| async move {
        stop.cancelled().await;
        Err("could not save".into())
    });
    let run = Run::start(manager);
    sleep(SECOND).await;
    let error = run.stop().await.0.unwrap_err();
    assert!(
        matches!(&error, Error::TaskFailed { name, .. } if name == "bad"),
        "{error}"
    );
    assert_eq!(error.source().unwrap().to_string(), "could not save");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_work_is_refused_before_anything_runs() {
    let server = server();
    let probe = Probe::sleeping(Duration::ZERO);
    let new = || Manager::new(client(&server));
    // Such as two controllers of one kind without names.
    let by_kind = |client| controller(client, Probe::sleeping(Duration::ZERO));
    let rows = [
        (new(), "nothing to run"),
        (
            new().with_controller(by_kind).with_controller(by_kind),
            "named \"ConfigMap\"",
        ),
        (
            new()
                .with_controller(probe.controller("x"))
                .with_task("x", |_, _| pending()),
            "named \"x\"",
        ),
        (new().with_task("", |_, _| pending()), "empty name"),
        (
            new()
                .with_leader_election(
                    election(client(&server), "us").with_retry_period(60 * SECOND),
                )
                .with_task("t", |_, _| pending()),
            "invalid leader election: invalid re",
        ),
    ];
    for (manager, expected) in rows {
        let error = manager.run_until(pending()).await.unwrap_err();
        let shown = k8s_controller_error::display_chain(&error).to_string();
        assert!(shown.contains(expected), "{shown}");
    }
    assert_eq!(probe.notes.all(), ["x made"]);
}

/// At the start it would be the caller's own panic; later there is an operator to bring down.
#[tokio::test(start_paused = true)]
async fn a_closure_that_panics_in_a_later_term_is_named() {
    let server = server();
    let network = Network::to(&server);
    let mut terms = 0;
    let manager = Manager::new(network.client())
        .with_leader_election(election(network.client(), "us"))
        .with_lost_lease(LostLease::Rejoin)
        .with_controller(move |client| {
            terms += 1;
            assert!(terms < 2, "only once");
            controller(client, Probe::sleeping(Duration::ZERO)).with_name("c")
        });
    let run = Run::start(manager);
    sleep(5 * SECOND).await;
    network.cut();
    sleep(30 * SECOND).await;
    network.mend();
    let error = run.end().await.unwrap_err();
    let shown = k8s_controller_error::display_chain(&error).to_string();
    assert_eq!(shown, "controller \"c\": panicked: only once");
    assert_eq!(holder(&server).await, "");
}
