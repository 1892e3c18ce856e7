//! What lists, watches and gets are asked for, and how their answers are written: the same on a real server.

#![allow(clippy::expect_used, reason = "in a test that is a failure")]

mod common;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use common::both::{self, Answer, Server};
use serde_json::{Value, json};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const PARTIAL: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";

async fn accepting(server: &Server, path: &str, accept: &str) -> Answer {
    let headers = [("accept", accept), ("user-agent", "test/1")];
    server.request("GET", path, &headers, Value::Null).await
}

fn content_type(answer: &Answer) -> &str {
    let value = answer.headers.get("content-type");
    value.and_then(|value| value.to_str().ok()).unwrap_or("-")
}

/// A namespace of its own with two ConfigMaps, and its path.
async fn filled(server: &Server) -> (String, String) {
    let namespace = server.namespace().await;
    let path = format!("/api/v1/namespaces/{namespace}/configmaps");
    for name in ["a", "b"] {
        let object = json!({"metadata": {"name": name}, "data": {"k": "yes", "text": "a\nb\n"}});
        assert_eq!(server.post(&path, object).await.code, 201);
    }
    (namespace, path)
}

async fn gone(server: &Server, namespace: &str) {
    server
        .delete(&format!("/api/v1/namespaces/{namespace}"))
        .await;
}

