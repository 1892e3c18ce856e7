//! What the simulation has to show.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use futures::future::{BoxFuture, FutureExt as _};
use k8s_embedded_apiserver::EmbeddedApiServer;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::DeleteParams;
use kube::{Api, Client};

use super::memory::{Hand, MemoryLeases};
use super::run::simulate;
use super::world::Findings;
use crate::leases::{KubeLeases, Leases};

fn run(seed: u64, wrong: bool) -> Findings {
    in_virtual_time(simulate(Arc::new(MemoryLeases::default()), seed, wrong))
}

fn in_virtual_time<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(future)
}

/// The lease of the simulation on an API server, by way of kube.
struct Served(KubeLeases, Api<Lease>);

impl Served {
    fn new() -> Self {
        let client = Client::new(EmbeddedApiServer::new(), "default");
        let leases = KubeLeases::new(client.clone(), "default", "simulated");
        Self(leases, Api::default_namespaced(client))
    }
}

impl Leases for Served {
    fn get(&self) -> BoxFuture<'static, kube::Result<Option<Lease>>> {
        self.0.get()
    }

    fn create(&self, lease: Lease) -> BoxFuture<'static, kube::Result<Lease>> {
        self.0.create(lease)
    }

    fn replace(&self, lease: Lease) -> BoxFuture<'static, kube::Result<Lease>> {
        self.0.replace(lease)
    }
}

impl Hand for Served {
    fn delete(&self) -> BoxFuture<'static, kube::Result<()>> {
        let api = self.1.clone();
        async move {
            api.delete("simulated", &DeleteParams::default())
                .await
                .map(drop)
        }
        .boxed()
    }
}

/// Never two leaders that can write, and a leader soon after all faults ended.
#[test]
fn one_leader_at_a_time() {
    let all_seeds = seeds();
    let (next, terms, sent, refused) = (
        AtomicU64::new(0),
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        AtomicUsize::new(0),
    );
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= all_seeds {
                return;
            }
            let findings = run(seed, false);
            assert!(findings.violations.is_empty(), "seed {seed}: {findings:#?}");
            terms.fetch_add(findings.terms, Ordering::Relaxed);
            sent.fetch_add(findings.sent, Ordering::Relaxed);
            refused.fetch_add(findings.refused, Ordering::Relaxed);
        }
    };
    thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..workers {
            scope.spawn(work);
        }
    });
    let all = (terms.into_inner(), sent.into_inner(), refused.into_inner());
    eprintln!("terms, sent, refused: {all:?}");
    let seeds = usize::try_from(all_seeds).unwrap();
    assert!(
        all.0 > 2 * seeds && all.1 > 5 * seeds && all.2 > seeds,
        "much happened: {all:?}"
    );
}

/// How many seeds are tried; a variable asks for another number.
fn seeds() -> u64 {
    match std::env::var("K8S_CONTROLLER_SEEDS") {
        Ok(number) => number.parse().expect("K8S_CONTROLLER_SEEDS is a number"),
        Err(_) => 10_000,
    }
}

/// The same on an API server that has all the rules of one.
#[test]
fn one_leader_at_a_time_on_an_api_server() {
    for seed in 0..50 {
        let findings =
            in_virtual_time(async { simulate(Arc::new(Served::new()), seed, false).await });
        assert!(findings.violations.is_empty(), "seed {seed}: {findings:#?}");
        assert!(findings.terms > 0, "seed {seed}: {findings:#?}");
    }
}

/// The simulation notices a deadline that is counted from the answer of a renewal.
#[test]
fn notices_a_deadline_from_the_answer() {
    const SEEDS: u64 = 600;
    let caught = (0..SEEDS).find(|seed| {
        let findings = run(*seed, true);
        findings.violations.iter().any(|what| what.contains("term"))
    });
    assert!(caught.is_some(), "not within {SEEDS} seeds");
    eprintln!("caught by seed {caught:?}");
}

/// A seed that fails can be looked at again.
#[test]
fn a_seed_comes_out_the_same_each_time() {
    for seed in 0..20 {
        assert_eq!(run(seed, false), run(seed, false), "seed {seed}");
    }
}
