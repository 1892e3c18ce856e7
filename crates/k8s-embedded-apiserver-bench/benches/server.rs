//! Speed and memory of the embedded server, beside what is aimed at.

#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_wrap,
    reason = "counts and bytes are far below 2^52"
)]
#![allow(clippy::print_stdout, reason = "the table is what the program is for")]

use std::alloc::System;
use std::time::Duration;

use futures::future::join_all;
use k8s_embedded_apiserver::EmbeddedApiServer;
use k8s_embedded_apiserver_bench::{CONFIG_MAPS, Client, config_map, frames, processor_time};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const KILOBYTE: usize = 1024;

/// What the arguments ask for.
struct Scale {
    quick: bool,
    full: bool,
    only: Option<String>,
}

impl Scale {
    fn new() -> Self {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let has = |word: &str| words.iter().any(|found| found == word);
        Self {
            quick: has("--quick"),
            full: has("--full"),
            only: words.iter().find(|word| !word.starts_with('-')).cloned(),
        }
    }

    /// A number of repetitions.
    fn of(&self, count: usize) -> usize {
        if self.quick { count / 20 } else { count }
    }

    fn wants(&self, name: &str) -> bool {
        self.only.as_deref().is_none_or(|only| name.contains(only))
    }
}

/// The processor time since `begun`.
fn since(begun: Duration) -> Duration {
    processor_time().saturating_sub(begun)
}

fn row(name: &str, reached: &str, target: &str) {
    println!("| {name:<52} | {reached:>22} | {target:>14} |");
}

fn rate(count: usize, time: Duration) -> String {
    format!("{:.0} /s", count as f64 / time.as_secs_f64())
}

fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

fn us(time: Duration, count: usize) -> String {
    format!("{:.2} us", time.as_secs_f64() * 1e6 / count as f64)
}

fn main() {
    let scale = Scale::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let Ok(runtime) = runtime else {
        panic!("no runtime")
    };
    row("measured", "reached", "target");
    row(&"-".repeat(52), &"-".repeat(22), &"-".repeat(14));
    runtime.block_on(async {
        if scale.wants("start") {
            start(&scale);
        }
        for (name, method) in [("create", 0), ("get", 1), ("patch", 2), ("list", 3)] {
            if scale.wants(name) {
                one(&scale, method).await;
            }
        }
        if scale.wants("watch") {
            fan_out(&scale).await;
            idle_watches(&scale).await;
        }
        if scale.wants("memory") {
            memory(&scale).await;
        }
        if scale.wants("growth") {
            growth(&scale).await;
        }
        if scale.wants("pages") {
            pages(&scale).await;
        }
    });
}

fn start(scale: &Scale) {
    let count = scale.of(100);
    let begun = processor_time();
    for _ in 0..count {
        std::hint::black_box(EmbeddedApiServer::new());
    }
    let each = since(begun) / u32::try_from(count).unwrap_or(1);
    row("start", &ms(each), "5 ms");
}

fn client() -> Client {
    Client(EmbeddedApiServer::builder().seed(1).build())
}

async fn one(scale: &Scale, method: usize) {
    let client = client();
    let count = scale.of(20_000);
    let region = Region::new(HEAP);
    let begun = processor_time();
    client.fill(0, count, KILOBYTE).await;
    let time = since(begun);
    let pieces = |region: &Region<'_, System>, count: usize| {
        format!("{:.0}", region.change().allocations as f64 / count as f64)
    };
    let target = |rate: &str, pieces: &str| (rate.to_owned(), format!("({pieces} allocs)"));
    if method == 0 {
        let (goal, note) = target("20,000 /s", &pieces(&region, count));
        row(&format!("create, 1 KB {note}"), &rate(count, time), &goal);
    }
    if method == 1 {
        let gets = scale.of(200_000);
        let region = Region::new(HEAP);
        let begun = processor_time();
        for number in 0..gets {
            let path = format!("{CONFIG_MAPS}/object-{:07}", number * 7919 % count);
            std::hint::black_box(client.get(&path).await);
        }
        let (goal, note) = target("150,000 /s", &pieces(&region, gets));
        row(
            &format!("get, 1 KB {note}"),
            &rate(gets, since(begun)),
            &goal,
        );
    }
    if method == 2 {
        let region = Region::new(HEAP);
        let begun = processor_time();
        for number in 0..count {
            patch(&client, number, number).await;
        }
        let (goal, note) = target("20,000 /s", &pieces(&region, count));
        row(
            &format!("JSON patch, 1 KB {note}"),
            &rate(count, since(begun)),
            &goal,
        );
    }
    if method == 3 {
        client.fill(count, 10_000.max(count), KILOBYTE).await;
        let list = format!("{CONFIG_MAPS}?limit=10000");
        for (name, path, goal) in [
            ("list of 10,000", list.clone(), "60 ms"),
            (
                "list of 2,000 of 20,000, by label",
                format!("{CONFIG_MAPS}?labelSelector=part%3Dp1"),
                "",
            ),
        ] {
            let mut best = Duration::MAX;
            let mut size = 0;
            for _ in 0..5 {
                let begun = processor_time();
                size = client.get(&path).await.len();
                best = best.min(since(begun));
            }
            row(&format!("{name} ({size} bytes)"), &ms(best), goal);
        }
    }
}