#[tokio::test]
async fn bad_parameters() {
    const NUMBER: &str = "strconv.ParseInt: parsing \"x\": invalid syntax";
    const VERSION: &str =
        "resourceVersion: Invalid value: \"x\": strconv.ParseUint: parsing \"x\": invalid syntax";
    const LIST_VERSION: &str = "invalid resource version: resourceVersion: Invalid value: \"x\": strconv.ParseUint: parsing \"x\": invalid syntax";
    const INITIAL: &str = "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list";
    const UNLESS: &str = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided";
    const CONTINUE: &str = "specifying resource version is not allowed when using continue";
    let options = |text: &str| format!("ListOptions.meta.k8s.io \"\" is invalid: {text}");
    let token = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
    let present = token(r#"{"v":"meta.k8s.io/v1","rv":-1,"start":"a"}"#);
    let cases = [
        ("/configmaps?limit=x".into(), 400, NUMBER.into()),
        ("/configmaps?timeoutSeconds=x".into(), 400, NUMBER.into()),
        ("/configmaps?resourceVersion=x".into(), 400, LIST_VERSION.into()),
        ("/configmaps?resourceVersion=x&watch=1".into(), 500, VERSION.into()),
        ("/configmaps/a?resourceVersion=x".into(), 500, VERSION.into()),
        ("/configmaps?sendInitialEvents=x".into(), 422, options(INITIAL)),
        (
            "/configmaps?resourceVersion=1&resourceVersionMatch=Foo".into(),
            422,
            options("resourceVersionMatch: Unsupported value: \"Foo\": supported values: \"Exact\", \"NotOlderThan\", \"\""),
        ),
        // Selectors are read before the options are checked, and fields looked up after.
        (
            "/configmaps?sendInitialEvents=true&fieldSelector=x".into(),
            400,
            "invalid selector: 'x'; can't understand 'x'".into(),
        ),
        ("/configmaps?sendInitialEvents=true&fieldSelector=x=y".into(), 422, options(INITIAL)),
        (
            "/configmaps?limit=1&resourceVersion=1".into(),
            410,
            "The resourceVersion for the provided list is too old.".into(),
        ),
        (format!("/configmaps?continue={present}&resourceVersion=5"), 400, CONTINUE.into()),
        (
            "/configmaps?continue=abc&resourceVersion=5".into(),
            400,
            "invalid continue token: continue key is not valid: invalid character 'i' looking for beginning of value".into(),
        ),
        // The deprecated path does not count as a watch here.
        (
            "WATCH/configmaps?sendInitialEvents=true&resourceVersionMatch=NotOlderThan".into(),
            422,
            options(&format!("[{UNLESS}, {INITIAL}]")),
        ),
        (
            "WATCH/configmaps/a?fieldSelector=metadata.namespace=x".into(),
            400,
            "fieldSelector metadata.name doesn't match requested name".into(),
        ),
    ];
    for server in both::servers().await {
        let (namespace, _) = filled(&server).await;
        for (path, code, message) in &cases {
            let path = match path.strip_prefix("WATCH") {
                Some(path) => format!("/api/v1/watch/namespaces/{namespace}{path}"),
                None => format!("/api/v1/namespaces/{namespace}{path}"),
            };
            // A real server that has just started still keeps its first version.
            if *code == 410 && server.name == "real" {
                continue;
            }
            let answer = server.get(&path).await;
            assert_eq!(
                (answer.code, answer.message()),
                (*code, message.as_str()),
                "{}: {path}",
                server.name
            );
        }
        gone(&server, &namespace).await;
    }
}

#[tokio::test]
async fn one_object_by_name_is_looked_up_as_it_is() {
    for server in both::servers().await {
        let (namespace, path) = filled(&server).await;
        let of_a = format!("{path}?fieldSelector=metadata.name%3Da");
        // A limit makes the version exact, but not for one object.
        let found = server
            .get(&format!("{of_a}&limit=1&resourceVersion=1"))
            .await;
        assert_eq!(
            found.body["items"].as_array().map(Vec::len),
            Some(1),
            "{}",
            server.name
        );
        let too_large = [
            "limit=1&resourceVersion=99999999",
            "resourceVersion=99999999&resourceVersionMatch=Exact",
        ];
        // kube's client of the real server tries again on a 504, for minutes.
        for query in too_large.iter().filter(|_| server.name == "embedded") {
            let refused = server.get(&format!("{of_a}&{query}")).await;
            assert_eq!(refused.code, 504, "{}", server.name);
            assert_eq!(refused.headers.get("retry-after"), None, "{}", server.name);
        }
        // Of an object, the parameter means nothing.
        let one = server.get(&format!("{path}/a?watch=1")).await;
        assert_eq!(one.body["kind"], "ConfigMap", "{}", server.name);
        gone(&server, &namespace).await;
    }
}

#[tokio::test]
async fn pages_go_on_from_their_token() {
    for server in both::servers().await {
        let (namespace, path) = filled(&server).await;
        let first = server.get(&format!("{path}?limit=1")).await.body;
        assert_eq!(
            first["metadata"]["remainingItemCount"], 1,
            "{}",
            server.name
        );
        let token = first["metadata"]["continue"].as_str().expect("a token");
        let text = BASE64_URL_SAFE_NO_PAD.decode(token).expect("base64");
        let token_value: Value = serde_json::from_slice(&text).expect("JSON");
        assert_eq!(token_value["start"], "/a\0", "{}", server.name);
        let rest = server
            .get(&format!("{path}?limit=1&continue={token}"))
            .await
            .body;
        assert_eq!(rest["items"][0]["metadata"]["name"], "b", "{}", server.name);
        assert_eq!(rest["metadata"]["continue"], Value::Null, "{}", server.name);
        // A start without a NUL is itself shown.
        let at = BASE64_URL_SAFE_NO_PAD.encode(r#"{"v":"meta.k8s.io/v1","rv":-1,"start":"a"}"#);
        let again = server.get(&format!("{path}?continue={at}")).await.body;
        assert_eq!(
            again["items"].as_array().map(Vec::len),
            Some(2),
            "{}",
            server.name
        );
        gone(&server, &namespace).await;
    }
}

#[tokio::test]
async fn what_is_not_acceptable_is_told_in_what_is() {
    const THREE: &str = "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf";
    const STREAMS: &str = "only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
    const ROUTED: &str = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf";
    const ROUTED_STREAMS: &str = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
    let cases = [
        ("/a", "text/html", 406, ROUTED),
        ("/a", "garbage", 406, ROUTED),
        ("/a", "application/*", 406, ROUTED),
        ("?watch=1", "text/html", 406, ROUTED_STREAMS),
        (
            "/a",
            "application/json;as=Table;v=v2;g=meta.k8s.io",
            406,
            THREE,
        ),
        ("/a", "application/json;g=meta.k8s.io", 406, THREE),
        ("/a", "application/json;sv=v2", 406, THREE),
        ("/a", "application/json;stream=x", 406, THREE),
        (
            "",
            PARTIAL,
            406,
            "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)",
        ),
        ("/zz", TABLE, 404, "configmaps \"zz\" not found"),
        (
            "?includeObject=Foo",
            TABLE,
            400,
            "Unable to convert to Table as requested: includeObject: Invalid value: \"Foo\": must be 'Metadata', 'Object', 'None', or empty",
        ),
        (
            "/zz?includeObject=Foo",
            TABLE,
            404,
            "configmaps \"zz\" not found",
        ),
    ];
    for server in both::servers().await {
        let (namespace, path) = filled(&server).await;
        for (rest, accept, code, message) in cases {
            let answer = accepting(&server, &format!("{path}{rest}"), accept).await;
            assert_eq!(
                (answer.code, answer.message()),
                (code, message),
                "{}: {accept}",
                server.name
            );
            assert_eq!(
                content_type(&answer),
                "application/json",
                "{}: {accept}",
                server.name
            );
            // Where JSON is not accepted as it is, it comes indented.
            let raw = accept != "application/*";
            assert_eq!(
                answer.text.starts_with("{\n  \""),
                raw,
                "{}: {accept}: {}",
                server.name,
                answer.text
            );
            assert_eq!(
                answer.text.ends_with("\n}"),
                raw,
                "{}: {accept}",
                server.name
            );
        }
        let streams = accepting(&server, &format!("{path}?watch=1"), "application/yaml").await;
        assert_eq!(
            (streams.code, content_type(&streams)),
            (406, "application/yaml"),
            "{}",
            server.name
        );
        assert!(
            streams.text.replace("\n  ", " ").contains(STREAMS),
            "{}: {}",
            server.name,
            streams.text
        );
        gone(&server, &namespace).await;
    }
}

#[tokio::test]
async fn answers_are_written_as_they_are_liked_best() {
    for server in both::servers().await {
        let (namespace, path) = filled(&server).await;
        let one = format!("{path}/a");
        for accept in [
            "application/json;stream=watch",
            "application/json;sv=v1",
            "*/*",
            "text/html, application/json",
        ] {
            let plain = accepting(&server, &one, accept).await;
            assert_eq!(
                content_type(&plain),
                "application/json",
                "{}: {accept}",
                server.name
            );
            assert!(
                plain.text.ends_with("}\n") && !plain.text.contains("  "),
                "{}: {accept}",
                server.name
            );
        }
        for (query, accept) in [
            ("?pretty=1", "*/*"),
            ("?pretty=t", "*/*"),
            ("", "application/json;pretty=1"),
        ] {
            let pretty = accepting(&server, &format!("{one}{query}"), accept).await;
            assert!(
                pretty.text.starts_with("{\n  \""),
                "{}: {query} {accept}",
                server.name
            );
            assert!(
                pretty.text.ends_with("\n}"),
                "{}: {query} {accept}",
                server.name
            );
        }
        let browser = [("user-agent", "Mozilla/5.0 (X11)")];
        let pretty = server.request("GET", &one, &browser, Value::Null).await;
        assert!(pretty.text.starts_with("{\n  \""), "{}", server.name);
        let plain = server
            .request("GET", &format!("{one}?pretty=no"), &browser, Value::Null)
            .await;
        assert!(plain.text.starts_with("{\""), "{}", server.name);

        let accept = "application/json;q=0.1, application/yaml;q=0.9";
        let yaml = accepting(&server, &one, accept).await;
        assert_eq!(content_type(&yaml), "application/yaml", "{}", server.name);
        let head = "apiVersion: v1\ndata:\n  k: \"yes\"\n  text: |\n    a\n    b\nkind: ConfigMap\nmetadata:\n";
        assert!(
            yaml.text.starts_with(head),
            "{}: {}",
            server.name,
            yaml.text
        );
        let accept = "application/yaml;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
        let partial = accepting(&server, &one, accept).await;
        assert!(
            partial
                .text
                .starts_with("apiVersion: meta.k8s.io/v1\nkind: PartialObjectMetadata\n"),
            "{}",
            server.name
        );
        let missing = accepting(&server, &format!("{path}/zz"), "application/yaml").await;
        let expected = "apiVersion: v1\ncode: 404\ndetails:\n  kind: configmaps\n  name: zz\nkind: Status\nmessage: configmaps \"zz\" not found\nmetadata: {}\nreason: NotFound\nstatus: Failure\n";
        assert_eq!(missing.text, expected, "{}", server.name);
        gone(&server, &namespace).await;
    }
}

#[tokio::test]
async fn only_custom_resources_know_head() {
    for server in both::servers().await {
        let head = server
            .request("HEAD", "/api/v1/namespaces/default", &[], Value::Null)
            .await;
        assert_eq!(head.code, 405, "{}", server.name);
        assert_eq!(head.headers["content-length"], "197", "{}", server.name);
        assert_eq!(
            head.headers["cache-control"], "no-cache, private",
            "{}",
            server.name
        );
    }
}

#[tokio::test]
async fn large_answers_are_compressed_where_that_is_asked_for() {
    for server in both::servers().await {
        let (namespace, path) = filled(&server).await;
        let large = json!({"metadata": {"name": "large"}, "data": {"k": "x".repeat(131_072)}});
        let made = server.post(&path, large).await;
        assert_eq!(
            made.headers.get("content-encoding"),
            None,
            "{}",
            server.name
        );
        for (rest, coding, compressed) in [
            ("/large", "gzip", true),
            ("", "deflate, gzip", true),
            ("/large", "gzip;q=1", false),
            ("/large", "identity", false),
            ("/a", "gzip", false),
        ] {
            let headers = [("accept-encoding", coding)];
            let answer = server
                .request("GET", &format!("{path}{rest}"), &headers, Value::Null)
                .await;
            let found = answer.headers.get("content-encoding").is_some();
            assert_eq!(found, compressed, "{}: {rest} {coding}", server.name);
            assert_eq!(
                answer.headers.get("vary").is_some(),
                compressed,
                "{}: {rest} {coding}",
                server.name
            );
        }
        // Of watches, those that begin with a list.
        for (query, compressed) in [("allowWatchBookmarks=1", true), ("", false)] {
            let headers = [("accept-encoding", "gzip")];
            let watch = format!("{path}?watch=1&timeoutSeconds=1&{query}");
            let answer = server.request("GET", &watch, &headers, Value::Null).await;
            let found = answer.headers.get("content-encoding").is_some();
            assert_eq!(found, compressed, "{}: {query}", server.name);
        }
        gone(&server, &namespace).await;
    }
}
