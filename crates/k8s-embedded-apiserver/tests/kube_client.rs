//! The server behind a kube client.

#![allow(clippy::expect_used, reason = "in a test that is a failure")]

use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use k8s_embedded_apiserver::EmbeddedApiServer;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams,
    WatchParams,
};
use kube::core::{GroupVersionKind, WatchEvent};
use kube::runtime::watcher;
use kube::{Api, Client, ResourceExt};
use serde_json::json;

fn client() -> Client {
    Client::new(EmbeddedApiServer::new(), "default")
}

fn config_map(value: serde_json::Value) -> ConfigMap {
    serde_json::from_value(value).expect("a ConfigMap")
}

#[tokio::test(start_paused = true)]
async fn a_life_of_a_config_map() {
    let api: Api<ConfigMap> = Api::default_namespaced(client());
    let made = api
        .create(
            &PostParams::default(),
            &config_map(json!({"metadata": {"name": "a"}, "data": {"k": "v"}})),
        )
        .await
        .expect("created");
    assert_eq!(made.namespace().as_deref(), Some("default"));
    let patch = json!({"data": {"k": "w"}});
    let patched = api
        .patch("a", &PatchParams::default(), &Patch::Merge(patch))
        .await
        .expect("patched");
    assert_ne!(patched.resource_version(), made.resource_version());
    let stale = api
        .replace("a", &PostParams::default(), &made)
        .await
        .expect_err("stale");
    assert!(
        matches!(&stale, kube::Error::Api(status) if status.is_conflict()),
        "{stale}"
    );
    assert_eq!(
        api.list(&ListParams::default())
            .await
            .expect("listed")
            .items
            .len(),
        1
    );
    api.delete("a", &DeleteParams::default())
        .await
        .expect("deleted");
    assert!(api.get_opt("a").await.expect("asked").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_watch_sees_changes_and_ends_in_time() {
    let api: Api<ConfigMap> = Api::default_namespaced(client());
    let list = api.list(&ListParams::default()).await.expect("listed");
    let version = list.metadata.resource_version.expect("a version");
    let stream = api
        .watch(&WatchParams::default().timeout(60), &version)
        .await
        .expect("watched");
    api.create(
        &PostParams::default(),
        &config_map(json!({"metadata": {"name": "a"}})),
    )
    .await
    .expect("created");
    api.delete("a", &DeleteParams::default())
        .await
        .expect("deleted");
    let events: Vec<String> = stream
        .map_ok(|event| match event {
            WatchEvent::Added(object) => format!("added {}", object.name_any()),
            WatchEvent::Deleted(object) => format!("deleted {}", object.name_any()),
            other => format!("{other:?}"),
        })
        .try_collect()
        .await
        .expect("events");
    // The bookmark comes before the end.
    assert_eq!(events, ["added a", "deleted a", "Bookmark event"]);
}

#[tokio::test(start_paused = true)]
async fn a_watcher_goes_on_for_hours() {
    let client = client();
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let mut events = watcher(api.clone(), watcher::Config::default()).boxed();
    assert!(matches!(
        events.next().await,
        Some(Ok(watcher::Event::Init))
    ));
    assert!(matches!(
        events.next().await,
        Some(Ok(watcher::Event::InitDone))
    ));
    for round in 0..24 {
        let name = format!("c{round}");
        let ((), event) = tokio::join!(
            async {
                tokio::time::sleep(Duration::from_secs(3600)).await;
                let object = config_map(json!({"metadata": {"name": name}}));
                api.create(&PostParams::default(), &object)
                    .await
                    .expect("created");
            },
            events.next()
        );
        assert!(
            matches!(event, Some(Ok(watcher::Event::Apply(object))) if object.name_any() == name)
        );
    }
}

fn widgets(scope: &str) -> CustomResourceDefinition {
    serde_json::from_value(json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": scope,
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    }))
    .expect("a definition")
}

