//! What ends a series before its window does.

use k8s_controller_events::Scope;

use crate::{config_map, event, reference, set_up};

#[tokio::test(start_paused = true)]
async fn forgetting_ends_the_series_of_that_object() {
    let (server, recorder) = set_up();
    for name in ["web", "db"] {
        recorder
            .publish(&config_map(name), &event("Broke"))
            .await
            .unwrap();
    }
    recorder
        .publish(&config_map("web"), &event("Slow"))
        .await
        .unwrap();
    recorder.forget(&config_map("web"));
    assert_eq!(recorder.tracked_series(), 1);
    recorder.forget(&config_map("unknown"));
    for name in ["web", "db"] {
        recorder
            .publish(&config_map(name), &event("Broke"))
            .await
            .unwrap();
    }
    recorder
        .publish(&config_map("web"), &event("Slow"))
        .await
        .unwrap();
    assert_eq!(server.counts(), [None, None, None, None, Some(2), None]);
}

#[tokio::test(start_paused = true)]
async fn scopes_are_apart() {
    let (server, recorder) = set_up();
    let web = reference("web");
    let event = event("Broke");
    recorder
        .publish_to(&web, Scope::Ordinary, &event)
        .await
        .unwrap();
    recorder
        .publish_to(&web, Scope::Failure, &event)
        .await
        .unwrap();
    recorder.publish(&config_map("web"), &event).await.unwrap();
    recorder.forget_scope(&web, Scope::Failure);
    recorder
        .publish_to(&web, Scope::Failure, &event)
        .await
        .unwrap();
    recorder
        .publish_to(&web, Scope::Ordinary, &event)
        .await
        .unwrap();
    recorder.forget(&config_map("web"));
    recorder
        .publish_to(&web, Scope::Failure, &event)
        .await
        .unwrap();
    recorder
        .publish_to(&web, Scope::Ordinary, &event)
        .await
        .unwrap();
    assert_eq!(
        server.counts(),
        [None, None, Some(2), None, Some(3), Some(2), None]
    );
}

#[tokio::test(start_paused = true)]
async fn an_event_that_is_gone_is_created_again() {
    let (server, recorder) = set_up();
    let publish = || async {
        recorder
            .publish(&config_map("web"), &event("Broke"))
            .await
            .unwrap();
    };
    publish().await;
    publish().await;
    server.expire_events();
    publish().await;
    publish().await;
    assert_eq!(server.counts(), [None, Some(2), Some(3), None, Some(2)]);
    assert_eq!(server.events()[0]["series"]["count"], 2);
    let stats = recorder.stats();
    assert_eq!((stats.created, stats.patched, stats.lost()), (2, 2, 0));
}
