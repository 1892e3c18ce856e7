//! Taking, renewing, losing and releasing the lease.
#![allow(clippy::unwrap_used, clippy::default_trait_access)] // Also in the helpers of tests.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::{
    Fate, Leader, Wire, edit, holder, leases, put, refusal, seconds, server, spec, until_leading,
};
use http::Method;
use k8s_openapi::jiff::Timestamp;
use serde_json::json;
use tokio::time::{Instant, sleep};

#[tokio::test(start_paused = true)]
async fn absent_lease_is_created_and_released() {
    let server = server();
    let election = Wire::to(&server).election("a");
    let during = election.with_lease(spec(&server)).await.unwrap();
    assert_eq!(during.holder_identity.as_deref(), Some("a"));
    assert_eq!(during.lease_duration_seconds, Some(15));
    assert_eq!(during.lease_transitions, Some(0));
    assert_eq!(during.acquire_time, during.renew_time);
    assert!(during.acquire_time.is_some());

    let after = spec(&server).await;
    assert_eq!(after.holder_identity.as_deref(), Some(""));
    assert_eq!(after.lease_duration_seconds, Some(1));
    assert_eq!(after.lease_transitions, Some(0));
    assert!(!election.is_leading());
}

#[tokio::test(start_paused = true)]
async fn renewals_keep_the_acquire_time_and_come_in_time() {
    let server = server();
    let wire = Wire::to(&server);
    // A clock that stands still: others see a renewal by its change all the same.
    let election = wire
        .election("a")
        .with_clock(|| Timestamp::UNIX_EPOCH)
        .with_seed(1);
    let leader = Leader::start(&election);
    until_leading(&election).await;
    let (first, version) = (spec(&server).await, version(&server).await);
    sleep(seconds(300)).await;

    assert!(election.is_leading() && !leader.has_ended());
    let last = spec(&server).await;
    assert_eq!(last.acquire_time, first.acquire_time);
    assert_eq!(last.lease_transitions, Some(0));
    assert_ne!(version, self::version(&server).await);
    let writes = wire.writes();
    let gaps: Vec<_> = writes.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.len() > 100);
    let in_range = |gap: &Duration| (seconds(2)..=Duration::from_millis(2402)).contains(gap);
    assert!(gaps.iter().all(in_range), "{gaps:?}");
    assert!(gaps.iter().any(|gap| *gap != gaps[0]), "no jitter");
    // One request each: the first read and the first write, then nothing but renewals.
    assert_eq!(wire.sent().len(), writes.len() + 1);
    let mut stamps: Vec<_> = wire
        .sent()
        .iter()
        .map(|sent| sent.body["spec"]["renewTime"].to_string())
        .collect();
    stamps.dedup();
    assert_eq!(
        stamps.len(),
        wire.sent().len(),
        "each renewal changes the lease"
    );
}

async fn version(server: &kube::Client) -> Option<String> {
    leases(server)
        .get("website")
        .await
        .unwrap()
        .metadata
        .resource_version
}

