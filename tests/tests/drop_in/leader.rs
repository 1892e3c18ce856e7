//! Leader election, as somebody's `main` has it.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use futures::FutureExt as _;
use k8s_controller::LeaderElection;
use k8s_embedded_apiserver::EmbeddedApiServer;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

fn client() -> Client {
    Client::new(EmbeddedApiServer::new(), "default")
}

fn election(client: &Client, identity: &str) -> LeaderElection {
    LeaderElection::new(client.clone(), "default", "operator", identity)
        .with_lease_duration(Duration::from_secs(30))
        .with_renew_deadline(Duration::from_secs(20))
        .with_retry_period(Duration::from_secs(4))
}

async fn lease(client: &Client) -> Lease {
    let leases: Api<Lease> = Api::namespaced(client.clone(), "default");
    leases.get("operator").await.expect("there is a lease")
}

async fn holder(client: &Client) -> Option<String> {
    lease(client).await.spec.expect("a spec").holder_identity
}

#[test]
fn futures_can_be_spawned() {
    fn spawnable<T: Send + 'static>(_: fn(LeaderElection) -> T) {}
    spawnable(|election| async move { election.with_lease(async { 7 }).await }.boxed());
    spawnable(|election| async move { election.release().await }.boxed());
    fn shared<T: Clone + Send + Sync + 'static>() {}
    shared::<LeaderElection>();
}

/// What runs under the lease need not be `Send`, and may borrow.
#[tokio::test(start_paused = true)]
async fn runs_under_the_lease() {
    let client = client();
    let election = election(&client, "pod-1");
    let seen = Rc::new(Cell::new(0));
    let output = election
        .with_lease(async {
            // Longer than the lease lasts without being renewed.
            tokio::time::sleep(Duration::from_secs(300)).await;
            assert_eq!(holder(&client).await.as_deref(), Some("pod-1"));
            let spec = lease(&client).await.spec.expect("a spec");
            assert_eq!(spec.lease_duration_seconds, Some(30));
            seen.set(seen.get() + 1);
            String::from("done")
        })
        .await;
    assert_eq!(output.as_deref(), Some("done"));
    assert_eq!(seen.get(), 1);
    assert_eq!(holder(&client).await.as_deref(), Some(""), "released");
    election.release().await;
}

/// The second waits for the first, and then leads without waiting for an expiry.
#[tokio::test(start_paused = true)]
async fn one_after_the_other() {
    let client = client();
    let now = Cell::new(0);
    let work = async || {
        now.set(now.get() + 1);
        assert_eq!(now.get(), 1, "one at a time");
        tokio::time::sleep(Duration::from_secs(60)).await;
        now.set(now.get() - 1);
    };
    let (first, second) = (
        election(&client, "pod-1"),
        election(&client, "pod-2").clone(),
    );
    let start = tokio::time::Instant::now();
    let ended = futures::join!(first.with_lease(work()), second.with_lease(work()));
    assert_eq!(ended, (Some(()), Some(())));
    let took = start.elapsed();
    assert!(took < Duration::from_secs(120 + 15), "{took:?}");
}

/// Somebody else has it now: what ran is dropped.
#[tokio::test(start_paused = true)]
async fn lost_lease() {
    struct Dropped<'a>(&'a Cell<bool>);
    impl Drop for Dropped<'_> {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    let client = client();
    let dropped = Cell::new(false);
    let election = election(&client, "pod-1");
    let leading = election.with_lease(async {
        let _guard = Dropped(&dropped);
        let leases: Api<Lease> = Api::namespaced(client.clone(), "default");
        let other = Patch::Merge(json!({"spec": {"holderIdentity": "pod-2"}}));
        leases
            .patch("operator", &PatchParams::default(), &other)
            .await
            .expect("patched");
        std::future::pending::<()>().await;
    });
    assert_eq!(leading.await, None);
    assert!(dropped.get());
    election.release().await;
    let holder = holder(&client).await;
    assert_eq!(holder.as_deref(), Some("pod-2"), "another's lease stays");
}

#[tokio::test]
#[should_panic(expected = "identity")]
async fn empty_identity() {
    drop(LeaderElection::new(client(), "default", "operator", ""));
}

#[tokio::test]
#[should_panic(expected = "renew")]
async fn deadline_after_the_end_of_the_lease() {
    let election = LeaderElection::new(client(), "default", "operator", "pod-1")
        .with_renew_deadline(Duration::from_secs(16));
    let _ = election.with_lease(async {}).await;
}
