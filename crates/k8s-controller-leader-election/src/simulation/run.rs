//! One simulation: what befalls the processes.

use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::time::{Instant, sleep};

use super::candidate::{Candidate, LONGEST_LEASE, offset};
use super::link::{LONGEST, Link, Weather};
use super::memory::Hand;
use super::world::{Findings, World};

/// How long somebody may take to lead once all is well: the lease and two retries by the slowest
/// clock, and the way of the requests.
const RECOVERY: Duration = LONGEST_LEASE.saturating_add(Duration::from_secs(1));

/// The longest time that a process stands still.
const LONGEST_STOP: Duration = Duration::from_secs(5);

/// The most processes at a time.
const MOST: usize = 5;

/// Runs one simulation.
pub(super) async fn simulate(server: Arc<dyn Hand>, seed: u64, wrong: bool) -> Findings {
    let rng = &mut StdRng::seed_from_u64(seed);
    let world = Arc::new(World::new());
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
            8 if restarts && candidates.len() < MOST && rng.random_bool(0.3) => {
                // A namesake takes its place, but it goes on.
                candidate
                    .process
                    .stop(rng.random_range(Duration::ZERO..LONGEST_STOP));
                let namesake = candidate.identity.clone();
                let namesake = Candidate::start(&world, server.clone(), namesake, wrong, rng);
                candidates.push(namesake);
            }
            8 if restarts => {
                candidate.process.kill();
                let again = if rng.random_bool(0.5) {
                    candidate.identity.clone()
                } else {
                    format!("{}-again", candidate.identity)
                };
                candidates[n] = Candidate::start(&world, server.clone(), again, wrong, rng);
            }
            8 if all_know => meddle(&*server, rng).await,
            _ => candidate.link.set(Weather::default()),
        }
    }
    recover(&world, &candidates).await;
    world.findings()
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
    world.calm_down();
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
            return world.violation(&format!("nobody leads {RECOVERY:?} after {event}"));
        }
        sleep(Duration::from_millis(50)).await;
    }
}
