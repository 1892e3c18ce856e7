//! Definitions that are refused, and rules whose words are those of the real server.

#![allow(clippy::expect_used, reason = "in a test that is a failure")]

mod common;

use common::both::{Server, servers};
use serde_json::{Value, json};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const GROUP: &str = "refused.example.com";

fn definition(spec: &Value) -> Value {
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    of_versions(&json!([
        {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}},
    ]))
}

fn of_versions(versions: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{GROUP}")},
        "spec": {
            "group": GROUP, "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": versions,
        },
    })
}

/// What is wrong with a definition; nothing where it may be made.
async fn faults(server: &Server, definition: Value) -> Vec<String> {
    let answer = server
        .post(&format!("{DEFINITIONS}?dryRun=All"), definition)
        .await;
    let causes = answer
        .body
        .pointer("/details/causes")
        .and_then(Value::as_array);
    let text = |cause: &Value, key: &str| cause[key].as_str().unwrap_or_default().to_owned();
    let mut all: Vec<String> = causes
        .into_iter()
        .flatten()
        .map(|cause| format!("{}: {}", text(cause, "field"), text(cause, "message")))
        .collect();
    all.sort();
    all
}

#[tokio::test]
async fn schemas_that_are_refused() {
    const AT: &str = "spec.validation.openAPIV3Schema.properties[spec]";
    let rule = |rule: &str| {
        json!({
            "type": "object", "properties": {"if": {"type": "string"}, "s": {"type": "string", "maxLength": 5}},
            "x-kubernetes-validations": [{"rule": rule}],
        })
    };
    for (schema, ends) in [
        (
            json!({"x-kubernetes-int-or-string": true, "default": 1.5}),
            vec![],
        ),
        (
            json!({"x-kubernetes-int-or-string": true, "default": true}),
            vec![],
        ),
        (
            json!({"type": "object", "x-kubernetes-embedded-resource": true,
                   "x-kubernetes-preserve-unknown-fields": true, "default": {"apiVersion": "v1"}}),
            vec![format!("{AT}.default.kind: Required value")],
        ),
        (rule("self.__if__ == 'a'"), vec![]),
        (rule("self.if == 'a'"), vec![]),
        (
            rule("self.s.matches('(')"),
            vec!["invalid matches argument".into()],
        ),
        (
            rule("duration('x') > duration('1s')"),
            vec!["invalid duration argument".into()],
        ),
        (
            rule("timestamp('x') > timestamp('2020-01-01T00:00:00Z')"),
            vec!["invalid timestamp argument".into()],
        ),
        (
            rule("['a'].sum() == 'a'"),
            vec!["found no matching overload for 'sum' applied to 'list(string).()'".into()],
        ),
        (
            json!({"x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-validations": [{"rule": "true"}]}),
            vec![format!(
                "{AT}.x-kubernetes-validations: Internal error: internal error: failed to construct type information \
                 for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations"
            )],
        ),
    ] {
        for server in servers().await {
            let found = faults(&server, definition(&schema)).await;
            let fits = found.len() == ends.len()
                && found
                    .iter()
                    .zip(&ends)
                    .all(|(found, end)| found.contains(end.as_str()));
            assert!(fits, "{}: {schema}: {found:?}", server.name);
        }
    }
}

#[tokio::test]
async fn versions_are_printed_without_what_they_share() {
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    let version = |storage: bool| json!([{"name": "v1", "served": true, "storage": storage, "schema": schema}]);
    for server in servers().await {
        let found = faults(&server, of_versions(&version(false))).await;
        let printed = "spec.versions: Invalid value: [{\"Name\":\"v1\",\"Served\":true,\"Storage\":false,\
            \"Deprecated\":false,\"DeprecationWarning\":null,\"Schema\":null,\"Subresources\":null,\
            \"AdditionalPrinterColumns\":null,\"SelectableFields\":null}]: \
            must have exactly one version marked as storage version";
        assert_eq!(
            found.first().map(String::as_str),
            Some(printed),
            "{}",
            server.name
        );
        let found = faults(&server, of_versions(&Value::Null)).await;
        let printed = "spec.versions: Invalid value: null: must have exactly one version marked as storage version";
        assert_eq!(
            found.first().map(String::as_str),
            Some(printed),
            "{}",
            server.name
        );
        let mut odd = version(true);
        odd[0]["name"] = json!("V1");
        let found = faults(&server, of_versions(&odd)).await;
        let fields: Vec<&str> = found
            .iter()
            .filter_map(|one| one.split(':').next())
            .collect();
        assert_eq!(
            fields,
            ["spec.version", "spec.versions[0].name"],
            "{}",
            server.name
        );
    }
}

