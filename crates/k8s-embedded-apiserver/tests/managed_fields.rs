//! Who owns which fields, on both servers: answers of kube-apiserver 1.37.2, kept as tests.

mod common;

use common::both::{Answer, Server, servers};
use serde_json::{Value, json};

const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";

/// Manager, operation, version, subresource, whether there is a time, and the fields of each entry.
fn entries(answer: &Answer) -> Vec<Value> {
    let list = answer.body["metadata"]["managedFields"].as_array();
    list.into_iter()
        .flatten()
        .map(|entry| {
            json!([
                entry["manager"],
                entry["operation"],
                entry["apiVersion"],
                entry.get("subresource").cloned().unwrap_or_default(),
                entry.get("time").is_some(),
                entry["fieldsV1"],
            ])
        })
        .collect()
}

async fn apply(server: &Server, path: &str, query: &str, body: Value) -> Answer {
    server.patch(&format!("{path}?{query}"), APPLY, body).await
}

fn config_map(rest: &Value) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}});
    for (key, value) in rest.as_object().into_iter().flatten() {
        object[key] = value.clone();
    }
    object
}

#[tokio::test]
#[allow(clippy::too_many_lines, reason = "a table")]
async fn bodies_that_are_not_applied() {
    for server in servers().await {
        let path = format!(
            "/api/v1/namespaces/{}/configmaps/x",
            server.namespace().await
        );
        for (query, body, code, message) in [
            (
                "",
                json!({}),
                422,
                "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch",
            ),
            (
                "fieldManager=a",
                json!({}),
                400,
                "invalid object type: /, Kind=",
            ),
            (
                "fieldManager=a",
                json!(""),
                400,
                "invalid object type: /, Kind=",
            ),
            (
                "fieldManager=a",
                json!("null"),
                400,
                "invalid object type: /, Kind=",
            ),
            (
                "fieldManager=a",
                json!("a: b: c"),
                400,
                "error encoding patch: yaml: mapping values are not allowed in this context",
            ),
            (
                "fieldManager=a",
                json!([1]),
                400,
                "error decoding patch: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}",
            ),
            (
                "fieldManager=a",
                json!({"apiVersion": "v1", "kind": "Secret"}),
                400,
                "invalid object type: /v1, Kind=Secret",
            ),
            (
                "fieldManager=a",
                json!({"apiVersion": "a/b/c", "kind": "ConfigMap"}),
                400,
                "invalid object type: /, Kind=",
            ),
            (
                "fieldManager=a",
                json!({"apiVersion": "v1", "kind": "ConfigMap"}),
                400,
                "the name of the object (x based on URL) was undeterminable: name must be provided",
            ),
            (
                "fieldManager=a",
                config_map(&json!({"metadata": {"name": "y"}})),
                400,
                "the name of the object (y) does not match the name on the URL (x)",
            ),
            (
                "fieldManager=a",
                config_map(&json!({"metadata": {"name": "x", "managedFields": []}})),
                400,
                "metadata.managedFields must be nil",
            ),
            (
                "fieldManager=a",
                config_map(&json!({"metadata": {"name": "x", "namespace": "q"}})),
                400,
                "the namespace of the provided object does not match the namespace sent on the request",
            ),
            (
                "fieldManager=a",
                config_map(&json!({"metadata": {"name": "x", "uid": "123"}})),
                409,
                "Operation cannot be fulfilled on configmaps \"x\": uid mismatch: the provided object specified uid 123, and no existing object was found",
            ),
            (
                "fieldManager=a",
                config_map(&json!({"foo": 1})),
                500,
                "failed to create typed patch object (/x; /v1, Kind=ConfigMap): .foo: field not declared in schema",
            ),
            (
                "fieldManager=a",
                config_map(&json!({"data": [1]})),
                500,
                "failed to create typed patch object (/x; /v1, Kind=ConfigMap): .data: expected map, got &{[1]}",
            ),
            (
                "fieldManager=a",
                config_map(&json!({"immutable": "s"})),
                500,
                "failed to create typed patch object (/x; /v1, Kind=ConfigMap): .immutable: expected boolean, got &{s}",
            ),
            (
                "fieldManager=a",
                config_map(&json!({"metadata": [1]})),
                500,
                "failed to create typed patch object (/; /v1, Kind=ConfigMap): .metadata: expected map, got &{[1]}",
            ),
            (
                "fieldManager=a&fieldValidation=Strict",
                json!(
                    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\",\"name\":\"x\"}}"
                ),
                400,
                "error strict decoding patch: error converting YAML to JSON: yaml: unmarshal errors:\n  line 1: key \"name\" already set in map",
            ),
        ] {
            let answer = apply(&server, &path, query, body.clone()).await;
            assert_eq!(
                (answer.code, answer.message()),
                (code, message),
                "{}: {body}",
                server.name
            );
        }
        let refused = server
            .patch(
                &format!("{path}?fieldManager=a"),
                "application/apply-patch+cbor",
                json!({}),
            )
            .await;
        assert_eq!(
            (refused.code, refused.message()),
            (415, "415: Unsupported Media Type"),
            "{}",
            server.name
        );
        let forced = server
            .patch(&format!("{path}?force=true"), MERGE, json!({}))
            .await;
        assert_eq!(
            (forced.code, forced.message()),
            (
                422,
                "PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be specified for non-apply patch"
            ),
            "{}",
            server.name
        );
    }
}

