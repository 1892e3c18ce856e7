//! How much the recorder remembers.

use std::time::Duration;

use k8s_controller_events::Scope;
use tokio::time::{advance, sleep};

use crate::{config_map, event, reference, set_up};

#[tokio::test(start_paused = true)]
async fn the_least_recently_published_goes_first() {
    let (server, recorder) = set_up();
    let recorder = recorder.with_max_series(2);
    let publish = |name: &'static str| {
        let recorder = &recorder;
        async move {
            recorder
                .publish(&config_map(name), &event("Broke"))
                .await
                .unwrap();
        }
    };
    for name in ["a", "b", "a", "c"] {
        publish(name).await; // "b" makes room for "c"
    }
    assert_eq!(recorder.tracked_series(), 2);
    assert_eq!(recorder.stats().evicted_series, 1);
    for name in ["a", "c", "b"] {
        publish(name).await;
    }
    assert_eq!(
        server.counts(),
        [None, None, Some(2), None, Some(3), Some(2), None]
    );
}

#[tokio::test(start_paused = true)]
async fn a_cap_of_none() {
    let (server, recorder) = set_up();
    let recorder = recorder.with_max_series(0);
    for _ in 0..3 {
        recorder
            .publish(&config_map("web"), &event("Broke"))
            .await
            .unwrap();
    }
    recorder.forget(&config_map("web"));
    assert_eq!(server.counts(), [None; 3]);
    assert_eq!(recorder.tracked_series(), 0);
}

#[tokio::test(start_paused = true)]
async fn ever_new_objects_stay_within_the_cap() {
    let (_server, recorder) = set_up();
    let recorder = recorder.with_max_series(100);
    for i in 0..1_000 {
        let name = format!("web-{i}");
        recorder
            .publish_to(&reference(&name), Scope::Failure, &event("Broke"))
            .await
            .unwrap();
        assert!(recorder.tracked_series() <= 100);
    }
    assert_eq!(recorder.stats().evicted_series, 900);
}

#[tokio::test(start_paused = true)]
async fn series_expire_one_by_one() {
    let (_server, recorder) = set_up();
    for name in ["a", "b", "c"] {
        recorder
            .publish(&config_map(name), &event("Broke"))
            .await
            .unwrap();
        sleep(Duration::from_secs(60)).await;
    }
    advance(Duration::from_secs(7 * 60)).await;
    for left in [2, 1, 0] {
        assert_eq!(recorder.tracked_series(), left);
        advance(Duration::from_secs(60)).await;
    }
}
