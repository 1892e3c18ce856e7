//! Two replicas of the operator: one leads, the other waits.

use super::admin::Admin;
use super::cluster::Cluster;
use super::operator::Operator;
use super::wait::{PATIENCE, within};

pub(crate) struct Pair {
    pub leader: Operator,
    pub standby: Operator,
    pub leader_admin: Admin,
    pub standby_admin: Admin,
}

impl Pair {
    /// Starts both and waits until they are ready and the leader has worked.
    pub(crate) async fn start(cluster: &Cluster, flags: &[&str]) -> Self {
        let mut leader = Operator::start(cluster, "one", flags).await;
        let leader_admin = Admin::of(&mut leader).await;
        cluster.leads("one", PATIENCE).await;
        let mut standby = Operator::start(cluster, "two", flags).await;
        let standby_admin = Admin::of(&mut standby).await;
        let this = Self {
            leader,
            standby,
            leader_admin,
            standby_admin,
        };
        this.leader_admin.ready().await;
        this.standby_admin.ready().await;
        cluster.serves_a_new_site("first").await;
        this.standby_has_seen_the_lease(cluster).await;
        this
    }

    /// A candidate that has not seen the lease yet would wait for its end only from then on.
    async fn standby_has_seen_the_lease(&self, cluster: &Cluster) {
        let account = self.standby.name();
        within(PATIENCE, "the standby has seen the lease", async || {
            let requests = cluster.requests_of(account);
            let seen = requests
                .iter()
                .any(|request| request.resource == "leases" && request.is_accepted());
            seen.then_some(()).ok_or_else(|| format!("{requests:?}"))
        })
        .await;
    }
}
