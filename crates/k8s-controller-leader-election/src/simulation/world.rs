//! Processes, what they do under the lease, and what may befall them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt as _;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::client::Body;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::time::{Instant, sleep};
use tower::{Layer as _, ServiceExt as _};

use super::link::{LONGEST, Link, Weather};
use super::memory::Hand;
use super::process::Process;
use crate::environment::Environment;
use crate::leases::Leases;
use crate::{Fence, LeaderElection, Timings};

/// A lease that is twice as long as the deadline, for clocks of which one is twice as fast.
const TIMINGS: Timings = Timings {
    lease_duration: Duration::from_secs(4),
    renew_deadline: Duration::from_secs(2),
    retry_period: Duration::from_millis(400),
};

/// How long somebody may take to lead once all is well: the lease and two retries by the slowest
/// clock, and the way of the requests.
const RECOVERY: Duration = Duration::from_millis(4000 + 2 * 400 + 200);

/// The longest time that a process stands still.
const LONGEST_STOP: Duration = Duration::from_secs(5);

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Findings {
    /// Each makes the library unfit.
    pub(super) violations: Vec<String>,
    pub(super) terms: usize,
    pub(super) sent: usize,
    pub(super) refused: usize,
}

/// What is common to all processes.
#[derive(Default)]
struct World {
    fences: Mutex<Vec<Fence>>,
    findings: Mutex<Findings>,
    start: Mutex<Option<Instant>>,
    /// No work ends by itself any more.
    is_calm: Mutex<bool>,
}

impl World {
    fn violation(&self, what: String) {
        let at = self.start.lock().unwrap().map(|start| start.elapsed());
        let mut findings = self.findings.lock().unwrap();
        findings.violations.push(format!("at {at:?}: {what}"));
    }

    /// A new term begins; no earlier one may be able to write.
    fn begin(&self, fence: &Fence) -> usize {
        let mut fences = self.fences.lock().unwrap();
        let term = fences.len();
        for (earlier, fence) in fences.iter().enumerate() {
            if fence.is_held() {
                self.violation(format!("term {term} begins while {earlier} is held"));
            }
        }
        fences.push(fence.clone());
        self.findings.lock().unwrap().terms += 1;
        term
    }

    /// A write of a term goes out.
    fn sent(&self, term: usize) {
        let terms = self.fences.lock().unwrap().len();
        if term + 1 != terms {
            self.violation(format!("a write of term {term} after {} began", terms - 1));
        }
        self.findings.lock().unwrap().sent += 1;
    }

    fn is_calm(&self) -> bool {
        *self.is_calm.lock().unwrap()
    }
}

/// A running candidate.
struct Candidate {
    identity: String,
    process: Arc<Process>,
    link: Link,
    wall: Arc<Mutex<SignedDuration>>,
    election: LeaderElection,
}

impl Candidate {
    fn start(
        world: &Arc<World>,
        server: Arc<dyn Leases>,
        identity: String,
        wrong: bool,
        rng: &mut StdRng,
    ) -> Self {
        // One clock is at most twice as fast as another. The ends are the interesting ones.
        let rate = match rng.random_range(0..5) {
            0 | 1 => 1.0,
            2 | 3 => 2.0,
            _ => rng.random_range(1.0..2.0),
        };
        let process = Arc::new(Process::new(rate, wrong));
        let link = Link::new(server, rng.random());
        let wall = Arc::new(Mutex::new(offset(rng)));
        let election = election(&identity, &link, &process, &wall, rng.random());
        let work = serve(
            election.clone(),
            world.clone(),
            process.clone(),
            rng.random(),
        );
        tokio::spawn(process.clone().run(work));
        Self {
            identity,
            process,
            link,
            wall,
            election,
        }
    }
}

fn offset(rng: &mut StdRng) -> SignedDuration {
    SignedDuration::from_micros(rng.random_range(-1_000_000_000_000_000..1_000_000_000_000_000))
}

