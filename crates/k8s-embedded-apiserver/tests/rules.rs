//! Rules of requests that real servers were asked about: each holds on the embedded server and on a real one.

#![allow(clippy::expect_used, reason = "in a test that is a failure")]

mod common;

use common::both::{Answer, Server, servers};
use serde_json::{Value, json};

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// A request below a namespace, and what the answer is like: the code, and a part of the message or of the body.
struct Case(
    &'static str,
    &'static str,
    &'static str,
    Value,
    u16,
    &'static str,
);

/// Sends the requests one after the other. `{cm}` and the like stand for the collections of a namespace.
async fn check(server: &Server, cases: &[Case]) {
    let namespace = server.namespace().await;
    for Case(method, path, content_type, body, code, part) in cases {
        let path = collection(path, &namespace);
        let headers = [("content-type", *content_type)];
        let answer = server.request(method, &path, &headers, body.clone()).await;
        let shown = format!("{}: {method} {path} {body}: {}", server.name, answer.text);
        assert_eq!(answer.code, *code, "{shown}");
        // Messages quote in JSON what is quoted already.
        assert!(
            answer.message().contains(part) || answer.text.contains(part),
            "{part}: {shown}"
        );
    }
    server
        .delete(&format!("/api/v1/namespaces/{namespace}"))
        .await;
}

fn collection(path: &str, namespace: &str) -> String {
    let core = format!("/api/v1/namespaces/{namespace}");
    path.replace("{core}", &core)
        .replace("{cm}", &format!("{core}/configmaps"))
        .replace(
            "{leases}",
            &format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"),
        )
        .replace("{apps}", &format!("/apis/apps/v1/namespaces/{namespace}"))
        .replace(
            "{rbac}",
            &format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"),
        )
}

