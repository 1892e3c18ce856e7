//! Events: what a server accepts, series, drops.

use std::time::Duration;

use futures::future::join_all;
use http::Method;
use k8s_controller::events::{Event, EventRecorder, EventType, PublishError, Reporter};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::api::events::v1::Event as Stored;
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Resource, ResourceExt as _};
use serde_json::json;
use tracing::Level;

use crate::harness::cluster::named;
use crate::harness::kinds::RealmSpec;
use crate::harness::{Cluster, Fault, Realm, Script, Widget, Without};

fn event(note: &str) -> Event {
    Event {
        type_: EventType::Normal,
        reason: "Tested".into(),
        action: "Test".into(),
        note: Some(note.into()),
        related: None,
    }
}

/// The count that an event stands for.
fn count(event: &Stored) -> i32 {
    event.series.as_ref().map_or(1, |series| series.count)
}

async fn config_map(cluster: &Cluster, name: &str) -> ConfigMap {
    cluster
        .api::<ConfigMap>()
        .create(&PostParams::default(), &named::<ConfigMap>(name))
        .await
        .unwrap()
}

/// One event whose series counts up; a success ends it; the next failure makes a new one.
pub(crate) async fn failing_apply_is_one_series_until_it_succeeds(cluster: Cluster) {
    let script = Script::<Widget, Without>::new().apply(|_, widget| async move {
        if widget.spec.text == "ok" {
            Ok(None)
        } else {
            Err("no host name".into())
        }
    });
    cluster.run(
        cluster
            .controller(cluster.client(), &script)
            .with_event_recorder(cluster.recorder()),
    );
    let widget = cluster.create_widget("w").await;
    let counted = async |index: usize, at_least: i32| {
        cluster
            .eventually(
                &format!("event {index} counted {at_least} times"),
                async || {
                    let events = cluster.events(&widget).await;
                    match events.get(index) {
                        Some(event) if count(event) >= at_least => Ok(events),
                        _ => Err(format!(
                            "{:?}",
                            events.iter().map(count).collect::<Vec<_>>()
                        )),
                    }
                },
            )
            .await
    };
    let events = counted(0, 4).await;
    assert_eq!(events.len(), 1, "one event and not one for each failure");
    let event = &events[0];
    assert_eq!(event.reason.as_deref(), Some("ReconcileFailed"));
    assert_eq!(event.action.as_deref(), Some("Reconcile"));
    assert_eq!(event.type_.as_deref(), Some("Warning"));
    assert_eq!(event.note.as_deref(), Some("no host name"));
    assert_eq!(
        event.reporting_controller.as_deref(),
        Some("e2e.example.com/tests")
    );
    assert_eq!(event.reporting_instance.as_deref(), Some("tests-0"));
    assert!(event.name_any().starts_with("w."), "{}", event.name_any());
    let about = event.regarding.clone().unwrap();
    assert_eq!(
        (about.kind.as_deref(), about.api_version.as_deref()),
        (Some("Widget"), Some("e2e.example.com/v1"))
    );
    assert_eq!(
        (about.name.as_deref(), about.namespace.as_deref()),
        (Some("w"), Some(cluster.namespace()))
    );
    let series = event.series.clone().unwrap();
    assert!(series.last_observed_time.0 >= event.event_time.clone().unwrap().0);

    cluster.set_text("w", "ok").await;
    cluster
        .eventually("the end of failures", async || {
            let before = script.failures().len();
            cluster.pass(Duration::from_millis(500)).await;
            if script.failures().len() == before {
                Ok(())
            } else {
                Err("goes on".into())
            }
        })
        .await;
    let last = count(&cluster.events(&widget).await[0]);
    cluster.set_text("w", "not ok").await;
    let events = counted(1, 2).await;
    assert_eq!(events.len(), 2);
    assert_eq!(count(&events[0]), last, "the old series has ended");
    assert_ne!(events[0].name_any(), events[1].name_any());
    assert!(
        cluster.logs().at(Level::WARN).is_empty(),
        "{}",
        cluster.logs().tail(20)
    );
}

