//! What the controllers of a cluster do, a moment later: garbage collection and namespaces that go away.
//!
//! Each story is told of the embedded server in virtual time, and of a real one where there is one.

mod common;

use common::both::{self, Server};
use serde_json::{Value, json};

/// A test of the embedded server and one of a real server, by the same story.
macro_rules! told_of_both {
    ($($story:ident)*) => {
        $(mod $story {
            #[tokio::test(start_paused = true)]
            async fn embedded() {
                super::$story(super::both::embedded()).await;
            }

            #[tokio::test]
            async fn real() {
                if let Some(server) = super::both::real().await {
                    super::$story(server).await;
                }
            }
        })*
    };
}

told_of_both! {
    pods_first_then_the_rest
    pods_get_time_to_end
    dependents_go_a_moment_later
    orphans_stay
}

fn pod(name: &str, node: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]},
    })
}

fn conditions(namespace: &Value) -> Vec<(&str, &str, &str)> {
    let all = namespace["status"]["conditions"].as_array();
    all.into_iter()
        .flatten()
        .map(|condition| {
            let text = |key: &str| condition[key].as_str().unwrap_or_default();
            (text("type"), text("status"), text("message"))
        })
        .collect()
}

async fn pods_first_then_the_rest(server: Server) {
    let name = server.namespace().await;
    let namespace = format!("/api/v1/namespaces/{name}");
    let maps = format!("{namespace}/configmaps");
    let held = json!({"metadata": {"name": "held", "finalizers": ["example.com/hold"]}});
    assert_eq!(server.post(&maps, held).await.code, 201);
    let pods = format!("{namespace}/pods");
    assert_eq!(server.post(&pods, pod("a", "node")).await.code, 201);

    let deleted = server.delete(&namespace).await;
    assert_eq!(deleted.body["status"], json!({"phase": "Terminating"}));
    let waiting = server
        .until(&namespace, |answer| conditions(&answer.body).len() == 5)
        .await;
    let remaining = |namespace: &Value| {
        let all = conditions(namespace);
        let found = all
            .iter()
            .find(|(type_, ..)| *type_ == "NamespaceContentRemaining");
        found.map(|(_, status, message)| format!("{status}: {message}"))
    };
    assert_eq!(
        remaining(&waiting.body).as_deref(),
        Some("False: All content successfully removed"),
        "{}: of Pods that remain nothing is said",
        server.name
    );
    let map = server.get(&format!("{maps}/held")).await;
    assert_eq!(map.body["metadata"]["deletionTimestamp"], Value::Null);

    let at_once = json!({"gracePeriodSeconds": 0});
    let json_type = [("content-type", "application/json")];
    let path = format!("{pods}/a");
    let ended = server.request("DELETE", &path, &json_type, at_once).await;
    assert_eq!(ended.code, 200, "{}", server.name);
    let waiting = server
        .until(&namespace, |answer| {
            remaining(&answer.body).is_some_and(|text| text.starts_with("True"))
        })
        .await;
    assert_eq!(
        remaining(&waiting.body).as_deref(),
        Some("True: Some resources are remaining: configmaps. has 1 resource instances"),
    );
    let (type_, status, message) = conditions(&waiting.body)[4];
    assert_eq!(
        (type_, status, message),
        (
            "NamespaceFinalizersRemaining",
            "True",
            "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances"
        )
    );
    let free = json!({"metadata": {"finalizers": null}});
    server
        .patch(&format!("{maps}/held"), common::MERGE, free)
        .await;
    server.until(&namespace, |answer| answer.code == 404).await;
}

