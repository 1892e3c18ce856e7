//! What is refused, by the recorder and by the server.

use http::Method;
use k8s_controller::events::{Event, EventRecorder, Reporter};
use k8s_openapi::api::events::v1::Event as Stored;
use kube::Resource as _;
use kube::api::{Api, PostParams};
use serde_json::json;
use tracing::Level;

use crate::harness::Cluster;
use crate::harness::cluster::recorder_with;

use super::events::{config_map, event};

/// What a server refuses is refused before it is sent, with the field in the error.
pub(crate) async fn refused_before_sending(cluster: Cluster) {
    let (client, faults) = cluster.faulty();
    let recorder = recorder_with(client);
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
    type Edit = fn(&mut Stored);
    let refused: [(&str, Edit); 8] = [
        ("reason", |event| event.reason = None),
        ("reason", |event| event.reason = Some("r".repeat(129))),
        ("reason", |event| event.reason = Some("é".repeat(65))),
        ("action", |event| event.action = Some(String::new())),
        ("reportingInstance", |event| {
            event.reporting_instance = Some("i".repeat(129));
        }),
        ("reportingController", |event| {
            event.reporting_controller = Some("not qualified!".into());
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
