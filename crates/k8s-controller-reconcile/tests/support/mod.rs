//! What the tests share: a server in memory, contexts made of closures, notes of what happened.
#![allow(dead_code, unused_imports, missing_docs, unreachable_pub)]

pub mod context;
pub mod logs;
pub mod notes;
pub mod server;

use std::time::Duration;

pub use context::{Answer, NoFinalizer, OURS, Probe, TestError, WithFinalizer, answer};
pub use logs::Logs;
pub use notes::Notes;
pub use server::{Reply, Server};

/// Lets everything happen that happens within this time, which costs none.
pub async fn pass_time(time: Duration) {
    tokio::time::sleep(time).await;
}

pub const MOMENT: Duration = Duration::from_millis(500);