fn named(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

fn deployment() -> Value {
    json!({"metadata": {"name": "a"}, "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    }})
}

#[tokio::test]
async fn options_of_writes() {
    let body_counts = json!({"gracePeriodSeconds": 0});
    let all_twice = json!({"dryRun": ["All", "All"]});
    let unsupported = "dryRun: Unsupported value: [\"\"]: supported values: \"All\"";
    let cases = [
        Case("POST", "{cm}?dryRun=", JSON, named("a"), 422, unsupported),
        Case(
            "POST",
            "{cm}?dryRun=All&dryRun=x",
            JSON,
            named("a"),
            422,
            "Unsupported value: [\"All\",\"x\"]",
        ),
        Case(
            "POST",
            "{cm}?dryRun=All&dryRun=All",
            JSON,
            named("a"),
            201,
            "",
        ),
        Case("POST", "{cm}", JSON, named("a"), 201, ""),
        Case("PUT", "{cm}/a?dryRun=", JSON, named("a"), 422, unsupported),
        Case(
            "PATCH",
            "{cm}/a?dryRun=",
            MERGE,
            json!({}),
            422,
            unsupported,
        ),
        Case(
            "DELETE",
            "{cm}/a?dryRun=",
            JSON,
            Value::Null,
            422,
            unsupported,
        ),
        Case("DELETE", "{cm}/a", JSON, all_twice, 200, "Success"),
        // With a body the parameters of a delete count for nothing.
        Case(
            "DELETE",
            "{cm}/a?dryRun=x",
            JSON,
            body_counts,
            200,
            "Success",
        ),
        Case("GET", "{cm}/a", JSON, Value::Null, 404, ""),
    ];
    for server in servers().await {
        check(&server, &cases).await;
    }
}

#[tokio::test]
async fn media_types_of_bodies() {
    let refused = "the body of the request was in an unknown format";
    let cases = [
        Case(
            "POST",
            "{cm}",
            "APPLICATION/JSON; charset=x",
            named("a"),
            201,
            "",
        ),
        Case("POST", "{cm}", "application/json;", named("b"), 201, ""),
        Case(
            "POST",
            "{cm}",
            "application/json;;",
            named("c"),
            415,
            refused,
        ),
        Case(
            "POST",
            "{cm}",
            "application/json; charset",
            named("c"),
            415,
            refused,
        ),
        Case(
            "POST",
            "{cm}",
            "application/json; a=b; a=c",
            named("c"),
            415,
            refused,
        ),
        Case("POST", "{cm}", "*/*", named("c"), 415, refused),
    ];
    for server in servers().await {
        check(&server, &cases).await;
    }
}

#[tokio::test]
async fn what_is_kept_of_metadata_and_empty_values() {
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u1"});
    let twice = json!({"metadata": {
        "name": "a", "finalizers": ["example.com/hold"], "ownerReferences": [owner, owner],
    }});
    let elsewhere = json!({"metadata": {"name": "PREFIX", "namespace": "other"}});
    for server in servers().await {
        let namespace = server.namespace().await;
        let at = |path: &str| collection(path, &namespace);
        let made = server.post(&at("{cm}"), twice.clone()).await;
        assert_eq!(made.body["metadata"]["ownerReferences"], json!([owner]));
        let said = ".metadata.ownerReferences contains duplicate entries; API server dedups";
        assert!(made.warnings()[0].starts_with(said), "{}", server.name);
        let twice = json!({"metadata": {"ownerReferences": [owner, owner]}});
        let patched = server.patch(&at("{cm}/a"), MERGE, twice).await;
        let said = "duplicate entries after mutating admission happens";
        assert!(patched.warnings()[0].contains(said), "{}", server.name);
        let free = json!({"metadata": {"finalizers": null}});
        server.patch(&at("{cm}/a"), MERGE, free).await;

        let empty = json!({"metadata": {"name": "b"}, "data": {"k": null}});
        let made = server.post(&at("{core}/secrets"), empty).await;
        assert_eq!(made.body["data"], json!({"k": ""}), "{}", server.name);

        let role = json!({"metadata": {"name": "r"}, "rules": []});
        let made = server.post(&at("{rbac}/roles"), role).await;
        assert_eq!(made.body["rules"], Value::Null);
        let fields = &made.body["metadata"]["managedFields"][0]["fieldsV1"];
        assert_eq!(*fields, json!({"f:rules": {}}), "{}", server.name);

        server
            .post(
                &at("{cm}"),
                json!({"metadata": {"name": "c"}, "data": {"k": "v"}}),
            )
            .await;
        let reset = json!({"metadata": {"name": "c", "managedFields": []}, "data": {"k": "v"}});
        let put = server.put(&at("{cm}/c"), reset).await;
        assert_eq!(
            put.body["metadata"]["managedFields"],
            Value::Null,
            "{}",
            server.name
        );

        // What is in no namespace loses the one that was sent.
        let mut class = elsewhere.clone();
        class["metadata"]["name"] = namespace.as_str().into();
        let made = server
            .post("/apis/rbac.authorization.k8s.io/v1/clusterroles", class)
            .await;
        assert_eq!(
            (made.code, &made.body["metadata"]["namespace"]),
            (201, &Value::Null)
        );
        server
            .delete(&format!(
                "/apis/rbac.authorization.k8s.io/v1/clusterroles/{namespace}"
            ))
            .await;
        server.delete(&at("{core}")).await;
    }
}

#[tokio::test]
async fn patches_without_a_version_and_of_nothing() {
    let no_name = "was undeterminable: name must be provided";
    let replaced = json!([{"op": "replace", "path": "", "value": {"metadata": {"name": "a"}}}]);
    let cases = [
        Case(
            "PATCH",
            "{cm}/a",
            MERGE,
            json!("{"),
            400,
            "invalid JSON patch",
        ),
        Case("PATCH", "{cm}/a", MERGE, json!("{}"), 404, "not found"),
        Case("POST", "{cm}", JSON, named("a"), 201, ""),
        Case(
            "PATCH",
            "{cm}/a",
            MERGE,
            json!({"apiVersion": null, "kind": null}),
            400,
            no_name,
        ),
        Case("PATCH", "{cm}/a", JSON_PATCH, replaced, 400, no_name),
        Case("PATCH", "{cm}/a", MERGE, json!({"kind": null}), 200, ""),
        Case(
            "PATCH",
            "{cm}/a",
            MERGE,
            json!({"kind": {}}),
            422,
            "cannot unmarshal object into Go struct field .kind of type string",
        ),
    ];
    for server in servers().await {
        check(&server, &cases).await;
    }
}

#[tokio::test]
async fn paths_that_lead_nowhere() {
    let not_allowed = "the server does not allow this method";
    let no_resource = "the server could not find the requested resource";
    let cases = [
        Case("GET", "{cm}/%2e", JSON, Value::Null, 400, "may not be '.'"),
        Case(
            "GET",
            "{cm}/a%25b",
            JSON,
            Value::Null,
            400,
            "may not contain '%'",
        ),
        Case(
            "PUT",
            "{core}/pods/a/log",
            JSON,
            json!({}),
            405,
            not_allowed,
        ),
        Case(
            "DELETE",
            "{core}/pods/a/exec",
            JSON,
            Value::Null,
            405,
            not_allowed,
        ),
        Case(
            "POST",
            "{core}/pods/a/resize",
            JSON,
            json!({}),
            405,
            not_allowed,
        ),
        Case(
            "GET",
            "{core}/pods/a/bogus",
            JSON,
            Value::Null,
            404,
            no_resource,
        ),
        Case(
            "GET",
            "/apis/apps/v9/deployments",
            JSON,
            Value::Null,
            404,
            no_resource,
        ),
        Case(
            "GET",
            "/apis/batch/v1/jobs?fieldSelector=status.active=1",
            JSON,
            Value::Null,
            400,
            "field label \"status.active\" not supported for Job",
        ),
    ];
    for server in servers().await {
        check(&server, &cases).await;
    }
}

#[tokio::test]
async fn scales_are_read_by_their_type() {
    let scale = |replicas: i64| json!({"metadata": {"name": "a"}, "spec": {"replicas": replicas}});
    let mut typo = scale(3);
    typo["spec"]["x"] = 1.into();
    let mut other = scale(3);
    other["metadata"]["uid"] = "00000000-0000-0000-0000-000000000001".into();
    let kind = |version: &str, kind: &str| json!({"apiVersion": version, "kind": kind, "metadata": {"name": "a"}});
    let (path, strict) = (
        "{apps}/deployments/a/scale",
        "{apps}/deployments/a/scale?fieldValidation=Strict",
    );
    let unknown = "unknown field \"spec.x\"";
    let cases = [
        Case("POST", "{apps}/deployments", JSON, deployment(), 201, ""),
        Case(
            "PUT",
            path,
            JSON,
            kind("apps/v1", "Deployment"),
            400,
            "converting (v1.Deployment) to (autoscaling.Scale): unknown conversion",
        ),
        Case(
            "PUT",
            path,
            JSON,
            kind("extensions/v1beta1", "Scale"),
            400,
            "the API version in the data (extensions/v1beta1) does not match the expected API version (autoscaling/v1)",
        ),
        Case("PUT", strict, JSON, typo, 400, unknown),
        Case(
            "PATCH",
            strict,
            MERGE,
            json!({"spec": {"x": 1}}),
            422,
            unknown,
        ),
        Case("PUT", path, JSON, other, 409, "UID in precondition"),
        Case("PUT", path, JSON, scale(3), 200, "\"replicas\":3"),
        Case("PATCH", path, MERGE, json!("{"), 400, "invalid JSON patch"),
    ];
    for server in servers().await {
        check(&server, &cases).await;
        let namespace = server.namespace().await;
        let at = |path: &str| collection(path, &namespace);
        server.post(&at("{apps}/deployments"), deployment()).await;
        let accept = |what: &str| format!("application/json;as={what};v=v1;g=meta.k8s.io");
        for (what, pointer, wanted) in [
            ("Table", "/rows/0/cells/1", json!(2)),
            ("Table", "/columnDefinitions/2/name", json!("Available")),
            (
                "PartialObjectMetadata",
                "/kind",
                json!("PartialObjectMetadata"),
            ),
        ] {
            let accept = accept(what);
            let headers = [("accept", accept.as_str())];
            let answer = server
                .request("GET", &at(path), &headers, Value::Null)
                .await;
            let found = answer.body.pointer(pointer);
            assert_eq!(found, Some(&wanted), "{}: {}", server.name, answer.text);
        }
        let controller = json!({"metadata": {"name": "a"}, "spec": {
            "selector": {"a": "b"}, "template": deployment()["spec"]["template"],
        }});
        server
            .post(&at("{core}/replicationcontrollers"), controller)
            .await;
        let scale = server
            .get(&at("{core}/replicationcontrollers/a/scale"))
            .await;
        assert_eq!(scale.body["status"]["selector"], "a=b", "{}", server.name);
        server.delete(&at("{core}")).await;
    }
}

#[tokio::test]
async fn addresses_in_the_status_of_a_pod() {
    let pod =
        json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let status = |status: Value| json!({ "status": status });
    let two = json!({"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]});
    let hosts = json!({"hostIP": "10.0.0.1", "hostIPs": [{"ip": "10.0.0.2"}]});
    let path = "{core}/pods/a/status";
    let failed = json!({"metadata": {"name": "a"}, "status": {"phase": "Failed"}});
    let cases = [
        Case("POST", "{core}/pods", JSON, pod, 201, ""),
        Case(
            "PATCH",
            path,
            MERGE,
            status(json!({"podIP": "bad"})),
            422,
            "status.podIPs[0]: Invalid value: \"bad\": must be a valid IP address",
        ),
        Case(
            "PATCH",
            path,
            MERGE,
            status(two),
            422,
            "no more than one IP for each IP family",
        ),
        Case(
            "PATCH",
            path,
            MERGE,
            status(hosts),
            422,
            "must be equal to `hostIP`",
        ),
        // The class is kept where it is left out.
        Case("PUT", path, JSON, failed, 200, "BestEffort"),
    ];
    for server in servers().await {
        check(&server, &cases).await;
    }
}

#[tokio::test]
async fn what_is_deleted_and_what_is_not_applied() {
    let merge_time = json!({"metadata": {"deletionTimestamp": "2001-01-01T00:00:00Z"}});
    let held = json!({"metadata": {"name": "a", "finalizers": ["example.com/hold"]}});
    let free = json!({"metadata": {"finalizers": null}});
    let config = |kind: &str, rest: Value| {
        let mut config = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "z"}});
        for (key, value) in rest.as_object().into_iter().flatten() {
            config[key] = value.clone();
        }
        config
    };
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "z"}, "spec": {"renewTime": "yesterday"}});
    let fraction = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "z"}, "spec": {"replicas": 1.5}});
    let cases = [
        Case("POST", "{cm}", JSON, held, 201, ""),
        Case(
            "PATCH",
            "{cm}/a",
            MERGE,
            merge_time.clone(),
            422,
            "field is immutable",
        ),
        Case("DELETE", "{cm}/a", JSON, Value::Null, 200, ""),
        // Once there, the time stays.
        Case("PATCH", "{cm}/a", MERGE, merge_time, 200, ""),
        Case("PATCH", "{cm}/a", MERGE, free, 200, ""),
        Case(
            "PATCH",
            "{core}/secrets/z?fieldManager=m",
            APPLY,
            config("Secret", json!({"data": {"k": "not base64"}})),
            500,
            "unable to convert unstructured object to /v1, Kind=Secret: error decoding from json: illegal base64 data",
        ),
        Case(
            "PATCH",
            "{leases}/z?fieldManager=m",
            APPLY,
            lease,
            500,
            "unable to convert unstructured object to coordination.k8s.io/v1, Kind=Lease: parsing time",
        ),
        Case(
            "PATCH",
            "{apps}/deployments/z?fieldManager=m",
            APPLY,
            fraction,
            500,
            "unable to convert unstructured object to apps/v1, Kind=Deployment: cannot convert float64 to int32",
        ),
    ];
    for server in servers().await {
        check(&server, &cases).await;
        // A kind that is answered with as it was deleted is in the version of the delete.
        let namespace = server.namespace().await;
        let accounts = collection("{core}/serviceaccounts", &namespace);
        let made = server.post(&accounts, named("a")).await;
        let deleted = server.delete(&format!("{accounts}/a")).await;
        let version = |answer: &Answer| answer.body["metadata"]["resourceVersion"].clone();
        assert_ne!(
            version(&made),
            version(&deleted),
            "{}: {}",
            server.name,
            deleted.text
        );
        let headers = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
        for (path, rows) in [("{rbac}/roles", Value::Null), ("{cm}", json!([]))] {
            let path = format!("{}?labelSelector=none", collection(path, &namespace));
            let table = server.request("GET", &path, &headers, Value::Null).await;
            assert_eq!(table.body["rows"], rows, "{}: {path}", server.name);
        }
        server.delete(&collection("{core}", &namespace)).await;
    }
}

