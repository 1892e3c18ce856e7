//! A lease that a hand edits or deletes, and answers that no server gives.
#![allow(clippy::unwrap_used, clippy::default_trait_access)] // Also in the helpers of tests.

mod common;

use std::time::Duration;

use common::{Fate, Leader, Wire, edit, holder, leases, put, seconds, server, spec, until_leading};
use k8s_controller_leader_election::MAX_LEASE_DURATION;
use serde_json::{Value, json};
use tokio::time::sleep;

/// What a hand may do to a lease that is held.
fn edits() -> Vec<(&'static str, Value)> {
    vec![
        ("holder empty", json!({"spec": {"holderIdentity": ""}})),
        ("holder missing", json!({"spec": {"holderIdentity": null}})),
        ("spec missing", json!({"spec": null})),
        (
            "duration missing",
            json!({"spec": {"leaseDurationSeconds": null}}),
        ),
        (
            "duration short",
            json!({"spec": {"leaseDurationSeconds": 1}}),
        ),
        (
            "duration long",
            json!({"spec": {"leaseDurationSeconds": 2_000_000_000}}),
        ),
        ("renewTime missing", json!({"spec": {"renewTime": null}})),
        (
            "renewTime in the future",
            json!({"spec": {"renewTime": "2999-01-01T00:00:00.000000Z"}}),
        ),
        (
            "acquireTime missing",
            json!({"spec": {"acquireTime": null}}),
        ),
        (
            "as released",
            json!({"spec": {"holderIdentity": "", "leaseDurationSeconds": 1}}),
        ),
        (
            "transitions missing",
            json!({"spec": {"leaseTransitions": null}}),
        ),
    ]
}

#[tokio::test(start_paused = true)]
async fn holder_goes_on_alone_after_an_edit() {
    for (what, patch) in edits() {
        let server = server();
        let (first, second) = (
            Wire::to(&server).election("first"),
            Wire::to(&server).election("second"),
        );
        let leader = Leader::start(&first);
        until_leading(&first).await;
        let waits = Leader::start(&second);
        sleep(seconds(10)).await;
        let before = spec(&server).await;
        edit(&server, patch).await;
        for _ in 0..600 {
            sleep(Duration::from_millis(100)).await;
            assert!(first.is_leading() && !second.is_leading(), "{what}");
        }
        let after = spec(&server).await;
        assert_eq!(after.holder_identity.as_deref(), Some("first"), "{what}");
        assert_eq!(after.lease_duration_seconds, Some(15), "{what}");
        assert!(
            after.renew_time.is_some() && after.acquire_time.is_some(),
            "{what}"
        );
        assert_eq!(
            after.lease_transitions.unwrap_or_default(),
            before.lease_transitions.unwrap(),
            "{what}"
        );
        leader.kill().await;
        waits.kill().await;
    }
}

