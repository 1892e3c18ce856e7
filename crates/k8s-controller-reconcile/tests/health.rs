//! What a probe is told.
#![allow(clippy::unwrap_used)] // Also in the helpers of tests.

mod support;

use std::future::Future;
use std::sync::{Mutex, mpsc};
use std::task::Poll;
use std::time::Duration;

use futures::poll;
use k8s_controller_reconcile::{ControllerHealth, ControllerState, HEARTBEAT_LIMIT};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher;
use serde_json::json;
use support::*;

const DAY: Duration = Duration::from_secs(24 * 3600);

fn quiet(server: &Server) -> k8s_controller_reconcile::Controller<Probe<NoFinalizer>> {
    controller(server, Probe::answering(|_| done()), &Notes::new())
}

fn assert_state(health: &ControllerHealth, state: ControllerState) {
    let alive = matches!(
        state,
        ControllerState::NotStarted | ControllerState::Running
    );
    assert_eq!((health.state(), health.is_alive()), (state, alive));
}

#[tokio::test(start_paused = true)]
async fn a_controller_starts_runs_and_ends() {
    let server = Server::default();
    server.config_map("ns", "a");
    let controller = quiet(&server).with_name("mine");
    let health = controller.health();
    assert_eq!((health.name(), controller.name()), ("mine", "mine"));
    assert!(!health.is_synced());
    assert_state(&health, ControllerState::NotStarted);

    let task = tokio::spawn(controller.run_until(pass_time(DAY)));
    pass_time(MOMENT).await;
    assert!(health.is_synced());
    assert_state(&health, ControllerState::Running);
    task.await.unwrap();
    assert_state(&health, ControllerState::Ended);
    assert_eq!(health.state().to_string(), "ended");
}

#[test]
fn the_name_has_a_default() {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let _context = runtime.as_ref().unwrap().enter();
    let server = Server::default();
    let with = Probe::<WithFinalizer>::answering(|_| done());
    assert_eq!(controller(&server, with, &Notes::new()).name(), OURS);
    assert_eq!(quiet(&server).name(), "ConfigMap");
}

#[tokio::test(start_paused = true)]
async fn without_a_first_list_it_is_alive_but_not_synced() {
    let server = Server::default();
    server.intercept(|_| Reply::status(403, "Forbidden", json!({})));
    let controller = quiet(&server);
    let health = controller.health();
    tokio::spawn(controller.run());
    for _ in 0..100 {
        pass_time(HEARTBEAT_LIMIT / 6).await;
        assert_state(&health, ControllerState::Running);
    }
    assert!(!health.is_synced());
    server.intercept(|_| Reply::Normal);
    pass_time(HEARTBEAT_LIMIT).await;
    assert!(health.is_synced());
}

#[tokio::test(start_paused = true)]
async fn ways_to_end() {
    let server = Server::default();
    let unborn = quiet(&server);
    let never_polled = quiet(&server);
    let aborted = quiet(&server);
    let healths =
        [&unborn, &never_polled, &aborted].map(k8s_controller_reconcile::Controller::health);
    drop(unborn);
    drop(never_polled.run());
    let task = tokio::spawn(aborted.run());
    pass_time(MOMENT).await;
    task.abort();
    pass_time(MOMENT).await;
    for health in healths {
        assert_state(&health, ControllerState::Ended);
    }

    let secret = "/api/v1/namespaces/ns/secrets/a";
    server.put(
        secret,
        json!({"metadata": {"name": "a", "namespace": "ns"}}),
    );
    let secrets = Api::<Secret>::all(server.client());
    let panicking = quiet(&server).with_controller(|controller| {
        controller.watches(
            secrets,
            watcher::Config::default(),
            |_| -> Option<ObjectRef<_>> { panic!("mapper") },
        )
    });
    let health = panicking.health();
    assert!(tokio::spawn(panicking.run()).await.unwrap_err().is_panic());
    assert_state(&health, ControllerState::Ended);
}

/// A month goes by at once: no timer has to fire in between for the loop to count as alive.
#[tokio::test(start_paused = true)]
async fn an_idle_loop_is_alive() {
    let server = Server::default();
    let controller = quiet(&server);
    let health = controller.health();
    tokio::spawn(controller.run());
    for _ in 0..3 {
        pass_time(10 * DAY).await;
        assert_state(&health, ControllerState::Running);
    }
}

#[tokio::test(start_paused = true)]
async fn a_loop_that_nobody_polls_is_stuck_until_somebody_does() {
    let server = Server::default();
    let controller = quiet(&server);
    let health = controller.health();
    let mut run = Box::pin(controller.run());
    assert!(poll!(&mut run).is_pending());
    assert_state(&health, ControllerState::Running);
    pass_time(HEARTBEAT_LIMIT).await;
    assert_state(&health, ControllerState::Running);
    pass_time(MOMENT).await;
    assert_state(&health, ControllerState::Stuck);
    std::future::poll_fn(|cx| Poll::Ready(run.as_mut().poll(cx).is_pending())).await;
    assert_state(&health, ControllerState::Running);
}

/// The loop has a thread of its own here; the time that the probe measures is virtual.
#[tokio::test(start_paused = true)]
async fn a_mapper_that_blocks_the_loop_makes_it_stuck() {
    let server = Server::default();
    let secret = "/api/v1/namespaces/ns/secrets/a";
    server.put(
        secret,
        json!({"metadata": {"name": "a", "namespace": "ns"}}),
    );
    let (entered, is_in) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let released = Mutex::new(released);
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let (tell, told) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        runtime.unwrap().block_on(async move {
            let secrets = Api::<Secret>::all(server.client());
            let controller = quiet(&server).with_controller(|controller| {
                controller.watches(secrets, watcher::Config::default(), move |_| {
                    entered.send(()).unwrap();
                    released.lock().unwrap().recv().unwrap();
                    None::<ObjectRef<_>>
                })
            });
            tell.send(controller.health()).unwrap();
            controller.run_until(async { drop(ended.await) }).await;
        });
    });
    let health = told.recv().unwrap();
    is_in.recv().unwrap();
    assert_state(&health, ControllerState::Running);
    pass_time(HEARTBEAT_LIMIT + MOMENT).await;
    assert_state(&health, ControllerState::Stuck);
    release.send(()).unwrap();
    while health.state() == ControllerState::Stuck {
        std::thread::yield_now();
    }
    assert_state(&health, ControllerState::Running);
    drop(end);
    thread.join().unwrap();
    assert_state(&health, ControllerState::Ended);
}
