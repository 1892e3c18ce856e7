//! The leader is paused for longer than its lease lasts, and goes on.

use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::sleep;

use crate::support::audit::Request;
use crate::support::cluster::Cluster;
use crate::support::load::Load;
use crate::support::pair::Pair;
use crate::support::wait::PATIENCE;

const PAUSE: Duration = Duration::from_secs(30);
/// How long the one that was paused is watched after that.
const AFTER: Duration = Duration::from_secs(5);

pub(crate) async fn leader_that_was_paused_exits_without_a_write(cluster: Cluster) {
    let (cluster, mut pair) = pause_the_leader(cluster, "--lost-lease=exit").await;
    let status = pair.leader.end(PATIENCE).await;
    assert!(status.code().is_some_and(|code| code != 0), "{status}");
    let lease = format!("{}/website", cluster.namespace());
    let log = pair.leader.log();
    let told = log
        .lines()
        .any(|line| line.contains("ERROR") && line.contains(&lease));
    assert!(told, "the log does not say that {lease} was lost:\n{log}");
}

pub(crate) async fn leader_that_was_paused_rejoins_without_a_write(cluster: Cluster) {
    let (cluster, mut pair) = pause_the_leader(cluster, "--lost-lease=rejoin").await;
    pair.leader.assert_well();
    assert!(!pair.leader_admin.says_it_leads().await);
    pair.leader_admin.ready().await;
    // It waits in earnest: once the other stops, it leads and works again.
    pair.standby.signal(Signal::TERM);
    cluster.leads("one", PATIENCE).await;
    cluster.serves_a_new_site("last").await;
    pair.leader.assert_well();
}

/// The story up to the end of the pause, and what the server saw of both.
async fn pause_the_leader(cluster: Cluster, lost_lease: &str) -> (Arc<Cluster>, Pair) {
    let cluster = Arc::new(cluster);
    let mut pair = Pair::start(&cluster, &[lost_lease]).await;
    // More than a pass for each moment, so that some are under way whenever the pause begins.
    let load = Load::start(&cluster, 20, Duration::from_millis(50));
    sleep(Duration::from_secs(2)).await;

    pair.leader.signal(Signal::STOP);
    sleep(PAUSE).await;
    assert_eq!(cluster.leader().await.as_deref(), Ok("two"));
    pair.leader.signal(Signal::CONT);
    sleep(AFTER).await;
    let pages = load.end().await;
    cluster.served(&pages, PATIENCE).await;
    assert_eq!(cluster.leader().await.as_deref(), Ok("two"));

    let (old, new) = (cluster.requests_of("one"), cluster.requests_of("two"));
    let first = new
        .iter()
        .find(|request| request.is_write() && request.is_accepted())
        .unwrap();
    let (before, ghosts): (Vec<_>, Vec<_>) = old
        .iter()
        .filter(|request| request.is_write())
        .partition(|request| request.received < first.received);
    assert!(before.iter().any(|request| is_work(request)), "{before:?}");
    assert!(new.iter().any(is_work), "{new:?}");
    assert!(ghosts.is_empty(), "after {first:?}: {ghosts:?}");
    println!(
        "leader paused, {lost_lease}: {} writes of the old one before, {} of the new one, none of the old one after",
        before.len(),
        new.iter().filter(|request| request.is_write()).count()
    );
    pair.leader.assert_no_panic();
    pair.standby.assert_well();
    (cluster, pair)
}

fn is_work(request: &Request) -> bool {
    request.is_write() && request.resource == "websites" && request.is_accepted()
}
