//! Creates, replacements and patches: conflicts, generation, status, dry runs, bad input.

#![allow(clippy::expect_used, reason = "in a test that is a failure")]

mod common;

use common::*;
use serde_json::{Value, json};

#[tokio::test]
async fn conflicts() {
    let api = Api::new();
    api.define_widgets(json!({})).await;
    let made = api.make(CONFIG_MAPS, named("a")).await;
    let first = version(&made).to_owned();
    api.merge(&format!("{CONFIG_MAPS}/a"), json!({"data": {"k": "v"}}))
        .await;
    api.make(WIDGETS, widget("w")).await;
    api.make(LEASES, named("l")).await;

    let stale = "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; \
                 please apply your changes to the latest version and try again";
    let with_version =
        |version: &str| json!({"metadata": {"name": "a", "resourceVersion": version}});
    let mut widget_without = widget("w");
    widget_without["spec"]["n"] = json!(2);
    let cases: [(&str, String, Value, u16, &str, &str); 6] = [
        (
            "PUT",
            format!("{CONFIG_MAPS}/a"),
            with_version(&first),
            409,
            "Conflict",
            stale,
        ),
        (
            "PATCH",
            format!("{CONFIG_MAPS}/a"),
            with_version(&first),
            409,
            "Conflict",
            stale,
        ),
        (
            "PUT",
            format!("{CONFIG_MAPS}/a"),
            with_version("abc"),
            500,
            "",
            "strconv.ParseUint",
        ),
        (
            "PUT",
            format!("{WIDGETS}/w"),
            widget_without,
            422,
            "Invalid",
            "must be specified for an update",
        ),
        (
            "PUT",
            format!("{LEASES}/l"),
            named("l"),
            422,
            "Invalid",
            "must be specified for an update",
        ),
        (
            "POST",
            CONFIG_MAPS.into(),
            named("a"),
            409,
            "AlreadyExists",
            "configmaps \"a\" already exists",
        ),
    ];
    for (method, path, body, code, reason, message) in cases {
        let (got, status) = match method {
            "PUT" => api.put(&path, body).await,
            "PATCH" => api.merge(&path, body).await,
            _ => api.post(&path, body).await,
        };
        assert_eq!(got, code, "{method} {path}: {status}");
        assert_eq!(status["reason"].as_str().unwrap_or_default(), reason);
        assert!(
            status["message"]
                .as_str()
                .expect("a message")
                .contains(message),
            "{status}"
        );
    }
    let (code, _) = api.put(&format!("{CONFIG_MAPS}/a"), named("a")).await;
    assert_eq!(code, 200, "a ConfigMap may be replaced without a version");
}

#[tokio::test]
async fn a_put_that_names_another_uid_is_a_conflict() {
    let api = Api::new();
    let uid = "11111111-1111-1111-1111-111111111111";
    let body = json!({"metadata": {"name": "l", "uid": uid}});
    for existing in [false, true] {
        if existing {
            api.make(LEASES, named("l")).await;
        }
        let (code, status) = api.put(&format!("{LEASES}/l"), body.clone()).await;
        assert_eq!((code, status["reason"].as_str()), (409, Some("Conflict")));
        assert!(
            status["message"].as_str().expect("a message").contains(uid),
            "{status}"
        );
    }
}

#[tokio::test]
async fn put_creates_events_and_leases_alone() {
    let api = Api::new();
    for (path, body, code) in [
        (LEASES, named("x"), 201),
        (
            CORE_EVENTS,
            json!({"metadata": {"name": "x"}, "involvedObject": {"namespace": "default"}}),
            201,
        ),
        (CONFIG_MAPS, named("x"), 404),
        (DEPLOYMENTS, deployment("x"), 404),
    ] {
        let (got, answer) = api.put(&format!("{path}/x"), body).await;
        assert_eq!(got, code, "{path}: {answer}");
    }
}

