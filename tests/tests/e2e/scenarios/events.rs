//! Events: what a server accepts, drops, faults.

use std::time::Duration;

use http::Method;
use k8s_controller::events::{Event, EventRecorder, EventType, PublishError};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::api::events::v1::Event as Stored;
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::{Resource, ResourceExt as _};
use tracing::Level;

use crate::harness::cluster::named;
use crate::harness::cluster::recorder_with;
use crate::harness::kinds::RealmSpec;
use crate::harness::{Cluster, Fault, Realm, Script, Widget, Without};

pub(super) fn event(note: &str) -> Event {
    Event {
        type_: EventType::Normal,
        reason: "Tested".into(),
        action: "Test".into(),
        note: Some(note.into()),
        related: None,
    }
}

/// The count that an event stands for.
pub(super) fn count(event: &Stored) -> i32 {
    event.series.as_ref().map_or(1, |series| series.count)
}

pub(super) async fn config_map(cluster: &Cluster, name: &str) -> ConfigMap {
    cluster
        .api::<ConfigMap>()
        .create(&PostParams::default(), &named::<ConfigMap>(name))
        .await
        .unwrap()
}

/// An event about an object of each sort is stored and counts up.
pub(crate) async fn accepted_for_all_sorts_of_objects(cluster: Cluster) {
    let map = config_map(&cluster, "m").await;
    let long = config_map(&cluster, &"n".repeat(253)).await;
    let almost = config_map(
        &cluster,
        &format!("{}.{}", "a".repeat(120), "b".repeat(117)),
    )
    .await;
    let realm = cluster
        .create_realm(&Realm::new(&cluster.unique("realm"), RealmSpec::default()))
        .await;
    let mut role: ClusterRole = named("system:foo");
    role.metadata.uid = Some(cluster.unique("uid-of-system-foo"));

    accepted(&cluster, &map, cluster.namespace(), "m.").await;
    accepted(&cluster, &long, cluster.namespace(), "event.").await;
    accepted(&cluster, &almost, cluster.namespace(), "").await;
    accepted(
        &cluster,
        &realm,
        "default",
        &format!("{}.", realm.name_any()),
    )
    .await;
    accepted(&cluster, &role, "default", "event.").await;
    assert!(
        cluster.logs().at(Level::WARN).is_empty(),
        "{}",
        cluster.logs().tail(20)
    );
}

async fn accepted<K: Resource<DynamicType: Default>>(
    cluster: &Cluster,
    object: &K,
    namespace: &str,
    prefix: &str,
) {
    let recorder = cluster.recorder();
    let name = object.name_any();
    for _ in 0..2 {
        recorder
            .publish(object, &event("hello"))
            .await
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let events = cluster.events_in(namespace, &object.uid().unwrap()).await;
    assert_eq!(events.iter().map(count).collect::<Vec<_>>(), [2], "{name}");
    assert_eq!(events[0].namespace().as_deref(), Some(namespace));
    assert!(
        events[0].name_any().starts_with(prefix),
        "{} for {name}",
        events[0].name_any()
    );
    let about = events[0].regarding.clone().unwrap();
    assert_eq!(about.name.as_deref(), Some(name.as_str()));
    assert_eq!(
        about.kind.as_deref(),
        Some(&*K::kind(&K::DynamicType::default()))
    );
    assert_eq!(about.namespace, object.namespace());
}

pub(crate) async fn long_note_is_cut(cluster: Cluster) {
    let recorder = cluster.recorder();
    // Characters of one to four bytes, so that no fixed limit falls on a boundary by luck.
    for (index, unit) in ["é", "€", "𝄞", "aé€𝄞"].into_iter().enumerate() {
        let map = config_map(&cluster, &format!("m{index}")).await;
        let note = unit.repeat(5_000 / unit.len());
        recorder.publish(&map, &event(&note)).await.unwrap();
        recorder.publish(&map, &event(&note)).await.unwrap();
        let events = cluster.events(&map).await;
        assert_eq!(events.iter().map(count).collect::<Vec<_>>(), [2], "{unit}");
        let stored = events[0].note.clone().unwrap();
        let kept = stored
            .strip_suffix("...")
            .unwrap_or_else(|| panic!("{unit}: {stored}"));
        assert!(note.starts_with(kept), "{unit}");
        assert!(
            stored.len() <= 1024 && stored.len() > 1024 - unit.len() - 3,
            "{unit}: {} bytes",
            stored.len()
        );
    }
}

/// Nothing can be created in a namespace that is being deleted: no error, no warning, no event.
pub(crate) async fn terminating_namespace_drops_quietly(cluster: Cluster) {
    let doomed = cluster.another_namespace("doomed").await;
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), &doomed);
    let mut held: ConfigMap = named("held");
    held.metadata.finalizers = Some(vec!["e2e.example.com/hold".into()]);
    let held = maps.create(&PostParams::default(), &held).await.unwrap();
    let namespaces: Api<Namespace> = cluster.all();
    namespaces
        .delete(&doomed, &DeleteParams::default())
        .await
        .unwrap();
    cluster
        .eventually("a terminating namespace", async || {
            let phase = namespaces
                .get(&doomed)
                .await
                .unwrap()
                .status
                .and_then(|status| status.phase);
            if phase.as_deref() == Some("Terminating") {
                Ok(())
            } else {
                Err(format!("{phase:?}"))
            }
        })
        .await;

    let recorder = cluster.recorder();
    recorder.publish(&held, &event("too late")).await.unwrap();
    recorder.publish(&held, &event("too late")).await.unwrap();
    assert!(cluster.events(&held).await.is_empty());
    let loud = cluster.logs().lines(|line| line.level <= Level::WARN);
    assert!(loud.is_empty(), "{loud:?}");
    let told = cluster
        .logs()
        .lines(|line| line.mentions(&doomed) && line.target.starts_with("k8s_controller"));
    assert!(
        !told.is_empty(),
        "a drop is quiet, and not without a trace:\n{}",
        cluster.logs().tail(20)
    );

    let stats = recorder.stats();
    assert_eq!(
        (stats.namespace_terminating, stats.lost()),
        (2, 2),
        "{stats:?}"
    );

    // Elsewhere the same recorder goes on.
    let map = config_map(&cluster, "m").await;
    recorder.publish(&map, &event("in time")).await.unwrap();
    assert_eq!(cluster.events(&map).await.len(), 1);
}

