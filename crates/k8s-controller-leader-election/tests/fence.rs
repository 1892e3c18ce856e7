//! Nothing is written by who may not lead any more.
#![allow(clippy::unwrap_used, clippy::default_trait_access)] // Also in the helpers of tests.

mod common;

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use common::{Fate, Wire, edit, seconds, server};
use http::{Method, Request, Response};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use k8s_controller_error::{NotLeading, is_not_leading};
use k8s_controller_leader_election::Fence;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::client::Body;
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::sleep;
use tower::{BoxError, Layer as _, Service as _, ServiceExt as _};

fn map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}})).unwrap()
}

/// A fence of a tenure that the test ends by the second value.
async fn tenure(
    wire: &Wire,
) -> (
    Fence,
    impl FnOnce() -> tokio::task::JoinHandle<Option<()>> + use<>,
) {
    let (election, (fence, got), (end, ended)) = (
        wire.election("a"),
        oneshot::channel(),
        oneshot::channel::<()>(),
    );
    let task = tokio::spawn(async move {
        election
            .with_fenced_lease(|held| async move {
                fence.send(held).ok();
                ended.await.ok();
            })
            .await
    });
    let fence = got.await.unwrap();
    (fence, move || {
        end.send(()).ok();
        task
    })
}

#[tokio::test(start_paused = true)]
async fn writes_pass_while_the_lease_is_held_and_reads_always() {
    let server = server();
    let wire = Wire::to(&server);
    let (fence, end) = tenure(&wire).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(fence.client(&wire.client()));
    maps.create(&PostParams::default(), &map("m"))
        .await
        .unwrap();
    maps.replace("m", &PostParams::default(), &map("m"))
        .await
        .unwrap();
    let patch = Patch::Merge(json!({"data": {"a": "b"}}));
    maps.patch("m", &PatchParams::default(), &patch)
        .await
        .unwrap();
    maps.delete("m", &DeleteParams::default()).await.unwrap();
    maps.create(&PostParams::default(), &map("m"))
        .await
        .unwrap();
    assert!(fence.is_held());
    assert_eq!(fence.lease(), "default/website");

    end().await.unwrap().unwrap();
    assert!(!fence.is_held());
    let sent = wire.sent().len();
    let errors = [
        maps.create(&PostParams::default(), &map("n"))
            .await
            .map(drop),
        maps.replace("m", &PostParams::default(), &map("m"))
            .await
            .map(drop),
        maps.patch("m", &PatchParams::default(), &patch)
            .await
            .map(drop),
        maps.delete("m", &DeleteParams::default()).await.map(drop),
        maps.delete_collection(&DeleteParams::default(), &ListParams::default())
            .await
            .map(drop),
    ];
    for error in errors {
        let error = error.unwrap_err();
        assert!(is_not_leading(&error));
        let kube::Error::Service(cause) = error else {
            panic!("{error:?}");
        };
        assert_eq!(
            cause.downcast::<NotLeading>().unwrap().lease,
            "default/website"
        );
    }
    assert_eq!(wire.sent().len(), sent, "nothing was sent");
    assert_eq!(
        maps.list(&ListParams::default()).await.unwrap().items.len(),
        1
    );
    maps.get("m").await.unwrap();
}

/// Although the process leads again.
#[tokio::test(start_paused = true)]
async fn task_that_outlives_its_tenure_is_refused_for_ever() {
    let server = server();
    let wire = Wire::to(&server);
    let election = wire.election("a");
    let old = election
        .with_fenced_lease(|fence| async { fence })
        .await
        .unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(old.client(&server));
    let refused = election
        .with_fenced_lease(|new| async move {
            assert!(new.is_held() && !old.is_held());
            maps.create(&PostParams::default(), &map("ghost")).await
        })
        .await
        .unwrap();
    assert!(is_not_leading(&refused.unwrap_err()));
}

/// Others may lead from the moment that the release arrives.
#[tokio::test(start_paused = true)]
async fn closed_before_the_release_is_sent() {
    let server = server();
    let wire = Wire::to(&server);
    let election = wire.election("a");
    let held = Arc::new(Mutex::new(Vec::new()));
    let seen = held.clone();
    let judge = wire.clone();
    election
        .with_fenced_lease(|fence| async move {
            judge.judge(move |sent| {
                if sent.method == Method::PUT && sent.body["spec"]["holderIdentity"] == "" {
                    seen.lock().unwrap().push(fence.is_held());
                }
                Fate::Pass
            });
        })
        .await
        .unwrap();
    assert_eq!(*held.lock().unwrap(), [false]);
}

#[tokio::test(start_paused = true)]
async fn closed_when_the_future_is_dropped_or_the_work_panics() {
    let server = server();
    let wire = Wire::to(&server);
    let election = wire.election("a");
    let (fence, got) = oneshot::channel();
    let leads = election.clone();
    let task = tokio::spawn(async move {
        leads
            .with_fenced_lease(|held| async move {
                fence.send(held).ok();
                std::future::pending::<()>().await;
            })
            .await
    });
    let fence = got.await.unwrap();
    task.abort();
    let _ = task.await;
    assert!(!fence.is_held());

    let (fence, got) = oneshot::channel();
    let leads = election.clone();
    let task = tokio::spawn(async move {
        leads
            .with_fenced_lease(|held| {
                fence.send(held).ok();
                async { panic!("the work panics") }
            })
            .await
    });
    task.await.unwrap_err();
    assert!(!got.await.unwrap().is_held());
    // And the lease is not in the way of a next one.
    election.with_lease(async {}).await.unwrap();
}

