//! Bodies are read as the server reads them. The texts of errors were recorded from kube-apiserver 1.37.2.

#![allow(clippy::unwrap_used, reason = "tests")]

use k8s_api_schema::{Scalar, Type, TypeId, builtin, json};
use proptest::prelude::*;
use serde_json::{Value, json};

fn kind(group: &str, version: &str, kind: &str) -> TypeId {
    builtin().find(group, version, kind).unwrap()
}

fn read(name: &str, text: &str) -> Result<json::Decoded, String> {
    let (group, name) = name.split_once('/').unwrap_or(("", name));
    json::decode(text.as_bytes(), builtin(), kind(group, "v1", name))
}

fn untyped(text: &[u8]) -> Result<json::Decoded, String> {
    json::Checked::new(text)?.decode_untyped()
}

fn type_of(text: &[u8]) -> Result<(String, String), String> {
    json::Checked::new(text)?.type_of()
}

/// A value of a type, or almost: what it holds is told by bytes.
fn made(id: TypeId, bytes: &mut impl Iterator<Item = u8>, depth: usize) -> Value {
    let byte = bytes.next().unwrap_or(0);
    // Mostly values that fit.
    let odd = match bytes.next().unwrap_or(9) {
        0 => Some(Value::Null),
        1 => Some(json!({})),
        2 => Some(json!([])),
        3 => Some("".into()),
        4 => Some(0.into()),
        5 => Some(json!(1.5)),
        _ => None,
    };
    if let Some(odd) = odd {
        return odd;
    }
    let pick = |texts: &[&str]| Value::from(texts[usize::from(byte) % texts.len()]);
    match builtin().get(id) {
        _ if depth > 6 => Value::Null,
        Type::Any => json!({"a": [byte, "x", null, {}]}),
        Type::Struct(struct_) => {
            let mut map = serde_json::Map::new();
            for (name, field) in &struct_.fields {
                if bytes.next().unwrap_or(0) > 140 {
                    map.insert(name.clone(), made(field.type_, bytes, depth + 1));
                }
            }
            if byte > 250 {
                map.insert("unknown".into(), 1.into());
            }
            Value::Object(map)
        }
        Type::Map(of) => (0..byte % 3)
            .map(|key| (format!("k{key}"), made(of.values, bytes, depth + 1)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Type::List(of) => (0..byte % 3)
            .map(|_| made(of.items, bytes, depth + 1))
            .collect(),
        Type::Scalar(scalar) => match scalar {
            Scalar::Boolean => byte.is_multiple_of(2).into(),
            Scalar::Int32 | Scalar::Int64 => (i64::from(byte) << (byte % 40)).into(),
            Scalar::Number => (f64::from(byte) / 2.0).into(),
            Scalar::String | Scalar::Duration => pick(&["a", "é\"\n", "\u{2028}<"]),
            Scalar::Bytes => pick(&["", "YQ==", "YR==", "YWI=", "YWJj\n", "%"]),
            Scalar::Time => pick(&["2020-01-02T03:04:05Z", "2020-01-02T03:04:05.5+01:00", "x"]),
            Scalar::MicroTime => {
                pick(&["2020-01-02T03:04:05.000006Z", "2020-01-02T03:04:05.6Z", "x"])
            }
            Scalar::Quantity => pick(&["1", "1500m", "0.5", "1.5Gi", "1e3", "x"]),
            Scalar::IntOrString if byte.is_multiple_of(2) => byte.into(),
            Scalar::IntOrString => "50%".into(),
            Scalar::Any => json!([byte]),
        },
    }
}

proptest! {
    #[test]
    fn what_is_settled_is_read_as_it_is(bytes in proptest::collection::vec(any::<u8>(), 0..400), which in 0..6_usize) {
        let (group, name) = [
            ("", "ConfigMap"), ("", "Secret"), ("", "Pod"), ("", "Service"), ("apps", "Deployment"),
            ("coordination.k8s.io", "Lease"),
        ][which];
        let id = kind(group, "v1", name);
        let value = made(id, &mut bytes.into_iter(), 0);
        let read = json::decode(value.to_string().as_bytes(), builtin(), id);
        if json::is_settled(&value, builtin(), id) {
            prop_assert_eq!(read.as_ref().map(|read| &read.value), Ok(&value));
            prop_assert!(read.is_ok_and(|read| read.strict.is_empty()));
        } else if let Ok(read) = read
            // Of these it may be hard to tell.
            && ![":[]", ":{}", "null"].iter().any(|odd| read.value.to_string().contains(odd))
        {
            prop_assert!(read.value != value || !read.strict.is_empty(), "{}", value);
            prop_assert!(json::is_settled(&read.value, builtin(), id), "{}", read.value);
        }
    }
}

#[test]
fn wrong_types() {
    for (kind, text, expected) in [
        (
            "ConfigMap",
            r#"{"metadata":{"name":1,"labels":{"a":1}},"data":[]}"#,
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string",
        ),
        (
            "ConfigMap",
            r#"{"metadata":{"creationTimestamp":"x"},"data":[]}"#,
            r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#,
        ),
        // An error of a value that reads itself ends the reading, and so comes before those that were found.
        (
            "ConfigMap",
            r#"{"data":[],"metadata":{"creationTimestamp":1}}"#,
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
        ),
        (
            "Pod",
            r#"{"spec":{"volumes":[{"name":"a","emptyDir":1}]}}"#,
            "json: cannot unmarshal number into Go struct field Volume.spec.volumes.VolumeSource.emptyDir of type v1.EmptyDirVolumeSource",
        ),
        (
            "Pod",
            r#"{"spec":{"containers":[{"resources":{"limits":{"cpu":true}}}]}}"#,
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            "ConfigMap",
            r#"{"binaryData":{"a":"%%"}}"#,
            "illegal base64 data at input byte 0",
        ),
        (
            "Service",
            r#"{"spec":{"ports":[{"port":1.0}]}}"#,
            "json: cannot unmarshal number 1.0 into Go struct field ServicePort.spec.ports.port of type int32",
        ),
        (
            "Service",
            r#"{"spec":{"ports":[{"port":99999999999,"targetPort":true}]}}"#,
            "json: cannot unmarshal bool into Go struct field ServicePort.spec.ports.targetPort of type int32",
        ),
        (
            "Service",
            r#"{"spec":{"ports":[{"port":1,"targetPort":1.5}]}}"#,
            "json: cannot unmarshal number 1.5 into Go struct field ServicePort.spec.ports.targetPort of type int32",
        ),
        (
            "Service",
            r#"{"spec":[]}"#,
            "json: cannot unmarshal array into Go struct field Service.spec of type v1.ServiceSpec",
        ),
        (
            "apps/Deployment",
            r#"{"spec":{"replicas":"3"}}"#,
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            "apps/Deployment",
            r#"{"spec":{"template":{"spec":{"containers":{}}}}}"#,
            "json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container",
        ),
        (
            "apiextensions.k8s.io/CustomResourceDefinition",
            r#"{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"additionalProperties":1}}}]}}"#,
            "boolean or JSON schema expected",
        ),
    ] {
        assert_eq!(read(kind, text).unwrap_err(), expected, "{text}");
    }
}

#[test]
fn unknown_and_duplicate_fields() {
    let read = read(
        "Pod",
        r#"{"Kind":"Pod","metadata":{"labels":{"a":"1","a":"2"},"name":"a","name":"b"},
            "spec":{"containers":[{"nam":"c"},{"env":[{"name":"A","value":"1","valeu":"2","name":"B"}]}]},
            "metadata":{"annotations":{"x":"y"}},"x":{"y":1}}"#,
    )
    .unwrap();
    assert_eq!(
        read.strict,
        [
            r#"unknown field "Kind""#,
            r#"duplicate field "metadata.labels.a""#,
            r#"duplicate field "metadata.name""#,
            r#"unknown field "spec.containers[0].nam""#,
            r#"unknown field "spec.containers[1].env[0].valeu""#,
            r#"duplicate field "spec.containers[1].env[0].name""#,
            r#"duplicate field "metadata""#,
            r#"unknown field "x""#,
        ]
    );
    // The later one is read into the earlier one.
    assert_eq!(
        read.value["metadata"],
        json!({"name": "b", "labels": {"a": "2"}, "annotations": {"x": "y"}})
    );
}

#[test]
fn a_hundred_are_told() {
    let fields: Vec<String> = (0..200).map(|number| format!("\"f{number}\":1")).collect();
    let read = read("ConfigMap", &format!("{{{}}}", fields.join(","))).unwrap();
    assert_eq!(read.strict.len(), 100);
}

#[test]
fn empty_and_null() {
    for (kind, text, expected) in [
        ("ConfigMap", r"null", json!({"metadata": {}})),
        (
            "ConfigMap",
            r#"{"metadata":null,"data":{"a":null,"b":""},"binaryData":{"c":null,"d":""},"immutable":false}"#,
            json!({"metadata": {}, "data": {"a": "", "b": ""}, "binaryData": {"c": null, "d": ""}, "immutable": false}),
        ),
        (
            "Pod",
            r#"{"spec":{"nodeName":"","securityContext":{},"containers":[null,{"name":"a","args":[],"env":[],"stdin":false}]}}"#,
            json!({"metadata": {}, "status": {}, "spec": {"securityContext": {}, "containers": [
                {"name": "", "resources": {}}, {"name": "a", "resources": {}},
            ]}}),
        ),
        (
            "apps/Deployment",
            "{}",
            json!({
                "metadata": {}, "status": {},
                "spec": {"selector": null, "strategy": {}, "template": {"metadata": {}, "spec": {"containers": null}}},
            }),
        ),
        (
            "Event",
            r#"{"eventTime":"0001-01-01T00:00:00.000000Z"}"#,
            json!({
                "metadata": {}, "involvedObject": {}, "source": {}, "eventTime": null, "firstTimestamp": null,
                "lastTimestamp": null, "reportingComponent": "", "reportingInstance": "",
            }),
        ),
        // A pointer to no time is there.
        (
            "coordination.k8s.io/Lease",
            r#"{"spec":{"renewTime":"0001-01-01T00:00:00.000000Z","acquireTime":null}}"#,
            json!({"metadata": {}, "spec": {"renewTime": null}}),
        ),
        (
            "Service",
            r#"{"spec":{"ports":[{"targetPort":null},{"targetPort":"web"}],"selector":{}}}"#,
            json!({
                "metadata": {}, "status": {"loadBalancer": {}},
                "spec": {"ports": [{"port": 0, "targetPort": 0}, {"port": 0, "targetPort": "web"}]},
            }),
        ),
        (
            "rbac.authorization.k8s.io/Role",
            r#"{"rules":[{"verbs":null}]}"#,
            json!({"metadata": {}, "rules": [{"verbs": null}]}),
        ),
    ] {
        assert_eq!(read(kind, text).unwrap().value, expected, "{text}");
    }
}

#[test]
fn values_have_one_form() {
    let pod = read(
        "Pod",
        r#"{"metadata":{"creationTimestamp":"2020-01-01T01:00:00.7+01:00"},"spec":{"containers":[
            {"resources":{"limits":{"cpu":"1000m","memory":"0.5Gi","x":0.5,"y":2,"z":null}}}]}}"#,
    )
    .unwrap()
    .value;
    assert_eq!(pod["metadata"]["creationTimestamp"], "2020-01-01T00:00:00Z");
    assert_eq!(
        pod["spec"]["containers"][0]["resources"]["limits"],
        json!({"cpu": "1", "memory": "512Mi", "x": "500m", "y": "2", "z": "0"})
    );
    let secret = read(
        "Secret",
        r#"{"data":{"a":"YQ\n==","b":[97,98],"c":"YR=="}}"#,
    )
    .unwrap();
    assert_eq!(
        secret.value["data"],
        json!({"a": "YQ==", "b": "YWI=", "c": "YQ=="})
    );
}

