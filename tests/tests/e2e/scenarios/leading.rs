//! One leader at a time.

use std::future::pending;
use std::time::Duration;

use http::Request;
use k8s_controller::LeaderElection;
use k8s_controller::error::is_not_leading;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::harness::cluster::named;
use crate::harness::{Cluster, Running};

const NAME: &str = "e2e-leader";
const LEASE: Duration = Duration::from_secs(3);
const DEADLINE: Duration = Duration::from_secs(2);
const RETRY: Duration = Duration::from_millis(300);

/// For a server that other scenarios keep busy.
const SLACK: Duration = Duration::from_millis(1500);

fn election(cluster: &Cluster, identity: &str) -> LeaderElection {
    LeaderElection::new(cluster.client(), cluster.namespace(), NAME, identity)
        .with_lease_duration(LEASE)
        .with_renew_deadline(DEADLINE)
        .with_retry_period(RETRY)
}

/// Leads as long as it can.
fn lead(cluster: &Cluster, election: &LeaderElection) -> Running {
    let election = election.clone();
    cluster.spawn(async move {
        election.with_lease(pending::<()>()).await;
    })
}

async fn until_leading(cluster: &Cluster, election: &LeaderElection) -> Duration {
    let start = Instant::now();
    cluster
        .eventually("a leader", async || {
            let leads = election.is_leading().then_some(());
            leads.ok_or_else(|| format!("{election:?}"))
        })
        .await;
    start.elapsed()
}

async fn spec(cluster: &Cluster) -> LeaseSpec {
    let leases: Api<Lease> = cluster.api();
    leases.get(NAME).await.unwrap().spec.unwrap_or_default()
}

async fn edit(cluster: &Cluster, patch: Value) -> kube::Result<Lease> {
    let leases: Api<Lease> = cluster.api();
    let patch = Patch::Merge(patch);
    leases.patch(NAME, &PatchParams::default(), &patch).await
}

/// What `kubectl get lease -o yaml` shows.
pub(crate) async fn taken_renewed_and_released(cluster: Cluster) {
    let election = election(&cluster, "pod-a_0815");
    let read = || async {
        let text = cluster
            .client()
            .request_text(
                Request::get(format!(
                    "/apis/coordination.k8s.io/v1/namespaces/{}/leases/{NAME}",
                    cluster.namespace()
                ))
                .body(Vec::new())
                .unwrap(),
            )
            .await
            .unwrap();
        let lease: Value = serde_json::from_str(&text).unwrap();
        lease["spec"].clone()
    };
    let (first, second) = election
        .with_lease(async {
            let first = read().await;
            cluster.pass(4 * RETRY).await;
            (first, read().await)
        })
        .await
        .expect("the lease is held all the time");

    assert_eq!(first["holderIdentity"], "pod-a_0815");
    assert_eq!(first["leaseDurationSeconds"], 3);
    assert_eq!(first["leaseTransitions"], 0);
    for time in ["acquireTime", "renewTime"] {
        // 2026-01-02T03:04:05.678901Z
        let text = first[time].as_str().unwrap();
        assert_eq!(
            (text.len(), &text[19..20], &text[26..]),
            (27, ".", "Z"),
            "{text}"
        );
    }
    assert_eq!(second["acquireTime"], first["acquireTime"]);
    assert_ne!(second["renewTime"], first["renewTime"]);

    let released = read().await;
    assert_eq!(released["holderIdentity"], "");
    assert_eq!(released["leaseDurationSeconds"], 1);
    assert_eq!(released["leaseTransitions"], 0);

    let again = self::election(&cluster, "pod-b");
    let start = Instant::now();
    let third = again.with_lease(read()).await.unwrap();
    assert!(start.elapsed() < RETRY + SLACK, "{:?}", start.elapsed());
    assert_eq!(third["holderIdentity"], "pod-b");
    assert_eq!(third["leaseTransitions"], 1);
}

/// A dead leader is waited for, one that stops is not.
pub(crate) async fn another_takes_over(cluster: Cluster) {
    let (first, second) = (election(&cluster, "first"), election(&cluster, "second"));
    let leader = lead(&cluster, &first);
    until_leading(&cluster, &first).await;
    let heir = lead(&cluster, &second);
    cluster.pass(3 * RETRY).await;
    assert!(first.is_leading() && !second.is_leading());

    leader.kill().await;
    let took = until_leading(&cluster, &second).await;
    assert!(
        took >= DEADLINE,
        "not before the first one's deadline: {took:?}"
    );
    assert!(took <= LEASE + 2 * RETRY + SLACK, "{took:?}");

    let third = election(&cluster, "third");
    let waits = lead(&cluster, &third);
    cluster.pass(3 * RETRY).await;
    second.release().await;
    heir.ended().await;
    let took = until_leading(&cluster, &third).await;
    assert!(took <= 2 * RETRY + SLACK, "{took:?}");
    let last = spec(&cluster).await;
    assert_eq!(last.holder_identity.as_deref(), Some("third"));
    assert_eq!(last.lease_transitions, Some(2));
    waits.kill().await;
}