fn election(
    identity: &str,
    link: &Link,
    process: &Arc<Process>,
    wall: &Arc<Mutex<SignedDuration>>,
    seed: u64,
) -> LeaderElection {
    let leases = Arc::new(link.clone());
    let mut election = LeaderElection::over(leases, "default", "simulated", identity)
        .with_timings(TIMINGS)
        .unwrap();
    let mut environment = Environment::system();
    environment.set_process(process.clone());
    environment.set_seed(seed);
    let (start, process, wall) = (process.now(), process.clone(), wall.clone());
    environment.set_clock(move || {
        let offset = *wall.lock().unwrap();
        let since = SignedDuration::try_from(process.now() - start).unwrap();
        Timestamp::UNIX_EPOCH + SignedDuration::from_secs(1_500_000_000) + offset + since
    });
    election.environment = environment;
    election
}

/// What a process does: leads whenever it can.
async fn serve(election: LeaderElection, world: Arc<World>, process: Arc<Process>, seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    loop {
        let (works, rests) = (rng.random_range(200..8000), rng.random_range(0..1000));
        let seeds: (u64, u64) = rng.random();
        election
            .with_fenced_lease(|fence| {
                let term = world.begin(&fence);
                // A task that outlives the lease.
                let ghost = write(world.clone(), process.clone(), fence.clone(), term, seeds.0);
                tokio::spawn(process.clone().run(async move {
                    let _ = tokio::time::timeout(Duration::from_secs(8), ghost).await;
                }));
                let work = write(world.clone(), process.clone(), fence, term, seeds.1);
                let world = world.clone();
                async move {
                    let _ = tokio::time::timeout(Duration::from_millis(works), work).await;
                    while world.is_calm() {
                        sleep(Duration::from_millis(200)).await;
                    }
                }
            })
            .await;
        if !world.is_calm() {
            sleep(Duration::from_millis(rests)).await;
        }
    }
}

/// Writes again and again, through the fence.
async fn write(world: Arc<World>, process: Arc<Process>, fence: Fence, term: usize, seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    let layer = fence.layer();
    loop {
        sleep(Duration::from_millis(rng.random_range(50..1500))).await;
        // A connection that is not there yet.
        let connects = Duration::from_millis(match rng.random_range(0..4) {
            0 => rng.random_range(0..4000),
            _ => 0,
        });
        let (world_, process) = (world.clone(), process.clone());
        let connection = tower::service_fn(move |request: Request<Body>| {
            let (world, process) = (world_.clone(), process.clone());
            let task = async move {
                sleep(connects).await;
                match request.into_body().collect().await {
                    Ok(_) => world.sent(term),
                    Err(_) => world.findings.lock().unwrap().refused += 1,
                }
            };
            let task = tokio::spawn(process.run(task));
            async move {
                match task.await {
                    Ok(()) => Ok(Response::new(Body::empty())),
                    Err(panicked) => Err(panicked),
                }
            }
        });
        let body = if rng.random_bool(0.5) {
            Body::empty()
        } else {
            b"{}".to_vec().into()
        };
        let request = Request::post("/").body(body).unwrap();
        let held = fence.is_held();
        if layer.layer(connection).oneshot(request).await.is_err() && !held {
            world.findings.lock().unwrap().refused += 1;
        }
    }
}

