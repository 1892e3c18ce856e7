//! Managers that have something in common that they should, or should not, have in common.

use k8s_controller_manager::Manager;
use tokio::time::sleep;

use crate::support::*;

fn waiting(
    election: k8s_controller_leader_election::LeaderElection,
    client: kube::Client,
) -> Manager {
    Manager::new(client)
        .with_leader_election(election)
        .with_task("t", |_, stop| async move {
            stop.cancelled().await;
            Ok(())
        })
}

/// Replicas whose manifest gives them all the same identity: one that waits is updated, which must
/// not take the lease from the one that leads.
#[tokio::test(start_paused = true)]
async fn one_that_waits_does_not_release_the_lease_of_its_namesake() {
    let server = server();
    let replica = || {
        let manager = waiting(election(client(&server), "same"), client(&server));
        (manager.health(), Run::start(manager))
    };
    let (first, first_run) = replica();
    sleep(5 * SECOND).await;
    let (_, second_run) = replica();
    sleep(5 * SECOND).await;
    let third = waiting(election(client(&server), "other"), client(&server));
    let (third_health, third_run) = (third.health(), Run::start(third));
    sleep(5 * SECOND).await;
    let before = lease(&server).await.unwrap().spec.unwrap();
    second_run.stop().await.0.unwrap();
    let after = lease(&server).await.unwrap().spec.unwrap();
    assert_eq!(after.acquire_time, before.acquire_time);
    assert_eq!(after.holder_identity.as_deref(), Some("same"));
    sleep(20 * SECOND).await;
    assert!(first.is_leading() && !third_health.is_leading());
    first_run.stop().await.0.unwrap();
    assert_eq!(holder(&server).await, "");
    third_run.stop().await.0.unwrap();
}

/// Two managers in one process that take turns: the stop of one is none of the other.
#[tokio::test(start_paused = true)]
async fn one_that_waits_for_its_turn_does_not_end_the_tenure_of_the_other() {
    let server = server();
    let shared = election(client(&server), "us");
    let leads = waiting(shared.clone(), client(&server));
    let (leading, leads) = (leads.health(), Run::start(leads));
    sleep(5 * SECOND).await;
    let waits = Run::start(waiting(shared, client(&server)));
    sleep(5 * SECOND).await;
    waits.stop().await.0.unwrap();
    sleep(5 * SECOND).await;
    assert!(leading.is_leading() && !leads.is_over());
    leads.stop().await.0.unwrap();
    assert_eq!(holder(&server).await, "");
}