/// A server forgets events after an hour; so does `kubectl delete`.
pub(crate) async fn deleted_event_is_created_again(cluster: Cluster) {
    let recorder = cluster.recorder();
    let map = config_map(&cluster, "m").await;
    for _ in 0..3 {
        recorder.publish(&map, &event("the same")).await.unwrap();
    }
    let events = cluster.events(&map).await;
    assert_eq!(events.iter().map(count).collect::<Vec<_>>(), [3]);
    let api: Api<Stored> = cluster.api();
    api.delete(&events[0].name_any(), &DeleteParams::default())
        .await
        .unwrap();

    recorder.publish(&map, &event("the same")).await.unwrap();
    let again = cluster.events(&map).await;
    assert_eq!(
        again.iter().map(count).collect::<Vec<_>>(),
        [1],
        "created again, and the count restarts"
    );
    assert_ne!(again[0].name_any(), events[0].name_any());
    recorder.publish(&map, &event("the same")).await.unwrap();
    assert_eq!(
        cluster
            .events(&map)
            .await
            .iter()
            .map(count)
            .collect::<Vec<_>>(),
        [2]
    );
    assert!(
        cluster.logs().at(Level::WARN).is_empty(),
        "{}",
        cluster.logs().tail(20)
    );
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

    let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    maps.patch("held", &PatchParams::default(), &patch)
        .await
        .unwrap();
    cluster.gone(&namespaces, &doomed).await;
}

/// Any difference is a new event; equal ones count up, also when they come at once.
pub(crate) async fn equal_events_are_one_series(cluster: Cluster) {
    let recorder = cluster.recorder();
    let map = config_map(&cluster, "m").await;
    let same = event("the same");
    for result in join_all((0..10).map(|_| recorder.publish(&map, &same))).await {
        result.unwrap();
    }
    assert_eq!(
        cluster
            .events(&map)
            .await
            .iter()
            .map(count)
            .collect::<Vec<_>>(),
        [10]
    );

    let mut other = event("another note");
    recorder.publish(&map, &other).await.unwrap();
    other.type_ = EventType::Warning;
    recorder.publish(&map, &other).await.unwrap();
    other.related = Some(map.object_ref(&()));
    recorder.publish(&map, &other).await.unwrap();
    other.reason = "OtherReason".into();
    recorder.publish(&map, &other).await.unwrap();
    other.action = "OtherAction".into();
    recorder.publish(&map, &other).await.unwrap();
    let events = cluster.events(&map).await;
    assert_eq!(
        events.iter().map(count).collect::<Vec<_>>(),
        [10, 1, 1, 1, 1, 1]
    );
    assert_eq!(
        events[3]
            .related
            .as_ref()
            .and_then(|related| related.name.as_deref()),
        Some("m")
    );

    // The series of the window goes on only from the last published one of its reason and action.
    recorder.publish(&map, &same).await.unwrap();
    assert_eq!(cluster.events(&map).await.len(), 7);
}

/// What a server refuses is refused before it is sent, with the field in the error.
pub(crate) async fn refused_before_sending(cluster: Cluster) {
    let (client, faults) = cluster.faulty();
    let recorder = cluster.recorder_with(client);
    let map = config_map(&cluster, "m").await;
    let with = |edit: fn(&mut Event)| {
        let mut event = event("fine");
        edit(&mut event);
        event
    };
    let bad = [
        ("reason", with(|event| event.reason = String::new())),
        ("reason", with(|event| event.reason = "r".repeat(129))),
        ("reason", with(|event| event.reason = "é".repeat(65))),
        ("action", with(|event| event.action = String::new())),
        ("action", with(|event| event.action = "a".repeat(129))),
    ];
    for (field, event) in bad {
        let error = recorder.publish(&map, &event).await.expect_err(field);
        assert!(error.to_string().contains(field), "{error}");
    }
    assert!(faults.sent(|_| true).is_empty(), "nothing was sent");
    assert_eq!(recorder.stats().refused, 5);

    // The limits themselves are fine with both sides.
    let longest = with(|event| (event.reason, event.action) = ("é".repeat(64), "a".repeat(128)));
    recorder.publish(&map, &longest).await.unwrap();
    assert_eq!(cluster.events(&map).await.len(), 1);
    assert_eq!(faults.sent(|sent| sent.method == Method::POST).len(), 1);
}