#[tokio::test(start_paused = true)]
async fn custom_resources_are_served_at_once_and_go_with_their_definition() {
    let client = client();
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions
        .create(&PostParams::default(), &widgets("Namespaced"))
        .await
        .expect("defined");
    let definition = definitions.get("widgets.example.com").await.expect("there");
    let conditions = definition
        .status
        .and_then(|status| status.conditions)
        .expect("conditions");
    assert!(
        conditions
            .iter()
            .any(|condition| condition.type_ == "Established" && condition.status == "True")
    );

    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Widget"));
    let api: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &resource);
    let widget = DynamicObject::new("w", &resource)
        .data(json!({"spec": {"n": 1}, "status": {"dropped": true}}));
    let made = api
        .create(&PostParams::default(), &widget)
        .await
        .expect("created");
    assert_eq!(made.metadata.generation, Some(1));
    assert_eq!(made.data.get("status"), None);
    let status = Patch::Merge(json!({"status": {"ready": true}, "spec": {"n": 9}}));
    let patched = api
        .patch_status("w", &PatchParams::default(), &status)
        .await
        .expect("patched");
    assert_eq!(
        patched.data,
        json!({"spec": {"n": 1}, "status": {"ready": true}})
    );
    assert_eq!(patched.metadata.generation, Some(1));

    definitions
        .delete("widgets.example.com", &DeleteParams::default())
        .await
        .expect("deleted");
    assert!(
        definitions
            .get_opt("widgets.example.com")
            .await
            .expect("asked")
            .is_none()
    );
    let gone = api
        .list(&ListParams::default())
        .await
        .expect_err("not served");
    assert!(
        matches!(&gone, kube::Error::Api(status) if status.code == 404),
        "{gone}"
    );
}

#[tokio::test(start_paused = true)]
async fn dependents_go_with_their_owner() {
    let client = client();
    let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
    let config_maps: Api<ConfigMap> = Api::default_namespaced(client);
    let deployment = json!({
        "metadata": {"name": "d"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        },
    });
    let deployment: Deployment = serde_json::from_value(deployment).expect("a Deployment");
    let owner = deployments
        .create(&PostParams::default(), &deployment)
        .await
        .expect("created");
    let child = config_map(json!({"metadata": {"name": "child", "ownerReferences": [
        {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": owner.uid()},
    ]}}));
    config_maps
        .create(&PostParams::default(), &child)
        .await
        .expect("created");
    deployments
        .delete("d", &DeleteParams::default())
        .await
        .expect("deleted");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(config_maps.get_opt("child").await.expect("asked").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_namespace_goes_with_its_content_and_waits_for_finalizers() {
    let client = client();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace: Namespace =
        serde_json::from_value(json!({"metadata": {"name": "n"}})).expect("a Namespace");
    namespaces
        .create(&PostParams::default(), &namespace)
        .await
        .expect("created");
    let api: Api<ConfigMap> = Api::namespaced(client, "n");
    let held =
        config_map(json!({"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}));
    api.create(&PostParams::default(), &held)
        .await
        .expect("created");
    namespaces
        .delete("n", &DeleteParams::default())
        .await
        .expect("deleted");
    let phase = namespaces
        .get("n")
        .await
        .expect("there")
        .status
        .and_then(|status| status.phase);
    assert_eq!(phase.as_deref(), Some("Terminating"));

    let late = config_map(json!({"metadata": {"name": "late"}}));
    let refused = api
        .create(&PostParams::default(), &late)
        .await
        .expect_err("terminating");
    let kube::Error::Api(status) = refused else {
        panic!("{refused}")
    };
    assert_eq!(status.code, 403);
    let causes = status.details.expect("details").causes;
    assert_eq!(causes[0].reason, "NamespaceTerminating");

    let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    api.patch("held", &PatchParams::default(), &free)
        .await
        .expect("freed");
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(namespaces.get_opt("n").await.expect("asked").is_none());
}
