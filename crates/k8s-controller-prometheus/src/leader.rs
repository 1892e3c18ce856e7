//! Whether this replica leads.

use std::fmt;
use std::sync::Arc;

use prometheus::IntGauge;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;

use crate::family::gauge_of;

/// `leader_election_master_status{name}`: 1 while this replica leads, else 0, asked each time that
/// the metrics are read.
///
/// One for each lease; those of different names fit in one registry.
///
/// ```
/// use k8s_controller_prometheus::LeaderMetrics;
/// use prometheus::{Registry, TextEncoder};
///
/// # fn main() -> Result<(), prometheus::Error> {
/// let is_leading = || true; // a program would ask its leader election
/// let registry = Registry::new();
/// registry.register(Box::new(LeaderMetrics::new("website", is_leading)))?;
///
/// let text = TextEncoder::new().encode_to_string(&registry.gather())?;
/// assert!(text.contains(r#"leader_election_master_status{name="website"} 1"#), "{text}");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct LeaderMetrics {
    status: IntGauge,
    is_leading: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl LeaderMetrics {
    /// Metrics of the lease of this name. `is_leading` is called from whatever reads the metrics,
    /// and must not block.
    pub fn new(
        name: impl Into<String>,
        is_leading: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        Self {
            status: gauge_of(
                ("name", &name.into()),
                "leader_election_master_status",
                "Whether this replica leads: 1 if it does, 0 if it stands by.",
            ),
            is_leading: Arc::new(is_leading),
        }
    }
}

impl fmt::Debug for LeaderMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaderMetrics")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

impl Collector for LeaderMetrics {
    fn desc(&self) -> Vec<&Desc> {
        self.status.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.status.set(i64::from((self.is_leading)()));
        self.status.collect()
    }
}