async fn pods_get_time_to_end(server: Server) {
    let name = server.namespace().await;
    let pods = format!("/api/v1/namespaces/{name}/pods");
    let json_type = [("content-type", "application/json")];
    for (pod_name, node) in [("free", ""), ("placed", "node")] {
        assert_eq!(server.post(&pods, pod(pod_name, node)).await.code, 201);
    }
    let grace =
        |answer: &both::Answer| answer.body["metadata"]["deletionGracePeriodSeconds"].as_i64();
    let gone = server.delete(&format!("{pods}/free")).await;
    assert_eq!((gone.code, grace(&gone)), (200, Some(0)), "{}", server.name);
    assert_eq!(server.get(&format!("{pods}/free")).await.code, 404);

    let path = format!("{pods}/placed");
    for (asked, left) in [
        (Value::Null, 30),
        (json!(40), 30),
        (json!(10), 10),
        (json!(20), 10),
        (json!(-3), 1),
    ] {
        let options = json!({"gracePeriodSeconds": asked});
        let held = server.request("DELETE", &path, &json_type, options).await;
        assert_eq!(grace(&held), Some(left), "{}: {asked}", server.name);
        assert_eq!(held.body["metadata"]["generation"], 2);
    }
    let dry = server
        .delete(&format!("{path}?dryRun=All&gracePeriodSeconds=0"))
        .await;
    assert_eq!(grace(&dry), Some(0));
    assert_eq!(grace(&server.get(&path).await), Some(1));
    server.delete(&format!("{path}?gracePeriodSeconds=0")).await;
    assert_eq!(server.get(&path).await.code, 404);
    server.delete(&format!("/api/v1/namespaces/{name}")).await;
}

/// Makes an owner and what it owns.
async fn family(server: &Server) -> String {
    let name = server.namespace().await;
    let maps = format!("/api/v1/namespaces/{name}/configmaps");
    let owner = server
        .post(&maps, json!({"metadata": {"name": "owner"}}))
        .await;
    let reference = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.body["metadata"]["uid"],
    });
    let child = json!({"metadata": {"name": "child", "ownerReferences": [reference]}});
    assert_eq!(server.post(&maps, child).await.code, 201);
    maps
}

async fn dependents_go_a_moment_later(server: Server) {
    let maps = family(&server).await;
    server.delete(&format!("{maps}/owner")).await;
    let child = server.get(&format!("{maps}/child")).await;
    if server.name == "embedded" {
        assert_eq!(child.code, 200, "not before the answer");
    }
    let path = format!("{maps}/child");
    server.until(&path, |answer| answer.code == 404).await;
}

async fn orphans_stay(server: Server) {
    let maps = family(&server).await;
    let owner = format!("{maps}/owner?propagationPolicy=Orphan");
    let held = server.delete(&owner).await;
    assert_eq!(held.body["metadata"]["finalizers"], json!(["orphan"]));
    let path = format!("{maps}/owner");
    server.until(&path, |answer| answer.code == 404).await;
    let child = server.get(&format!("{maps}/child")).await;
    assert_eq!(child.body["metadata"]["ownerReferences"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn the_default_account_comes_again() {
    let server = both::embedded();
    let name = server.namespace().await;
    let path = format!("/api/v1/namespaces/{name}/serviceaccounts/default");
    let first = server.until(&path, |answer| answer.code == 200).await;
    server.delete(&path).await;
    let again = server.until(&path, |answer| answer.code == 200).await;
    assert_ne!(first.body["metadata"]["uid"], again.body["metadata"]["uid"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_hears_of_it_without_another_request() {
    let server = both::embedded();
    let maps = family(&server).await;
    let params = kube::api::WatchParams::default();
    let namespace = maps.split('/').nth(4).expect("a namespace");
    let api: kube::Api<k8s_openapi::api::core::v1::ConfigMap> =
        kube::Api::namespaced(server.client.clone(), namespace);
    let mut events = Box::pin(api.watch(&params, "0").await.expect("a watch"));
    server.delete(&format!("{maps}/owner")).await;
    let mut gone = Vec::new();
    while gone.len() < 2 {
        let event = futures::StreamExt::next(&mut events).await;
        if let Some(Ok(kube::api::WatchEvent::Deleted(object))) = event {
            gone.push(object.metadata.name.unwrap_or_default());
        }
    }
    assert_eq!(gone, ["owner", "child"]);
}

#[tokio::test(start_paused = true)]
async fn controllers_can_be_switched_off() {
    let server = k8s_embedded_apiserver::EmbeddedApiServer::builder()
        .namespace_deletion(false)
        .default_service_accounts(false)
        .build();
    let server = Server {
        name: "embedded",
        client: kube::Client::new(server, "default"),
    };
    let name = server.namespace().await;
    let namespace = format!("/api/v1/namespaces/{name}");
    server.delete(&namespace).await;
    tokio::time::sleep(std::time::Duration::from_secs(3600)).await;
    let left = server.get(&namespace).await;
    assert_eq!(left.body["status"], json!({"phase": "Terminating"}));
    let accounts = server.get(&format!("{namespace}/serviceaccounts")).await;
    assert_eq!(accounts.body["items"], json!([]));
}
