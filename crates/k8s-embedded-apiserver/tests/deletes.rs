//! Deletes: finalizers, preconditions, garbage collection, namespaces, definitions.

#![allow(clippy::expect_used, reason = "in a test that is a failure")]

mod common;

use std::time::Duration;

use common::*;
use k8s_embedded_apiserver::EmbeddedApiServer;
use serde_json::{Value, json};

fn held(name: &str) -> Value {
    json!({"metadata": {"name": name, "finalizers": ["example.com/hold"]}})
}

fn owned(name: &str, owners: &[&Value], finalizers: &[&str]) -> Value {
    let references: Vec<Value> = owners
        .iter()
        .map(|owner| {
            json!({
                "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"], "blockOwnerDeletion": true,
            })
        })
        .collect();
    json!({"metadata": {"name": name, "ownerReferences": references, "finalizers": finalizers}})
}

#[tokio::test]
async fn a_delete_answers_with_what_it_did() {
    let api = Api::new();
    let made = api.make(CONFIG_MAPS, named("a")).await;
    let path = format!("{CONFIG_MAPS}/a");
    let (code, status) = api.delete(&path).await;
    let details = json!({"kind": "configmaps", "name": "a", "uid": made["metadata"]["uid"]});
    assert_eq!(
        (code, &status["status"], &status["details"]),
        (200, &json!("Success"), &details)
    );
    let (code, status) = api.delete(&path).await;
    assert_eq!(
        (code, status["message"].as_str()),
        (404, Some("configmaps \"a\" not found"))
    );
    let pod =
        json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    api.make(PODS, pod).await;
    let (_, pod) = api.delete(&format!("{PODS}/p")).await;
    assert_eq!(
        (&pod["kind"], &pod["metadata"]["deletionGracePeriodSeconds"]),
        (&json!("Pod"), &json!(0))
    );
}

