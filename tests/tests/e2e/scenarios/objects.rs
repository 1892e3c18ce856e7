//! Objects that lack what they should have.

use k8s_controller::Controller;
use k8s_controller::events::{Event, EventType};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::watcher;
use serde_json::Value;

use crate::harness::cluster::named;
use crate::harness::cluster::recorder_with;
use crate::harness::{Cluster, Fault, Mine, Script, Widget};

use super::nonsense::{loud, until_applied};

/// Objects without something that every stored object has are an error about these objects alone.
async fn without(cluster: Cluster, field: &'static str) {
    let (client, faults) = cluster.faulty();
    let damage = move |list: &mut Value| {
        for item in list["items"].as_array_mut().into_iter().flatten() {
            if item["metadata"]["name"] == "odd" {
                item["metadata"].as_object_mut().unwrap().remove(field);
            }
        }
    };
    faults.inject(1, |sent| sent.is_list("widgets"), Fault::edit(damage));
    cluster.create_widget("odd").await;
    cluster.create_widget("even").await;
    let script = Script::<Widget, Mine>::new();
    let labelled = watcher::Config::default();
    let controller = Controller::namespaced(
        client.clone(),
        script.clone(),
        cluster.namespace(),
        labelled,
    );
    let running = cluster.run(controller.with_event_recorder(recorder_with(client)));
    until_applied(&cluster, &script, "even").await;
    cluster
        .eventually("a line that names the field and the object", async || {
            let told = loud(&cluster)
                .into_iter()
                .find(|line| line.mentions("odd") && line.mentions(field));
            told.map(drop).ok_or_else(|| cluster.logs().tail(10))
        })
        .await;
    assert_eq!(faults.left(), 0);
    // The next change comes by the watch, with everything in it.
    cluster.set_text("odd", "changed").await;
    until_applied(&cluster, &script, "odd").await;
    assert!(running.is_running());
}

pub(crate) async fn object_without_uid(cluster: Cluster) {
    without(cluster, "uid").await;
}

pub(crate) async fn object_without_namespace(cluster: Cluster) {
    without(cluster, "namespace").await;
}

pub(crate) async fn event_about_an_object_without_uid(cluster: Cluster) {
    let recorder = cluster.recorder();
    let event = Event {
        type_: EventType::Normal,
        reason: "R".into(),
        action: "A".into(),
        note: None,
        related: None,
    };
    let mut map: ConfigMap = named("m");
    map.metadata.namespace = Some(cluster.namespace().to_owned());
    // Two objects that only share the lack of a uid are no series.
    let mut other = map.clone();
    other.metadata.name = Some("o".into());
    let results = [
        recorder.publish(&map, &event).await,
        recorder.publish(&other, &event).await,
    ];
    let stored = kube::Api::<k8s_openapi::api::events::v1::Event>::namespaced(
        cluster.client(),
        cluster.namespace(),
    )
    .list(&kube::api::ListParams::default())
    .await
    .unwrap()
    .items;
    for (name, result) in ["m", "o"].into_iter().zip(results) {
        let about = stored.iter().filter(|event| {
            event
                .regarding
                .as_ref()
                .and_then(|about| about.name.as_deref())
                == Some(name)
        });
        match result {
            Ok(()) => assert_eq!(about.count(), 1, "{name}: accepted, so it is there"),
            Err(error) => {
                assert!(error.to_string().contains("uid"), "{name}: {error}");
                assert_eq!(about.count(), 0);
            }
        }
    }
}
