//! Requests that a client in its right mind does not send, and what is said to them. Both servers.

mod common;

use common::both::{Server, servers};
use serde_json::{Value, json};

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const UNSUPPORTED: &str = "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf";

async fn maps(server: &Server) -> String {
    let namespace = server.namespace().await;
    format!("/api/v1/namespaces/{namespace}/configmaps")
}

#[tokio::test]
async fn paths_that_lead_nowhere() {
    let no_url = "failed to create RequestInfo: unable to determine kind and namespace from url,";
    for server in servers().await {
        for (method, path, code, text) in [
            ("GET", "//", 404, "404 page not found\n".into()),
            (
                "GET",
                "/api/v1/namespaces/%zz",
                400,
                "400 Bad Request".into(),
            ),
            (
                "POST",
                "/api/v1/namespaces/%2",
                400,
                "400 Bad Request".into(),
            ),
            (
                "GET",
                "/api/v1/watch",
                500,
                format!("Internal Server Error: \"/api/v1/watch\": {no_url} /api/v1/watch\n"),
            ),
            (
                "GET",
                "/apis/apps/v1/proxy/?a=1&b=%3C",
                500,
                format!(
                    "Internal Server Error: \"/apis/apps/v1/proxy/?a=1&amp;b=%3C\": {no_url} /apis/apps/v1/proxy/?a=1&amp;b=%3C\n"
                ),
            ),
        ] {
            let answer = server.request(method, path, &[], Value::Null).await;
            assert_eq!(
                (answer.code, &answer.text),
                (code, &text),
                "{}: {method} {path}",
                server.name
            );
        }
        for (method, path, code, message) in [
            (
                "GET",
                "/api/v1/namespaces/..",
                400,
                r#"Name parameter invalid: "..": may not be '..'"#,
            ),
            (
                "DELETE",
                "/api/v1/namespaces/%2E",
                400,
                r#"Name parameter invalid: ".": may not be '.'"#,
            ),
            (
                "GET",
                "/api/v1/namespaces/default/configmaps/a%25b",
                400,
                r#"Name parameter invalid: "a%b": may not contain '%'"#,
            ),
            (
                "POST",
                "/api/v1/namespaces/.",
                405,
                "the server does not allow this method on the requested resource",
            ),
            (
                "POST",
                "/api/v1/bindings",
                404,
                "the server could not find the requested resource",
            ),
            (
                "GET",
                "/api/v1/bindings",
                404,
                "the server could not find the requested resource",
            ),
        ] {
            let answer = server.request(method, path, &[], Value::Null).await;
            assert_eq!(
                (answer.code, answer.message()),
                (code, message),
                "{}: {method} {path}",
                server.name
            );
        }
    }
}

#[tokio::test]
async fn content_types_as_go_reads_them() {
    for server in servers().await {
        let path = maps(&server).await;
        for (type_, accepted) in [
            ("APPLICATION/JSON", true),
            (" application/json ; charset=utf-8;", true),
            ("application/json; a=\"b;c\"", true),
            ("application/json;;", false),
            ("application/json; =", false),
            ("application/json;a=b;a=c", false),
            ("application/json; charset=\"utf-8", false),
            ("application/json, application/yaml", false),
            ("*/*", false),
            ("text/json", false),
            ("ä", false),
        ] {
            let body = json!({"metadata": {"name": "a"}});
            let headers = [("content-type", type_)];
            let made = server
                .request("POST", &format!("{path}?dryRun=All"), &headers, body)
                .await;
            let gone = server
                .request("DELETE", &format!("{path}/none"), &headers, json!({}))
                .await;
            if accepted {
                assert_eq!(
                    (made.code, gone.code),
                    (201, 404),
                    "{}: {type_}",
                    server.name
                );
            } else {
                assert_eq!(
                    (made.code, made.message()),
                    (415, UNSUPPORTED),
                    "{}: {type_}",
                    server.name
                );
                assert_eq!(
                    (gone.code, gone.message()),
                    (415, UNSUPPORTED),
                    "{}: {type_}",
                    server.name
                );
            }
        }
    }
}