/// The first event of a watch that begins with what there is.
async fn first_event(server: &Server, path: &str) -> Value {
    let query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let answer: Answer = server
        .get(&format!("{path}?{query}&timeoutSeconds=1"))
        .await;
    let first = answer.text.lines().next().unwrap_or_default();
    serde_json::from_str(first).unwrap_or_default()
}

#[tokio::test]
async fn bookmarks_show_what_is_always_shown() {
    let template = json!({"metadata": {}, "spec": {"containers": null}});
    for server in servers().await {
        let namespace = server.namespace().await;
        for (path, pointer, wanted) in [
            ("{core}/pods", "/spec", json!({"containers": null})),
            ("{core}/services", "/status", json!({"loadBalancer": {}})),
            ("{apps}/deployments", "/spec/template", template.clone()),
            ("{apps}/deployments", "/spec/replicas", json!(0)),
            ("{apps}/deployments", "/spec/selector", Value::Null),
            ("{apps}/statefulsets", "/spec/serviceName", json!("")),
            ("{rbac}/roles", "/rules", Value::Null),
            ("{core}/events", "/source", json!({})),
        ] {
            let event = first_event(&server, &collection(path, &namespace)).await;
            assert_eq!(event["type"], "BOOKMARK", "{}: {path}", server.name);
            let found = event["object"].pointer(pointer);
            assert_eq!(found, Some(&wanted), "{}: {path}", server.name);
        }
        server.delete(&collection("{core}", &namespace)).await;
    }
}

