//! How many passes per second, beside bare kube-runtime in the same run.
//!
//! One iteration is a round: the server tells of a change of each of 1,000 ConfigMaps in one piece,
//! and the round ends when each has had its pass. A pass does nothing and asks for another an hour
//! later. So the time is that of reading the watch, the store, the scheduler, and what is done
//! around a pass.
//!
//! | case | what runs |
//! |---|---|
//! | `bare` | `kube::runtime::Controller` with our default concurrency |
//! | `bare-unbounded` | the same with its own default, which is no limit |
//! | `bare-finalizer` | `bare`, whose reconciler calls `kube::runtime::finalizer` on objects that have the finalizer |
//! | `ours` | a `Context` without a finalizer |
//! | `ours-observed` | the same with an observer and an event recorder |
//! | `ours-finalizer`, `ours-finalizer-observed` | a `Context` with a finalizer that all objects have |
//! | `bare-logged`, `ours-logged` | `bare` and `ours-observed` with a subscriber that formats lines of level info and drops them; ours logs one per pass, kube-runtime none |
//!
//! Those of ours are held against the faster of `bare` and `bare-unbounded`, those with a finalizer
//! against `bare-finalizer`, and may take 1.3 times as long. `ours-logged` has no target: it does more.

#![allow(
    clippy::expect_used,
    reason = "a benchmark that cannot do its work has to stop"
)]

use std::cell::OnceCell;
use std::convert::Infallible;
use std::future::{Future, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use criterion::{Bencher, Criterion, Throughput};
use futures::StreamExt;
use k8s_controller_bench::cluster::{
    Changes, FINALIZER, NAMESPACE, cluster, config_map, watch_events,
};
use k8s_controller_bench::host::Stopwatch;
use k8s_controller_bench::summary::{Row, Samples, table};
use k8s_controller_events::{EventRecorder, Reporter};
use k8s_controller_observe::{ReconcileObserver, ReconcileRecord};
use k8s_controller_reconcile::{Context, Controller, DEFAULT_CONCURRENCY, TraceMetadata};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::controller::{self, Action};
use kube::runtime::{finalizer, watcher};
use kube::{Api, Client};
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::util::SubscriberInitExt;

/// How many objects there are, and so passes in a round.
const OBJECTS: usize = 1000;

/// How many times the time of bare kube-runtime at most.
const TARGET: f64 = 1.3;

/// Long after the benchmark.
const LATER: Duration = Duration::from_secs(3600);

/// A case: its name, whether the objects have the finalizer, and what runs.
struct Case {
    name: &'static str,
    finalizer: bool,
    logged: bool,
    start: fn(Client, Arc<Passes>),
}

const CASES: [Case; 9] = [
    Case {
        name: "bare",
        finalizer: false,
        logged: false,
        start: start_bare,
    },
    Case {
        name: "bare-unbounded",
        finalizer: false,
        logged: false,
        start: start_bare_unbounded,
    },
    Case {
        name: "ours",
        finalizer: false,
        logged: false,
        start: start_ours,
    },
    Case {
        name: "ours-observed",
        finalizer: false,
        logged: false,
        start: start_ours_observed,
    },
    Case {
        name: "bare-finalizer",
        finalizer: true,
        logged: false,
        start: start_bare_finalizer,
    },
    Case {
        name: "ours-finalizer",
        finalizer: true,
        logged: false,
        start: start_ours_finalizer,
    },
    Case {
        name: "ours-finalizer-observed",
        finalizer: true,
        logged: false,
        start: start_ours_finalizer_observed,
    },
    Case {
        name: "bare-logged",
        finalizer: false,
        logged: true,
        start: start_bare,
    },
    Case {
        name: "ours-logged",
        finalizer: false,
        logged: true,
        start: start_ours_observed,
    },
];

fn main() {
    let samples = Samples::default();
    let mut criterion = Criterion::default().configure_from_args();
    // Twice, so that a machine that is busy for a while does not hit one case alone.
    for name in ["passes", "passes-again"] {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(OBJECTS as u64));
        for case in &CASES {
            // Made when it is asked for, and gone before the next.
            let running = OnceCell::new();
            group.bench_function(case.name, |bencher| {
                running
                    .get_or_init(|| Running::new(case))
                    .measure(bencher, case, &samples);
            });
        }
    }
    print!("{}", table(&samples, &rows(&samples), per_second));
    criterion.final_summary();
}

