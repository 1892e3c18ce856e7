//! Bodies in protobuf.

#![allow(clippy::unwrap_used, reason = "tests")]

use k8s_api_schema::{TypeId, builtin, json, protobuf};
use proptest::prelude::*;
use serde_json::{Value, json};

fn kind(group: &str, version: &str, kind: &str) -> TypeId {
    builtin().find(group, version, kind).unwrap()
}

/// What kubectl 1.37.2 sends for `create deployment d --image nginx:1 --replicas 2` and `create service ...`.
const DEPLOYMENT: &str = "6b3873000a150a07617070732f7631120a4465706c6f796d656e7412a5010a1b0a016412001a0022002a003200380042005a080a0361707012016412780802120a0a080a036170701201641a600a1a0a0012001a0022002a003200380042005a080a03617070120164124212240a056e67696e7812076e67696e783a312a0042006a007200800100880100900100a201001a00320042004a0052005800600068008201008a01009a0100c2010022020a00280038001a0c0800100018002000280038001a002200";
const SERVICE: &str = "6b3873000a0d0a02763112075365727669636512630a1b0a017312001a0022002a003200380042005a080a0361707012017312400a1b0a0738302d38303830120354435018502207080010903f1a00280012080a036170701201731a002209436c757374657249503a00420052005a00600068001a020a001a002200";

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect()
}

fn read(body: &[u8]) -> Result<Value, String> {
    let envelope = protobuf::open(body)?;
    let (group, version) = match envelope.api_version.split_once('/') {
        Some(both) => both,
        None => ("", &*envelope.api_version),
    };
    let id = builtin()
        .find(group, version, &envelope.kind)
        .ok_or("kind")?;
    protobuf::decode(envelope.message, builtin(), id)
}

#[test]
fn what_kubectl_sends() {
    assert_eq!(
        read(&bytes(DEPLOYMENT)).unwrap(),
        json!({
            "metadata": {"name": "d", "labels": {"app": "d"}},
            "spec": {
                "replicas": 2, "selector": {"matchLabels": {"app": "d"}}, "strategy": {},
                "template": {
                    "metadata": {"labels": {"app": "d"}},
                    "spec": {"containers": [{"name": "nginx", "image": "nginx:1", "resources": {}}]},
                },
            },
            "status": {},
        })
    );
    assert_eq!(
        read(&bytes(SERVICE)).unwrap()["spec"],
        json!({
            "ports": [{"name": "80-8080", "protocol": "TCP", "port": 80, "targetPort": 8080}],
            "selector": {"app": "s"}, "type": "ClusterIP",
        })
    );
}

#[test]
fn every_shape_survives() {
    for ((group, version, name), object) in [
        (
            ("", "v1", "Pod"),
            json!({
                "metadata": {"name": "p", "creationTimestamp": "2020-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0,
                    "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {}}}], "finalizers": ["a/b"]},
                "spec": {
                    "activeDeadlineSeconds": -5,
                    "containers": [{"name": "c", "resources": {"limits": {"cpu": "500m"}},
                        "livenessProbe": {"httpGet": {"port": "web"}, "periodSeconds": 3}}],
                    "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "c"}}],
                    "securityContext": {"supplementalGroups": [1, 2]},
                    "hostNetwork": true,
                },
                "status": {},
            }),
        ),
        (
            ("", "v1", "Secret"),
            json!({"metadata": {}, "data": {"a": "AAECAw=="}, "immutable": false}),
        ),
        (
            ("coordination.k8s.io", "v1", "Lease"),
            json!({"metadata": {}, "spec": {"holderIdentity": "", "renewTime": "2020-01-01T00:00:00.000001Z"}}),
        ),
        (
            (
                "admissionregistration.k8s.io",
                "v1",
                "ValidatingWebhookConfiguration",
            ),
            json!({"metadata": {}, "webhooks": [{
                "name": "w", "clientConfig": {"url": "u"}, "sideEffects": "None", "admissionReviewVersions": ["v1"],
                "rules": [{"operations": ["CREATE"], "apiGroups": [""], "scope": "*"}],
            }]}),
        ),
        (
            ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
            json!({"metadata": {}, "status": {"conditions": null, "acceptedNames": {"kind": "", "plural": ""}, "storedVersions": null},
            "spec": {"group": "g", "names": {"kind": "", "plural": ""}, "scope": "", "versions": [{
                "name": "v1", "served": true, "storage": false,
                "schema": {"openAPIV3Schema": {
                    "minimum": 1.5, "default": {"a": [1]}, "items": {"type": "string"}, "additionalProperties": true,
                    "properties": {"x": {"additionalProperties": {"type": "object"}}},
                    "dependencies": {"a": ["b"], "c": {"type": "string"}}, "enum": [1, "a"],
                }},
            }]}}),
        ),
        (
            ("authentication.k8s.io", "v1", "TokenReview"),
            json!({"metadata": {}, "spec": {"token": "t"}, "status": {"user": {"extra": {"k": ["a", "b"]}}}}),
        ),
    ] {
        let id = kind(group, version, name);
        let body = protobuf::encode(version, name, &object, builtin(), id);
        let envelope = protobuf::open(&body).unwrap();
        assert_eq!(
            protobuf::decode(envelope.message, builtin(), id),
            Ok(object),
            "{name}"
        );
    }
}

/// A field of bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let length = u8::try_from(bytes.len()).unwrap();
    [&[number << 3 | 2, length], bytes].concat()
}