/// A lease that is lost closes the fence at once, not at its deadline.
#[tokio::test(start_paused = true)]
async fn closed_when_the_lease_is_taken_by_another() {
    let server = server();
    let wire = Wire::to(&server);
    let (fence, _end) = tenure(&wire).await;
    edit(&server, json!({"spec": {"holderIdentity": "other"}})).await;
    sleep(seconds(3)).await;
    assert!(!fence.is_held());
}

/// A connection that asks for the body when it is told to, and then sends it.
#[derive(Clone)]
struct Connection {
    go: Arc<tokio::sync::Notify>,
    bodies: Arc<Mutex<Vec<Result<usize, String>>>>,
    answers_after: std::time::Duration,
}

impl Connection {
    fn new(answers_after: std::time::Duration) -> Self {
        Self {
            go: Arc::default(),
            bodies: Arc::default(),
            answers_after,
        }
    }

    fn service(
        &self,
    ) -> impl tower::Service<
        Request<Body>,
        Response = Response<Body>,
        Error = BoxError,
        Future: Send,
    > + Clone
    + Send
    + 'static {
        let this = self.clone();
        tower::service_fn(move |request: Request<Body>| {
            let this = this.clone();
            // A task of its own, as of a connection.
            let task = tokio::spawn(async move {
                this.go.notified().await;
                let body = request.into_body();
                assert!(!body.is_end_stream(), "a connection would not ask for it");
                assert_ne!(
                    body.size_hint().exact(),
                    Some(0),
                    "a connection would not ask for it"
                );
                let result = body.collect().await;
                let result = result.map(|all| all.to_bytes().len()).map_err(|error| {
                    assert!(is_not_leading(&error));
                    "refused".to_owned()
                });
                this.bodies.lock().unwrap().push(result);
                sleep(this.answers_after).await;
            });
            async move {
                let _ = task.await;
                Ok(Response::new(Body::empty()))
            }
        })
    }
}

fn post(body: &[u8]) -> Request<Body> {
    Request::post("/").body(Body::from(body.to_vec())).unwrap()
}

/// The future is not polled in the meantime, as when its thread is blocked.
#[tokio::test(start_paused = true)]
async fn body_is_refused_to_a_connection_that_takes_it_too_late() {
    for body in [&b"{}"[..], b""] {
        let server = server();
        let (fence, end) = tenure(&Wire::to(&server)).await;
        let connection = Connection::new(seconds(0));
        let mut service = fence.layer().layer(connection.service());
        let mut request = service.ready().await.unwrap().call(post(body));
        // Until it waits for its connection.
        for _ in 0..20 {
            assert!(futures::poll!(Pin::new(&mut request)).is_pending());
            tokio::task::yield_now().await;
        }
        end().await.unwrap().unwrap();
        connection.go.notify_one();
        sleep(seconds(1)).await;
        assert_eq!(
            *connection.bodies.lock().unwrap(),
            [Err("refused".to_owned())]
        );
        let error = request.await.unwrap_err();
        assert!(error.is::<NotLeading>(), "{error:?}");
    }
}

/// What waits for a connection that never comes is told when it asks.
#[tokio::test(start_paused = true)]
async fn unsent_request_is_refused_when_it_is_polled() {
    let server = server();
    let (fence, end) = tenure(&Wire::to(&server)).await;
    let connection = Connection::new(seconds(0));
    let mut request = fence
        .layer()
        .layer(connection.service())
        .oneshot(post(b"{}"));
    for _ in 0..20 {
        assert!(futures::poll!(Pin::new(&mut request)).is_pending());
        tokio::task::yield_now().await;
    }
    end().await.unwrap().unwrap();
    let mut context = Context::from_waker(futures::task::noop_waker_ref());
    let Poll::Ready(Err(error)) = Pin::new(&mut request).poll(&mut context) else {
        panic!("refused");
    };
    assert!(error.is::<NotLeading>());
}

/// It may have been carried out, so its answer matters.
#[tokio::test(start_paused = true)]
async fn request_that_was_sent_is_answered() {
    for body in [&b"{}"[..], b""] {
        let server = server();
        let (fence, end) = tenure(&Wire::to(&server)).await;
        let connection = Connection::new(seconds(30));
        connection.go.notify_one();
        let request = tokio::spawn(
            fence
                .layer()
                .layer(connection.service())
                .oneshot(post(body)),
        );
        sleep(seconds(1)).await;
        end().await.unwrap().unwrap();
        assert!(!fence.is_held());
        request.await.unwrap().unwrap();
        assert_eq!(*connection.bodies.lock().unwrap(), [Ok(body.len())]);
    }
}

/// Nothing renews, and nobody says so: the deadline alone refuses.
#[tokio::test]
async fn blocked_runtime_cannot_write_afterwards() {
    let server = server();
    let wire = Wire::to(&server);
    let election = wire
        .election("a")
        .with_lease_duration(seconds(1))
        .with_renew_deadline(std::time::Duration::from_millis(100))
        .with_retry_period(std::time::Duration::from_millis(20));
    let maps = Wire::to(&server);
    let client: Client = maps.client();
    let log = Arc::new(Mutex::new(None));
    let result = log.clone();
    let output = election
        .with_fenced_lease(|fence| async move {
            let maps: Api<ConfigMap> = Api::default_namespaced(fence.client(&client));
            // The one thread of the runtime: nothing else runs either.
            std::thread::sleep(std::time::Duration::from_millis(150));
            *result.lock().unwrap() = Some(fence.is_held());
            let written = maps.create(&PostParams::default(), &map("late")).await;
            unreachable!("{written:?}: the work is dropped where it yields");
        })
        .await;
    assert_eq!(output, None::<()>);
    assert_eq!(*log.lock().unwrap(), Some(false));
    assert!(maps.sent().is_empty());
}
