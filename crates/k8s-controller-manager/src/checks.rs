//! What the admin server is to answer.

use k8s_controller_admin::AdminServer;

use crate::health::ManagerHealth;

/// Adds the checks of a manager.
pub(crate) fn register(
    mut server: AdminServer,
    health: &ManagerHealth,
    ready_when_leading: bool,
) -> AdminServer {
    for (index, name) in health.controller_names().into_iter().enumerate() {
        let check = format!("controller/{name}");
        let (live, ready) = (health.clone(), health.clone());
        server = server
            .with_liveness(check.clone(), move || live.controller_live(index))
            .with_readiness(check, move || ready.controller_ready(index));
    }
    let (lease, running, leading) = (health.clone(), health.clone(), health.clone());
    server = server
        .with_liveness("leader-election", move || lease.lease_live())
        .with_readiness("shutdown", move || running.running());
    if ready_when_leading {
        server = server.with_readiness("leading", move || leading.leading());
    }
    server
}
