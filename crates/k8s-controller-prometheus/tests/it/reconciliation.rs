//! Metrics by phase and outcome.

use std::time::Duration;

use k8s_controller_observe::{Outcome, Phase, ReconcileObserver};
use k8s_controller_prometheus::{DEFAULT_BUCKETS, PrometheusMetrics};

use crate::{assert_line, registry_of, subject, text};

#[test]
fn passes_and_steps_are_counted_and_timed() {
    let metrics = PrometheusMetrics::new("shop").unwrap();
    let registry = registry_of(&metrics);
    let website = subject("website", "front");

    for outcome in [Outcome::Completed, Outcome::Completed, Outcome::Failed] {
        metrics.reconciled(&website.reconciled(Phase::Apply, outcome, Duration::from_millis(40)));
        metrics.step_finished(&website.step_finished("push", outcome, Duration::from_secs(4)));
    }
    let abandoned = website.reconciled(Phase::Cleanup, Outcome::Abandoned, Duration::from_secs(60));
    metrics.reconciled(&abandoned);

    for line in [
        r#"shop_reconciliations_total{controller="website",outcome="completed",phase="apply"} 2"#,
        r#"shop_reconciliations_total{controller="website",outcome="failed",phase="apply"} 1"#,
        r#"shop_reconciliations_total{controller="website",outcome="abandoned",phase="cleanup"} 1"#,
        r#"shop_reconciliation_duration_seconds_bucket{controller="website",phase="apply",le="0.01"} 0"#,
        r#"shop_reconciliation_duration_seconds_bucket{controller="website",phase="apply",le="0.05"} 3"#,
        r#"shop_reconciliation_duration_seconds_sum{controller="website",phase="cleanup"} 60"#,
        r#"shop_reconciliation_duration_seconds_bucket{controller="website",phase="cleanup",le="30"} 0"#,
        r#"shop_reconciliation_steps_total{controller="website",outcome="completed",step="push"} 2"#,
        r#"shop_reconciliation_step_duration_seconds_bucket{controller="website",step="push",le="5"} 3"#,
        r#"shop_reconciliation_step_duration_seconds_count{controller="website",step="push"} 3"#,
    ] {
        assert_line(&registry, line);
    }
    let object = "front";
    assert!(!text(&registry).contains(object), "an object is in a label");
}

#[test]
fn a_namespace_is_a_prefix_or_an_error_that_names_it() {
    let owned = String::from("a_b:c9");
    PrometheusMetrics::new(&owned).unwrap();
    PrometheusMetrics::new(owned).unwrap();
    let registry = registry_of(&PrometheusMetrics::new("").unwrap());
    assert_eq!(text(&registry), "");

    for bad in ["my-operator", "9lives", "a b", "é", "example.com"] {
        let error = PrometheusMetrics::new(bad).unwrap_err().to_string();
        assert!(error.contains(&format!("namespace {bad:?}")), "{error}");
        assert!(error.contains("expected"), "{error}");
    }
}

#[test]
fn buckets_increase_or_are_an_error() {
    let bounds = |buckets: Vec<f64>| -> Result<Vec<String>, String> {
        let metrics =
            PrometheusMetrics::with_buckets("shop", buckets).map_err(|e| e.to_string())?;
        let pass = subject("website", "front");
        metrics.reconciled(&pass.reconciled(Phase::Apply, Outcome::Completed, Duration::ZERO));
        let text = text(&registry_of(&metrics));
        let bounds = text.lines().filter_map(|line| line.split(r#"le=""#).nth(1));
        Ok(bounds
            .map(|l| l.split('"').next().unwrap().into())
            .collect())
    };
    assert_eq!(bounds(vec![0.5, 2.0]).unwrap(), ["0.5", "2", "+Inf"]);
    assert_eq!(bounds(vec![0.5, f64::INFINITY]).unwrap(), ["0.5", "+Inf"]);
    let default = ["0.01", "0.05", "0.25", "1", "5", "30", "+Inf"];
    assert_eq!(bounds(vec![]).unwrap(), default);
    assert_eq!(bounds(DEFAULT_BUCKETS.to_vec()).unwrap(), default);
    assert_eq!(
        bounds(PrometheusMetrics::DEFAULT_BUCKETS.to_vec()).unwrap(),
        default
    );

    for bad in [
        vec![1.0, 1.0],
        vec![2.0, 1.0],
        vec![f64::NAN],
        vec![1.0, f64::NAN],
    ] {
        let error = bounds(bad.clone()).unwrap_err();
        assert!(
            error.contains("buckets") && error.contains("increase"),
            "{bad:?}: {error}"
        );
    }
}
