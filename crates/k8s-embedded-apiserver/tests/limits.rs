//! What is too much: nesting, times, values of the wrong type.

#![allow(clippy::expect_used, reason = "in a test that is a failure")]

mod common;

use common::*;
use serde_json::{Value, json};

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!({"a": inner}))
}

#[tokio::test]
async fn no_patch_nests_deeper_than_a_body_may() {
    let api = Api::new();
    api.define_widgets(json!({})).await;
    api.make(WIDGETS, widget("w")).await;
    let path = format!("{WIDGETS}/w");
    let pile = |count: usize| {
        let mut operations = vec![json!({"op": "add", "path": "/spec", "value": nested(10)})];
        for number in 1..count {
            let at = format!("/spec{}", "/a".repeat(10 * number));
            operations.push(json!({"op": "add", "path": at, "value": nested(10)}));
        }
        Value::Array(operations)
    };
    assert_eq!(api.patch(&path, JSON_PATCH, pile(12)).await.0, 200);
    let too_deep = "error applying patch: exceeded max depth of 127";
    let (code, status) = api.patch(&path, JSON_PATCH, pile(13)).await;
    assert_eq!((code, status["message"].as_str()), (400, Some(too_deep)));

    // Each of these doubles the depth, which would soon be more than any stack holds.
    let doubling: Vec<Value> = (0..18)
        .map(|power| {
            let at = format!("/spec{}", "/a".repeat(1 << power));
            json!({"op": "copy", "from": "/spec", "path": at})
        })
        .collect();
    api.merge(&path, json!({"spec": {"a": null}})).await;
    api.merge(&path, json!({"spec": {"a": 1}})).await;
    let (code, status) = api.patch(&path, JSON_PATCH, json!(doubling)).await;
    assert_eq!((code, status["message"].as_str()), (400, Some(too_deep)));
}

#[tokio::test]
async fn bodies_that_are_nested_too_deep_say_so() {
    let api = Api::new();
    let not_read = "cannot unmarshal array into Go value of type struct";
    for (depth, why) in [
        (128, not_read),
        (10_000, not_read),
        (10_001, "invalid character '[' exceeded max depth"),
        (100_000, "invalid character '[' exceeded max depth"),
    ] {
        let body = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let answer = api.raw("POST", CONFIG_MAPS, "application/json", body).await;
        assert_eq!(answer.status(), 400);
        let status = json_of(answer).await;
        let message = status["message"].as_str().expect("a message");
        assert!(message.contains(why), "{depth}: {message}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_may_be_asked_to_last_for_ever() {
    let api = Api::new();
    let mut watch = api
        .watch(&format!("{CONFIG_MAPS}?timeoutSeconds={}", i64::MAX))
        .await;
    api.make(CONFIG_MAPS, named("a")).await;
    assert_eq!(watch.told().await, "ADDED a");
    assert!(watch.is_silent().await);
}

#[tokio::test]
async fn numbers_in_the_query() {
    let api = Api::new();
    for (query, why) in [
        ("limit=many", "parsing \"many\": invalid syntax"),
        ("limit=", "parsing \"\": invalid syntax"),
        (
            "timeoutSeconds=99999999999999999999",
            "parsing \"99999999999999999999\": value out of range",
        ),
    ] {
        let (code, status) = api.get(&format!("{CONFIG_MAPS}?{query}")).await;
        let message = format!("strconv.ParseInt: {why}");
        assert_eq!(
            (code, status["message"].as_str()),
            (400, Some(message.as_str()))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_name_of_a_flag_is_enough() {
    let api = Api::new();
    for flag in ["watch", "watch="] {
        let answer = api
            .raw(
                "GET",
                &format!("{CONFIG_MAPS}?{flag}&timeoutSeconds=1"),
                "",
                "",
            )
            .await;
        assert_eq!(answer.status(), 200);
        let mut watch = Watch(answer.into_body());
        assert_eq!(watch.next().await, None, "{flag}");
    }
}

#[tokio::test]
async fn a_type_that_is_no_text_is_refused() {
    let api = Api::new();
    let body = json!({"kind": 1, "metadata": {"name": "a"}});
    let (code, status) = api.post(CONFIG_MAPS, body).await;
    let message = status["message"].as_str().expect("a message");
    assert_eq!(code, 400);
    assert!(
        message.contains("json: cannot unmarshal number into Go struct field .kind of type string"),
        "{message}"
    );
}