/// Runs one simulation.
pub(super) async fn simulate(server: Arc<dyn Hand>, seed: u64, wrong: bool) -> Findings {
    let rng = &mut StdRng::seed_from_u64(seed);
    let world = Arc::new(World::default());
    *world.start.lock().unwrap() = Some(Instant::now());
    // A hand in the lease is only harmless to processes that saw the lease before.
    let restarts = rng.random_bool(0.5);
    let mut candidates: Vec<Candidate> = (0..3)
        .map(|n| Candidate::start(&world, server.clone(), format!("candidate-{n}"), wrong, rng))
        .collect();

    let end = Instant::now() + Duration::from_secs(rng.random_range(6..12));
    while Instant::now() < end {
        sleep(Duration::from_millis(rng.random_range(50..1500))).await;
        // What befalls the leader matters most.
        let leader = candidates
            .iter()
            .position(|candidate| candidate.election.is_leading());
        let n = match leader.filter(|_| rng.random_bool(0.5)) {
            Some(leader) => leader,
            None => rng.random_range(0..candidates.len()),
        };
        let all_know = candidates
            .iter()
            .all(|candidate| candidate.link.has_seen_it());
        let candidate = &candidates[n];
        match rng.random_range(0..10) {
            0..3 => candidate
                .process
                .stop(rng.random_range(Duration::ZERO..LONGEST_STOP)),
            3..5 => candidate.link.set(weather(rng)),
            5 | 6 => drop(tokio::spawn(storm(candidate.link.clone(), rng.random()))),
            7 => *candidate.wall.lock().unwrap() = offset(rng),
            8 if restarts => {
                candidate.process.kill();
                let again = match rng.random_bool(0.5) {
                    true => candidate.identity.clone(),
                    false => format!("{}-again", candidate.identity),
                };
                candidates[n] = Candidate::start(&world, server.clone(), again, wrong, rng);
            }
            8 if all_know => meddle(&*server, rng).await,
            _ => candidate.link.set(Weather::default()),
        }
    }
    recover(&world, &candidates).await;
    let findings = world.findings.lock().unwrap().clone();
    findings
}

fn weather(rng: &mut StdRng) -> Weather {
    Weather {
        cut: rng.random_bool(0.4),
        slow_there: rng.random_bool(0.4),
        slow_back: rng.random_bool(0.5),
        lost: if rng.random_bool(0.4) {
            rng.random_range(1..8)
        } else {
            0
        },
    }
}

/// A network that gets slow, then fails for a while.
async fn storm(link: Link, seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    link.set(Weather {
        slow_back: true,
        ..Weather::default()
    });
    sleep(Duration::from_millis(rng.random_range(0..2000))).await;
    link.set(Weather {
        cut: true,
        ..Weather::default()
    });
    sleep(Duration::from_millis(rng.random_range(1000..5000))).await;
    link.set(Weather::default());
}

/// Edits or deletes the lease by hand.
async fn meddle(server: &dyn Hand, rng: &mut StdRng) {
    let Ok(Some(mut lease)) = server.get().await else {
        return;
    };
    let Some(spec) = lease.spec.as_mut() else {
        return;
    };
    match rng.random_range(0..7) {
        0 => return drop(server.delete().await),
        1 => lease.spec = None,
        2 => spec.holder_identity = Some(String::new()),
        3 => spec.holder_identity = None,
        4 => spec.lease_duration_seconds = Some(1),
        5 => spec.lease_duration_seconds = None,
        _ => spec.holder_identity = Some("somebody-else".to_owned()),
    }
    drop(server.replace(lease).await);
}

/// All is well again. Then the leader dies, and another has to lead soon.
async fn recover(world: &World, candidates: &[Candidate]) {
    for candidate in candidates {
        candidate.link.clear_up();
    }
    *world.is_calm.lock().unwrap() = true;
    // What is under way arrives, who stands still goes on.
    let stops = candidates
        .iter()
        .map(|candidate| candidate.process.stopped_for());
    sleep(stops.max().unwrap_or_default().max(2 * LONGEST)).await;
    await_leader(world, candidates, "all faults ended").await;
    for candidate in candidates {
        if candidate.election.is_leading() {
            candidate.process.kill();
        }
    }
    await_leader(world, candidates, "the leader died").await;
}

async fn await_leader(world: &World, candidates: &[Candidate], event: &str) {
    let start = Instant::now();
    let leads =
        |candidate: &Candidate| candidate.election.is_leading() && !candidate.process.is_dead();
    while !candidates.iter().any(leads) {
        if start.elapsed() > RECOVERY {
            return world.violation(format!("nobody leads {RECOVERY:?} after {event}"));
        }
        sleep(Duration::from_millis(50)).await;
    }
}