/// A fresh kind with the schema as its `spec`, and where its objects are.
async fn kind(server: &Server, group: &str, spec: &Value) -> String {
    let mut made = definition(spec);
    made["metadata"]["name"] = json!(format!("widgets.{group}"));
    made["spec"]["group"] = json!(group);
    let answer = server.post(DEFINITIONS, made).await;
    assert_eq!(answer.code, 201, "{}: {}", server.name, answer.body);
    let path = format!("/apis/{group}/v1/namespaces/default/widgets");
    server.until(&path, |answer| answer.code == 200).await;
    path
}

#[tokio::test]
async fn rules_fail_in_the_words_of_the_server() {
    const GROUP: &str = "words.example.com";
    let text = json!({"type": "string", "maxLength": 20});
    let rules = [
        "!has(self.i) || ip(self.i).family() == 4",
        "!has(self.c) || cidr(self.c).prefixLength() > 4",
        "!has(self.q) || quantity(self.q).asInteger() > 0",
        "!has(self.l) || self.l.min() > 0",
        "!has(self.s) || self.s.substring(3) == 'd'",
    ];
    let schema = json!({
        "type": "object",
        "properties": {
            "i": text, "c": text, "q": text, "s": text, "n": {"type": "number", "maximum": 2.5},
            "l": {"type": "array", "maxItems": 3, "items": {"type": "integer"}},
        },
        "x-kubernetes-validations": rules.map(|rule| json!({"rule": rule})),
    });
    for server in servers().await {
        let path = kind(&server, GROUP, &schema).await;
        for (spec, words) in [
            (
                json!({"i": "x"}),
                r#"IP Address "x" parse error during conversion from string: ParseAddr("x"): unable to parse IP"#,
            ),
            (
                json!({"i": "1.2.3"}),
                r#"ParseAddr("1.2.3"): IPv4 address too short"#,
            ),
            (json!({"i": "1.2.3.256"}), "IPv4 field has value >255"),
            (
                json!({"i": "01.2.3.4"}),
                "IPv4 field has octet with leading zero",
            ),
            (json!({"i": "1.2.3.x"}), r#"unexpected character (at "x")"#),
            (
                json!({"i": "1..2.3"}),
                r#"IPv4 field must have at least one digit (at ".2.3")"#,
            ),
            (
                json!({"i": "::ffff:1.2.3.4"}),
                r#"IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed"#,
            ),
            (
                json!({"i": "fe80::1%eth0"}),
                r#"IP address "fe80::1%eth0" with zone value is not allowed"#,
            ),
            (json!({"i": "1:2"}), "address string too short"),
            (
                json!({"i": "g::1"}),
                r#"each colon-separated field must have at least one digit (at "g::1")"#,
            ),
            (json!({"c": "x"}), r#"netip.ParsePrefix("x"): no '/'"#),
            (json!({"c": "1.2.3.4/33"}), "prefix length out of range"),
            (json!({"c": "1.2.3.4/08"}), r#"bad bits after slash: "08""#),
            (
                json!({"c": "1.2.3/8"}),
                r#"ParseAddr("1.2.3"): IPv4 address too short"#,
            ),
            (
                json!({"q": "x"}),
                "quantities must match the regular expression",
            ),
            (json!({"q": "1.5"}), "cannot convert value to integer"),
            (json!({"l": []}), "min called on empty list"),
            (json!({"s": "x"}), "index out of range: 3"),
            (json!({"n": 12_345_678.5}), "Invalid value: 1.23456785e+07"),
        ] {
            let object = json!({
                "apiVersion": format!("{GROUP}/v1"), "kind": "Widget", "metadata": {"name": "a"}, "spec": spec,
            });
            let answer = server.post(&format!("{path}?dryRun=All"), object).await;
            assert_eq!(answer.code, 422, "{}: {spec}", server.name);
            assert!(
                answer.message().contains(words),
                "{}: {spec}: {}",
                server.name,
                answer.message()
            );
        }
        server
            .delete(&format!("{DEFINITIONS}/widgets.{GROUP}"))
            .await;
    }
}

/// What no schema tells of counts as changed.
#[tokio::test]
async fn unknown_fields_do_not_let_an_object_stay_wrong() {
    const GROUP: &str = "ratchets.example.com";
    let known = json!({"type": "object", "properties": {"k": {"type": "string"}}});
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    for server in servers().await {
        for (schema, code) in [(&known, 200), (&open, 422)] {
            let spec = json!({"type": "object", "properties": {"o": schema}});
            let path = kind(&server, GROUP, &spec).await;
            let object = json!({
                "apiVersion": format!("{GROUP}/v1"), "kind": "Widget", "metadata": {"name": "a"},
                "spec": {"o": {"k": "v"}},
            });
            assert_eq!(
                server.post(&path, object).await.code,
                201,
                "{}",
                server.name
            );
            let at = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
            let stricter = json!([
                {"op": "add", "path": format!("{at}/o/required"), "value": ["z"]},
                {"op": "add", "path": format!("{at}/marker"), "value": {"type": "string", "default": "d"}},
            ]);
            let own = format!("{DEFINITIONS}/widgets.{GROUP}");
            let patched = server
                .patch(&own, "application/json-patch+json", stricter)
                .await;
            assert_eq!(patched.code, 200, "{}: {}", server.name, patched.body);
            let object = format!("{path}/a");
            server
                .until(&object, |answer| answer.body["spec"]["marker"] == "d")
                .await;
            let label = json!({"metadata": {"labels": {"l": "v"}}});
            let merge = "application/merge-patch+json";
            // A real server may use its older handler for a moment.
            let mut last = 0;
            for _ in 0..20 {
                last = server.patch(&object, merge, label.clone()).await.code;
                if last == code {
                    break;
                }
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
            assert_eq!(last, code, "{}: {schema}", server.name);
            server.delete(&own).await;
            server.until(&own, |answer| answer.code == 404).await;
        }
    }
}

#[tokio::test]
async fn a_definition_that_goes_says_so_at_once() {
    const GROUP: &str = "goes.example.com";
    for server in servers().await {
        let path = kind(&server, GROUP, &json!({"type": "object"})).await;
        let object = json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "Widget",
            "metadata": {"name": "a", "finalizers": ["example.com/hold"]},
        });
        assert_eq!(
            server.post(&path, object).await.code,
            201,
            "{}",
            server.name
        );
        // Below the resource there is one handler for all.
        let odd = server.get(&format!("{path}/a/odd")).await;
        assert_eq!(
            (odd.code, odd.message()),
            (404, format!("widgets.{GROUP} \"a\" not found").as_str()),
            "{}",
            server.name
        );
        let own = format!("{DEFINITIONS}/widgets.{GROUP}");
        let gone = server.delete(&own).await;
        let conditions = gone.body["status"]["conditions"].as_array();
        let reasons: Vec<&str> = conditions
            .into_iter()
            .flatten()
            .filter_map(|condition| condition["reason"].as_str())
            .collect();
        assert_eq!(
            reasons.last(),
            Some(&"InstanceDeletionPending"),
            "{}",
            server.name
        );
        let verbs = json!(["delete", "deletecollection", "get", "list", "watch"]);
        let group = format!("/apis/{GROUP}/v1");
        server
            .until(&group, |answer| {
                answer.body["resources"][0]["verbs"] == verbs
            })
            .await;
        let free = json!({"metadata": {"finalizers": null}});
        server
            .patch(&format!("{path}/a"), "application/merge-patch+json", free)
            .await;
        server.until(&own, |answer| answer.code == 404).await;
    }
}
