//! Servers that answer nonsense, and objects that lack what they should have.

use std::time::Duration;

use http::Method;
use k8s_controller::events::{Event, EventType};
use k8s_controller::{Outcome, Phase};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::api::PostParams;
use tracing::Level;

use crate::harness::cluster::named;
use crate::harness::cluster::recorder_with;
use crate::harness::logs::Line;
use crate::harness::{Cluster, Fault, Mine, Records, Script, Widget, Without};

fn answer(status: u16, content_type: &'static str, body: &str) -> Fault {
    Fault::Answer {
        status,
        content_type,
        body: body.to_owned(),
    }
}

/// Answers that no API server gives, but a proxy, a load balancer or another service in its place.
fn nonsense() -> [(&'static str, Fault); 6] {
    [
        (
            "HTML instead of JSON",
            answer(200, "text/html", "<html><body>Please log in</body></html>"),
        ),
        (
            "half a JSON",
            answer(
                200,
                "application/json",
                r#"{"kind":"WidgetList","apiVersion":"e2e.example.com/v1","meta"#,
            ),
        ),
        ("an empty body", answer(200, "application/json", "")),
        ("null", answer(200, "application/json", "null")),
        (
            "HTML with an error status",
            answer(502, "text/html", "<html><h1>502 Bad Gateway</h1></html>"),
        ),
        ("an empty error", answer(500, "text/plain", "")),
    ]
}

pub(super) fn loud(cluster: &Cluster) -> Vec<Line> {
    [
        cluster.logs().at(Level::WARN),
        cluster.logs().at(Level::ERROR),
    ]
    .concat()
}

pub(super) async fn until_applied<F: Clone>(
    cluster: &Cluster,
    script: &Script<Widget, F>,
    name: &str,
) {
    cluster
        .eventually(&format!("an apply of {name}"), async || {
            script
                .calls(Phase::Apply)
                .iter()
                .find(|call| call.name == name)
                .map(drop)
                .ok_or_else(|| "none".into())
        })
        .await;
}

/// The first lists are nonsense: each is reported, and the controller goes on.
async fn list(cluster: Cluster, faults_of: impl Iterator<Item = (&'static str, Fault)>) {
    let (client, faults) = cluster.faulty();
    let mut number = 0;
    for (_, fault) in faults_of {
        faults.inject(1, |sent| sent.is_list("widgets"), fault);
        number += 1;
    }
    let script = Script::<Widget, Without>::new();
    let running = cluster.run(cluster.controller(client, &script));
    cluster.create_widget("w").await;
    until_applied(&cluster, &script, "w").await;
    assert_eq!(faults.left(), 0);
    assert!(running.is_running());
    let loud = loud(&cluster);
    assert!(
        loud.len() >= number,
        "a line for each of {number}:\n{}",
        cluster.logs().tail(20)
    );
}

pub(crate) async fn lists_that_are_no_json(cluster: Cluster) {
    list(cluster, nonsense().into_iter().take(3)).await;
}

pub(crate) async fn lists_that_are_no_lists(cluster: Cluster) {
    list(cluster, nonsense().into_iter().skip(3)).await;
}

/// The answer to the finalizer patch is nonsense: nothing is believed, the patch is tried again.
pub(crate) async fn answers_to_the_finalizer_patch(cluster: Cluster) {
    let records = Records::default();
    let (client, faults) = cluster.faulty();
    let script = Script::<Widget, Mine>::new();
    let running = cluster.run(
        cluster
            .controller(client, &script)
            .with_observer(records.observer()),
    );
    for (index, (what, fault)) in nonsense().into_iter().enumerate() {
        let name = format!("w{index}");
        let path = format!("/widgets/{name}");
        faults.inject(1, move |sent| sent.is(&Method::PATCH, &path), fault);
        cluster.create_widget(&name).await;
        until_applied(&cluster, &script, &name).await;
        assert_eq!(faults.left(), 0, "{what}");
        assert_eq!(
            cluster
                .widgets()
                .get(&name)
                .await
                .unwrap()
                .finalizers()
                .len(),
            1,
            "{what}"
        );
        assert_eq!(
            records.outline(&name)[0],
            (Phase::Init, Outcome::Failed),
            "{what}: {:?}",
            records.outline(&name)
        );
        let told = cluster
            .logs()
            .at(Level::ERROR)
            .into_iter()
            .any(|line| line.mentions(&name));
        assert!(told, "{what}:\n{}", cluster.logs().tail(20));
        cluster.delete_widget(&name).await;
        cluster.gone(&cluster.widgets(), &name).await;
    }
    assert!(running.is_running());
}

/// The answer to an event is nonsense: an error that says so, and the next one is fine.
pub(crate) async fn answers_to_events(cluster: Cluster) {
    for (index, (what, fault)) in nonsense().into_iter().enumerate() {
        for method in [Method::POST, Method::PATCH] {
            let (client, faults) = cluster.faulty();
            let recorder = recorder_with(client);
            let map: ConfigMap = named(&format!("m{index}-{}", method.as_str().to_lowercase()));
            let map = cluster
                .api::<ConfigMap>()
                .create(&PostParams::default(), &map)
                .await
                .unwrap();
            let event = Event {
                type_: EventType::Normal,
                reason: "R".into(),
                action: "A".into(),
                note: None,
                related: None,
            };
            if method == Method::PATCH {
                recorder.publish(&map, &event).await.unwrap();
            }
            let wanted = method.clone();
            faults.inject(1, move |sent| sent.is(&wanted, "/events"), fault.clone());
            let result = recorder.publish(&map, &event).await;
            assert_eq!(faults.left(), 0);
            assert!(
                result.is_err(),
                "{what}: nothing shows that the server took it"
            );
            recorder
                .publish(&map, &event)
                .await
                .unwrap_or_else(|error| panic!("after {what}: {error}"));
            assert!(!cluster.events(&map).await.is_empty(), "after {what}");
            let stats = recorder.stats();
            let sent = if method == Method::PATCH { 2 } else { 1 };
            assert_eq!(
                (stats.sent(), stats.failed, stats.lost()),
                (sent, 1, 1),
                "{what}: {stats:?}"
            );
        }
    }
}

/// An event of a failing pass that meets nonsense is not lost without a line.
pub(crate) async fn events_of_failures_that_meet_nonsense(cluster: Cluster) {
    let (client, faults) = cluster.faulty();
    for (_, fault) in nonsense() {
        faults.inject(1, |sent| sent.is(&Method::POST, "/events"), fault);
    }
    let script = Script::<Widget, Without>::new().apply(|_, _| async { Err("no".into()) });
    let recorder = recorder_with(client.clone());
    cluster.run(
        cluster
            .controller(client, &script)
            .with_event_recorder(recorder),
    );
    let widget = cluster.create_widget("w").await;
    cluster
        .eventually("the event", async || {
            cluster
                .events(&widget)
                .await
                .pop()
                .ok_or_else(|| "none".into())
        })
        .await;
    assert_eq!(faults.left(), 0);
    let warned = cluster.logs().at(Level::WARN).len();
    assert!(
        warned >= nonsense().len(),
        "{warned} warnings:\n{}",
        cluster.logs().tail(30)
    );
}

/// A watch answers nonsense lines.
pub(crate) async fn watch_that_talks_nonsense(cluster: Cluster) {
    let (client, faults) = cluster.faulty();
    let lines = [
        "<html>\n",
        "{\"type\":\"ADDED\"}\n",
        "{\"type\":\"DANCED\",\"object\":{}}\n",
    ];
    for line in lines {
        faults.inject(
            1,
            |sent| sent.is_watch(),
            answer(200, "application/json", line),
        );
    }
    let script = Script::<Widget, Without>::new();
    let running = cluster.run(cluster.controller(client, &script));
    cluster
        .eventually("the end of nonsense", async || {
            if faults.left() == 0 {
                Ok(())
            } else {
                Err(format!("{} left", faults.left()))
            }
        })
        .await;
    cluster.create_widget("w").await;
    until_applied(&cluster, &script, "w").await;
    assert!(running.is_running());
    assert!(!loud(&cluster).is_empty(), "{}", cluster.logs().tail(20));
}

/// The list is forbidden for a while: the controller says so, and goes on when it is allowed.
pub(crate) async fn forbidden_list(cluster: Cluster) {
    let (client, faults) = cluster.faulty();
    let message = "widgets.e2e.example.com is forbidden: User \"nobody\" cannot list resource";
    faults.inject(
        2,
        |sent| sent.is_list("widgets"),
        Fault::status(403, "Forbidden", message),
    );
    let script = Script::<Widget, Without>::new();
    cluster.run(cluster.controller(client, &script));
    cluster.create_widget("w").await;
    until_applied(&cluster, &script, "w").await;
    let told = loud(&cluster);
    assert!(
        told.iter().any(|line| line.mentions("is forbidden")),
        "{}",
        cluster.logs().tail(20)
    );
}

/// A server that is slow makes a slow controller and nothing else.
pub(crate) async fn slow_server(cluster: Cluster) {
    let (client, faults) = cluster.faulty();
    faults.inject(
        usize::MAX,
        |_| true,
        Fault::Delay(Duration::from_millis(100)),
    );
    let script = Script::<Widget, Mine>::new();
    cluster.run(cluster.controller(client, &script));
    cluster.create_widget("w").await;
    until_applied(&cluster, &script, "w").await;
    cluster.delete_widget("w").await;
    cluster.gone(&cluster.widgets(), "w").await;
    assert_eq!(script.calls(Phase::Cleanup).len(), 1);
}
