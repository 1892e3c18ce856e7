//! The leader goes, and the other replica takes its place.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::Instant;

use crate::support::cluster::Cluster;
use crate::support::load::Load;
use crate::support::pair::Pair;
use crate::support::wait::PATIENCE;

/// The default timings of the operator, which are those of controller-runtime.
const LEASE_DURATION: Duration = Duration::from_secs(15);
const RETRY_PERIOD: Duration = Duration::from_secs(2);

/// After a `kill -9` nobody releases the lease, so that it has to run out.
pub(crate) async fn leader_is_killed(cluster: Cluster) {
    let mut pair = Pair::start(&cluster, &[]).await;
    pair.leader.signal(Signal::KILL);
    let killed = Instant::now();
    cluster.write_site("orphan", "new", 1).await.unwrap();
    cluster
        .leads("two", LEASE_DURATION + 2 * RETRY_PERIOD)
        .await;
    let taken = killed.elapsed();
    let pages = BTreeMap::from([("orphan".to_owned(), "new".to_owned())]);
    cluster.served(&pages, PATIENCE).await;
    let served = killed.elapsed();
    println!("leader killed: lease taken after {taken:.1?}, work done after {served:.1?}");
    // Not before the lease had run out, either: the leader might have been alive.
    assert!(taken + 2 * RETRY_PERIOD > LEASE_DURATION, "{taken:?}");
    assert!(pair.standby_admin.says_it_leads().await);
    pair.standby.assert_well();
}

/// After SIGTERM the lease is handed over, and what was under way is finished or taken up.
pub(crate) async fn leader_is_terminated(cluster: Cluster) {
    let cluster = Arc::new(cluster);
    let mut pair = Pair::start(&cluster, &[]).await;
    let load = Load::start(&cluster, 40, Duration::from_millis(20));
    let broken = |number: i32| format!("broken-{number}");
    let count = 30;
    for number in 0..count / 2 {
        let written = cluster.write_site(&broken(number), "", -1 - number).await;
        written.unwrap();
    }

    pair.leader.signal(Signal::TERM);
    let asked = Instant::now();
    let (taken, ()) = futures::join!(
        async {
            cluster.leads("two", 2 * RETRY_PERIOD).await;
            asked.elapsed()
        },
        async {
            for number in count / 2..count {
                let written = cluster.write_site(&broken(number), "", -1 - number).await;
                written.unwrap();
            }
        }
    );
    let status = pair.leader.end(PATIENCE).await;
    println!(
        "leader terminated: lease taken after {taken:.1?}, process gone within {:.1?}",
        asked.elapsed()
    );
    assert_eq!(status.code(), Some(0), "{status}");
    pair.leader.assert_no_panic();

    let pages = load.end().await;
    cluster.served(&pages, PATIENCE).await;
    let sites = cluster.settled(PATIENCE).await;
    assert_eq!(
        sites.len(),
        pages.len() + usize::try_from(count).unwrap() + 1
    );
    for site in sites.iter().filter(|site| site.spec.replicas < 0) {
        let status = site.status.as_ref().unwrap();
        assert_eq!(status.phase, "Failed", "{site:?}");
        let events = cluster.events_about(site).await;
        let told = events.iter().any(|event| {
            event.reason.as_deref() == Some("InvalidSpec")
                && event.note.as_ref() == status.message.as_ref()
        });
        assert!(told, "{site:?}: {events:?}");
    }
    for site in sites.iter().filter(|site| site.spec.replicas >= 0) {
        let events = cluster.events_about(site).await;
        let told = |reason| {
            let mut reasons = events.iter().map(|event| event.reason.as_deref());
            reasons.any(|of| of == Some(reason))
        };
        assert!(
            told("HostRegistered") && told("Published"),
            "{site:?}: {events:?}"
        );
    }
    for operator in [&pair.leader, &pair.standby] {
        let refused: Vec<_> = cluster
            .requests_of(operator.name())
            .into_iter()
            .filter(|request| request.code == 401 || request.code == 403)
            .collect();
        assert!(refused.is_empty(), "{refused:?}");
    }
    pair.standby.assert_well();
}