#[tokio::test]
async fn what_raises_the_generation() {
    let api = Api::new();
    api.define_widgets(json!({"subresources": {"status": {}}}))
        .await;
    api.make(CONFIG_MAPS, named("a")).await;
    api.make(DEPLOYMENTS, deployment("a")).await;
    api.make(WIDGETS, widget("a")).await;
    for (path, patch, want) in [
        (
            format!("{CONFIG_MAPS}/a"),
            json!({"data": {"k": "v"}}),
            None,
        ),
        (
            format!("{DEPLOYMENTS}/a"),
            json!({"metadata": {"labels": {"x": "y"}}}),
            Some(1),
        ),
        (
            format!("{DEPLOYMENTS}/a"),
            json!({"metadata": {"annotations": {"x": "y"}}}),
            Some(2),
        ),
        (
            format!("{DEPLOYMENTS}/a"),
            json!({"spec": {"replicas": 2}}),
            Some(3),
        ),
        (
            format!("{DEPLOYMENTS}/a"),
            json!({"spec": {"replicas": 2}}),
            Some(3),
        ),
        (
            format!("{DEPLOYMENTS}/a/status"),
            json!({"status": {"replicas": 2}}),
            Some(3),
        ),
        (
            format!("{DEPLOYMENTS}/a"),
            json!({"metadata": {"generation": 55}}),
            Some(3),
        ),
        (
            format!("{WIDGETS}/a"),
            json!({"metadata": {"labels": {"x": "y"}}}),
            Some(1),
        ),
        (format!("{WIDGETS}/a"), json!({"spec": {"n": 2}}), Some(2)),
        (format!("{WIDGETS}/a"), json!({"other": 1}), Some(3)),
        (
            format!("{WIDGETS}/a/status"),
            json!({"status": {"n": 2}}),
            Some(3),
        ),
        (
            format!("{WIDGETS}/a"),
            json!({"metadata": {"finalizers": ["example.com/f"]}}),
            Some(3),
        ),
    ] {
        let (code, object) = api.merge(&path, patch.clone()).await;
        assert_eq!(code, 200, "{path} {patch}: {object}");
        assert_eq!(
            object["metadata"]["generation"].as_i64(),
            want,
            "{path} {patch}"
        );
    }
    let (_, object) = api.delete(&format!("{WIDGETS}/a")).await;
    assert_eq!(
        object["metadata"]["generation"], 4,
        "a delete that finalizers hold"
    );
}

#[tokio::test]
async fn without_a_status_subresource_status_is_content() {
    let api = Api::new();
    api.define_widgets(json!({})).await;
    api.make(WIDGETS, widget("a")).await;
    let (_, object) = api
        .merge(&format!("{WIDGETS}/a"), json!({"status": {"n": 1}}))
        .await;
    assert_eq!(
        (&object["metadata"]["generation"], &object["status"]),
        (&json!(2), &json!({"n": 1}))
    );
    let (code, answer) = api
        .merge(&format!("{WIDGETS}/a/status"), json!({"status": {"n": 1}}))
        .await;
    let message = json!("widgets.example.com \"a\" not found");
    assert_eq!((code, &answer["message"]), (404, &message));
}

#[tokio::test]
async fn status_and_the_rest_are_written_apart() {
    let api = Api::new();
    api.define_widgets(json!({"subresources": {"status": {}}}))
        .await;
    let mut sent = widget("a");
    sent["status"] = json!({"dropped": true});
    let made = api.make(WIDGETS, sent).await;
    assert_eq!(made.get("status"), None);
    let all = json!({"metadata": {"labels": {"x": "y"}, "finalizers": ["example.com/f"]}, "spec": {"n": 9}, "status": {"n": 9}});
    let (_, object) = api.merge(&format!("{WIDGETS}/a/status"), all.clone()).await;
    assert_eq!(
        (&object["spec"], &object["status"]),
        (&json!({"n": 1}), &json!({"n": 9}))
    );
    assert_eq!(
        (
            object["metadata"].get("labels"),
            object["metadata"].get("finalizers")
        ),
        (None, None)
    );
    let (_, object) = api
        .merge(
            &format!("{WIDGETS}/a"),
            json!({"spec": {"n": 3}, "status": {"n": 3}}),
        )
        .await;
    assert_eq!(
        (&object["spec"], &object["status"]),
        (&json!({"n": 3}), &json!({"n": 9}))
    );
}

#[tokio::test]
async fn writes_that_change_nothing_keep_the_version() {
    let api = Api::new();
    let made = api
        .make(
            CONFIG_MAPS,
            json!({"metadata": {"name": "a"}, "data": {"k": "v"}}),
        )
        .await;
    let path = format!("{CONFIG_MAPS}/a");
    for (code, object) in [
        api.put(
            &path,
            json!({"metadata": {"name": "a"}, "data": {"k": "v"}}),
        )
        .await,
        api.merge(
            &path,
            json!({"data": {"k": "v"}, "metadata": {"labels": null}}),
        )
        .await,
        api.patch(&path, JSON_PATCH, json!([])).await,
        api.patch(&path, STRATEGIC, json!({})).await,
    ] {
        assert_eq!((code, version(&object)), (200, version(&made)));
    }
}