/// The holder cannot renew at that time: it is a leader until its deadline all the same.
#[tokio::test(start_paused = true)]
async fn nobody_takes_an_edited_lease_while_its_holder_may_lead() {
    let mut all = edits();
    all.push(("deleted", Value::Null));
    all.push(("somebody else", json!({"spec": {"holderIdentity": "x"}})));
    for (what, patch) in all {
        let server = server();
        let wire = Wire::to(&server);
        let (first, second) = (wire.election("first"), Wire::to(&server).election("second"));
        let leader = Leader::start(&first);
        until_leading(&first).await;
        let waits = Leader::start(&second);
        sleep(seconds(10)).await;
        wire.judge(|_| Fate::Hang);
        if patch.is_null() {
            leases(&server)
                .delete("website", &Default::default())
                .await
                .unwrap();
        } else {
            edit(&server, patch).await;
        }
        while first.is_leading() {
            assert!(!second.is_leading(), "{what}");
            sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(leader.ended().await, None, "{what}");
        let took = until_leading(&second).await;
        // What it says is what counts, as long as nobody corrects it; but not for ever.
        let limit = if what == "duration long" {
            MAX_LEASE_DURATION
        } else {
            seconds(15)
        };
        assert!(took < limit, "{what}: {took:?}");
        waits.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn deleted_lease_is_created_again_by_its_holder() {
    let server = server();
    let (first, second) = (
        Wire::to(&server).election("first"),
        Wire::to(&server).election("second"),
    );
    let leader = Leader::start(&first);
    until_leading(&first).await;
    let waits = Leader::start(&second);
    sleep(seconds(10)).await;
    let before = spec(&server).await;
    leases(&server)
        .delete("website", &Default::default())
        .await
        .unwrap();
    for _ in 0..600 {
        sleep(Duration::from_millis(100)).await;
        assert!(first.is_leading() && !second.is_leading());
    }
    let after = spec(&server).await;
    assert_eq!(after.holder_identity.as_deref(), Some("first"));
    assert_eq!(after.acquire_time, before.acquire_time);
    leader.kill().await;
    waits.kill().await;
}

#[tokio::test(start_paused = true)]
async fn lost_when_another_is_written_in() {
    let server = server();
    let election = Wire::to(&server).election("first");
    let leader = Leader::start(&election);
    until_leading(&election).await;
    let logs = common::Logs::capture();
    edit(&server, json!({"spec": {"holderIdentity": "by hand"}})).await;
    sleep(Duration::from_millis(2500)).await;
    assert!(leader.has_ended() && !election.is_leading());
    assert_eq!(leader.ended().await, None);
    assert_eq!(
        holder(&server).await,
        "by hand",
        "not released: it is not ours"
    );
    assert!(
        logs.lines("WARN")[0].contains("by hand"),
        "{:?}",
        logs.lines("WARN")
    );
}

/// The lease of somebody who is gone, as it may stand there. None hangs for ever.
#[tokio::test(start_paused = true)]
async fn found_leases_are_taken_in_time() {
    let at_once = Duration::from_millis(100);
    let now = "2020-01-01T00:00:00.000000Z";
    let cases = [
        ("absent", None, at_once),
        ("no spec", Some(Value::Null), at_once),
        ("blank", Some(json!({})), at_once),
        (
            "released",
            Some(json!({"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": now})),
            at_once,
        ),
        (
            "emptied",
            Some(json!({"holderIdentity": "", "leaseDurationSeconds": 30, "renewTime": now})),
            seconds(30),
        ),
        (
            "without holder",
            Some(json!({"leaseDurationSeconds": 30, "renewTime": now})),
            seconds(30),
        ),
        (
            "held",
            Some(json!({"holderIdentity": "x", "leaseDurationSeconds": 30, "renewTime": now})),
            seconds(30),
        ),
        (
            "future",
            Some(
                json!({"holderIdentity": "x", "leaseDurationSeconds": 30, "renewTime": "2999-01-01T00:00:00.000000Z"}),
            ),
            seconds(30),
        ),
        (
            "no times",
            Some(json!({"holderIdentity": "x", "leaseDurationSeconds": 30})),
            seconds(30),
        ),
        (
            "no duration",
            Some(json!({"holderIdentity": "x", "renewTime": now})),
            seconds(15),
        ),
        (
            "holder alone",
            Some(json!({"holderIdentity": "x"})),
            seconds(15),
        ),
    ];
    for (what, found, expected) in cases {
        let server = server();
        if let Some(spec) = found {
            put(&server, spec).await;
        }
        let election = Wire::to(&server).election("a");
        let leader = Leader::start(&election);
        let took = until_leading(&election).await;
        assert!(
            took >= expected.saturating_sub(at_once) && took <= expected + at_once,
            "{what}: {took:?}"
        );
        leader.kill().await;
    }
}

/// What a server never stores, but an answer may say.
#[tokio::test(start_paused = true)]
async fn nonsense_in_answers() {
    let lease = |spec: Value| {
        json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "website", "namespace": "default", "resourceVersion": "7"},
            "spec": spec,
        })
    };
    // Without a duration that makes sense, its own counts.
    for duration in [0, -1, i32::MIN] {
        let server = server();
        let wire = Wire::to(&server);
        let answer = lease(
            json!({"holderIdentity": "x", "leaseDurationSeconds": duration, "leaseTransitions": -5}),
        );
        wire.judge(move |_| Fate::Answer(200, answer.clone()));
        let election = wire.election("a");
        let waits = Leader::start(&election);
        sleep(seconds(14)).await;
        assert_eq!(wire.writes(), [], "{duration}");
        sleep(seconds(3)).await;
        assert!(!wire.writes().is_empty(), "{duration}");
        assert!(
            !election.is_leading(),
            "the answer to the write still says x"
        );
        waits.kill().await;
    }
    // Nothing is written over what cannot be read, and the log says why.
    let unreadable = [
        (json!("no lease"), "no lease"),
        (
            lease(json!({"renewTime": "yesterday"})),
            "Error deserializing response",
        ),
        (
            lease(json!({"leaseDurationSeconds": "15"})),
            "Error deserializing response",
        ),
        (
            json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "website"}}),
            "metadata.resourceVersion",
        ),
    ];
    for (answer, says) in unreadable {
        let server = server();
        let wire = Wire::to(&server);
        wire.judge(move |_| Fate::Answer(200, answer.clone()));
        let logs = common::Logs::capture();
        let waits = Leader::start(&wire.election("a"));
        sleep(seconds(60)).await;
        assert_eq!(wire.writes(), []);
        let warnings = logs.lines("lease=\"default/website\"");
        assert!(
            warnings.iter().any(|line| line.contains(says)),
            "{says}: {warnings:?}"
        );
        waits.kill().await;
    }
}
