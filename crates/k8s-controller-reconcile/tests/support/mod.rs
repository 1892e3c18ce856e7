//! What the tests share: a server in memory, contexts made of closures, notes of what happened.
#![allow(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    clippy::new_without_default
)]
#![allow(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    clippy::unused_self
)]
#![allow(dead_code, unused_imports, missing_docs, unreachable_pub)]

pub mod context;
pub mod ledger;
pub mod logs;
pub mod notes;
pub mod server;
pub mod store;

use std::sync::Arc;
use std::time::Duration;

use k8s_controller_reconcile::Controller;
use kube::runtime::controller::Action;
use kube::runtime::watcher;

pub use context::{Answer, NoFinalizer, OURS, Probe, TestError, WithFinalizer, answer};
pub use ledger::Ledger;
pub use logs::Logs;
pub use notes::Notes;
pub use server::{Reply, Server};

/// Lets everything happen that happens within this time, which costs none.
pub async fn pass_time(time: Duration) {
    tokio::time::sleep(time).await;
}

pub const MOMENT: Duration = Duration::from_millis(500);

/// A controller of the ConfigMaps in `ns`.
pub fn controller<F: context::Flavor>(
    server: &Server,
    probe: Probe<F>,
    notes: &Arc<Notes>,
) -> Controller<Probe<F>> {
    Controller::namespaced(server.client(), probe, "ns", watcher::Config::default())
        .with_observer(notes.clone())
        .with_seed(1)
}

pub fn done() -> Answer {
    Ok(Some(Action::await_change()))
}