#[tokio::test]
async fn a_failed_test_of_a_json_patch_tells_nothing() {
    let api = Api::new();
    api.make(CONFIG_MAPS, named("a")).await;
    let path = format!("{CONFIG_MAPS}/a");
    let add = json!({"op": "add", "path": "/metadata/finalizers", "value": ["example.com/f"]});
    let (code, object) = api
        .patch(
            &path,
            JSON_PATCH,
            json!([{"op": "test", "path": "/metadata/finalizers", "value": null}, add]),
        )
        .await;
    assert_eq!(
        (code, &object["metadata"]["finalizers"]),
        (200, &json!(["example.com/f"]))
    );
    let (code, status) = api
        .patch(
            &path,
            JSON_PATCH,
            json!([{"op": "test", "path": "/metadata/finalizers", "value": null}, add]),
        )
        .await;
    assert_eq!((code, status["reason"].as_str()), (422, Some("Invalid")));
    assert_eq!(status["details"], json!({}));
}

#[tokio::test]
async fn dry_runs_leave_no_trace() {
    let api = Api::new();
    let made = api.make(CONFIG_MAPS, named("a")).await;
    let dry = "dryRun=All";
    let (code, object) = api.post(&format!("{CONFIG_MAPS}?{dry}"), named("b")).await;
    assert_eq!(
        (code, object["metadata"].get("resourceVersion")),
        (201, None)
    );
    let (code, _) = api
        .merge(
            &format!("{CONFIG_MAPS}/a?{dry}"),
            json!({"data": {"k": "v"}}),
        )
        .await;
    assert_eq!(code, 200);
    assert_eq!(api.delete(&format!("{CONFIG_MAPS}/a?{dry}")).await.0, 200);
    assert_eq!(api.delete(&format!("{CONFIG_MAPS}?{dry}")).await.0, 200);
    assert_eq!(api.get(&format!("{CONFIG_MAPS}/b")).await.0, 404);
    assert_eq!(api.get(&format!("{CONFIG_MAPS}/a")).await.1, made);
    let (code, status) = api
        .post(&format!("{CONFIG_MAPS}?dryRun=Some"), named("b"))
        .await;
    assert_eq!(
        (code, status["details"]["causes"][0]["field"].as_str()),
        (422, Some("dryRun"))
    );
}

#[tokio::test]
async fn generated_names() {
    let api = Api::new();
    let made = api
        .make(CONFIG_MAPS, json!({"metadata": {"generateName": "gen-"}}))
        .await;
    let name = made["metadata"]["name"].as_str().expect("a name");
    let suffix = name.strip_prefix("gen-").expect("the prefix");
    assert!(
        suffix.len() == 5
            && suffix
                .chars()
                .all(|c| "bcdfghjklmnpqrstvwxz2456789".contains(c)),
        "{name}"
    );
    let long = api
        .make(
            CONFIG_MAPS,
            json!({"metadata": {"generateName": "x".repeat(200)}}),
        )
        .await;
    assert_eq!(long["metadata"]["name"].as_str().map(str::len), Some(63));
    let (code, status) = api
        .post(EVENTS, json!({"metadata": {"generateName": "cm."}}))
        .await;
    assert_eq!((code, status["reason"].as_str()), (422, Some("Invalid")));
}

#[tokio::test]
async fn bad_bodies() {
    let api = Api::new();
    let large = "x".repeat(3 * 1024 * 1024 + 1);
    let cases: Vec<(&str, String, u16, &str)> = vec![
        (
            "application/json",
            "{".into(),
            400,
            "unexpected end of JSON input ({)",
        ),
        ("application/json", String::new(), 400, "(<empty>)"),
        (
            "application/json",
            "[]".into(),
            400,
            "cannot unmarshal array",
        ),
        (
            "application/json",
            r#"{"metadata":{"name":5}}"#.into(),
            400,
            "cannot be handled as a ConfigMap",
        ),
        (
            "application/json",
            r#"{"kind":"Secret"}"#.into(),
            400,
            "cannot be handled as a ConfigMap",
        ),
        (
            "application/json",
            r#"{"apiVersion":"v9"}"#.into(),
            400,
            "no kind \"ConfigMap\" is registered for version \"v9\"",
        ),
        (
            "application/json",
            "{}".into(),
            422,
            "name or generateName is required",
        ),
        ("application/json", large, 413, "limit is 3145728"),
        ("application/yaml", "a: [".into(), 400, "): yaml: "),
        (
            "application/vnd.kubernetes.protobuf",
            "k8s".into(),
            400,
            "expected prefix [107 56 115 0] (6b3873)",
        ),
        (
            "text/plain",
            "hello".into(),
            415,
            "accepted media types include",
        ),
    ];
    for (content_type, body, code, message) in cases {
        let shown: String = body.chars().take(40).collect();
        let response = api.raw("POST", CONFIG_MAPS, content_type, body).await;
        assert_eq!(response.status().as_u16(), code, "{shown}");
        let status = json_of(response).await;
        assert_eq!(
            (&status["kind"], &status["code"]),
            (&json!("Status"), &json!(code))
        );
        assert!(
            status["message"]
                .as_str()
                .expect("a message")
                .contains(message),
            "{shown}: {status}"
        );
    }
    let response = api
        .raw(
            "POST",
            CONFIG_MAPS,
            "application/yaml",
            "metadata: {name: from-yaml}\ndata: {k: v}\n",
        )
        .await;
    assert_eq!(response.status(), 201);
    let patch = api
        .raw(
            "PATCH",
            &format!("{CONFIG_MAPS}/from-yaml"),
            "application/xml",
            "{}",
        )
        .await;
    assert_eq!(patch.status(), 415);
    assert_eq!(
        json_of(patch).await["message"],
        "415: Unsupported Media Type"
    );
}

