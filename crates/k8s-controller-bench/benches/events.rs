//! Does the event recorder take the same time no matter how many series it tracks?
//!
//! - `publish`: an equal event once more, so that the series counts up. The time is that of the
//!   recorder and of kube's client; the server answers at once.
//! - `forget`: ends the series of an object.
//!
//! Both as the author of a controller calls them, with an object, of which the recorder makes the
//! reference that it needs.
//!
//! Each at three numbers of tracked series, and in two ways. `hot`: about the same 100 objects
//! again and again, while the others are only tracked; this is the cost of the recorder's work,
//! which must not depend on the number. `spread`: about any of them, so that at 1,000,000 nearly
//! every look at the table misses the processor's caches. No table of this size can avoid that,
//! and it is shown so that nobody has to guess.
//!
//! Before the first case of a size, its series are made by publishing an event about each object;
//! how long that took and what memory it needed is printed.

#![allow(
    clippy::expect_used,
    reason = "a benchmark that cannot do its work has to stop"
)]

use std::cell::OnceCell;
use std::hint::black_box;
use std::time::Duration;

use criterion::{Bencher, BenchmarkId, Criterion};
use k8s_controller_bench::events::{client, uid};
use k8s_controller_bench::host::{Stopwatch, resident_bytes};
use k8s_controller_bench::scale::Scale;
use k8s_controller_bench::summary::{Row, Samples, table};
use k8s_controller_events::{Event, EventRecorder, EventType, Reporter};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::runtime::Runtime;

/// How many operations are timed at a stretch.
const BATCH: usize = 1000;

/// How many objects are `hot`.
const HOT: usize = 100;

/// A prime, so that steps of it (it divides no size) reach every object in an order that
/// no processor foresees.
const STEP: usize = 611_953;

const OPERATIONS: [&str; 2] = ["publish", "forget"];
const WAYS: [&str; 2] = ["hot", "spread"];

/// At most this many times what the operation takes with the fewest series.
const TARGET: f64 = 1.5;

fn main() {
    let scale = Scale::from_args();
    let sizes = scale.pick([100, 10_000, 1_000_000], [100, 1_000, 10_000]);
    let samples = Samples::default();
    let mut criterion = Criterion::default().configure_from_args();
    for size in sizes {
        // Made when a case first asks for it, and gone before the next size.
        let tracked = OnceCell::new();
        for operation in OPERATIONS {
            let mut group = criterion.benchmark_group(operation);
            for way in WAYS {
                let case = name(operation, way, size);
                group.bench_function(BenchmarkId::new(way, size), |bencher| {
                    let tracked = tracked.get_or_init(|| Tracked::new(size));
                    tracked.measure(bencher, operation, way, &case, &samples);
                });
            }
        }
    }
    let rows = rows(&sizes);
    print!(
        "{}",
        table(&samples, &rows, |seconds| format!(
            "{:.2} us",
            seconds * 1e6
        ))
    );
    criterion.final_summary();
}

fn name(operation: &str, way: &str, size: usize) -> String {
    format!("{operation}/{way}/{size}")
}

fn rows(sizes: &[usize]) -> Vec<Row> {
    let mut rows = Vec::new();
    for operation in OPERATIONS {
        for way in WAYS {
            for size in sizes {
                let target = (way == "hot" && *size != sizes[0]).then_some(TARGET);
                let base = name(operation, way, sizes[0]);
                rows.push(Row {
                    case: name(operation, way, *size),
                    base,
                    target,
                });
            }
        }
    }
    rows
}

/// A recorder that tracks one series of each of some objects.
struct Tracked {
    runtime: Runtime,
    recorder: EventRecorder,
    event: Event,
    size: usize,
}

impl Tracked {
    fn new(size: usize) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime needs nothing but memory");
        let reporter = Reporter {
            controller: "example.com/bench".into(),
            instance: None,
        };
        let recorder = runtime
            .block_on(async { EventRecorder::try_new(client(), reporter) })
            .expect("the reporter is valid")
            .with_max_series(size);
        let event = Event {
            type_: EventType::Warning,
            reason: "ReconcileFailed".into(),
            action: "Reconcile".into(),
            note: Some("deployment front-page: image not found".into()),
            related: None,
        };
        let tracked = Self {
            runtime,
            recorder,
            event,
            size,
        };
        tracked.fill();
        tracked
    }

    fn fill(&self) {
        let before = (Stopwatch::start(), resident_bytes());
        for first in (0..self.size).step_by(BATCH) {
            let end = self.size.min(first + BATCH);
            self.publish(&(first..end).map(object).collect::<Vec<_>>());
        }
        let took = before.0.elapsed();
        assert_eq!(
            self.recorder.tracked_series(),
            self.size,
            "all series are tracked"
        );
        print!("{} series made in {took:.1?}", self.size);
        if let (Some(before), Some(after)) = (before.1, resident_bytes()) {
            print!(", which needed {} KiB", after.saturating_sub(before) / 1024);
        }
        println!();
    }

    fn measure(
        &self,
        bencher: &mut Bencher<'_>,
        operation: &str,
        way: &str,
        case: &str,
        samples: &Samples,
    ) {
        let mut next = 0;
        bencher.iter_custom(|iterations| {
            let batches = usize::try_from(iterations)
                .unwrap_or(usize::MAX)
                .div_ceil(BATCH);
            let mut total = Duration::ZERO;
            for _ in 0..batches {
                let objects: Vec<_> = self.numbers(way, &mut next).map(object).collect();
                let took = match operation {
                    "publish" => self.publish(&objects),
                    _ => self.forget(&objects),
                };
                samples.add(case, objects.len(), took);
                let each = u32::try_from(objects.len()).unwrap_or(u32::MAX);
                // As if there had been BATCH of them.
                total += took * 1000 / each;
            }
            scaled(total, iterations, batches)
        });
        assert_eq!(
            self.recorder.tracked_series(),
            self.size,
            "all series are still tracked"
        );
    }

    /// The objects of a batch. Those to be forgotten have to differ, so there may be fewer.
    fn numbers(&self, way: &str, next: &mut usize) -> impl Iterator<Item = usize> {
        let among = if way == "hot" { HOT } else { self.size };
        let first = *next;
        let count = among.min(BATCH);
        *next += count;
        (first..first + count).map(move |number| number.wrapping_mul(STEP) % among)
    }

    /// Publishes an event about each, in turn.
    fn publish(&self, objects: &[ConfigMap]) -> Duration {
        self.runtime.block_on(async {
            let start = Stopwatch::start();
            for object in objects {
                let published = self.recorder.publish(object, &self.event).await;
                black_box(published).expect("the server takes everything");
            }
            start.elapsed()
        })
    }

    /// Forgets each, in turn, and makes its series again, which is not timed.
    fn forget(&self, objects: &[ConfigMap]) -> Duration {
        let start = Stopwatch::start();
        for object in objects {
            self.recorder.forget(black_box(object));
        }
        let took = start.elapsed();
        self.publish(objects);
        took
    }
}

/// An object of which there is one per number.
fn object(number: usize) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.namespace = Some("bench".to_owned());
    object.metadata.name = Some(format!("object-{number}"));
    object.metadata.uid = Some(uid(number));
    object
}

/// The time of `iterations` operations, from that of whole batches.
fn scaled(total: Duration, iterations: u64, batches: usize) -> Duration {
    #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
    let share = iterations as f64 / (batches * BATCH) as f64;
    total.mul_f64(share)
}