#[test]
fn messages_in_parts_and_foreign_fields() {
    let type_ = field(1, &[field(1, b"v1"), field(2, b"ConfigMap")].concat());
    let body = |message: &[u8]| [b"k8s\0", &*type_, &field(2, message)].concat();
    let name = field(1, &field(1, b"a"));
    let label = field(1, &field(11, &[field(1, b"k"), field(2, b"v")].concat()));
    let both = read(&body(&[name.clone(), label].concat())).unwrap();
    assert_eq!(both["metadata"]["name"], "a");
    assert_eq!(both["metadata"]["labels"], json!({"k": "v"}));

    // Groups within groups, four bytes, eight bytes: all in fields that the type does not have.
    let group = [
        &[9 << 3 | 3, 1 << 3 | 3, 1 << 3 | 4][..],
        &[2 << 3, 7, 9 << 3 | 4],
    ]
    .concat();
    let foreign = [
        &group[..],
        &[10 << 3 | 5, 1, 2, 3, 4],
        &[11 << 3 | 1, 1, 2, 3, 4, 5, 6, 7, 8],
    ]
    .concat();
    assert_eq!(
        read(&body(&[&name[..], &foreign].concat())).unwrap()["metadata"]["name"],
        "a"
    );
    for (message, why) in [
        (&[9 << 3 | 3][..], "unexpected EOF"),
        (&[9 << 3 | 4], "proto: illegal wireType 4"),
        (&[10 << 3 | 5, 1], "unexpected EOF"),
        (&[9 << 3 | 3, 1 << 3 | 2, 200, 1], "unexpected EOF"),
    ] {
        assert_eq!(read(&body(message)), Err(why.to_owned()), "{message:?}");
    }
    assert_eq!(read(b"k8s\0"), Err("empty body".to_owned()));
}

#[test]
fn what_is_no_body() {
    assert_eq!(protobuf::open(b"").unwrap_err(), "empty data");
    assert_eq!(
        protobuf::open(b"{}").unwrap_err(),
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
    );
    assert_eq!(
        protobuf::open(b"k8s\0\x0a\x05a").unwrap_err(),
        "unexpected EOF"
    );
}

proptest! {
    #[test]
    fn never_panics(tail in proptest::collection::vec(any::<u8>(), 0..64), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut body = b"k8s\0".to_vec();
        body.extend(&tail);
        let _ = read(&body);
        let _ = protobuf::decode(&tail, builtin(), kind("", "v1", "Pod"));
        let mut changed = bytes(DEPLOYMENT);
        let at = at.index(changed.len());
        changed[at] = byte;
        let _ = read(&changed);
    }

    #[test]
    fn what_json_gave_survives(labels in proptest::collection::btree_map("[a-z]{1,3}", "[a-z]{0,3}", 0..3), replicas in any::<i32>(), cpu in 0u32..5000) {
        let id = kind("apps", "v1", "Deployment");
        let object = json!({
            "metadata": {"labels": labels},
            "spec": {"replicas": replicas, "template": {"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": format!("{cpu}m")}}}]}}},
        });
        let object = json::decode(object.to_string().as_bytes(), builtin(), id).unwrap().value;
        let message = protobuf::encode_message(&object, builtin(), id);
        prop_assert_eq!(protobuf::decode(&message, builtin(), id).unwrap(), object);
    }
}