#[tokio::test]
async fn unknown_fields_are_told_or_refused() {
    let api = Api::new();
    let body = json!({"metadata": {"name": "a"}, "unknown": 1}).to_string();
    let strict = api
        .raw(
            "POST",
            &format!("{CONFIG_MAPS}?fieldValidation=Strict"),
            "application/json",
            body.clone(),
        )
        .await;
    assert_eq!(strict.status(), 400);
    assert!(
        json_of(strict).await["message"]
            .as_str()
            .expect("a message")
            .ends_with("unknown field \"unknown\"")
    );
    let warned = api.raw("POST", CONFIG_MAPS, "application/json", body).await;
    assert_eq!(
        warned.headers()["warning"],
        "299 - \"unknown field \\\"unknown\\\"\""
    );
    assert_eq!(json_of(warned).await.get("unknown"), None);
}

#[tokio::test]
async fn paths_and_verbs_that_are_not_there() {
    let api = Api::new();
    api.define_widgets(json!({})).await;
    let plain = json!("404 page not found\n");
    for (method, path, code) in [
        ("GET", "/apis/nobody.example.com/v1/things", 404),
        ("POST", "/apis/example.com/v1/widgets", 404),
        ("GET", "/api/v1/nothings", 404),
        ("POST", "/api/v1/configmaps", 405),
        ("DELETE", "/api/v1/namespaces", 405),
        ("POST", "/api/v1/namespaces/default/configmaps/a", 405),
        ("DELETE", "/api/v1/namespaces/default/pods/p/status", 405),
        ("GET", "/api/v1/namespaces/missing/configmaps", 200),
    ] {
        let response = api.raw(method, path, "", "").await;
        assert_eq!(response.status().as_u16(), code, "{method} {path}");
        let body = json_of(response).await;
        assert_eq!(
            body == plain,
            path.starts_with("/apis/"),
            "{method} {path}: {body}"
        );
    }
    let (code, status) = api
        .post("/api/v1/namespaces/missing/configmaps", named("a"))
        .await;
    assert_eq!(
        (code, status["message"].as_str()),
        (404, Some("namespaces \"missing\" not found"))
    );
}

#[tokio::test]
async fn scale_reads_and_writes_replicas() {
    let api = Api::new();
    api.make(DEPLOYMENTS, deployment("d")).await;
    let path = format!("{DEPLOYMENTS}/d/scale");
    let (_, scale) = api.get(&path).await;
    assert_eq!(
        (
            &scale["kind"],
            &scale["spec"]["replicas"],
            &scale["status"]["selector"]
        ),
        (&json!("Scale"), &json!(1), &json!("a=b"))
    );
    let (code, scale) = api.merge(&path, json!({"spec": {"replicas": 4}})).await;
    assert_eq!((code, &scale["spec"]["replicas"]), (200, &json!(4)));
    let (_, object) = api.get(&format!("{DEPLOYMENTS}/d")).await;
    assert_eq!(
        (
            &object["spec"]["replicas"],
            &object["metadata"]["generation"]
        ),
        (&json!(4), &json!(2))
    );
    let (code, status) = api.merge(&path, json!({"spec": {"replicas": -1}})).await;
    assert_eq!(
        (code, status["details"]["causes"][0]["field"].as_str()),
        (422, Some("spec.replicas"))
    );
}

#[tokio::test]
async fn a_seed_makes_two_servers_alike() {
    let mut transcripts = Vec::new();
    for _ in 0..2 {
        let clock = || "2026-01-01T00:00:00Z".parse().expect("a time");
        let api = Api(k8s_embedded_apiserver::EmbeddedApiServer::builder()
            .seed(42)
            .clock(clock)
            .build());
        let made = api
            .make(CONFIG_MAPS, json!({"metadata": {"generateName": "g-"}}))
            .await;
        transcripts.push((made, api.get("/api/v1/namespaces").await.1));
    }
    assert_eq!(transcripts[0], transcripts[1]);
    assert_eq!(
        transcripts[0].0["metadata"]["creationTimestamp"],
        "2026-01-01T00:00:00Z"
    );
}