/// Somebody else has our name: another one is taken.
pub(crate) async fn taken_name(cluster: Cluster) {
    let (client, faults) = cluster.faulty();
    faults.inject(
        1,
        |sent| sent.is(&Method::POST, "/events"),
        Fault::status(409, "AlreadyExists", "events \"m.1\" already exists"),
    );
    let recorder = recorder_with(client);
    let map = config_map(&cluster, "m").await;
    recorder.publish(&map, &event("hello")).await.unwrap();
    let posts = faults.sent(|sent| sent.method == Method::POST);
    assert_eq!(posts.len(), 2);
    assert_ne!(
        posts[0].json()["metadata"]["name"],
        posts[1].json()["metadata"]["name"]
    );
    assert_eq!(
        cluster
            .events(&map)
            .await
            .iter()
            .map(count)
            .collect::<Vec<_>>(),
        [1]
    );
}

/// A server that does not answer costs the timeout and no more, and the error says so.
pub(crate) async fn timeout(cluster: Cluster) {
    let (client, faults) = cluster.faulty();
    faults.inject(1, |sent| sent.is(&Method::POST, "/events"), Fault::Hang);
    let recorder = EventRecorder::new(client, cluster.recorder().reporter().clone())
        .with_timeout(Duration::from_millis(300));
    let map = config_map(&cluster, "m").await;
    let start = tokio::time::Instant::now();
    let error = recorder.publish(&map, &event("hello")).await.unwrap_err();
    assert!(
        matches!(error, PublishError::Timeout(limit) if limit == Duration::from_millis(300)),
        "{error:?}"
    );
    assert!(
        start.elapsed() >= Duration::from_millis(300) && start.elapsed() < Duration::from_secs(2)
    );
    recorder.publish(&map, &event("hello")).await.unwrap();
    assert_eq!(cluster.events(&map).await.len(), 1);
}

/// A failing recorder never fails a pass.
pub(crate) async fn refused_events_do_not_fail_passes(cluster: Cluster) {
    let (client, faults) = cluster.faulty();
    faults.inject(
        usize::MAX,
        |sent| sent.is(&Method::POST, "/events"),
        Fault::status(403, "Forbidden", "events is forbidden: no"),
    );
    let script = Script::<Widget, Without>::new().apply(|_, _| async { Err("no".into()) });
    let recorder = recorder_with(client.clone());
    let running = cluster.run(
        cluster
            .controller(client, &script)
            .with_event_recorder(recorder),
    );
    let widget = cluster.create_widget("w").await;
    cluster
        .eventually("failures", async || match script.failures().len() {
            few @ 0..3 => Err(format!("{few}")),
            _ => Ok(()),
        })
        .await;
    assert!(
        cluster
            .logs()
            .at(Level::WARN)
            .iter()
            .any(|line| line.mentions("forbidden")),
        "{}",
        cluster.logs().tail(20)
    );
    faults.clear();
    cluster
        .eventually("the event", async || {
            cluster
                .events(&widget)
                .await
                .pop()
                .ok_or_else(|| "none".into())
        })
        .await;
    assert!(running.is_running());
}

/// Both APIs of events show one store.
pub(crate) async fn both_event_groups_show_it(cluster: Cluster) {
    let map = config_map(&cluster, "m").await;
    let recorder = cluster.recorder();
    for _ in 0..2 {
        recorder.publish(&map, &event("hello")).await.unwrap();
    }
    let core: Api<k8s_openapi::api::core::v1::Event> = cluster.api();
    let selector = format!("involvedObject.uid={}", map.uid().unwrap());
    let events = core
        .list(&ListParams::default().fields(&selector))
        .await
        .unwrap()
        .items;
    assert_eq!(events.len(), 1, "as `kubectl describe` asks");
    assert_eq!(events[0].message.as_deref(), Some("hello"));
    assert_eq!(
        events[0].series.as_ref().and_then(|series| series.count),
        Some(2)
    );
    assert_eq!(events[0].involved_object.name.as_deref(), Some("m"));
}
