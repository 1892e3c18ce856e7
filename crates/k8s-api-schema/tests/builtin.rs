//! The built-in types are what the server publishes and what Go says of them.

#![allow(clippy::unwrap_used, reason = "in a test that is a failure")]

use k8s_api_schema::{
    EitherKind, Empty, Field, ListKind, Scalar, Schema, Struct, Type, TypeId, builtin,
};

fn struct_of(schema: &Schema, id: TypeId) -> &Struct {
    match schema.get(id) {
        Type::Struct(struct_) => struct_,
        other => panic!("{} is {other:?}", schema.go_name(id)),
    }
}

/// The field at a path below a kind; lists are passed through.
fn field(kind: (&str, &str, &str), path: &str) -> Field {
    let schema = builtin();
    let mut id = schema.find(kind.0, kind.1, kind.2).unwrap();
    let mut found = None;
    for name in path.split('.') {
        if let Type::List(list) = schema.get(id) {
            id = list.items;
        }
        let field = &struct_of(schema, id).fields[name];
        id = field.type_;
        found = Some(field.clone());
    }
    found.unwrap()
}

#[test]
fn emptiness_is_that_of_go() {
    let pod = ("", "v1", "Pod");
    for (kind, path, expected) in [
        (pod, "spec", Empty::Written),
        (pod, "spec.containers", Empty::Written),
        (pod, "spec.nodeName", Empty::Omitted),
        (pod, "spec.securityContext", Empty::Pointer),
        (pod, "spec.containers.resources", Empty::Written),
        (pod, "metadata.creationTimestamp", Empty::Omitted),
        (pod, "metadata.deletionTimestamp", Empty::Pointer),
        (("", "v1", "Event"), "eventTime", Empty::Written),
        (("apps", "v1", "Deployment"), "spec.selector", Empty::Null),
        (
            ("rbac.authorization.k8s.io", "v1", "Role"),
            "rules",
            Empty::Written,
        ),
    ] {
        assert_eq!(field(kind, path).empty, expected, "{} {path}", kind.2);
    }
}

#[test]
fn names_of_go_and_protobuf() {
    let schema = builtin();
    let pod = ("", "v1", "Pod");
    for (path, name, protobuf) in [
        ("metadata.labels", "map[string]string", &[11][..]),
        ("status.phase", "v1.PodPhase", &[1]),
        ("spec.containers", "[]v1.Container", &[2]),
        ("spec.containers.resources.limits", "v1.ResourceList", &[1]),
        ("spec.volumes.emptyDir", "v1.EmptyDirVolumeSource", &[2, 2]),
        ("apiVersion", "string", &[]),
    ] {
        let field = field(pod, path);
        assert_eq!(schema.go_name(field.type_), name);
        assert_eq!(field.protobuf, protobuf, "{path}");
    }
}

#[test]
fn lists_and_maps_of_apply() {
    let schema = builtin();
    let list = |kind, path| match schema.get(field(kind, path).type_) {
        Type::List(list) => list.kind.clone(),
        other => panic!("{other:?}"),
    };
    let pod = ("", "v1", "Pod");
    assert_eq!(
        list(pod, "spec.containers.ports"),
        ListKind::Map(vec!["containerPort".into(), "protocol".into()])
    );
    assert_eq!(list(pod, "metadata.finalizers"), ListKind::Set);
    assert_eq!(list(pod, "spec.containers.args"), ListKind::Atomic);
    let atomic = |kind, path| match schema.get(field(kind, path).type_) {
        Type::Map(map) => map.atomic,
        Type::Struct(struct_) => struct_.atomic,
        other => panic!("{other:?}"),
    };
    assert!(atomic(pod, "spec.nodeSelector"));
    assert!(!atomic(pod, "metadata.labels"));
    assert!(atomic(("apps", "v1", "Deployment"), "spec.selector"));
    // The same type is atomic elsewhere.
    assert!(!atomic(("", "v1", "PersistentVolume"), "spec.claimRef"));
    assert!(atomic(("", "v1", "Event"), "involvedObject"));
}

#[test]
fn every_reference_leads_to_a_type() {
    let schema = builtin();
    let props = schema
        .by_name("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
        .unwrap();
    let either = schema.either(struct_of(schema, props).fields["items"].type_);
    assert!(either.is_some_and(|either| either.schema == props && either.kind == EitherKind::List));
    let mut any = Vec::new();
    for type_ in k8s_api_schema::published() {
        let id = schema.by_name(type_.name).unwrap();
        assert_eq!(schema.go_name(id), type_.go);
        assert_eq!(schema.openapi_name(id), type_.name);
        if let Type::Struct(struct_) = schema.get(id) {
            assert_eq!(struct_.fields.len(), type_.fields.len());
            for (name, field) in &struct_.fields {
                assert!(
                    !schema.go_name(field.type_).is_empty(),
                    "{} {name}",
                    type_.name
                );
                if schema.get(field.type_) == &Type::Any {
                    any.push(schema.go_name(field.type_).to_owned());
                }
            }
        }
    }
    any.sort_unstable();
    any.dedup();
    assert_eq!(
        any,
        [
            "runtime.RawExtension",
            "v1.FieldsV1",
            "v1.JSON",
            "v1.JSONSchemaPropsOrArray",
            "v1.JSONSchemaPropsOrBool",
        ]
    );
    let port = field(("", "v1", "Service"), "spec.ports.targetPort");
    assert_eq!(schema.get(port.type_), &Type::Scalar(Scalar::IntOrString));
}
