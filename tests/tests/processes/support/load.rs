//! A user who changes Websites all the time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::cluster::Cluster;

/// Creates the Websites and then changes them in turn, until it is told to end.
pub(crate) struct Load {
    end: Arc<AtomicBool>,
    writes: Arc<AtomicUsize>,
    task: JoinHandle<BTreeMap<String, String>>,
}

impl Load {
    /// Writes one of the Websites, each time in this interval.
    pub(crate) fn start(cluster: &Arc<Cluster>, count: usize, interval: Duration) -> Self {
        let end = Arc::new(AtomicBool::new(false));
        let writes = Arc::new(AtomicUsize::new(0));
        let (cluster, ended, written) = (cluster.clone(), end.clone(), writes.clone());
        let task = tokio::spawn(async move {
            let mut pages = BTreeMap::new();
            let mut round = 0;
            while pages.len() < count || !ended.load(Ordering::SeqCst) {
                let name = format!("site-{}", round % count);
                let content = format!("<p>{round}</p>");
                // While the server is away, again until it is back.
                while let Err(error) = cluster.write_site(&name, &content, 1).await {
                    assert!(
                        !matches!(error, kube::Error::Api(_)) || is_passing(&error),
                        "{name}: {error}"
                    );
                    sleep(Duration::from_millis(50)).await;
                }
                pages.insert(name, content);
                round += 1;
                written.store(round, Ordering::SeqCst);
                sleep(interval).await;
            }
            pages
        });
        Self { end, writes, task }
    }

    /// How many writes the server has accepted.
    pub(crate) fn writes(&self) -> usize {
        self.writes.load(Ordering::SeqCst)
    }

    /// Ends it, and returns the pages that the Websites ask for last.
    pub(crate) async fn end(self) -> BTreeMap<String, String> {
        self.end.store(true, Ordering::SeqCst);
        self.task.await.unwrap()
    }
}

/// Whether a server that starts may say this.
fn is_passing(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if [401, 403, 429].contains(&status.code) || status.code >= 500)
}
