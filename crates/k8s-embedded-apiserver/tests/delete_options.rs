//! What a delete asks for, and whom it is about.

#![allow(clippy::expect_used, reason = "in a test that is a failure")]

mod common;

use common::both::{Answer, Server, servers};
use serde_json::{Value, json};

const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

async fn delete(server: &Server, path: &str, options: Value) -> Answer {
    server.request("DELETE", path, JSON, options).await
}

async fn make(server: &Server, path: &str, object: Value) -> Answer {
    let made = server.post(path, object).await;
    assert_eq!(made.code, 201, "{}: {}", server.name, made.body);
    made
}

#[tokio::test]
async fn a_body_is_all_that_counts() {
    for server in servers().await {
        let maps = format!("/api/v1/namespaces/{}/configmaps", server.namespace().await);
        let held = json!({"metadata": {"name": "held", "finalizers": ["example.com/x"]}});
        make(&server, &maps, held).await;
        let path = format!("{maps}/held");
        for (options, code, message) in [
            (json!({"dryRun": ["All", "All"]}), 200, ""),
            (
                json!({"dryRun": "All"}),
                400,
                "json: cannot unmarshal string into Go struct field DeleteOptions.dryRun of type []string",
            ),
            (
                json!({"propagationPolicy": ""}),
                422,
                "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Unsupported value: \"\": \
                 supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"",
            ),
            (
                json!([]),
                400,
                "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type \
                 struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \
                 \"json:\\\"kind,omitempty\\\"\" }",
            ),
            // Who asks for this wants to know that the object is still there.
            (json!({"orphanDependents": false}), 202, ""),
        ] {
            let answer = delete(&server, &path, options.clone()).await;
            assert_eq!(
                (answer.code, answer.message()),
                (code, message),
                "{}: {options}",
                server.name
            );
        }
        make(&server, &maps, json!({"metadata": {"name": "gone"}})).await;
        let path = format!("{maps}/gone");
        let answer = delete(
            &server,
            &format!("{path}?dryRun=All"),
            json!({"kind": "DeleteOptions"}),
        )
        .await;
        assert_eq!(answer.code, 200, "{}", server.name);
        assert_eq!(server.get(&path).await.code, 404, "{}", server.name);
    }
}

#[tokio::test]
async fn some_kinds_leave_their_dependents() {
    let labels = json!({"a": "b"});
    let pod = |policy: &str| {
        json!({
            "metadata": {"labels": labels},
            "spec": {"restartPolicy": policy, "containers": [{"name": "c", "image": "i"}]},
        })
    };
    for server in servers().await {
        let namespace = server.namespace().await;
        let jobs = format!("/apis/batch/v1/namespaces/{namespace}/jobs");
        let controllers = format!("/api/v1/namespaces/{namespace}/replicationcontrollers");
        make(
            &server,
            &jobs,
            json!({"metadata": {"name": "x"}, "spec": {"template": pod("Never")}}),
        )
        .await;
        let spec = json!({"selector": labels, "template": pod("Always")});
        make(
            &server,
            &controllers,
            json!({"metadata": {"name": "x"}, "spec": spec}),
        )
        .await;
        let warning = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to \
                       remove them or set propagationPolicy=Orphan to suppress this warning";
        for (path, warnings) in [(&jobs, vec![warning.to_owned()]), (&controllers, vec![])] {
            let answer = server.delete(&format!("{path}/x")).await;
            let finalizers = &answer.body["metadata"]["finalizers"];
            assert_eq!(*finalizers, json!(["orphan"]), "{}: {path}", server.name);
            assert_eq!(answer.warnings(), warnings, "{}: {path}", server.name);
            server
                .until(&format!("{path}/x"), |answer| answer.code == 404)
                .await;
        }
    }
}

#[tokio::test]
async fn namespaces_have_words_and_finalizers_too() {
    for server in servers().await {
        let path = format!("/api/v1/namespaces/{}", server.namespace().await);
        let answer = delete(&server, &path, json!({"preconditions": {"uid": "x"}})).await;
        let words = "Precondition failed: UID in precondition: x, UID in object meta: ";
        assert_eq!(answer.code, 409, "{}", server.name);
        assert!(
            answer.message().contains(words),
            "{}: {}",
            server.name,
            answer.message()
        );
        let answer = server
            .delete(&format!("{path}?propagationPolicy=Orphan&dryRun=All"))
            .await;
        let finalizers = &answer.body["metadata"]["finalizers"];
        assert_eq!(*finalizers, json!(["orphan"]), "{}", server.name);
        server.delete(&path).await;
    }
}

#[tokio::test]
async fn owners_that_are_named_twice_count_once() {
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1"});
    for server in servers().await {
        let maps = format!("/api/v1/namespaces/{}/configmaps", server.namespace().await);
        let object = json!({"metadata": {"name": "a", "ownerReferences": [owner, owner]}});
        let answer = make(&server, &format!("{maps}?dryRun=All"), object).await;
        let owners = &answer.body["metadata"]["ownerReferences"];
        assert_eq!(*owners, json!([owner]), "{}", server.name);
        let warning = ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in \
                       1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate \
                       UID(s) observed: 1";
        assert_eq!(answer.warnings(), [warning], "{}", server.name);
    }
}

/// What is in no namespace cannot be owned by what is in one, and so does not go with it.
#[tokio::test]
async fn what_is_in_no_namespace_stays() {
    const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    for server in servers().await {
        let namespace = server.namespace().await;
        let maps = format!("/api/v1/namespaces/{namespace}/configmaps");
        let owner = make(&server, &maps, json!({"metadata": {"name": "owner"}})).await;
        let reference = json!([{
            "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.body["metadata"]["uid"],
        }]);
        let child = |name: &str| json!({"metadata": {"name": name, "ownerReferences": reference}});
        make(&server, ROLES, child(&namespace)).await;
        make(&server, &maps, child("child")).await;
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        server.delete(&format!("{maps}/owner")).await;
        server
            .until(&format!("{maps}/child"), |answer| answer.code == 404)
            .await;
        let role = format!("{ROLES}/{namespace}");
        assert_eq!(server.get(&role).await.code, 200, "{}", server.name);
        server.delete(&role).await;
    }
}

/// A kind without namespaces forgets one that is sent.
#[tokio::test]
async fn a_namespace_that_a_kind_has_not_is_dropped() {
    const CLASSES: &str = "/apis/scheduling.k8s.io/v1/priorityclasses";
    for server in servers().await {
        let object = json!({"metadata": {"name": "both-none", "namespace": "x"}, "value": 1});
        let answer = make(&server, &format!("{CLASSES}?dryRun=All"), object).await;
        assert_eq!(
            answer.body["metadata"]["namespace"],
            Value::Null,
            "{}",
            server.name
        );
    }
}

#[tokio::test]
async fn reviews_of_oneself_forget_what_was_sent() {
    const REVIEWS: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    for server in servers().await {
        let sent = json!({"metadata": {"name": "x"}, "status": {"userInfo": {"username": "fake"}}});
        let answer = make(&server, REVIEWS, sent).await;
        let keys = answer.body["metadata"].as_object();
        let keys: Vec<&str> = keys
            .into_iter()
            .flatten()
            .map(|(key, _)| key.as_str())
            .collect();
        assert_eq!(keys, ["creationTimestamp"], "{}", server.name);
        assert_ne!(
            answer.body["status"]["userInfo"]["username"], "fake",
            "{}",
            server.name
        );
    }
}
