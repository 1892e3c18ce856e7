//! Does memory stay flat while ever-new objects fail?
//!
//! | case | each failure is |
//! |---|---|
//! | `recorder` | an event about an object that was never seen before, through the event recorder |
//! | `recorder, refused` | the same, and the server refuses it (403) |
//! | `tracker` | a new object whose pass fails, and that is then deleted |
//! | `tracker and recorder` | the same, with an event about each failure |
//!
//! At 10,000, 100,000 and 1,000,000 failures it prints the bytes that are allocated and how many
//! pieces they are in, and what the process has in RAM. Between the last two nothing may be kept
//! per failure: the process exits with status 1 if more than 24 bytes or a hundredth of a piece
//! were added for each. The least entry of a table, a 16-byte key and a count, needs 28. It is not
//! zero because hash tables double once their removed entries have used up the room, at a moment
//! that chance decides: once in the tables of a full recorder makes some 15 bytes for each of the
//! failures in between.
//!
//! The recorder keeps its default of series; `--quick` lowers it with the rest, so that it is full
//! at the second size in both. The bytes are counted by a wrapper around the system's allocator,
//! which misses nothing and knows no noise; RAM is what the allocator makes of it, for interest.
//! Time is tokio's paused one, so that retries of objects that are gone are over in an instant.

#![allow(
    clippy::expect_used,
    reason = "a benchmark that cannot do its work has to stop"
)]

use std::alloc::System;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use k8s_controller_bench::cluster::{Changes, NAMESPACE, cluster, config_map, watch_events};
use k8s_controller_bench::events::{client, reference, refusing_client};
use k8s_controller_bench::host::resident_bytes;
use k8s_controller_bench::scale::Scale;
use k8s_controller_events::{DEFAULT_MAX_SERIES, Event, EventRecorder, EventType, Reporter, Scope};
use k8s_controller_observe::{Outcome, ReconcileObserver, ReconcileRecord};
use k8s_controller_reconcile::{Context, Controller, TraceMetadata};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::runtime::controller::Action;
use kube::runtime::watcher;
use serde_json::Value;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use tokio::sync::Notify;
use tokio::time::sleep;

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// How many bytes may be added per failure between the last two sizes.
const MOST_BYTES: f64 = 24.0;

/// How many pieces may be added per failure between the last two sizes.
const MOST_PIECES: f64 = 0.01;

/// How many objects there are at once.
const BATCH: usize = 1000;

/// Longer than the wait after a first failure, which is 2 s at most.
const RETRIES_OVER: Duration = Duration::from_secs(3);