fn per_second(seconds: f64) -> String {
    format!("{:.0} passes/s", seconds.recip())
}

fn rows(samples: &Samples) -> Vec<Row> {
    let seconds = |case| samples.seconds(case).unwrap_or(f64::INFINITY);
    let faster = if seconds("bare-unbounded") < seconds("bare") {
        "bare-unbounded"
    } else {
        "bare"
    };
    let rows = [
        ("bare", faster, None),
        ("bare-unbounded", faster, None),
        ("ours", faster, Some(TARGET)),
        ("ours-observed", faster, Some(TARGET)),
        ("bare-finalizer", "bare-finalizer", None),
        ("ours-finalizer", "bare-finalizer", Some(TARGET)),
        ("ours-finalizer-observed", "bare-finalizer", Some(TARGET)),
        ("bare-logged", "bare-logged", None),
        ("ours-logged", "bare-logged", None),
    ];
    rows.map(|(case, base, target)| Row {
        case: case.to_owned(),
        base: base.to_owned(),
        target,
    })
    .into()
}

/// A controller at work on a cluster of its own.
struct Running {
    runtime: Runtime,
    passes: Arc<Passes>,
    changes: Changes,
    round: Bytes,
    /// Log lines are made while it is there.
    _log: Option<DefaultGuard>,
}

impl Running {
    fn new(case: &Case) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime needs nothing but memory");
        let log = case.logged.then(|| {
            tracing_subscriber::fmt()
                .with_ansi(false)
                .with_writer(std::io::sink)
                .set_default()
        });
        let objects: Vec<Value> = (0..OBJECTS)
            .map(|number| config_map(number, case.finalizer))
            .collect();
        let passes = Arc::<Passes>::default();
        let changes = runtime.block_on(async {
            let (client, changes) = cluster(&objects);
            (case.start)(client, Arc::clone(&passes));
            passes.reach(OBJECTS as u64).await;
            changes
        });
        let round = watch_events("MODIFIED", &objects);
        Self {
            runtime,
            passes,
            changes,
            round,
            _log: log,
        }
    }

    fn measure(&self, bencher: &mut Bencher<'_>, case: &Case, samples: &Samples) {
        bencher.iter_custom(|rounds| {
            let mut total = Duration::ZERO;
            for _ in 0..rounds {
                let took = self.round();
                samples.add(case.name, OBJECTS, took);
                total += took;
            }
            total
        });
    }

    fn round(&self) -> Duration {
        let start = Stopwatch::start();
        let goal = self.passes.done() + OBJECTS as u64;
        assert!(
            self.changes.send(&self.round),
            "the controller still watches"
        );
        self.runtime.block_on(self.passes.reach(goal));
        assert_eq!(self.passes.done(), goal, "one pass for each object");
        start.elapsed()
    }
}

/// Counts passes.
#[derive(Default)]
struct Passes {
    done: AtomicU64,
    goal: AtomicU64,
    reached: Notify,
}

impl Passes {
    fn one_more(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if done == self.goal.load(Ordering::Relaxed) {
            self.reached.notify_one();
        }
    }

    fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Waits for this many passes, since the beginning. One thread does it all, so that none can
    /// come between the two lines.
    async fn reach(&self, goal: u64) {
        self.goal.store(goal, Ordering::Relaxed);
        if self.done() < goal {
            self.reached.notified().await;
        }
    }
}

fn start_bare(client: Client, passes: Arc<Passes>) {
    bare(client, DEFAULT_CONCURRENCY, passes, reconcile);
}

fn start_bare_unbounded(client: Client, passes: Arc<Passes>) {
    bare(client, 0, passes, reconcile);
}

