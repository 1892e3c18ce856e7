//! A process that leads whenever it can, and writes while it leads.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt as _;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::client::Body;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::time::sleep;
use tower::{Layer as _, ServiceExt as _};

use super::link::Link;
use super::process::Process;
use super::world::World;
use crate::environment::Environment;
use crate::leases::Leases;
use crate::{Fence, LeaderElection, Timings};

/// The longest lease of a candidate.
pub(super) const LONGEST_LEASE: Duration = Duration::from_secs(6);

/// A lease that is twice as long as the deadline, for clocks of which one is twice as fast. Its
/// length differs between candidates, as while their manifest is changed.
fn timings(rng: &mut StdRng) -> Timings {
    let lease_duration = Duration::from_secs(rng.random_range(4..=LONGEST_LEASE.as_secs()));
    Timings {
        lease_duration,
        renew_deadline: lease_duration / 2,
        retry_period: Duration::from_millis(400),
    }
}

/// A running candidate.
pub(super) struct Candidate {
    pub(super) identity: String,
    pub(super) process: Arc<Process>,
    pub(super) link: Link,
    pub(super) wall: Arc<Mutex<SignedDuration>>,
    pub(super) election: LeaderElection,
}

impl Candidate {
    pub(super) fn start(
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
        let election = election(
            &identity,
            &link,
            &process,
            &wall,
            rng.random(),
            timings(rng),
        );
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

pub(super) fn offset(rng: &mut StdRng) -> SignedDuration {
    SignedDuration::from_micros(rng.random_range(-1_000_000_000_000_000..1_000_000_000_000_000))
}

fn election(
    identity: &str,
    link: &Link,
    process: &Arc<Process>,
    wall: &Arc<Mutex<SignedDuration>>,
    seed: u64,
    timings: Timings,
) -> LeaderElection {
    let leases = Arc::new(link.clone());
    let mut election = LeaderElection::over(leases, "default", "simulated", identity)
        .with_timings(timings)
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
                    Err(_) => world.refused(),
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
            world.refused();
        }
    }
}