/// The holder puts right what a hand wrote, and nobody else leads meanwhile.
pub(crate) async fn lease_edited_by_hand(cluster: Cluster) {
    let (first, second) = (election(&cluster, "first"), election(&cluster, "second"));
    let leader = lead(&cluster, &first);
    until_leading(&cluster, &first).await;
    let waits = lead(&cluster, &second);
    cluster.pass(3 * RETRY).await;
    let edits = [
        json!({"holderIdentity": ""}),
        json!({"holderIdentity": null}),
        Value::Null,
        json!({"leaseDurationSeconds": 1}),
        json!({"leaseDurationSeconds": null}),
        json!({"renewTime": "2999-01-01T00:00:00.000000Z"}),
        json!({"renewTime": null, "acquireTime": null}),
    ];
    for patch in edits {
        edit(&cluster, json!({"spec": patch})).await.unwrap();
        cluster
            .eventually("put right", async || {
                assert!(!second.is_leading(), "{patch}");
                let spec = spec(&cluster).await;
                let right = spec.holder_identity.as_deref() == Some("first")
                    && spec.lease_duration_seconds == Some(3)
                    && spec.acquire_time.is_some()
                    && (spec.renew_time.as_ref())
                        .is_some_and(|time| time.0.to_string().starts_with("20"));
                if right {
                    Ok(())
                } else {
                    Err(format!("{spec:?}"))
                }
            })
            .await;
        assert!(first.is_leading(), "{patch}");
    }
    assert_eq!(spec(&cluster).await.lease_transitions, Some(0));
    for refused in [
        json!({"leaseDurationSeconds": 0}),
        json!({"leaseDurationSeconds": -1}),
    ] {
        edit(&cluster, json!({"spec": refused})).await.unwrap_err();
    }

    edit(&cluster, json!({"spec": {"holderIdentity": "by hand"}}))
        .await
        .unwrap();
    leader.ended().await;
    assert!(!first.is_leading());
    let took = until_leading(&cluster, &second).await;
    assert!(took <= LEASE + 2 * RETRY + SLACK, "{took:?}");
    waits.kill().await;
}

pub(crate) async fn lease_deleted_while_held(cluster: Cluster) {
    let leases: Api<Lease> = cluster.api();
    let (first, second) = (election(&cluster, "first"), election(&cluster, "second"));
    let leader = lead(&cluster, &first);
    until_leading(&cluster, &first).await;
    let waits = lead(&cluster, &second);
    cluster.pass(3 * RETRY).await;
    let before = spec(&cluster).await;
    leases.delete(NAME, &DeleteParams::default()).await.unwrap();
    cluster
        .eventually("created again", async || {
            assert!(!second.is_leading());
            leases
                .get_opt(NAME)
                .await
                .unwrap()
                .map(drop)
                .ok_or_else(|| "gone".into())
        })
        .await;
    cluster.pass(3 * RETRY).await;
    assert!(first.is_leading() && !second.is_leading());
    let after = spec(&cluster).await;
    assert_eq!(after.holder_identity.as_deref(), Some("first"));
    assert_eq!(after.acquire_time, before.acquire_time);
    leader.kill().await;
    until_leading(&cluster, &second).await;
    waits.kill().await;
}

/// As a manifest creates it, so that the permission to create is not needed.
pub(crate) async fn lease_created_by_hand(cluster: Cluster) {
    let leases: Api<Lease> = cluster.api();
    leases
        .create(&PostParams::default(), &named(NAME))
        .await
        .unwrap();
    let election = election(&cluster, "first");
    let start = Instant::now();
    let held = election.with_lease(spec(&cluster)).await.unwrap();
    assert!(start.elapsed() < SLACK);
    assert_eq!(held.holder_identity.as_deref(), Some("first"));
}

/// Over the connections of the server at hand; also a request without a body.
pub(crate) async fn fenced_client_writes_only_while_it_leads(cluster: Cluster) {
    let election = election(&cluster, "first");
    let delete = |name: &str| {
        let path = format!(
            "/api/v1/namespaces/{}/configmaps/{name}",
            cluster.namespace()
        );
        Request::delete(path).body(Vec::new()).unwrap()
    };
    let client = election
        .with_fenced_lease(async |fence| {
            let client = fence.client(&cluster.client());
            let maps: Api<ConfigMap> = Api::namespaced(client.clone(), cluster.namespace());
            for name in ["a", "b", "c"] {
                maps.create(&PostParams::default(), &named(name))
                    .await
                    .unwrap();
            }
            let patch = Patch::Merge(json!({"data": {"big": "x".repeat(300_000)}}));
            maps.patch("a", &PatchParams::default(), &patch)
                .await
                .unwrap();
            maps.delete("b", &DeleteParams::default()).await.unwrap();
            client.request_text(delete("c")).await.unwrap();
            client
        })
        .await
        .unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), cluster.namespace());
    let refused = maps
        .create(&PostParams::default(), &named("ghost"))
        .await
        .unwrap_err();
    assert!(is_not_leading(&refused), "{refused:?}");
    let refused = client.request_text(delete("a")).await.unwrap_err();
    assert!(is_not_leading(&refused), "{refused:?}");
    assert!(maps.get_opt("ghost").await.unwrap().is_none());
    assert!(maps.get_opt("c").await.unwrap().is_none());
    assert_eq!(
        maps.get("a").await.unwrap().data.unwrap()["big"].len(),
        300_000
    );
}

/// What is refused before sending, a server refuses too; what is sent, it accepts.
pub(crate) async fn names_as_servers_take_them(cluster: Cluster) {
    for name in ["Web", "-web", "web_site", "a..b"] {
        let tried = LeaderElection::try_new(cluster.client(), cluster.namespace(), name, "a");
        tried.unwrap_err();
        let leases: Api<Lease> = cluster.api();
        leases
            .create(&PostParams::default(), &named(name))
            .await
            .unwrap_err();
    }
    for identity in ["é".repeat(256), "a b/c".to_owned()] {
        let election = election(&cluster, &identity);
        let held = election.with_lease(spec(&cluster)).await.unwrap();
        assert_eq!(held.holder_identity, Some(identity));
    }
}
