//! Whether this replica leads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use k8s_controller_prometheus::LeaderMetrics;

use crate::{assert_line, registry_of};

#[test]
fn the_status_is_that_of_the_moment_for_each_lease() {
    let is_leading = Arc::new(AtomicBool::new(false));
    let asked = is_leading.clone();
    let metrics = LeaderMetrics::new("website", move || asked.load(Ordering::Relaxed));
    let registry = registry_of(&metrics);
    let other = LeaderMetrics::new(String::from("mail"), || true);
    registry.register(Box::new(other)).unwrap();

    for (leads, shown) in [(false, 0), (true, 1), (false, 0)] {
        is_leading.store(leads, Ordering::Relaxed);
        let line = format!(r#"leader_election_master_status{{name="website"}} {shown}"#);
        assert_line(&registry, &line);
        assert_line(&registry, r#"leader_election_master_status{name="mail"} 1"#);
    }
    let debug = format!("{metrics:?}");
    assert!(debug.contains("LeaderMetrics"), "{debug}");
}