#[tokio::test]
async fn who_changes_nothing_has_no_time() {
    for server in servers().await {
        let path = format!(
            "/api/v1/namespaces/{}/configmaps/x",
            server.namespace().await
        );
        let made = apply(
            &server,
            &path,
            "fieldManager=b",
            config_map(&json!({"data": {"a": null, "b": "1"}})),
        )
        .await;
        assert_eq!(
            (made.code, &made.body["data"]),
            (201, &json!({"a": "", "b": "1"})),
            "{}",
            server.name
        );
        apply(
            &server,
            &path,
            "fieldManager=c",
            config_map(&json!({"data": {"b": "1"}})),
        )
        .await;
        let last = apply(
            &server,
            &path,
            "fieldManager=d",
            config_map(&json!({"data": null})),
        )
        .await;
        assert_eq!(
            entries(&last),
            [
                json!(["c", "Apply", "v1", null, false, {"f:data": {"f:b": {}}}]),
                json!(["d", "Apply", "v1", null, false, {"f:data": {}}]),
                json!(["b", "Apply", "v1", null, true, {"f:data": {"f:a": {}, "f:b": {}}}]),
            ],
            "{}",
            server.name
        );
    }
}

#[tokio::test]
async fn a_scale_takes_the_replicas_and_has_no_time() {
    for server in servers().await {
        let path = format!(
            "/apis/apps/v1/namespaces/{}/deployments",
            server.namespace().await
        );
        let deployment = json!({"metadata": {"name": "d"}, "spec": {
            "replicas": 1, "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {
                "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}], "tolerations": [{"key": "k"}],
            }},
        }});
        let made = server
            .post(&format!("{path}?fieldManager=one"), deployment)
            .await;
        let rest = json!({
            "f:progressDeadlineSeconds": {}, "f:revisionHistoryLimit": {}, "f:selector": {},
            "f:strategy": {"f:rollingUpdate": {".": {}, "f:maxSurge": {}, "f:maxUnavailable": {}}, "f:type": {}},
            "f:template": {
                "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
                "f:spec": {
                    "f:containers": {"k:{\"name\":\"c\"}": {
                        ".": {}, "f:image": {}, "f:imagePullPolicy": {}, "f:name": {},
                        "f:ports": {".": {}, "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}, "f:protocol": {}}},
                        "f:resources": {}, "f:terminationMessagePath": {}, "f:terminationMessagePolicy": {},
                    }},
                    "f:dnsPolicy": {}, "f:restartPolicy": {}, "f:schedulerName": {}, "f:securityContext": {},
                    "f:terminationGracePeriodSeconds": {}, "f:tolerations": {},
                },
            },
        });
        let mut all = rest.clone();
        all["f:replicas"] = json!({});
        assert_eq!(
            entries(&made),
            [json!(["one", "Update", "apps/v1", null, true, {"f:spec": all}])],
            "{}",
            server.name
        );

        let scale = format!("{path}/d/scale");
        let spec = json!({"spec": {"replicas": 3}});
        server
            .patch(&format!("{scale}?fieldManager=two"), MERGE, spec)
            .await;
        let after = server.get(&format!("{path}/d")).await;
        let one = json!(["one", "Update", "apps/v1", null, true, {"f:spec": rest}]);
        assert_eq!(
            entries(&after),
            [
                json!(["two", "Update", "apps/v1", "scale", false, {"f:spec": {"f:replicas": {}}}]),
                one.clone()
            ],
            "{}",
            server.name
        );
        let config = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"}, "spec": {"replicas": 5}});
        let refused = apply(&server, &scale, "fieldManager=a", config.clone()).await;
        assert_eq!(
            (refused.code, refused.message()),
            (
                409,
                "Apply failed with 1 conflict: conflict with \"two\" with subresource \"scale\" using autoscaling/v1: .spec.replicas"
            ),
            "{}",
            server.name
        );
        let forced = apply(&server, &scale, "fieldManager=a&force=true", config).await;
        assert_eq!(
            (forced.code, &forced.body["spec"]),
            (200, &json!({"replicas": 5})),
            "{}",
            server.name
        );
        let after = server.get(&format!("{path}/d")).await;
        assert_eq!(
            entries(&after),
            [
                json!(["a", "Apply", "apps/v1", "scale", false, {"f:spec": {"f:replicas": {}}}]),
                one
            ],
            "{}",
            server.name
        );
    }
}

#[tokio::test]
async fn ports_of_a_service_are_told_apart_by_protocol() {
    for server in servers().await {
        let path = format!("/api/v1/namespaces/{}/services/s", server.namespace().await);
        let service = |ports: Value| json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": ports}});
        let made = apply(
            &server,
            &path,
            "fieldManager=a",
            service(
                json!([{"port": 80, "name": "t"}, {"port": 80, "protocol": "UDP", "name": "u"}]),
            ),
        )
        .await;
        assert_eq!(
            entries(&made),
            [
                json!(["a", "Apply", "v1", null, true, {"f:spec": {"f:ports": {
                    "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:name": {}, "f:port": {}},
                    "k:{\"port\":80,\"protocol\":\"UDP\"}": {".": {}, "f:name": {}, "f:port": {}, "f:protocol": {}},
                }}}])
            ],
            "{}: {}",
            server.name,
            made.body
        );
        let twice = apply(
            &server,
            &path,
            "fieldManager=z",
            service(json!([{"port": 81}, {"port": 81}])),
        )
        .await;
        assert_eq!(
            (twice.code, twice.message()),
            (
                500,
                "failed to create typed patch object (/s; /v1, Kind=Service): .spec.ports: duplicate entries for key [port=81,protocol=\"TCP\"]"
            ),
            "{}",
            server.name
        );
    }
}
