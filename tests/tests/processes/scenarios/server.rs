//! kube-apiserver goes, and comes back.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{Instant, sleep};

use crate::support::cluster::Cluster;
use crate::support::load::Load;
use crate::support::pair::Pair;
use crate::support::wait::within;

const OBJECTS: usize = 500;
/// How long the rest may take; on a machine with two processors it is half a minute.
const LIMIT: Duration = Duration::from_secs(150);
/// Lines of the log in all: one for each pass, and these for what failed meanwhile.
const LINES_OF_FAILURES: usize = 200;

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
    kill(&cluster).await;
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
        let lines = operator.lines();
        let failures = lines.iter().filter(|line| line["level"] != "INFO").count();
        println!(
            "log of {}: {} lines, {failures} of failures",
            operator.name(),
            lines.len()
        );
        assert!(failures <= LINES_OF_FAILURES, "{}", operator.log());
    }
}

/// Kills kube-apiserver and waits until it is back.
async fn kill(cluster: &Cluster) {
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
    println!("kube-apiserver was away for {:.1?}", begin.elapsed());
}
