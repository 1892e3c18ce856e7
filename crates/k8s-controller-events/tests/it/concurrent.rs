//! Publishes at the same time, slow ones, and those that their callers give up.

use std::future::Future;
use std::time::Duration;

use futures::future::join_all;
use k8s_controller_events::{DEFAULT_TIMEOUT, PublishError, Scope};
use tokio::time::{Instant, timeout};

use crate::server::Answer;
use crate::{config_map, event, reference, set_up};

/// Polls a future for a while and drops it.
async fn give_up(future: impl Future) {
    let result = timeout(Duration::from_millis(10), future).await;
    assert!(result.is_err(), "the future was to be given up");
}

#[tokio::test(start_paused = true)]
async fn equal_events_make_one_and_its_patches() {
    let (server, recorder) = set_up();
    server.script(vec![Answer::Late(Duration::from_millis(100)); 10]);
    let (web, broke) = (config_map("web"), event("Broke"));
    let results = join_all((0..10).map(|_| recorder.publish(&web, &broke))).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    let expected: Vec<_> = std::iter::once(None).chain((2..=10).map(Some)).collect();
    assert_eq!(server.counts(), expected);
    assert_eq!(server.events().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn different_events_do_not_wait_for_each_other() {
    let (server, recorder) = set_up();
    server.script(vec![Answer::Late(Duration::from_secs(4)); 3]);
    let start = Instant::now();
    let (web, db) = (config_map("web"), config_map("db"));
    let (broke, slow) = (event("Broke"), event("Slow"));
    let results = join_all([
        recorder.publish(&web, &broke),
        recorder.publish(&web, &slow),
        recorder.publish(&db, &broke),
    ])
    .await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(start.elapsed(), Duration::from_secs(4));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers() {
    let (server, recorder) = set_up();
    server.script([Answer::Silence]);
    let start = Instant::now();
    let error = recorder
        .publish(&config_map("web"), &event("Broke"))
        .await
        .unwrap_err();
    assert!(
        matches!(error, PublishError::Timeout(DEFAULT_TIMEOUT)),
        "{error:?}"
    );
    assert_eq!(error.to_string(), "event not sent within 5s");
    assert_eq!(start.elapsed(), DEFAULT_TIMEOUT);
    assert_eq!(recorder.stats().timed_out, 1);

    // Nobody knows whether that event was made. The next one is.
    recorder
        .publish(&config_map("web"), &event("Broke"))
        .await
        .unwrap();
    assert_eq!(server.counts(), [None, None]);
}

#[tokio::test(start_paused = true)]
async fn the_timeout_includes_the_wait_for_another() {
    let (server, recorder) = set_up();
    let recorder = recorder.with_timeout(Duration::from_secs(1));
    server.script([
        Answer::Late(Duration::from_millis(600)),
        Answer::Late(Duration::from_millis(600)),
    ]);
    let (web, broke) = (config_map("web"), event("Broke"));
    let start = Instant::now();
    let results = join_all([
        recorder.publish(&web, &broke),
        recorder.publish(&web, &broke),
        recorder.publish(&web, &broke),
    ])
    .await;
    assert!(results[0].is_ok());
    assert!(
        matches!(results[1], Err(PublishError::Timeout(_))),
        "{results:?}"
    );
    assert!(
        matches!(results[2], Err(PublishError::Timeout(_))),
        "{results:?}"
    );
    assert_eq!(start.elapsed(), Duration::from_secs(1));
    // The third one sent nothing.
    assert_eq!(server.counts(), [None, Some(2)]);
    recorder.publish(&web, &broke).await.unwrap();
    assert_eq!(server.counts()[2], Some(3));
}

#[tokio::test(start_paused = true)]
async fn one_given_up_while_it_waits() {
    let (server, recorder) = set_up();
    server.script([Answer::Late(Duration::from_secs(1))]);
    let (web, broke) = (config_map("web"), event("Broke"));
    let (first, ()) = tokio::join!(
        recorder.publish(&web, &broke),
        give_up(recorder.publish(&web, &broke)),
    );
    first.unwrap();
    recorder.publish(&web, &broke).await.unwrap();
    assert_eq!(server.counts(), [None, Some(2)]);
    assert_eq!(recorder.stats().cancelled, 1);
}

#[tokio::test(start_paused = true)]
async fn one_given_up_while_its_event_is_made() {
    let (server, recorder) = set_up();
    server.script([Answer::Silence]);
    let (web, broke) = (config_map("web"), event("Broke"));
    let ((), second) = tokio::join!(
        give_up(recorder.publish(&web, &broke)),
        recorder.publish(&web, &broke),
    );
    second.unwrap();
    assert_eq!(server.counts(), [None, None]);
    let stats = recorder.stats();
    assert_eq!((stats.created, stats.cancelled), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn one_given_up_while_it_is_counted_keeps_its_count() {
    let (server, recorder) = set_up();
    let (web, broke) = (config_map("web"), event("Broke"));
    recorder.publish(&web, &broke).await.unwrap();
    recorder.publish(&web, &broke).await.unwrap();
    server.script([Answer::Silence]);
    give_up(recorder.publish(&web, &broke)).await;
    recorder.publish(&web, &broke).await.unwrap();
    assert_eq!(server.counts(), [None, Some(2), Some(3), Some(4)]);
    assert_eq!(server.events()[0]["series"]["count"], 4);
}

#[tokio::test(start_paused = true)]
async fn a_future_that_was_never_polled_is_nothing() {
    let (server, recorder) = set_up();
    drop(recorder.publish(&config_map("web"), &event("Broke")));
    assert!(server.requests().is_empty());
    assert_eq!(recorder.stats(), k8s_controller_events::Stats::default());
}

#[tokio::test(start_paused = true)]
async fn forgetting_during_a_publish_ends_its_series() {
    let (server, recorder) = set_up();
    let (web, broke) = (reference("web"), event("Broke"));
    let publish = || recorder.publish_to(&web, Scope::Failure, &broke);
    let forget = async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        recorder.forget_scope(&web, Scope::Failure);
    };
    // While the event is made.
    server.script([Answer::Late(Duration::from_secs(1))]);
    let (made, ()) = tokio::join!(publish(), forget);
    made.unwrap();
    assert_eq!(recorder.tracked_series(), 0);
    publish().await.unwrap();
    // While it is counted.
    let forget = async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        recorder.forget_scope(&web, Scope::Failure);
    };
    server.script([Answer::Late(Duration::from_secs(1))]);
    let (counted, ()) = tokio::join!(publish(), forget);
    counted.unwrap();
    publish().await.unwrap();
    assert_eq!(server.counts(), [None, None, Some(2), None]);
}

#[tokio::test(start_paused = true)]
async fn a_recorder_is_shared_between_tasks() {
    let (server, recorder) = set_up();
    let recorder = std::sync::Arc::new(recorder);
    let tasks = (0..8).map(|_| {
        let recorder = recorder.clone();
        tokio::spawn(async move { recorder.publish(&config_map("web"), &event("Broke")).await })
    });
    for result in join_all(tasks).await {
        result.unwrap().unwrap();
    }
    assert_eq!(server.events()[0]["series"]["count"], 8);
}