fn main() -> ExitCode {
    let scale = Scale::from_args();
    let sizes = scale.pick([10_000, 100_000, 1_000_000], [1_000, 10_000, 100_000]);
    let max_series = scale.pick(DEFAULT_MAX_SERIES, DEFAULT_MAX_SERIES / 10);
    let mut flat = true;
    if scale.asks_for("memory") {
        head();
        flat &= run("recorder", sizes, || Publishing::new(client(), max_series));
        flat &= run("recorder, refused", sizes, || {
            Publishing::new(refusing_client(), max_series)
        });
        flat &= run("tracker", sizes, || Failing::new(None));
        flat &= run("tracker and recorder", sizes, || {
            Failing::new(Some(max_series))
        });
    }
    if flat {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Something that fails.
trait Failures {
    /// Fails for each of these objects.
    async fn fail(&mut self, numbers: std::ops::Range<usize>);
}

/// Prints a line per size and what was added in the end; false if that is too much.
fn run<F: Failures>(case: &str, sizes: [usize; 3], make: impl FnOnce() -> F) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime needs nothing but memory");
    let heaps = runtime.block_on(async {
        let mut failures = make();
        let mut done = 0;
        let mut heaps = Vec::new();
        for size in sizes {
            while done < size {
                failures.fail(done..done + BATCH).await;
                done += BATCH;
            }
            let heap = Heap::now();
            heap.print(case, size);
            heaps.push(heap);
        }
        heaps
    });
    let [_, before, after] = &heaps[..] else {
        return false;
    };
    #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
    let each = |added: i64| added as f64 / (sizes[2] - sizes[1]) as f64;
    let (bytes, pieces) = (
        each(after.bytes - before.bytes),
        each(after.pieces - before.pieces),
    );
    let flat = bytes <= MOST_BYTES && pieces <= MOST_PIECES;
    let verdict = if flat { "flat" } else { "GROWS" };
    println!(
        "{case:<22} added per failure: {bytes:.2} bytes ({MOST_BYTES} allowed), \
         {pieces:.4} pieces ({MOST_PIECES} allowed): {verdict}"
    );
    flat
}

/// What is allocated.
struct Heap {
    bytes: i64,
    pieces: i64,
}

impl Heap {
    fn now() -> Self {
        let stats = HEAP.stats();
        let difference = |more: usize, less: usize| {
            i64::try_from(more).unwrap_or(i64::MAX) - i64::try_from(less).unwrap_or(i64::MAX)
        };
        Self {
            bytes: difference(stats.bytes_allocated, stats.bytes_deallocated),
            pieces: difference(stats.allocations, stats.deallocations),
        }
    }

    fn print(&self, case: &str, failures: usize) {
        let kibibytes = |bytes: i64| format!("{} KiB", bytes / 1024);
        let resident = resident_bytes().and_then(|bytes| i64::try_from(bytes).ok());
        println!(
            "{case:<22} {failures:>10} {:>14} {:>10} {:>14}",
            kibibytes(self.bytes),
            self.pieces,
            resident.map_or_else(|| "-".to_owned(), kibibytes),
        );
    }
}

fn head() {
    println!(
        "\n{:<22} {:>10} {:>14} {:>10} {:>14}",
        "case", "failures", "allocated", "pieces", "in RAM"
    );
}

fn recorder(client: Client, max_series: usize) -> EventRecorder {
    let reporter = Reporter {
        controller: "example.com/bench".into(),
        instance: None,
    };
    EventRecorder::try_new(client, reporter)
        .expect("the reporter is valid")
        .with_max_series(max_series)
}

/// Failures that the recorder is told of.
struct Publishing(EventRecorder);

impl Publishing {
    fn new(client: Client, max_series: usize) -> Self {
        Self(recorder(client, max_series))
    }
}

impl Failures for Publishing {
    async fn fail(&mut self, numbers: std::ops::Range<usize>) {
        for number in numbers {
            let event = Event {
                type_: EventType::Warning,
                reason: "ReconcileFailed".into(),
                action: "Reconcile".into(),
                note: Some(format!("object {number} cannot be made")),
                related: None,
            };
            // Refused in one of the cases.
            let _ = self
                .0
                .publish_to(&reference(number), Scope::Failure, &event)
                .await;
        }
    }
}

/// Objects that come, fail in their pass and go.
struct Failing {
    changes: Changes,
    failed: Arc<Failed>,
    goal: usize,
}

impl Failing {
    fn new(max_series: Option<usize>) -> Self {
        let (client, changes) = cluster(&[]);
        let failed = Arc::<Failed>::default();
        let mut controller = Controller::namespaced(
            client.clone(),
            AlwaysFails,
            NAMESPACE,
            watcher::Config::default(),
        )
        .with_observer(failed.clone());
        if let Some(max_series) = max_series {
            controller = controller.with_event_recorder(Arc::new(recorder(client, max_series)));
        }
        tokio::spawn(controller.run());
        Self {
            changes,
            failed,
            goal: 0,
        }
    }

    fn tell(&self, type_: &str, objects: &[Value]) {
        assert!(
            self.changes.send(&watch_events(type_, objects)),
            "the controller still watches"
        );
    }
}

impl Failures for Failing {
    async fn fail(&mut self, numbers: std::ops::Range<usize>) {
        self.goal += numbers.len();
        let objects: Vec<_> = numbers.map(|number| config_map(number, false)).collect();
        self.tell("ADDED", &objects);
        self.failed.reach(self.goal).await;
        self.tell("DELETED", &objects);
        // Time moves only when nothing is left to do.
        sleep(RETRIES_OVER).await;
        assert_eq!(
            self.failed.count(),
            self.goal,
            "objects that are gone are not tried again"
        );
    }
}

/// Counts failed passes.
#[derive(Default)]
struct Failed {
    count: AtomicUsize,
    more: Notify,
}

impl Failed {
    fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    async fn reach(&self, goal: usize) {
        while self.count() < goal {
            self.more.notified().await;
        }
    }
}

impl ReconcileObserver for Failed {
    fn reconciled(&self, record: &ReconcileRecord<'_>) {
        assert_eq!(record.outcome, Outcome::Failed);
        self.count.fetch_add(1, Ordering::Relaxed);
        self.more.notify_one();
    }
}

struct AlwaysFails;

#[async_trait]
impl Context for AlwaysFails {
    type Resource = ConfigMap;
    type Error = std::fmt::Error;

    async fn apply(
        &self,
        _client: Client,
        _object: &ConfigMap,
        _metadata: &mut TraceMetadata,
    ) -> Result<Option<Action>, std::fmt::Error> {
        Err(std::fmt::Error)
    }
}
