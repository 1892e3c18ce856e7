//! Somebody is in a hurry.

use std::time::Duration;

use rustix::process::Signal;
use tokio::time::{Instant, sleep};

use crate::support::admin::Admin;
use crate::support::cluster::Cluster;
use crate::support::operator::Operator;
use crate::support::proxy::Proxy;
use crate::support::wait::{PATIENCE, within};

pub(crate) async fn second_sigterm_exits_at_once(cluster: Cluster) {
    second_signal_exits(&cluster, Signal::TERM, 128 + 15).await;
}

pub(crate) async fn second_sigint_exits_at_once(cluster: Cluster) {
    second_signal_exits(&cluster, Signal::INT, 128 + 2).await;
}

async fn second_signal_exits(cluster: &Cluster, signal: Signal, code: i32) {
    let proxy = Proxy::to(cluster.server()).await;
    let mut operator = Operator::start_behind(cluster, "one", proxy.address(), &[]).await;
    let admin = Admin::of(&mut operator).await;
    cluster.leads("one", PATIENCE).await;
    admin.ready().await;
    cluster.serves_a_new_site("first").await;

    // A pass begins whose requests wait, which is what the first signal waits for.
    proxy.block();
    cluster.write_site("second", "new", 1).await.unwrap();
    within(PATIENCE, "a pass runs", async || {
        let workers = admin.value("controller_runtime_active_workers").await;
        (workers > 0.0).then_some(()).ok_or("none runs".to_owned())
    })
    .await;
    operator.signal(signal);
    let limit = Duration::from_secs(1);
    within(limit, "it is no longer ready", async || {
        let answer = admin.try_get("/readyz", "*/*").await?;
        (answer.code == 500)
            .then_some(())
            .ok_or_else(|| format!("{answer:?}"))
    })
    .await;
    // It is not in a hurry itself, and it is alive.
    sleep(limit).await;
    assert_eq!(admin.get("/healthz").await.code, 200);
    operator.assert_well();

    operator.signal(signal);
    let again = Instant::now();
    let status = operator.end(limit).await;
    println!("second signal: ended within {:.1?}", again.elapsed());
    assert_eq!(status.code(), Some(code), "{status}");
    operator.assert_no_panic();
}