#[tokio::test]
async fn finalizers_hold_an_object() {
    let api = Api::new();
    api.make(CONFIG_MAPS, held("a")).await;
    let path = format!("{CONFIG_MAPS}/a");
    let (code, marked) = api.delete(&path).await;
    assert_eq!(code, 200);
    assert!(marked["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(
        api.delete(&path).await.1,
        marked,
        "a second delete changes nothing"
    );

    let (code, status) = api.post(CONFIG_MAPS, named("a")).await;
    assert_eq!(
        (code, status["reason"].as_str()),
        (409, Some("AlreadyExists"))
    );
    assert!(
        status["message"]
            .as_str()
            .expect("a message")
            .starts_with("object is being deleted: ")
    );

    let more = json!({"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}});
    let (code, status) = api.merge(&path, more).await;
    assert_eq!(
        (code, status["details"]["causes"][0]["reason"].as_str()),
        (422, Some("FieldValueForbidden"))
    );

    let (code, changed) = api.merge(&path, json!({"data": {"k": "v"}})).await;
    assert_eq!(code, 200);
    let (code, last) = api
        .merge(
            &path,
            json!({"metadata": {"finalizers": null}, "data": {"k": "w"}}),
        )
        .await;
    assert_eq!((code, &last["data"]["k"]), (200, &json!("w")));
    assert_eq!(
        version(&last),
        version(&changed),
        "the last write keeps the version"
    );
    assert_eq!(api.get(&path).await.0, 404);
}

#[tokio::test]
async fn preconditions() {
    let api = Api::new();
    let made = api.make(CONFIG_MAPS, named("a")).await;
    let path = format!("{CONFIG_MAPS}/a");
    let (_, changed) = api.merge(&path, json!({"data": {"k": "v"}})).await;
    let uid = made["metadata"]["uid"].clone();
    for (preconditions, code) in [
        (json!({"uid": "00000000-0000-0000-0000-000000000001"}), 409),
        (json!({"resourceVersion": version(&made)}), 409),
        (json!({"uid": uid, "resourceVersion": version(&made)}), 409),
        (
            json!({"uid": uid, "resourceVersion": version(&changed)}),
            200,
        ),
    ] {
        let (got, status) = api
            .delete_with(&path, json!({"preconditions": preconditions}))
            .await;
        assert_eq!(got, code, "{preconditions}");
        if code == 409 {
            assert_eq!(
                status["details"]["kind"], "ConfigMap",
                "here the kind is named, not the resource"
            );
        }
    }
}

#[tokio::test]
async fn bad_options() {
    let api = Api::new();
    api.make(CONFIG_MAPS, named("a")).await;
    for (options, code) in [
        (json!({"propagationPolicy": "Sideways"}), 422),
        (
            json!({"propagationPolicy": "Orphan", "orphanDependents": true}),
            422,
        ),
        (json!({"dryRun": ["Some"]}), 422),
        (json!({"kind": "Pod", "apiVersion": "v1"}), 400),
        (json!([]), 400),
        (json!({"dryRun": "All"}), 400),
        (json!({"preconditions": {"uid": 5}}), 400),
        (json!({"preconditions": []}), 400),
        (json!({"propagationPolicy": 5}), 400),
        (json!({"gracePeriodSeconds": "soon"}), 400),
    ] {
        let (got, status) = api
            .delete_with(&format!("{CONFIG_MAPS}/a"), options.clone())
            .await;
        assert_eq!(got, code, "{options}: {status}");
    }
    assert_eq!(api.get(&format!("{CONFIG_MAPS}/a")).await.0, 200);
}

#[tokio::test]
async fn a_collection_is_deleted_by_selector() {
    let api = Api::new();
    for (name, group) in [("a", "x"), ("b", "y"), ("c", "x")] {
        api.make(
            CONFIG_MAPS,
            json!({"metadata": {"name": name, "labels": {"g": group}}}),
        )
        .await;
    }
    let (code, list) = api
        .delete(&format!("{CONFIG_MAPS}?labelSelector=g%3Dx"))
        .await;
    assert_eq!(
        (code, list["items"].as_array().map(Vec::len)),
        (200, Some(2))
    );
    let (_, list) = api.get(CONFIG_MAPS).await;
    assert_eq!(list["items"].as_array().expect("items").len(), 1);
    assert_eq!(list["items"][0]["metadata"]["name"], "b");
}

#[tokio::test]
async fn dependents_live_as_long_as_one_owner() {
    let api = Api::new();
    let one = api.make(CONFIG_MAPS, named("one")).await;
    let two = api.make(CONFIG_MAPS, named("two")).await;
    api.make(CONFIG_MAPS, owned("child", &[&one, &two], &[]))
        .await;
    api.delete(&format!("{CONFIG_MAPS}/one")).await;
    let (code, child) = api.get(&format!("{CONFIG_MAPS}/child")).await;
    assert_eq!(
        (
            code,
            child["metadata"]["ownerReferences"]
                .as_array()
                .map(Vec::len)
        ),
        (200, Some(1))
    );
    api.delete(&format!("{CONFIG_MAPS}/two")).await;
    assert_eq!(api.get(&format!("{CONFIG_MAPS}/child")).await.0, 404);
}

#[tokio::test]
async fn an_owner_that_is_not_there_is_no_owner() {
    let api = Api::new();
    let owner = api.make(CONFIG_MAPS, named("owner")).await;
    let mut other = owner.clone();
    other["metadata"]["uid"] = json!("22222222-2222-2222-2222-222222222222");
    let mut unknown = owner.clone();
    unknown["apiVersion"] = json!("nobody.example.com/v1");
    api.make(CONFIG_MAPS, owned("of-other-uid", &[&other], &[]))
        .await;
    api.make(CONFIG_MAPS, owned("of-unknown-kind", &[&unknown], &[]))
        .await;
    assert_eq!(api.get(&format!("{CONFIG_MAPS}/of-other-uid")).await.0, 404);
    assert_eq!(
        api.get(&format!("{CONFIG_MAPS}/of-unknown-kind")).await.0,
        200
    );
}

#[tokio::test]
async fn a_chain_of_owners_goes_whole() {
    let api = Api::new();
    let mut owner = api.make(CONFIG_MAPS, named("c0")).await;
    for number in 1..200 {
        owner = api
            .make(CONFIG_MAPS, owned(&format!("c{number}"), &[&owner], &[]))
            .await;
    }
    api.delete(&format!("{CONFIG_MAPS}/c0")).await;
    assert_eq!(api.get(CONFIG_MAPS).await.1["items"], json!([]));
}

#[tokio::test]
async fn foreground_waits_for_dependents_that_block() {
    let api = Api::new();
    let owner = api.make(CONFIG_MAPS, named("owner")).await;
    api.make(
        CONFIG_MAPS,
        owned("child", &[&owner], &["example.com/hold"]),
    )
    .await;
    let (_, marked) = api
        .delete_with(
            &format!("{CONFIG_MAPS}/owner"),
            json!({"propagationPolicy": "Foreground"}),
        )
        .await;
    assert_eq!(
        marked["metadata"]["finalizers"],
        json!(["foregroundDeletion"])
    );
    let (_, child) = api.get(&format!("{CONFIG_MAPS}/child")).await;
    assert!(child["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(api.get(&format!("{CONFIG_MAPS}/owner")).await.0, 200);
    api.merge(
        &format!("{CONFIG_MAPS}/child"),
        json!({"metadata": {"finalizers": null}}),
    )
    .await;
    assert_eq!(api.get(&format!("{CONFIG_MAPS}/owner")).await.0, 404);
}

#[tokio::test]
async fn orphans_are_left_without_an_owner() {
    let api = Api::new();
    let owner = api.make(CONFIG_MAPS, named("owner")).await;
    api.make(CONFIG_MAPS, owned("child", &[&owner], &[])).await;
    api.delete_with(
        &format!("{CONFIG_MAPS}/owner"),
        json!({"propagationPolicy": "Orphan"}),
    )
    .await;
    assert_eq!(api.get(&format!("{CONFIG_MAPS}/owner")).await.0, 404);
    let (code, child) = api.get(&format!("{CONFIG_MAPS}/child")).await;
    assert_eq!(
        (code, child["metadata"].get("ownerReferences")),
        (200, None)
    );
}

#[tokio::test]
async fn garbage_collection_can_be_switched_off() {
    let api = Api(EmbeddedApiServer::builder()
        .garbage_collection(false)
        .build());
    let owner = api.make(CONFIG_MAPS, named("owner")).await;
    api.make(CONFIG_MAPS, owned("child", &[&owner], &[])).await;
    api.delete(&format!("{CONFIG_MAPS}/owner")).await;
    assert_eq!(api.get(&format!("{CONFIG_MAPS}/child")).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn a_namespace_takes_its_content_with_it() {
    let api = Api::new();
    api.make("/api/v1/namespaces", named("n")).await;
    let inner = "/api/v1/namespaces/n/configmaps";
    api.make(inner, named("free")).await;
    api.make(inner, held("held")).await;
    let (code, namespace) = api.delete("/api/v1/namespaces/n").await;
    assert_eq!(
        (code, &namespace["status"]["phase"]),
        (200, &json!("Terminating"))
    );
    assert_eq!(api.get(&format!("{inner}/free")).await.0, 404);
    let (code, status) = api.post(inner, named("late")).await;
    assert_eq!((code, status["reason"].as_str()), (403, Some("Forbidden")));
    let cause = json!({
        "reason": "NamespaceTerminating", "message": "namespace n is being terminated", "field": "metadata.namespace",
    });
    assert_eq!(status["details"]["causes"], json!([cause]));
    api.merge(
        &format!("{inner}/held"),
        json!({"metadata": {"finalizers": null}}),
    )
    .await;
    assert_eq!(
        api.get("/api/v1/namespaces/n").await.0,
        200,
        "looked at now and then"
    );
    tokio::time::advance(Duration::from_secs(8)).await;
    assert_eq!(api.get("/api/v1/namespaces/n").await.0, 404);
    assert_eq!(
        api.post("/api/v1/namespaces", named("n")).await.0,
        201,
        "the name is free again"
    );
    let (code, status) = api.delete("/api/v1/namespaces/default").await;
    assert_eq!((code, status["reason"].as_str()), (403, Some("Forbidden")));
}

#[tokio::test]
async fn a_definition_waits_for_its_objects() {
    let api = Api::new();
    api.define_widgets(json!({})).await;
    let mut sent = widget("w");
    sent["metadata"]["finalizers"] = json!(["example.com/hold"]);
    let owner = api.make(WIDGETS, sent).await;
    api.make(CONFIG_MAPS, owned("child", &[&owner], &[])).await;
    let path = format!("{DEFINITIONS}/widgets.example.com");
    let (_, marked) = api.delete(&path).await;
    assert_eq!(
        marked["metadata"]["finalizers"],
        json!(["customresourcecleanup.apiextensions.k8s.io"])
    );
    let (_, definition) = api.get(&path).await;
    assert_eq!(definition["status"]["conditions"][2]["type"], "Terminating");
    let (code, status) = api.post(WIDGETS, widget("late")).await;
    assert_eq!((code, status["reason"].as_str()), (403, Some("Forbidden")));
    api.merge(
        &format!("{WIDGETS}/w"),
        json!({"metadata": {"finalizers": null}}),
    )
    .await;
    assert_eq!(api.get(&path).await.0, 404);
    assert_eq!(api.get(WIDGETS).await, (404, json!("404 page not found\n")));
    assert_eq!(
        api.get(&format!("{CONFIG_MAPS}/child")).await.0,
        404,
        "dependents of its objects go, too"
    );
    api.define_widgets(json!({})).await;
    assert_eq!(api.get(WIDGETS).await.1["items"], json!([]));
}

#[tokio::test]
async fn a_definition_cannot_take_what_is_built_in() {
    let api = Api::new();
    api.make(LEASES, named("l")).await;
    let definition = json!({
        "metadata": {
            "name": "leases.coordination.k8s.io",
            "annotations": {"api-approved.kubernetes.io": "unapproved, a test"},
        },
        "spec": {
            "group": "coordination.k8s.io", "scope": "Namespaced", "names": {"plural": "leases", "kind": "Lease"},
            "versions": [{
                "name": "v2", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}},
            }],
        },
    });
    api.make(DEFINITIONS, definition).await;
    let path = format!("{DEFINITIONS}/leases.coordination.k8s.io");
    let (_, found) = api.get(&path).await;
    assert_eq!(found["status"]["conditions"][0]["reason"], "PluralConflict");
    api.delete(&path).await;
    assert_eq!(api.get(&path).await.0, 404);
    assert_eq!(api.get(&format!("{LEASES}/l")).await.0, 200);
}
