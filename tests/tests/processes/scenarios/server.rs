//! kube-apiserver goes, and comes back.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{Instant, sleep};

use crate::support::cluster::Cluster;
use crate::support::load::Load;
use crate::support::operator::Operator;
use crate::support::pair::Pair;
use crate::support::wait::within;

const OBJECTS: usize = 500;
/// How long the rest may take; on a machine with two processors it is half a minute.
const LIMIT: Duration = Duration::from_secs(150);
/// Lines of the log for each pass that fails: itself; its event, which cannot be sent either; and
/// one of kube's for each of its last requests: what it failed at, the status, the event.
const LINES_OF_A_FAILURE: usize = 5;
/// Lines of the log for the rest that fails: watches, the lease, what kube says of both.
const LINES_OF_THE_REST: usize = 100;

pub(crate) async fn is_killed_among_500_changing_objects(cluster: Cluster) {
    let cluster = Arc::new(cluster);
    // A server that is away for longer than the renew deadline costs the lease, not the process.
    let mut pair = Pair::start(&cluster, &["--lost-lease=rejoin"]).await;
    let begin = Instant::now();
    let load = Load::start(&cluster, OBJECTS, Duration::ZERO);
    within(LIMIT, "half of the Websites are there", async || {
        let writes = load.writes();
        (writes > OBJECTS / 2)
            .then_some(())
            .ok_or_else(|| writes.to_string())
    })
    .await;
    println!("half of {OBJECTS} Websites after {:.1?}", begin.elapsed());
    let away = kill(&cluster).await;
    // Some more changes, with the server back.
    sleep(Duration::from_secs(3)).await;
    let writes = load.writes();
    let pages = load.end().await;
    let changed = begin.elapsed();
    assert_eq!(pages.len(), OBJECTS);
    cluster.served(&pages, LIMIT).await;
    println!(
        "server killed: {writes} changes in {changed:.1?}, all served after {:.1?}",
        begin.elapsed()
    );

    for operator in [&mut pair.leader, &mut pair.standby] {
        operator.assert_well();
        check_volume(operator, away);
    }
}

/// One line for each pass that succeeds; and of those that fail, as few as the backoff of 1 s, 2 s,
/// 4 s and so on lets be.
fn check_volume(operator: &Operator, away: Duration) {
    let lines = operator.lines();
    let mut failed = BTreeMap::<&str, usize>::new();
    for line in &lines {
        let is_failure = line["message"] == "reconciliation failed";
        if let Some(name) = line["span"]["resource_name"]
            .as_str()
            .filter(|_| is_failure)
        {
            *failed.entry(name).or_default() += 1;
        }
    }
    let passes: usize = failed.values().sum();
    let mut kinds = BTreeMap::<[&str; 2], usize>::new();
    for line in lines.iter().filter(|line| line["level"] != "INFO") {
        let kind = ["target", "message"].map(|field| line[field].as_str().unwrap());
        *kinds.entry(kind).or_default() += 1;
    }
    let failures: usize = kinds.values().sum();
    let name = operator.name();
    println!(
        "log of {name}: {} lines, {failures} of failures, {passes} of these of passes",
        lines.len()
    );
    // Two more: the one that was under way, and the one that the server that starts may refuse.
    let most = usize::try_from(away.as_secs().max(1).ilog2()).unwrap() + 3;
    let worst = failed.iter().max_by_key(|(_, count)| **count);
    assert!(
        worst.is_none_or(|(_, count)| *count <= most),
        "{worst:?} failed more than {most} times in {away:?}"
    );
    assert!(
        failures <= LINES_OF_A_FAILURE * passes + LINES_OF_THE_REST,
        "{name}: {kinds:#?}"
    );
}

/// Kills kube-apiserver and waits until it is back.
async fn kill(cluster: &Cluster) -> Duration {
    let file = &cluster.given().apiserver_pid;
    let pid = || {
        fs::read_to_string(file)
            .unwrap()
            .trim()
            .parse::<i32>()
            .unwrap()
    };
    let killed = pid();
    let process = Pid::from_raw(killed).unwrap();
    kill_process(process, Signal::KILL).unwrap();
    let begin = Instant::now();
    within(LIMIT, "kube-apiserver is back", async || {
        if pid() == killed {
            return Err("it was not started again".to_owned());
        }
        cluster.leader().await.map(drop)
    })
    .await;
    let away = begin.elapsed();
    println!("kube-apiserver was away for {away:.1?}");
    away
}