#[tokio::test]
async fn bodies_of_deletes() {
    let no_object = |found: &str| {
        format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go value of type struct {{ \
             APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
        )
    };
    let no_kind = r#"no kind "ConfigMap" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111""#;
    for server in servers().await {
        let path = format!("{}/none", maps(&server).await);
        for (body, message) in [
            ("1", no_object("number")),
            ("true", no_object("bool")),
            ("[]", no_object("array")),
            (
                r#"{"apiVersion":1}"#,
                "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .apiVersion of type string".into(),
            ),
            (
                r#"{"kind":[]}"#,
                "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go struct field .kind of type string".into(),
            ),
            (r#"{"apiVersion":"a/b/c","kind":"X"}"#, "unexpected GroupVersion string: a/b/c".into()),
            // Names of members are read in either case, and the type comes first.
            (r#"{"apiversion":"v1","KIND":"ConfigMap"}"#, no_kind.into()),
            (r#"{"apiVersion":"v1","kind":"ConfigMap","x":1e400}"#, no_kind.into()),
        ] {
            let headers = [("content-type", JSON)];
            let answer = server.request("DELETE", &path, &headers, body.into()).await;
            assert_eq!((answer.code, answer.message()), (400, &*message), "{}: {body}", server.name);
        }
    }
}

#[tokio::test]
async fn versions_that_are_none() {
    for server in servers().await {
        let path = maps(&server).await;
        let answer = server
            .post(&path, json!({"apiVersion": "a/b/c", "kind": "ConfigMap"}))
            .await;
        assert_eq!(
            (answer.code, answer.message()),
            (
                400,
                r#"the object provided is unrecognized (must be of type ConfigMap): unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c","kind":" ...)"#
            ),
            "{}",
            server.name
        );
    }
}

#[tokio::test]
async fn warnings_come_with_refusals() {
    for server in servers().await {
        let path = maps(&server).await;
        let unknown = r#"299 - "unknown field \"x\"""#;
        for (name, code) in [("none", 404), ("other", 400)] {
            let body = json!({"metadata": {"name": name}, "x": 1});
            let answer = server.put(&format!("{path}/none"), body).await;
            assert_eq!(answer.code, code, "{}: {}", server.name, answer.text);
            assert_eq!(
                answer.headers["warning"], unknown,
                "{}: {name}",
                server.name
            );
        }
    }
}

#[tokio::test]
async fn odd_yaml() {
    let head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";
    let refused = |why: &str| {
        format!(
            "the object provided is unrecognized (must be of type ConfigMap): {why} (61706956657273696f6e3a2076310a6b696e643a20436f6e6669674d6170 ...)"
        )
    };
    let bomb: String = std::iter::once("a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned())
        .chain(('a'..='k').zip('b'..='l').map(|(before, name)| {
            format!(
                "{name}: &{name} [{}]\n",
                vec![format!("*{before}"); 9].join(", ")
            )
        }))
        .collect();
    for server in servers().await {
        let path = format!("{}?dryRun=All", maps(&server).await);
        for (rest, why) in [
            (
                "data:\n  ~: v\n".to_owned(),
                "unsupported map key of type: %!s(<nil>), key: <nil>, value: \"v\"",
            ),
            (
                "data:\n  ? [a]\n  : v\n".into(),
                "yaml: invalid map key: []interface {}{\"a\"}",
            ),
            (bomb.clone(), "yaml: document contains excessive aliasing"),
        ] {
            let headers = [("content-type", YAML)];
            let answer = server
                .request("POST", &path, &headers, format!("{head}{rest}").into())
                .await;
            assert_eq!(
                (answer.code, answer.message()),
                (400, &*refused(why)),
                "{}: {rest}",
                server.name
            );
        }
        for (text, generation) in [
            (format!("%YAML 1.1\n---\n{head}  generation: 0777\n"), 511),
            (format!("{head}  generation: 1e3\n"), 1000),
            (format!("{head}  generation: 0x1F\n---\nkind: [\n"), 31),
        ] {
            let headers = [("content-type", YAML)];
            let answer = server
                .request("POST", &path, &headers, text.as_str().into())
                .await;
            assert_eq!(answer.code, 201, "{}: {text}: {}", server.name, answer.text);
            assert_eq!(
                answer.body["metadata"]["generation"], generation,
                "{}: {text}",
                server.name
            );
        }
        let nothing = server.request(
            "POST",
            &path,
            &[("content-type", YAML)],
            format!("---\n---\n{head}").into(),
        );
        assert_eq!(nothing.await.code, 422, "{}", server.name);
    }
}