#[test]
fn schemas_of_definitions_are_read_by_their_type() {
    let crd = read(
        "apiextensions.k8s.io/CustomResourceDefinition",
        r#"{"spec":{"versions":[{"schema":{"openAPIV3Schema":{
            "type":"object","minimum":1.0,"default":{"b":1.0,"a":null},
            "additionalProperties":{"type":"string","title":"","nope":1},
            "items":[{"type":"string"},{}],"additionalItems":false,"nope":2}}}]}}"#,
    )
    .unwrap();
    assert_eq!(
        crd.value["spec"]["versions"][0]["schema"]["openAPIV3Schema"],
        json!({
            "type": "object", "minimum": 1, "default": {"b": 1, "a": null},
            "additionalProperties": {"type": "string"},
            "items": [{"type": "string"}, {}], "additionalItems": false,
        })
    );
    // What is in a value that reads itself is not told.
    assert_eq!(
        crd.strict,
        [r#"unknown field "spec.versions[0].schema.openAPIV3Schema.nope""#]
    );
}

#[test]
fn untyped_values() {
    let read = untyped(br#"{"a":1.0,"b":[{"c":1,"c":2}],"a":1e3}"#).unwrap();
    assert_eq!(read.value, json!({"a": 1000, "b": [{"c": 2}]}));
    assert_eq!(
        read.strict,
        [r#"duplicate field "b[0].c""#, r#"duplicate field "a""#]
    );
    assert_eq!(
        untyped(b"[]").unwrap_err(),
        "json: cannot unmarshal array into Go value of type map[string]interface {}"
    );
}

#[test]
fn kinds_are_found_whatever_the_case() {
    assert_eq!(
        type_of(br#"{"KIND":"A","apiversion":"v1","kind":"B"}"#),
        Ok(("v1".into(), "B".into()))
    );
    assert_eq!(
        type_of(br#"{"kind":1}"#).unwrap_err(),
        "json: cannot unmarshal number into Go struct field .kind of type string"
    );
}

#[test]
fn deep_values_are_errors_and_deep_unknown_fields_are_skipped() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let unknown = format!(r#"{{"x":{}}}"#, nested(9000));
    assert_eq!(
        read("ConfigMap", &unknown).unwrap().strict,
        [r#"unknown field "x""#]
    );
    let kept = format!(r#"{{"data":{}}}"#, nested(9000));
    assert!(read("apps/ControllerRevision", &kept).is_err());
    let kept = format!(r#"{{"data":{}}}"#, nested(100));
    assert!(read("apps/ControllerRevision", &kept).is_ok());
}

/// JSON that has something to do with pods.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-3i64..3).prop_map(Value::from),
        (-1.0f64..1.0).prop_map(Value::from),
        "[a-z0-9]{0,4}".prop_map(Value::from),
        Just(json!("2020-01-01T00:00:00Z")),
        Just(json!("100m")),
    ];
    let keys = prop_oneof![
        Just("metadata"),
        Just("spec"),
        Just("status"),
        Just("containers"),
        Just("volumes"),
        Just("emptyDir"),
        Just("resources"),
        Just("limits"),
        Just("name"),
        Just("labels"),
        Just("ports"),
        Just("containerPort"),
        Just("securityContext"),
        Just("creationTimestamp"),
        Just("other"),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(keys.clone(), inner, 0..6)
                .prop_map(|map| map.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn what_was_read_is_read_again(body in any_json()) {
        let pod = kind("", "v1", "Pod");
        if let Ok(first) = json::decode(body.to_string().as_bytes(), builtin(), pod) {
            let again = json::decode(first.value.to_string().as_bytes(), builtin(), pod).unwrap();
            prop_assert_eq!(&again.value, &first.value);
            prop_assert_eq!(again.strict, Vec::<String>::new());
        }
    }

    #[test]
    fn never_panics(body in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = json::decode(&body, builtin(), kind("", "v1", "Pod"));
        let _ = untyped(&body);
        let _ = type_of(&body);
    }

    #[test]
    fn never_panics_on_mended_text(mut body in any_json().prop_map(|json| json.to_string().into_bytes()), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let at = at.index(body.len());
        body[at] = byte;
        let _ = json::decode(&body, builtin(), kind("", "v1", "Pod"));
        let _ = untyped(&body);
    }
}
