//! Settings that cannot work, and servers that say no.
#![allow(clippy::unwrap_used, clippy::default_trait_access)] // Also in the helpers of tests.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use common::{Fate, Leader, Wire, refusal, seconds, server, until_leading};
use futures::FutureExt as _;
use http::Method;
use k8s_controller_leader_election::{ConfigError, LeaderElection, MAX_IDENTITY_BYTES, Timings};
use serde_json::json;
use tokio::time::sleep;

#[tokio::test]
async fn names_are_checked_before_anything_is_sent() {
    let long = "x".repeat(MAX_IDENTITY_BYTES + 1);
    let label = "x".repeat(64);
    let subdomain = format!("{}x", "xx.".repeat(85));
    let cases = [
        (
            ("", "l", "a"),
            "namespace is empty: expected a DNS label such as \"team-a\"",
        ),
        (
            ("Team", "l", "a"),
            "invalid namespace \"Team\": expected a DNS label",
        ),
        (("a.b", "l", "a"), "invalid namespace \"a.b\""),
        (("a/b", "l", "a"), "invalid namespace \"a/b\""),
        ((&*label, "l", "a"), "invalid namespace"),
        (
            ("ns", "", "a"),
            "lease_name is empty: expected a DNS subdomain",
        ),
        (
            ("ns", "Web site", "a"),
            "invalid lease_name \"Web site\": expected a DNS subdomain",
        ),
        (("ns", "-l", "a"), "invalid lease_name \"-l\""),
        (("ns", "a..b", "a"), "invalid lease_name \"a..b\""),
        (("ns", "../secrets/x", "a"), "invalid lease_name"),
        (("ns", &*subdomain, "a"), "invalid lease_name"),
        (
            ("ns", "l", ""),
            "identity is empty: expected what no other candidate is called",
        ),
        (
            ("ns", "l", &*long),
            "identity has 513 bytes: expected at most 512",
        ),
        (
            ("ns", "l", " "),
            "invalid identity \" \": expected text without control characters",
        ),
        (("ns", "l", "host\n"), "invalid identity \"host\\n\""),
    ];
    for ((namespace, name, identity), expected) in cases {
        let error = LeaderElection::try_new(server(), namespace, name, identity).unwrap_err();
        assert!(error.to_string().starts_with(expected), "{error}");
        let panic = catch_unwind(AssertUnwindSafe(|| {
            LeaderElection::new(server(), namespace, name, identity)
        }));
        assert_eq!(
            *panic.unwrap_err().downcast::<String>().unwrap(),
            error.to_string()
        );
    }
    let good = LeaderElection::try_new(server(), "team-a", "web.leader", "web-0_é").unwrap();
    assert_eq!(
        (good.namespace(), good.lease_name(), good.identity()),
        ("team-a", "web.leader", "web-0_é")
    );
}

#[tokio::test(start_paused = true)]
async fn timings_have_to_be_consistent() {
    let ms = Duration::from_millis;
    let cases = [
        (
            (0, 10_000, 2000),
            "invalid lease_duration 0ns: expected more than zero",
        ),
        (
            (15_000, 0, 2000),
            "invalid renew_deadline 0ns: expected more than zero",
        ),
        (
            (15_000, 10_000, 0),
            "invalid retry_period 0ns: expected more than zero",
        ),
        (
            (10_000, 10_000, 2000),
            "invalid renew_deadline 10s: expected less than the lease_duration, 10s",
        ),
        (
            (15_000, 2400, 2000),
            "invalid retry_period 2s: expected less than the renew_deadline, 2.4s, also when multiplied by 1.2",
        ),
        (
            (3_600_001, 10_000, 2000),
            "invalid lease_duration 3601s: expected at most 3600s",
        ),
    ];
    for ((lease_duration, renew_deadline, retry_period), expected) in cases {
        let timings = Timings {
            lease_duration: ms(lease_duration),
            renew_deadline: ms(renew_deadline),
            retry_period: ms(retry_period),
        };
        let error: ConfigError = timings.check().unwrap_err();
        assert_eq!(error.to_string(), expected);
        let wire = Wire::to(&server());
        let given = wire.election("a").with_timings(timings).unwrap_err();
        assert_eq!(given, error);
        let panic = AssertUnwindSafe(async {
            let election = wire
                .election("a")
                .with_lease_duration(timings.lease_duration)
                .with_renew_deadline(timings.renew_deadline)
                .with_retry_period(timings.retry_period);
            election.with_lease(async {}).await
        });
        let panic = panic.catch_unwind().await.unwrap_err();
        assert_eq!(*panic.downcast::<String>().unwrap(), expected);
        assert!(wire.sent().is_empty());
    }
}