/// A reporter that no server would take: said when the recorder is made, and by each publish.
pub(crate) async fn bad_reporters(cluster: Cluster) {
    let map = config_map(&cluster, "m").await;
    let bad = [
        ("reportingController", "", None),
        ("reportingController", "not qualified!", None),
        ("reportingController", "a/b/c", None),
        (
            "reportingInstance",
            "example.com/fine",
            Some("i".repeat(129)),
        ),
        (
            "reportingInstance",
            "example.com/fine",
            Some("é".repeat(65)),
        ),
    ];
    for (field, controller, instance) in bad {
        let (client, faults) = cluster.faulty();
        let reporter = Reporter {
            controller: controller.into(),
            instance,
        };
        let error = EventRecorder::try_new(client.clone(), reporter.clone())
            .err()
            .unwrap_or_else(|| panic!("{reporter:?}"));
        assert!(error.to_string().contains(field), "{error}");
        let before = cluster.logs().at(Level::ERROR).len();
        let recorder = EventRecorder::new(client, reporter);
        assert!(
            cluster.logs().at(Level::ERROR).len() > before,
            "said when it is made"
        );
        let error = recorder.publish(&map, &event("hello")).await.unwrap_err();
        assert!(error.to_string().contains(field), "{error}");
        assert!(faults.sent(|_| true).is_empty());
    }
    // The longest that is fine.
    let reporter = Reporter {
        controller: format!("{}.com/{}", "a".repeat(60), "b".repeat(63)),
        instance: Some("i".repeat(128)),
    };
    EventRecorder::try_new(cluster.client(), reporter)
        .unwrap()
        .publish(&map, &event("hello"))
        .await
        .unwrap();
    assert_eq!(cluster.events(&map).await.len(), 1);
}

/// The server itself refuses what the recorder refuses: the rule is the server's.
pub(crate) async fn server_has_the_same_limits(cluster: Cluster) {
    let map = config_map(&cluster, "m").await;
    let api: Api<Stored> = cluster.api();
    let body = |edit: fn(&mut Stored)| {
        let mut event: Stored = serde_json::from_value(json!({
            "metadata": {"name": "e", "namespace": cluster.namespace()},
            "eventTime": "2024-01-01T00:00:00.000000Z", "type": "Normal", "reason": "R", "action": "A",
            "reportingController": "e2e.example.com/tests", "reportingInstance": "i",
            "regarding": map.object_ref(&()),
        }))
        .unwrap();
        edit(&mut event);
        event
    };
    let refused: [(&str, fn(&mut Stored)); 8] = [
        ("reason", |event| event.reason = None),
        ("reason", |event| event.reason = Some("r".repeat(129))),
        ("reason", |event| event.reason = Some("é".repeat(65))),
        ("action", |event| event.action = Some(String::new())),
        ("reportingInstance", |event| {
            event.reporting_instance = Some("i".repeat(129))
        }),
        ("reportingController", |event| {
            event.reporting_controller = Some("not qualified!".into())
        }),
        ("message", |event| event.note = Some("n".repeat(1025))),
        ("type", |event| event.type_ = Some("Odd".into())),
    ];
    for (field, edit) in refused {
        match api.create(&PostParams::default(), &body(edit)).await {
            Err(kube::Error::Api(status)) => {
                assert_eq!(status.code, 422, "{field}: {status:?}");
                assert!(
                    status.message.contains(field),
                    "{field}: {}",
                    status.message
                );
            }
            other => panic!("{field}: {other:?}"),
        }
    }
    let mut generated = body(|_| ());
    generated.metadata.name = None;
    generated.metadata.generate_name = Some("m.".into());
    let refusal = api
        .create(&PostParams::default(), &generated)
        .await
        .unwrap_err();
    assert!(
        matches!(&refusal, kube::Error::Api(status) if status.code == 422),
        "{refusal:?}"
    );
    api.create(
        &PostParams::default(),
        &body(|event| event.reason = Some("é".repeat(64))),
    )
    .await
    .unwrap();
}

/// Somebody else has our name: another one is taken.
pub(crate) async fn taken_name(cluster: Cluster) {
    let (client, faults) = cluster.faulty();
    faults.inject(
        1,
        |sent| sent.is(&Method::POST, "/events"),
        Fault::status(409, "AlreadyExists", "events \"m.1\" already exists"),
    );
    let recorder = cluster.recorder_with(client);
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
    let recorder = cluster.recorder_with(client.clone());
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