#[tokio::test]
async fn custom_resources_tell_what_they_do_not_have() {
    for server in servers().await {
        let namespace = server.namespace().await;
        let group = format!("{namespace}.example.com");
        let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "replicas": {"type": "integer"},
        }}}});
        let subresources = json!({
            "status": {},
            "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
        });
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("widgets.{group}")},
            "spec": {
                "group": group, "scope": "Namespaced",
                "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "subresources": subresources,
                    "schema": {"openAPIV3Schema": schema},
                }],
            },
        });
        let made = server.post(definitions, definition).await;
        assert_eq!(made.code, 201, "{}", made.text);
        let widgets = format!("/apis/{group}/v1/namespaces/{namespace}/widgets");
        server.until(&widgets, |answer| answer.code == 200).await;
        let widget = |kind: &str, name: &str| json!({"apiVersion": format!("{group}/v1"), "kind": kind, "metadata": {"name": name}});
        server.post(&widgets, widget("Widget", "a")).await;
        let mut nothing = widget("Widget", "b");
        nothing["spec"] = json!({"replicas": null});
        let scale = json!({"spec": {"replicas": 2}});
        for (method, path, content_type, body, code, part) in [
            ("PUT", "", JSON, json!({}), 400, "name must be provided"),
            ("PATCH", "", MERGE, json!({}), 400, "name must be provided"),
            ("GET", "/a/bogus", JSON, Value::Null, 404, "\"a\" not found"),
            (
                "DELETE",
                "/a/status",
                JSON,
                Value::Null,
                405,
                "delete is not supported on resources of kind",
            ),
            (
                "POST",
                "/a/status",
                JSON,
                json!({}),
                405,
                "create is not supported on resources of kind",
            ),
            (
                "POST",
                "",
                JSON,
                widget("Other", "c"),
                422,
                "kind: Invalid value: \"Other\": must be Widget",
            ),
            ("POST", "/b", JSON, widget("Widget", "c"), 201, ""),
            ("GET", "/a/scale", JSON, Value::Null, 500, "does not exist"),
            ("PATCH", "/a/scale", MERGE, scale, 200, "\"replicas\":2"),
            (
                "PATCH",
                "/b?fieldManager=m",
                APPLY,
                nothing,
                422,
                "spec.replicas in body must be of type integer: \"null\"",
            ),
        ] {
            let path = format!("{widgets}{path}");
            let headers = [("content-type", content_type)];
            let answer = server.request(method, &path, &headers, body).await;
            let shown = format!("{}: {method} {path}: {}", server.name, answer.text);
            assert_eq!(answer.code, code, "{shown}");
            assert!(
                answer.message().contains(part) || answer.text.contains(part),
                "{shown}"
            );
        }
        server
            .delete(&format!("{definitions}/widgets.{group}"))
            .await;
        server.delete(&collection("{core}", &namespace)).await;
    }
}
