//! A server with one namespace, and a wire to it that records and misbehaves.
#![allow(dead_code, missing_docs)]

use std::future::pending;
use std::io;
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use k8s_controller_leader_election::LeaderElection;
use k8s_embedded_apiserver::EmbeddedApiServer;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::client::Body;
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use tokio::time::Instant;
use tower::BoxError;

pub(crate) const NAME: &str = "website";

pub(crate) const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A request that went over the wire.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) at: Instant,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) body: Value,
}

/// What happens to a request.
#[derive(Clone)]
pub(crate) enum Fate {
    Pass,
    Delay(Duration),
    /// It arrives, but there is no answer.
    AnswerLost,
    /// It does not arrive.
    Hang,
    Answer(u16, Value),
}

type Judge = Box<dyn FnMut(&Sent) -> Fate + Send>;

/// The way of one client to the server.
#[derive(Clone)]
pub(crate) struct Wire(Arc<Inner>);

struct Inner {
    server: Client,
    log: Mutex<Vec<Sent>>,
    judge: Mutex<Judge>,
}

pub(crate) fn server() -> Client {
    Client::new(EmbeddedApiServer::new(), "default")
}

impl Wire {
    pub(crate) fn to(server: &Client) -> Self {
        Self(Arc::new(Inner {
            server: server.clone(),
            log: Mutex::default(),
            judge: Mutex::new(Box::new(|_| Fate::Pass)),
        }))
    }

    pub(crate) fn judge(&self, judge: impl FnMut(&Sent) -> Fate + Send + 'static) {
        *self.0.judge.lock().unwrap() = Box::new(judge);
    }

    pub(crate) fn sent(&self) -> Vec<Sent> {
        self.0.log.lock().unwrap().clone()
    }

    /// When writes of the lease by this candidate began.
    pub(crate) fn writes(&self) -> Vec<Instant> {
        let sent = self.sent();
        let writes = sent.iter().filter(|sent| sent.method != Method::GET);
        writes.map(|sent| sent.at).collect()
    }

    pub(crate) fn client(&self) -> Client {
        let wire = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| wire.clone().carry(request));
        Client::new(service, "default")
    }

    pub(crate) fn election(&self, identity: &str) -> LeaderElection {
        LeaderElection::new(self.client(), "default", NAME, identity)
    }

    async fn carry(self, request: Request<Body>) -> Result<Response<Body>, BoxError> {
        let (parts, body) = request.into_parts();
        let bytes = body.collect().await?.to_bytes();
        let sent = Sent {
            at: Instant::now(),
            method: parts.method.clone(),
            path: parts.uri.path().to_owned(),
            body: serde_json::from_slice(&bytes).unwrap_or_default(),
        };
        self.0.log.lock().unwrap().push(sent.clone());
        let fate = (self.0.judge.lock().unwrap())(&sent);
        let request = Request::from_parts(parts, Body::from(bytes));
        match fate {
            Fate::Pass => {}
            Fate::Delay(time) => tokio::time::sleep(time).await,
            Fate::Hang => return pending().await,
            Fate::AnswerLost => {
                self.0.server.send(request).await?;
                return pending().await;
            }
            Fate::Answer(code, body) => {
                let body = Body::from(body.to_string().into_bytes());
                return Ok(Response::builder().status(code).body(body)?);
            }
        }
        Ok(self.0.server.send(request).await?)
    }
}

pub(crate) fn refusal(code: u16, reason: &str) -> Fate {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure",
        "code": code, "reason": reason, "message": format!("{reason} as told"),
    });
    Fate::Answer(code, status)
}

pub(crate) fn leases(server: &Client) -> Api<Lease> {
    Api::default_namespaced(server.clone())
}

pub(crate) async fn spec(server: &Client) -> LeaseSpec {
    leases(server)
        .get(NAME)
        .await
        .unwrap()
        .spec
        .unwrap_or_default()
}

pub(crate) async fn holder(server: &Client) -> String {
    spec(server).await.holder_identity.unwrap_or_default()
}

/// Writes a lease as it is, by hand.
pub(crate) async fn put(server: &Client, spec: Value) {
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": NAME}, "spec": spec,
    });
    let lease: Lease = serde_json::from_value(lease).unwrap();
    let created = leases(server)
        .create(&PostParams::default(), &lease)
        .await
        .unwrap();
    assert_eq!(created.name_any(), NAME);
}

/// Edits the lease by hand.
pub(crate) async fn edit(server: &Client, patch: Value) {
    leases(server)
        .patch(NAME, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
}

/// A candidate that holds the lease as long as it can, in a task.
pub(crate) struct Leader(tokio::task::JoinHandle<Option<()>>);

impl Leader {
    pub(crate) fn start(election: &LeaderElection) -> Self {
        let election = election.clone();
        Self(tokio::spawn(
            async move { election.with_lease(pending()).await },
        ))
    }

    /// Ends it without a release, as the death of its process.
    pub(crate) async fn kill(self) {
        self.0.abort();
        let _ = self.0.await;
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.0.is_finished()
    }

    pub(crate) async fn ended(self) -> Option<()> {
        self.0.await.unwrap()
    }
}

/// Waits until the candidate leads. Returns how long that took.
pub(crate) async fn until_leading(election: &LeaderElection) -> Duration {
    let start = Instant::now();
    while !election.is_leading() {
        assert!(start.elapsed() < seconds(7200), "{election:?} never leads");
        let step = if start.elapsed() < seconds(100) {
            10
        } else {
            1000
        };
        tokio::time::sleep(Duration::from_millis(step)).await;
    }
    start.elapsed()
}

/// A subscriber for the threads that capture nothing: `tracing` may take a log line for disabled
/// everywhere that a thread without one was the first to meet.
static OF_OTHER_THREADS: Once = Once::new();

/// What is logged while it lives, by this thread.
pub(crate) struct Logs {
    lines: Arc<Mutex<Vec<u8>>>,
    _guard: tracing::subscriber::DefaultGuard,
}

impl Logs {
    pub(crate) fn capture() -> Self {
        OF_OTHER_THREADS.call_once(|| {
            let sees_all = tracing_subscriber::registry();
            tracing::subscriber::set_global_default(sees_all).unwrap();
        });
        let lines = Arc::new(Mutex::new(Vec::new()));
        let writer = Writer(lines.clone());
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        Self {
            lines,
            _guard: tracing::subscriber::set_default(subscriber),
        }
    }

    pub(crate) fn lines(&self, level: &str) -> Vec<String> {
        let text = String::from_utf8(self.lines.lock().unwrap().clone()).unwrap();
        let lines = text.lines().filter(|line| line.contains(level));
        lines.map(ToOwned::to_owned).collect()
    }
}

#[derive(Clone)]
struct Writer(Arc<Mutex<Vec<u8>>>);

impl io::Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