async fn patch(client: &Client, number: usize, value: usize) {
    let path = format!("{CONFIG_MAPS}/object-{number:07}");
    let operation = format!(r#"[{{"op":"replace","path":"/data/a","value":"v{value}"}}]"#);
    client
        .send("PATCH", &path, "application/json-patch+json", operation)
        .await;
}

/// Watchers of one collection, from now on.
async fn watchers(
    client: &Client,
    path: &str,
    count: usize,
) -> Vec<k8s_embedded_apiserver::ApiBody> {
    let mut all = Vec::with_capacity(count);
    for _ in 0..count {
        let path = format!(
            "{path}?watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        );
        all.push(client.open("GET", &path, "", "").await);
    }
    all
}

async fn fan_out(scale: &Scale) {
    let (count, events) = (100, scale.of(1_000));
    for (name, eager) in [("after the writes", false), ("while it is written", true)] {
        let client = client();
        client.fill(0, events, KILOBYTE).await;
        let mut bodies = watchers(&client, CONFIG_MAPS, count).await;
        let readers = bodies.iter_mut().map(|body| frames(body, events));
        let writes = async {
            let mut busy = Duration::ZERO;
            for number in 0..events {
                let begun = processor_time();
                patch(&client, number, number).await;
                busy += since(begun);
                if eager {
                    tokio::task::yield_now().await;
                }
            }
            busy
        };
        let begun = processor_time();
        let (busy, _) = futures::join!(writes, join_all(readers));
        row(
            &format!("watch: {events} events to {count} watchers, {name}"),
            &ms(since(begun).saturating_sub(busy)),
            "100 ms",
        );
    }
}

async fn idle_watches(scale: &Scale) {
    let client = client();
    let count = scale.of(1_000);
    let region = Region::new(HEAP);
    let mut bodies = watchers(&client, CONFIG_MAPS, count).await;
    for body in &mut bodies {
        // Once polled it waits.
        let polled = futures::poll!(std::pin::pin!(frames(body, 1)));
        assert!(polled.is_pending());
    }
    let change = region.change();
    let bytes = change.bytes_allocated as isize - change.bytes_deallocated as isize;
    row(
        "watch: memory of an idle one",
        &format!("{:.0} bytes", bytes as f64 / count as f64),
        "",
    );
}

async fn memory(scale: &Scale) {
    let client = client();
    let count = scale.of(20_000);
    let region = Region::new(HEAP);
    client.fill(0, count, KILOBYTE).await;
    let change = region.change();
    let bytes = change.bytes_allocated as isize - change.bytes_deallocated as isize;
    row(
        "memory of a stored ConfigMap of 1 KB",
        &format!("{:.0} bytes", bytes as f64 / count as f64),
        "3,072 bytes",
    );
}

async fn growth(scale: &Scale) {
    let mut sizes = vec![1_000, 100_000];
    if scale.full {
        sizes.push(1_000_000);
    }
    let client = client();
    let mut made = 0;
    for size in sizes {
        let size = scale.of(size);
        client.fill(made, size, 300).await;
        made = size;
        let count = scale.of(4_000);
        let begun = processor_time();
        for number in 0..count {
            patch(&client, number * 7919 % made, number).await;
        }
        row(
            &format!("growth: patch among {size}"),
            &us(since(begun), count),
            "flat",
        );
        let begun = processor_time();
        for number in 0..count {
            let path = format!("{CONFIG_MAPS}/object-{:07}", number * 7919 % made);
            client.send("DELETE", &path, "", "").await;
            let body = config_map(number * 7919 % made, 300);
            client
                .send("POST", CONFIG_MAPS, "application/json", body)
                .await;
        }
        row(
            &format!("growth: delete and create among {size}"),
            &us(since(begun), count),
            "flat",
        );
    }
    for others in [0, 1_000] {
        let mut bodies = watchers(&client, "/api/v1/secrets", others).await;
        for body in &mut bodies {
            assert!(futures::poll!(std::pin::pin!(frames(body, 1))).is_pending());
        }
        let count = scale.of(4_000);
        let begun = processor_time();
        for number in 0..count {
            patch(&client, number * 7919 % made, number + 1).await;
        }
        row(
            &format!("growth: patch beside {others} watchers of another kind"),
            &us(since(begun), count),
            "flat",
        );
    }
}

/// All pages of a list, each of which shows the past once a write follows the first.
async fn pages(scale: &Scale) {
    let mut sizes = vec![10_000, 100_000];
    if scale.full {
        sizes.push(1_000_000);
    }
    let client = client();
    let mut made = 0;
    for size in sizes {
        let size = scale.of(size);
        client.fill(made, size, 300).await;
        made = size;
        let begun = processor_time();
        let (mut token, mut count) = (None, 0);
        loop {
            let path = match &token {
                Some(token) => format!("{CONFIG_MAPS}?limit=500&continue={token}"),
                None => format!("{CONFIG_MAPS}?limit=500"),
            };
            let text = client.get(&path).await;
            patch(&client, count % made, count).await;
            count += 1;
            let head = String::from_utf8_lossy(&text[..text.len().min(400)]).into_owned();
            let next = head.split_once("\"continue\":\"");
            token = next.and_then(|(_, rest)| Some(rest.split_once('"')?.0.to_owned()));
            if token.is_none() {
                break;
            }
        }
        row(
            &format!("pages: a page of 500 of {size}, in the past"),
            &us(since(begun), count),
            "flat",
        );
    }
}
