//! Owner references that lead in circles, or nowhere.

#![allow(clippy::expect_used, reason = "in a test that is a failure")]

mod common;

use common::*;
use serde_json::{Value, json};

fn reference(owner: &Value) -> Value {
    json!({
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "blockOwnerDeletion": true,
    })
}

/// So many ConfigMaps, each owned by the one before it and the first one by the last one.
async fn circle(api: &Api, size: usize) {
    let mut all = Vec::new();
    for number in 0..size {
        all.push(api.make(CONFIG_MAPS, named(&format!("c{number}"))).await);
    }
    for number in 0..size {
        let owner = &all[(number + size - 1) % size];
        let references = json!({"metadata": {"ownerReferences": [reference(owner)]}});
        let path = format!("{CONFIG_MAPS}/c{number}");
        assert_eq!(api.merge(&path, references).await.0, 200);
    }
}

#[tokio::test]
async fn circles_go_whole() {
    for size in [2, 3, 20] {
        for policy in ["Background", "Foreground"] {
            let api = Api::new();
            circle(&api, size).await;
            let options = json!({"propagationPolicy": policy});
            api.delete_with(&format!("{CONFIG_MAPS}/c0"), options).await;
            let (_, left) = api.get(CONFIG_MAPS).await;
            assert_eq!(left["items"], json!([]), "{policy} of {size}");
        }
    }
}

/// As on a real server, where the object waits for itself.
#[tokio::test]
async fn an_owner_of_itself_waits_in_the_foreground_alone() {
    for (policy, code) in [("Background", 404), ("Foreground", 200)] {
        let api = Api::new();
        circle(&api, 1).await;
        let path = format!("{CONFIG_MAPS}/c0");
        api.delete_with(&path, json!({"propagationPolicy": policy}))
            .await;
        assert_eq!(api.get(&path).await.0, code, "{policy}");
    }
}

#[tokio::test]
async fn an_owner_of_an_unknown_kind_is_never_gone() {
    let api = Api::new();
    let owner = api.make(CONFIG_MAPS, named("owner")).await;
    let mut unknown = owner.clone();
    unknown["apiVersion"] = json!("nobody.example.com/v1");
    let child = json!({"metadata": {"name": "child", "ownerReferences": [reference(&unknown)]}});
    api.make(CONFIG_MAPS, child).await;
    api.delete(&format!("{CONFIG_MAPS}/owner")).await;
    assert_eq!(api.get(&format!("{CONFIG_MAPS}/child")).await.0, 200);
}

#[tokio::test]
async fn dependents_go_with_the_definition_of_their_owner() {
    let api = Api::new();
    api.define_widgets(json!({})).await;
    let owner = api.make(WIDGETS, widget("owner")).await;
    let child = json!({"metadata": {"name": "child", "ownerReferences": [reference(&owner)]}});
    api.make(CONFIG_MAPS, child).await;
    api.delete(&format!("{DEFINITIONS}/widgets.example.com"))
        .await;
    assert_eq!(api.get(&format!("{CONFIG_MAPS}/child")).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn what_a_definition_forgot_cannot_be_watched_from_before() {
    let api = Api::new();
    api.define_widgets(json!({})).await;
    let before = version(&api.make(WIDGETS, widget("w")).await).to_owned();
    api.delete(&format!("{DEFINITIONS}/widgets.example.com"))
        .await;
    api.define_widgets(json!({})).await;
    let mut watch = api
        .watch(&format!("{WIDGETS}?resourceVersion={before}"))
        .await;
    let error = watch.next().await.expect("that w is gone, or an error");
    assert_eq!(error["object"]["code"], 410, "{error}");
}