async fn reconcile(_object: Arc<ConfigMap>, passes: Arc<Passes>) -> Result<Action, Infallible> {
    passes.one_more();
    Ok(Action::requeue(LATER))
}

fn start_bare_finalizer(client: Client, passes: Arc<Passes>) {
    let api = Api::<ConfigMap>::namespaced(client.clone(), NAMESPACE);
    bare(
        client,
        DEFAULT_CONCURRENCY,
        passes,
        move |object, passes| {
            let api = api.clone();
            async move {
                finalizer(&api, FINALIZER, object, |_event| async move {
                    passes.one_more();
                    Ok::<_, Infallible>(Action::requeue(LATER))
                })
                .await
            }
        },
    );
}

fn bare<F, E>(
    client: Client,
    concurrency: u16,
    passes: Arc<Passes>,
    reconcile: impl FnMut(Arc<ConfigMap>, Arc<Passes>) -> F + Send + 'static,
) where
    F: Future<Output = Result<Action, E>> + Send + 'static,
    E: std::error::Error + Send + 'static,
{
    let api = Api::<ConfigMap>::namespaced(client, NAMESPACE);
    let runtime = controller::Controller::new(api, watcher::Config::default())
        .with_config(controller::Config::default().concurrency(concurrency));
    let retry = |_: Arc<ConfigMap>, _: &E, _: Arc<Passes>| Action::requeue(LATER);
    tokio::spawn(
        runtime
            .run(reconcile, retry, passes)
            .for_each(|_| ready(())),
    );
}

fn start_ours(client: Client, passes: Arc<Passes>) {
    tokio::spawn(ours(client, Plain(passes)).run());
}

fn start_ours_observed(client: Client, passes: Arc<Passes>) {
    tokio::spawn(observed(client.clone(), ours(client, Plain(passes))).run());
}

fn start_ours_finalizer(client: Client, passes: Arc<Passes>) {
    tokio::spawn(ours(client, Finalized(passes)).run());
}

fn start_ours_finalizer_observed(client: Client, passes: Arc<Passes>) {
    tokio::spawn(observed(client.clone(), ours(client, Finalized(passes))).run());
}

fn ours<Ctx>(client: Client, context: Ctx) -> Controller<Ctx>
where
    Ctx: Context<Resource = ConfigMap, Error = Infallible> + Send + Sync + 'static,
{
    Controller::namespaced(client, context, NAMESPACE, watcher::Config::default())
}

fn observed<Ctx>(client: Client, controller: Controller<Ctx>) -> Controller<Ctx>
where
    Ctx: Context<Resource = ConfigMap, Error = Infallible> + Send + Sync + 'static,
{
    let reporter = Reporter {
        controller: "example.com/bench".into(),
        instance: None,
    };
    controller
        .with_observer(Arc::new(Counting::default()))
        .with_event_recorder(Arc::new(EventRecorder::new(client, reporter)))
}

/// An observer that counts, as one for metrics does.
#[derive(Default)]
struct Counting(AtomicU64);

impl ReconcileObserver for Counting {
    fn reconciled(&self, _record: &ReconcileRecord<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

struct Plain(Arc<Passes>);

#[async_trait]
impl Context for Plain {
    type Resource = ConfigMap;
    type Error = Infallible;

    async fn apply(
        &self,
        _client: Client,
        _object: &ConfigMap,
        _metadata: &mut TraceMetadata,
    ) -> Result<Option<Action>, Infallible> {
        self.0.one_more();
        Ok(Some(Action::requeue(LATER)))
    }
}

struct Finalized(Arc<Passes>);

#[async_trait]
impl Context for Finalized {
    type Resource = ConfigMap;
    type Error = Infallible;
    const FINALIZER_NAME: Option<&'static str> = Some(FINALIZER);

    async fn apply(
        &self,
        _client: Client,
        _object: &ConfigMap,
        _metadata: &mut TraceMetadata,
    ) -> Result<Option<Action>, Infallible> {
        self.0.one_more();
        Ok(Some(Action::requeue(LATER)))
    }
}
