//! In which form servers answer: media types, the order of members, what refused patches quote. Both servers.

mod common;

use common::both::{Server, servers};
use serde_json::{Value, json};

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const AGGREGATED: &str = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

async fn config_map(server: &Server) -> String {
    let namespace = server.namespace().await;
    let path = format!("/api/v1/namespaces/{namespace}/configmaps");
    let made = server
        .post(
            &path,
            json!({"metadata": {"name": "a", "labels": {"b": "1", "a": "2"}}, "data": {"y": "1", "k": "&"}}),
        )
        .await;
    assert_eq!(made.code, 201, "{}: {}", server.name, made.body);
    format!("{path}/a")
}

/// Where the texts come, one after the other.
fn in_order(text: &str, parts: &[&str]) -> bool {
    let mut rest = text;
    parts.iter().all(|part| match rest.find(part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}

#[tokio::test]
async fn members_come_in_the_order_of_the_types() {
    for server in servers().await {
        let path = config_map(&server).await;
        let text = server.get(&path).await.text;
        let order = [
            r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"#,
            r#""uid":"#,
            r#""resourceVersion":"#,
            r#""creationTimestamp":"#,
            r#""labels":{"a":"2","b":"1"}"#,
            r#""managedFields":[{"manager":"#,
            r#""data":{"k":"\u0026","y":"1"}}"#,
        ];
        assert!(in_order(&text, &order), "{}: {text}", server.name);
        let missing = server.get("/api/v1/namespaces/none/configmaps/none").await;
        assert_eq!(
            missing.text.trim_end(),
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"configmaps \"none\" not found","reason":"NotFound","details":{"name":"none","kind":"configmaps"},"code":404}"#,
            "{}",
            server.name
        );
    }
}

#[tokio::test]
async fn what_a_refused_patch_quotes() {
    for server in servers().await {
        let path = config_map(&server).await;
        for (type_, patch, code, parts) in [
            // What the patch goes through comes by name, the rest in the order of its type.
            (
                MERGE,
                json!({"data": {"y": 5}}),
                422,
                &[
                    r#"{\"apiVersion\":\"v1\",\"data\":{\"k\":\"\\u0026\",\"y\":5},\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\""#,
                    r#"\"labels\":{"#,
                    "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
                ][..],
            ),
            (
                JSON_PATCH,
                json!([{"op": "add", "path": "/metadata/labels/c", "value": 5}]),
                422,
                &[
                    r#"\"data\":{"#,
                    r#"\"metadata\":{\"creationTimestamp\":"#,
                    r#"\"labels\":{\"a\":\"2\",\"b\":\"1\",\"c\":5}"#,
                    r#"\"uid\":"#,
                ],
            ),
            (
                JSON_PATCH,
                json!([{"op": "replace", "path": "/kind", "value": "Nothing"}]),
                422,
                &[r#"no kind "Nothing" is registered for version "v1""#],
            ),
            (
                MERGE,
                json!({"kind": "Pod"}),
                422,
                &["converting (v1.Pod) to (core.ConfigMap): unknown conversion"],
            ),
            (
                JSON_PATCH,
                json!([{"op": "remove", "path": "/apiVersion"}]),
                400,
                &[
                    "the name of the object (a based on URL) was undeterminable: name must be provided",
                ],
            ),
            (
                JSON_PATCH,
                json!([{"op": "remove", "path": "/kind"}]),
                200,
                &[],
            ),
            (STRATEGIC, json!({"kind": "Nothing"}), 200, &[]),
        ] {
            let answer = server.patch(&path, type_, patch.clone()).await;
            assert_eq!(
                answer.code, code,
                "{} {patch}: {}",
                server.name, answer.text
            );
            let message = answer.message();
            assert!(
                in_order(message, parts),
                "{} {patch}: {message}",
                server.name
            );
        }
    }
}

#[tokio::test]
async fn patches_of_a_scale_that_make_none() {
    for server in servers().await {
        let namespace = server.namespace().await;
        let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments");
        let template = json!({
            "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]},
        });
        let spec = json!({"selector": {"matchLabels": {"a": "b"}}, "template": template});
        let made = server
            .post(&path, json!({"metadata": {"name": "d"}, "spec": spec}))
            .await;
        assert_eq!(made.code, 201, "{}: {}", server.name, made.body);
        for (type_, patch, code, message) in [
            (
                STRATEGIC,
                json!({"spec": {"replicas": "x"}}),
                422,
                r#" "" is invalid: patch: Invalid value: "map[spec:map[replicas:x]]": unrecognized type: int32"#,
            ),
            (
                MERGE,
                json!({"apiVersion": "v9"}),
                422,
                r#"no kind "Scale" is registered for version "v9" in scheme "pkg/runtime/scheme.go:111""#,
            ),
            (STRATEGIC, json!({"kind": "Other"}), 200, ""),
        ] {
            let answer = server
                .patch(&format!("{path}/d/scale"), type_, patch.clone())
                .await;
            assert_eq!(
                answer.code, code,
                "{} {patch}: {}",
                server.name, answer.text
            );
            let found = answer.message();
            assert!(found.ends_with(message), "{} {patch}: {found}", server.name);
        }
    }
}

#[tokio::test]
async fn bodies_in_versions_that_are_not_served() {
    for server in servers().await {
        let namespace = server.namespace().await;
        let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments");
        for (version, kind, message) in [
            (
                "apps/v1beta2",
                "Deployment",
                "the API version in the data (apps/v1beta2) does not match the expected API version (apps/v1)",
            ),
            (
                "apps/v9",
                "Deployment",
                r#"Deployment in version "v9" cannot be handled as a Deployment: no kind "Deployment" is registered for version "apps/v9" in scheme "pkg/runtime/scheme.go:111""#,
            ),
            (
                "apps/v1beta2",
                "DaemonSet",
                r#"DaemonSet in version "v1beta2" cannot be handled as a Deployment: converting (v1beta2.DaemonSet) to (apps.Deployment): unknown conversion"#,
            ),
            (
                "v1",
                "List",
                r#"List in version "v1" cannot be handled as a Deployment: converting (v1.List) to (apps.Deployment): unknown conversion"#,
            ),
        ] {
            let body = json!({"apiVersion": version, "kind": kind, "metadata": {"name": "a"}});
            let answer = server.post(&path, body).await;
            assert_eq!(
                (answer.code, answer.message()),
                (400, message),
                "{}",
                server.name
            );
        }
    }
}

#[tokio::test]
async fn documents_in_media_types() {
    let other_routed = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf";
    for server in servers().await {
        for (path, accept, code, content_type, message) in [
            (
                "/apis/apps",
                "application/yaml",
                200,
                "application/yaml",
                "",
            ),
            ("/apis/apps", PROTOBUF, 200, PROTOBUF, ""),
            ("/apis/apps/v1", PROTOBUF, 200, PROTOBUF, ""),
            ("/apis/apps", "application/*", 200, "application/json", ""),
            (
                "/apis/apps/v1",
                "application/*",
                406,
                "application/json",
                other_routed,
            ),
            ("/api", "*", 406, "application/json", other_routed),
            (
                "/apis",
                "text/html",
                406,
                "application/json",
                "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf",
            ),
            (
                "/version",
                "text/html",
                406,
                "application/json",
                "406: Not Acceptable\n\nAvailable representations: application/json",
            ),
            (
                "/version/x",
                "",
                404,
                "application/json",
                "the server could not find the requested resource",
            ),
            (
                "/openapi/v3",
                "text/html",
                200,
                "text/plain; charset=utf-8",
                "",
            ),
            ("/openapi/v3/api/v1?hash=0", "", 301, "application/json", ""),
            ("/openapi/v3/", "", 404, "", ""),
            ("/openapi/v3/api/v9", "", 404, "", ""),
        ] {
            let accept: &[(&str, &str)] = match accept {
                "" => &[],
                accept => &[("accept", accept)],
            };
            let answer = server.request("GET", path, accept, Value::Null).await;
            let found = answer.headers.get("content-type");
            let found = found
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default();
            assert_eq!(
                (answer.code, found, answer.message()),
                (code, content_type, message),
                "{} {path} {accept:?}",
                server.name
            );
        }
        // The aggregated form comes before the plain one, whatever is liked best.
        let accept = format!("application/json,application/json;{AGGREGATED}");
        let answer = server
            .request("GET", "/apis", &[("accept", &accept)], Value::Null)
            .await;
        assert_eq!(
            answer.body["kind"], "APIGroupDiscoveryList",
            "{}",
            server.name
        );
    }
}

#[tokio::test]
async fn answers_in_protobuf() {
    for server in servers().await {
        let path = config_map(&server).await;
        let get = async |path: &str, accept: &str| {
            server
                .request("GET", path, &[("accept", accept)], Value::Null)
                .await
        };
        let object = get(&path, PROTOBUF).await;
        assert_eq!(object.headers["content-type"], PROTOBUF, "{}", server.name);
        assert!(
            object
                .text
                .starts_with("k8s\0\n\x0f\n\x02v1\x12\tConfigMap\x12"),
            "{}: {:?}",
            server.name,
            object.text
        );
        let missing = get("/api/v1/namespaces/none/configmaps/none", PROTOBUF).await;
        assert_eq!(
            missing.text,
            // Lengths and numbers are ASCII but for the code, which is no UTF-8.
            "k8s\0\n\x0c\n\x02v1\x12\x06Status\x12U\n\x06\n\0\x12\0\x1a\0\x12\x07Failure\x1a\x1bconfigmaps \"none\" not found\"\x08NotFound*\x18\n\x04none\x12\0\x1a\nconfigmaps(\0\x32\x000\u{fffd}\x03\x1a\0\"\0",
            "{}",
            server.name
        );
        let table = "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io";
        assert_eq!(get(&path, table).await.code, 406, "{}", server.name);
        let watch = format!("{}?watch=1&timeoutSeconds=1", path.trim_end_matches("/a"));
        let events = get(&watch, PROTOBUF).await;
        assert_eq!(
            events.headers["content-type"], "application/vnd.kubernetes.protobuf;stream=watch",
            "{}",
            server.name
        );
        assert!(
            in_order(&events.text, &["\n\x05ADDED\x12", "k8s\0", "ConfigMap"]),
            "{}: {:?}",
            server.name,
            events.text
        );
    }
}