/// Also of an election that can never run, a probe may ask.
#[tokio::test(start_paused = true)]
async fn timings_without_bounds_can_be_asked_about() {
    let election = Wire::to(&server())
        .election("a")
        .with_lease_duration(Duration::MAX)
        .with_renew_deadline(Duration::MAX);
    assert_eq!(election.health(), Ok(()));
    assert!(election.timings().check().is_err());
}

/// The lease says whole seconds, and must not say fewer than the holder counts on.
#[tokio::test(start_paused = true)]
async fn fractions_of_a_second_are_rounded_up() {
    let server = server();
    let election = Wire::to(&server)
        .election("a")
        .with_lease_duration(Duration::from_millis(2500))
        .with_renew_deadline(Duration::from_millis(2400))
        .with_retry_period(Duration::from_millis(300));
    assert_eq!(election.lease_duration(), seconds(3));
    let spec = election.with_lease(common::spec(&server)).await.unwrap();
    assert_eq!(spec.lease_duration_seconds, Some(3));
}

/// For each verb, loudly, and not every two seconds.
#[tokio::test(start_paused = true)]
async fn forbidden_names_the_rule_that_is_missing() {
    let cases = [
        ("get", Method::GET),
        ("create", Method::POST),
        ("update", Method::PUT),
    ];
    for (verb, method) in cases {
        let server = server();
        let wire = Wire::to(&server);
        let refused = method.clone();
        wire.judge(move |sent| {
            if sent.method == refused {
                return refusal(403, "Forbidden");
            }
            Fate::Pass
        });
        if method == Method::PUT {
            common::put(&server, json!(null)).await;
        }
        let logs = common::Logs::capture();
        let waits = Leader::start(&wire.election("a"));
        sleep(seconds(3600)).await;
        let errors = logs.lines("ERROR");
        let rule = r#"apiGroups: [\"coordination.k8s.io\"], resources: [\"leases\"], verbs: [\"get\", \"create\", \"update\"]"#;
        let first = &errors[0];
        assert!(first.contains(rule), "{first}");
        assert!(first.contains(&format!("verb=\"{verb}\"")), "{first}");
        assert!(first.contains("namespace=\"default\""), "{first}");
        assert!(
            (2..=13).contains(&errors.len()),
            "in an hour: {}",
            errors.len()
        );
        let told: u64 = errors
            .iter()
            .filter_map(|line| {
                let rest = line.split("suppressed=").nth(1)?;
                rest.split_whitespace().next()?.parse::<u64>().ok()
            })
            .sum();
        assert!(told > 1000, "how many were not logged is said: {told}");

        // A permission that is given works at once.
        wire.judge(|_| Fate::Pass);
        waits.kill().await;
        let election = wire.election("a");
        let leader = Leader::start(&election);
        assert!(until_leading(&election).await < seconds(1));
        leader.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn missing_namespace_is_named() {
    let server = server();
    let wire = Wire::to(&server);
    let election = LeaderElection::new(wire.client(), "nowhere", "website", "a");
    let logs = common::Logs::capture();
    let waits = Leader::start(&election);
    sleep(seconds(60)).await;
    let errors = logs.lines("ERROR");
    assert!(
        errors[0].contains("its namespace does not exist"),
        "{errors:?}"
    );
    assert!(errors[0].contains("namespace=\"nowhere\""), "{errors:?}");
    assert!(errors.len() < 5, "{errors:?}");
    waits.kill().await;
}

#[tokio::test(start_paused = true)]
async fn terminating_namespace_is_no_missing_permission() {
    let server = server();
    let wire = Wire::to(&server);
    wire.judge(|sent| match sent.method {
        Method::POST => Fate::Answer(403, json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403,
            "reason": "Forbidden", "message": "unable to create new content",
            "details": {"causes": [{"reason": "NamespaceTerminating", "message": "being terminated"}]},
        })),
        _ => Fate::Pass,
    });
    let logs = common::Logs::capture();
    let waits = Leader::start(&wire.election("a"));
    sleep(seconds(5)).await;
    let errors = logs.lines("ERROR");
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0].contains("is being deleted") && !errors[0].contains("rule="),
        "{errors:?}"
    );
    waits.kill().await;
}