/// Its own lease would have run out much sooner.
#[tokio::test(start_paused = true)]
async fn expiry_is_judged_by_the_duration_in_the_lease() {
    let server = server();
    for (holds, waits) in [(60, 15), (15, 60)] {
        let first = Wire::to(&server)
            .election("first")
            .with_lease_duration(seconds(holds));
        let second = Wire::to(&server)
            .election("second")
            .with_lease_duration(seconds(waits));
        let leader = Leader::start(&first);
        until_leading(&first).await;
        let heir = Leader::start(&second);
        sleep(seconds(100)).await;
        assert!(!second.is_leading());
        let before = spec(&server).await;

        leader.kill().await;
        assert!(!first.is_leading());
        let took = until_leading(&second).await;
        // From the last renewal, at most 2.4 s ago; noticed up to 2.4 s after it.
        assert!(took > seconds(holds - 3), "{took:?}");
        assert!(took < seconds(holds + 4), "{took:?}");
        let after = spec(&server).await;
        assert_eq!(after.holder_identity.as_deref(), Some("second"));
        assert_eq!(
            after.lease_transitions,
            before.lease_transitions.map(|n| n + 1)
        );
        assert_ne!(after.acquire_time, before.acquire_time);
        heir.kill().await;
        leases(&server)
            .delete("website", &Default::default())
            .await
            .unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn released_lease_is_taken_within_two_retry_periods() {
    let server = server();
    let (first, second) = (
        Wire::to(&server).election("first"),
        Wire::to(&server).election("second"),
    );
    let done = Arc::new(tokio::sync::Notify::new());
    let (work, leads) = (done.clone(), first.clone());
    let leader = tokio::spawn(async move { leads.with_lease(work.notified()).await });
    until_leading(&first).await;
    let heir = Leader::start(&second);
    sleep(seconds(30)).await;

    done.notify_one();
    assert_eq!(leader.await.unwrap(), Some(()));
    let took = until_leading(&second).await;
    assert!(took < seconds(4), "{took:?}");
    assert_eq!(spec(&server).await.lease_transitions, Some(1));
    heir.kill().await;
}

/// The write was committed, its answer lost: the next attempt must not wait for itself.
#[tokio::test(start_paused = true)]
async fn own_write_is_known_again_when_its_answer_was_lost() {
    for method in [Method::POST, Method::PUT] {
        let server = server();
        if method == Method::PUT {
            put(
                &server,
                json!({"holderIdentity": "", "leaseDurationSeconds": 1}),
            )
            .await;
        }
        let wire = Wire::to(&server);
        let mut losses = 1;
        let lossy = method.clone();
        wire.judge(move |sent| {
            if sent.method == lossy && losses > 0 {
                losses -= 1;
                return Fate::AnswerLost;
            }
            Fate::Pass
        });
        let election = wire.election("a");
        let leader = Leader::start(&election);
        let took = until_leading(&election).await;
        // Half a renew deadline for the answer that never came, then a retry period.
        assert!(took < seconds(8), "{method}: {took:?}");
        let writes = wire.writes();
        assert_eq!(writes.len(), 2, "{method}: certain by a second write");
        leader.kill().await;
    }
}

/// From the sending of the last good renewal, whose answer took four seconds.
#[tokio::test(start_paused = true)]
async fn lost_at_the_deadline_from_the_last_good_send() {
    let server = server();
    let wire = Wire::to(&server);
    let good = Arc::new(std::sync::Mutex::new(None));
    let (last, mut puts) = (good.clone(), 0);
    wire.judge(move |sent| {
        if sent.method == Method::GET {
            return if puts > 3 { Fate::Hang } else { Fate::Pass };
        }
        puts += 1;
        match puts {
            0..3 => Fate::Pass,
            3 => {
                *last.lock().unwrap() = Some(sent.at);
                Fate::Delay(seconds(4))
            }
            _ => Fate::Hang,
        }
    });
    let election = wire.election("a");
    let dropped = Arc::new(AtomicBool::new(false));
    let guard = SetOnDrop(dropped.clone());
    let output = election
        .with_lease(async move {
            let _guard = guard;
            std::future::pending::<()>().await;
        })
        .await;
    assert_eq!(output, None);
    assert!(dropped.load(Ordering::SeqCst), "the work was dropped");
    let good: Instant = good.lock().unwrap().unwrap();
    let held = good.elapsed();
    assert!(
        held >= seconds(10) && held < Duration::from_millis(10_010),
        "{held:?}"
    );
    let tries = wire.sent().iter().filter(|sent| sent.at > good).count();
    assert!(tries >= 1, "tried again until then");
    assert_eq!(
        holder(&server).await,
        "a",
        "nothing can be released without a server"
    );
}

struct SetOnDrop(Arc<AtomicBool>);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_renewal_now_and_then_is_survived() {
    let server = server();
    let wire = Wire::to(&server);
    let mut n = 0;
    wire.judge(move |sent| {
        n += 1;
        match n % 5 {
            0 => refusal(503, "ServiceUnavailable"),
            1 if sent.method == Method::PUT => Fate::AnswerLost,
            2 => refusal(409, "Conflict"),
            _ => Fate::Pass,
        }
    });
    let election = wire.election("a");
    let leader = Leader::start(&election);
    until_leading(&election).await;
    for _ in 0..600 {
        sleep(seconds(1)).await;
        assert!(election.is_leading());
    }
    assert_eq!(spec(&server).await.lease_transitions, Some(0));
    leader.kill().await;
}

/// The process is stopped, and goes on after another one took the lease.
#[tokio::test(start_paused = true)]
async fn late_renewal_of_an_old_leader_fails() {
    let server = server();
    let wire = Wire::to(&server);
    let old = wire.election("old");
    let leader = Leader::start(&old);
    until_leading(&old).await;
    let heir = Wire::to(&server).election("heir");
    let waits = Leader::start(&heir);
    sleep(seconds(10)).await;
    wire.judge(|sent| match sent.method {
        Method::PUT => Fate::Delay(seconds(60)),
        _ => Fate::Hang,
    });
    assert_eq!(leader.ended().await, None);
    until_leading(&heir).await;
    sleep(seconds(120)).await;
    assert!(heir.is_leading(), "what was under way changed nothing");
    assert_eq!(holder(&server).await, "heir");
    waits.kill().await;
}

#[tokio::test(start_paused = true)]
async fn dropping_ends_everything_but_releases_nothing() {
    let server = server();
    let wire = Wire::to(&server);
    let election = wire.election("a");
    let leader = Leader::start(&election);
    until_leading(&election).await;
    sleep(seconds(5)).await;
    leader.kill().await;
    assert!(!election.is_leading());
    let sent = wire.sent().len();
    sleep(seconds(60)).await;
    assert_eq!(wire.sent().len(), sent, "nothing is renewed any more");
    assert_eq!(holder(&server).await, "a");

    election.release().await;
    assert_eq!(holder(&server).await, "", "but it can be released");
}

#[tokio::test(start_paused = true)]
async fn release_leaves_the_lease_of_another_alone() {
    let server = server();
    let other = Wire::to(&server).election("other");
    let leader = Leader::start(&other);
    until_leading(&other).await;
    let wire = Wire::to(&server);
    wire.election("a").release().await;
    assert_eq!(wire.writes(), []);
    assert!(other.is_leading());
    leader.kill().await;
}

#[tokio::test(start_paused = true)]
async fn release_ends_the_tenure_of_a_clone() {
    let server = server();
    let election = Wire::to(&server).election("a");
    let leader = Leader::start(&election);
    until_leading(&election).await;
    election.release().await;
    assert!(!election.is_leading());
    assert_eq!(leader.ended().await, None);
    assert_eq!(holder(&server).await, "");

    // Also by the work itself, which is dropped over it.
    let own = election.clone();
    assert_eq!(
        election
            .with_lease(async move { own.release().await })
            .await,
        None
    );
    assert_eq!(holder(&server).await, "");
}

/// Nobody waits for a server that is away longer than half a renew deadline.
#[tokio::test(start_paused = true)]
async fn output_is_not_lost_when_the_release_fails() {
    let server = server();
    let wire = Wire::to(&server);
    let election = wire.election("a");
    let cut = wire.clone();
    let output = election
        .with_lease(async move {
            cut.judge(|_| Fate::Hang);
            (7, Instant::now())
        })
        .await;
    let (seven, end) = output.unwrap();
    assert_eq!(seven, 7);
    assert!(end.elapsed() <= seconds(5), "{:?}", end.elapsed());
}

#[tokio::test(start_paused = true)]
async fn conflicting_release_is_tried_again() {
    let server = server();
    let election = Wire::to(&server).election("a");
    let hand = server.clone();
    let work = async move { edit(&hand, json!({"metadata": {"labels": {"team": "web"}}})).await };
    election.with_lease(work).await.unwrap();
    assert_eq!(holder(&server).await, "");
    let labels = leases(&server)
        .get("website")
        .await
        .unwrap()
        .metadata
        .labels
        .unwrap();
    assert_eq!(labels["team"], "web", "what others wrote stays");
}

#[tokio::test(start_paused = true)]
async fn clones_take_turns() {
    let server = server();
    let election = Wire::to(&server).election("a");
    let inside = Arc::new(AtomicBool::new(false));
    let turn = |election: k8s_controller_leader_election::LeaderElection| {
        let inside = inside.clone();
        async move {
            let work = async {
                assert!(!inside.swap(true, Ordering::SeqCst), "two at once");
                sleep(seconds(60)).await;
                inside.store(false, Ordering::SeqCst);
            };
            election.with_lease(work).await
        }
    };
    let outputs = tokio::join!(
        turn(election.clone()),
        turn(election.clone()),
        turn(election)
    );
    assert_eq!(outputs, (Some(()), Some(()), Some(())));
}

/// As two replicas with a fixed identity in their manifest.
#[tokio::test(start_paused = true)]
async fn two_processes_of_one_identity_do_not_lead_at_once() {
    let server = server();
    let (first, second) = (
        Wire::to(&server).election("same"),
        Wire::to(&server).election("same"),
    );
    let leader = Leader::start(&first);
    until_leading(&first).await;
    let logs = common::Logs::capture();
    let waits = Leader::start(&second);
    for _ in 0..100 {
        sleep(seconds(1)).await;
        assert!(first.is_leading() && !second.is_leading());
    }
    let [warning] = &logs.lines("WARN")[..] else {
        panic!("one warning");
    };
    assert!(
        warning.contains("under the identity of this process"),
        "{warning}"
    );
    leader.kill().await;
    assert!(until_leading(&second).await < seconds(18));
    waits.kill().await;
}

#[tokio::test(start_paused = true)]
async fn health_is_about_attempts_not_about_their_success() {
    let server = server();
    let wire = Wire::to(&server);
    let election = wire.election("a");
    assert_eq!(election.health(), Ok(()), "nobody wants the lease");
    wire.judge(|_| Fate::Hang);
    let leader = Leader::start(&election);
    sleep(seconds(600)).await;
    assert_eq!(
        election.health(),
        Ok(()),
        "a server that is away is no stall"
    );
    wire.judge(|_| Fate::Pass);
    until_leading(&election).await;
    sleep(seconds(600)).await;
    assert_eq!(election.health(), Ok(()));
    leader.kill().await;
    sleep(seconds(600)).await;
    assert_eq!(election.health(), Ok(()));

    // A future that nobody polls.
    let mut waits = Box::pin(election.with_lease(sleep(seconds(10_000))));
    let _ = futures::poll!(waits.as_mut());
    sleep(seconds(26)).await;
    let stalled = election.health().unwrap_err();
    assert_eq!(
        stalled.to_string(),
        "no attempt at the lease default/website for 26s"
    );
    drop(waits);
    assert_eq!(election.health(), Ok(()));
}
