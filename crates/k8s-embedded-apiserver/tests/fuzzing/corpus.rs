//! The requests that mutation begins with: each verb on kinds of each sort.

use serde_json::{Value, json};

use super::Request;

const JSON: &str = "application/json";
const JSON_PATCH: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

fn container() -> Value {
    json!({
        "name": "main", "image": "web:1", "ports": [{"containerPort": 80, "name": "http"}],
        "env": [{"name": "A", "value": "b"}],
        "resources": {"requests": {"cpu": "50m"}, "limits": {"memory": "64Mi"}},
        "readinessProbe": {"httpGet": {"path": "/", "port": 80}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    })
}

fn template() -> Value {
    json!({
        "metadata": {"labels": {"app": "a"}},
        "spec": {"containers": [container()], "volumes": [{"name": "data", "emptyDir": {}}]},
    })
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}},
                "additionalPrinterColumns": [{"name": "N", "type": "integer", "jsonPath": ".spec.n"}],
                "selectableFields": [{"jsonPath": ".spec.mode"}],
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "spec": {
                            "type": "object",
                            "x-kubernetes-validations": [{"rule": "self.n < 100", "message": "small"}],
                            "properties": {
                                "n": {"type": "integer", "minimum": 0, "default": 1},
                                "mode": {"type": "string", "enum": ["a", "b"], "pattern": "^[ab]$"},
                                "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                                    "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "v": {"x-kubernetes-int-or-string": true}}}},
                                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                            },
                        },
                        "status": {"type": "object", "properties": {"n": {"type": "integer"}}},
                    },
                }},
            }],
        },
    })
}

fn widget(name: &str) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name},
        "spec": {"n": 3, "mode": "a", "list": [{"name": "x", "v": 1}], "free": {"any": [1, "two"]}},
    })
}

/// Collection, and an object for it.
#[allow(clippy::too_many_lines, reason = "a table")]
fn objects() -> Vec<(&'static str, Value)> {
    let named = |kind: &str, version: &str, rest: Value| {
        let mut object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": "a", "labels": {"app": "a"}}});
        object
            .as_object_mut()
            .unwrap()
            .extend(rest.as_object().unwrap().clone());
        object
    };
    let selector = json!({"matchLabels": {"app": "a"}});
    vec![
        ("/api/v1/namespaces", named("Namespace", "v1", json!({}))),
        (
            "/api/v1/namespaces/default/configmaps",
            named(
                "ConfigMap",
                "v1",
                json!({"data": {"k": "v"}, "binaryData": {"b": "aGk="}}),
            ),
        ),
        (
            "/api/v1/namespaces/default/secrets",
            named(
                "Secret",
                "v1",
                json!({"type": "Opaque", "stringData": {"k": "v"}}),
            ),
        ),
        (
            "/api/v1/namespaces/default/services",
            named(
                "Service",
                "v1",
                json!({"spec": {"selector": {"app": "a"}, "ports": [{"port": 80, "targetPort": "http"}]}}),
            ),
        ),
        (
            "/api/v1/namespaces/default/serviceaccounts",
            named("ServiceAccount", "v1", json!({})),
        ),
        (
            "/api/v1/namespaces/default/pods",
            named(
                "Pod",
                "v1",
                template()
                    .as_object()
                    .map(|t| json!({"spec": t["spec"]}))
                    .unwrap(),
            ),
        ),
        (
            "/api/v1/namespaces/default/events",
            named(
                "Event",
                "v1",
                json!({"involvedObject": {"kind": "ConfigMap", "name": "a", "namespace": "default"}, "reason": "R", "type": "Normal"}),
            ),
        ),
        (
            "/api/v1/namespaces/default/persistentvolumeclaims",
            named(
                "PersistentVolumeClaim",
                "v1",
                json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}),
            ),
        ),
        (
            "/api/v1/namespaces/default/resourcequotas",
            named(
                "ResourceQuota",
                "v1",
                json!({"spec": {"hard": {"pods": "3"}}}),
            ),
        ),
        (
            "/api/v1/nodes",
            named(
                "Node",
                "v1",
                json!({"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}),
            ),
        ),
        (
            "/apis/apps/v1/namespaces/default/deployments",
            named(
                "Deployment",
                "apps/v1",
                json!({"spec": {"replicas": 2, "selector": selector, "template": template()}}),
            ),
        ),
        (
            "/apis/apps/v1/namespaces/default/statefulsets",
            named(
                "StatefulSet",
                "apps/v1",
                json!({"spec": {"serviceName": "a", "selector": selector, "template": template()}}),
            ),
        ),
        (
            "/apis/batch/v1/namespaces/default/jobs",
            named(
                "Job",
                "batch/v1",
                json!({"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container()]}}}}),
            ),
        ),
        (
            "/apis/batch/v1/namespaces/default/cronjobs",
            named(
                "CronJob",
                "batch/v1",
                json!({"spec": {"schedule": "0 * * * *", "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container()]}}}}}}),
            ),
        ),
        (
            "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
            named(
                "HorizontalPodAutoscaler",
                "autoscaling/v2",
                json!({"spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}}}),
            ),
        ),
        (
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
            named(
                "PodDisruptionBudget",
                "policy/v1",
                json!({"spec": {"minAvailable": "50%", "selector": selector}}),
            ),
        ),
        (
            "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
            named(
                "Ingress",
                "networking.k8s.io/v1",
                json!({"spec": {"rules": [{"host": "a.example.com", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "a", "port": {"number": 80}}}}]}}]}}),
            ),
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
            named(
                "Role",
                "rbac.authorization.k8s.io/v1",
                json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}),
            ),
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
            named(
                "RoleBinding",
                "rbac.authorization.k8s.io/v1",
                json!({"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"}, "subjects": [{"kind": "User", "name": "jane"}]}),
            ),
        ),
        (
            "/apis/coordination.k8s.io/v1/namespaces/default/leases",
            named(
                "Lease",
                "coordination.k8s.io/v1",
                json!({"spec": {"holderIdentity": "one", "renewTime": "2026-01-01T00:00:00.000000Z"}}),
            ),
        ),
        (
            "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
            named(
                "EndpointSlice",
                "discovery.k8s.io/v1",
                json!({"addressType": "IPv4", "endpoints": [{"addresses": ["192.0.2.1"]}], "ports": [{"port": 80}]}),
            ),
        ),
        (
            "/apis/events.k8s.io/v1/namespaces/default/events",
            named(
                "Event",
                "events.k8s.io/v1",
                json!({"eventTime": "2026-01-01T00:00:00.000000Z", "type": "Normal", "reason": "R", "action": "A", "reportingController": "c", "reportingInstance": "i", "regarding": {"kind": "ConfigMap", "name": "a", "namespace": "default"}}),
            ),
        ),
        (
            "/apis/storage.k8s.io/v1/storageclasses",
            named(
                "StorageClass",
                "storage.k8s.io/v1",
                json!({"provisioner": "example.com/p"}),
            ),
        ),
        (
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            named("PriorityClass", "scheduling.k8s.io/v1", json!({"value": 7})),
        ),
        (
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
            named(
                "ValidatingWebhookConfiguration",
                "admissionregistration.k8s.io/v1",
                json!({"webhooks": [{"name": "a.example.com", "clientConfig": {"url": "https://example.com"}, "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore", "rules": [{"apiGroups": ["none"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["x"]}]}]}),
            ),
        ),
        (
            "/apis/example.com/v1/namespaces/default/widgets",
            widget("a"),
        ),
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
            let mut other = definition();
            other["metadata"]["name"] = "gadgets.example.com".into();
            other["spec"]["names"] = json!({"plural": "gadgets", "kind": "Gadget"});
            other
        }),
    ]
}

/// What every server has before it is fuzzed: the definition, and one object of each kind.
pub(crate) fn setup() -> Vec<Request> {
    let define = Request::new(
        "POST",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        JSON,
        definition().to_string(),
    );
    let create =
        |(path, object): (&str, Value)| Request::new("POST", path, JSON, object.to_string());
    std::iter::once(define)
        .chain(objects().into_iter().map(create))
        .collect()
}

#[allow(clippy::too_many_lines, reason = "a table")]
pub(crate) fn corpus() -> Vec<Request> {
    let mut all = Vec::new();
    for (path, object) in objects() {
        let one = format!("{path}/a");
        let text = object.to_string();
        let mut owned = object.clone();
        owned["metadata"] = json!({
            "generateName": "a-", "finalizers": ["example.com/hold"],
            "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "u", "blockOwnerDeletion": true}],
            "managedFields": [{"manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:k": {}}}}],
        });
        all.extend([
            Request::new("POST", path, JSON, text.clone()),
            Request::new("POST", path, JSON, owned.to_string()),
            Request::new("GET", path, "", ""),
            Request::new("GET", &format!("{path}?watch=true&allowWatchBookmarks=true"), "", ""),
            Request::new("GET", &one, "", ""),
            Request::new("PUT", &one, JSON, text.clone()),
            Request::new("PUT", &format!("{one}/status"), JSON, text.clone()),
            Request::new("PATCH", &one, MERGE, text.clone()),
            Request::new("PATCH", &one, STRATEGIC, text.clone()),
            Request::new("PATCH", &one, JSON_PATCH, r#"[{"op": "test", "path": "/metadata/name", "value": "a"}, {"op": "add", "path": "/metadata/labels/x", "value": "y"}, {"op": "copy", "from": "/metadata", "path": "/spec"}]"#),
            Request::new("PATCH", &format!("{one}?fieldManager=fuzz&force=true"), APPLY, text.clone()),
            Request::new("PATCH", &format!("{one}/status?fieldManager=fuzz"), APPLY, text),
            Request::new("DELETE", &one, JSON, r#"{"propagationPolicy": "Foreground", "preconditions": {"uid": "u"}}"#),
            Request::new("DELETE", &one, JSON, r#"{"gracePeriodSeconds": 0}"#),
            Request::new("DELETE", &format!("{path}?labelSelector=app%3Da"), "", ""),
        ]);
    }
    let scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 4}});
    for path in [
        "/apis/apps/v1/namespaces/default/deployments/a/scale",
        "/apis/example.com/v1/namespaces/default/widgets/a/scale",
    ] {
        all.push(Request::new("PUT", path, JSON, scale.to_string()));
        all.push(Request::new(
            "PATCH",
            path,
            MERGE,
            r#"{"spec": {"replicas": 5}}"#,
        ));
        all.push(Request::new("GET", path, "", ""));
    }
    for path in [
        "/",
        "/version",
        "/api",
        "/apis",
        "/apis/apps",
        "/api/v1",
        "/apis/example.com/v1",
        "/openapi/v2",
        "/openapi/v3",
        "/openapi/v3/api/v1",
        "/openapi/v3/apis/example.com/v1",
        "/readyz?verbose&exclude=etcd",
        "/metrics",
    ] {
        all.push(Request::new("GET", path, "", ""));
    }
    let reviews = [
        (
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            json!({"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}),
        ),
        (
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            json!({"spec": {"user": "jane", "nonResourceAttributes": {"path": "/x", "verb": "get"}}}),
        ),
        (
            "/apis/authentication.k8s.io/v1/tokenreviews",
            json!({"spec": {"token": "x.y.z", "audiences": ["a"]}}),
        ),
        (
            "/apis/authentication.k8s.io/v1/selfsubjectreviews",
            json!({}),
        ),
        (
            "/api/v1/namespaces/default/serviceaccounts/a/token",
            json!({"spec": {"audiences": ["a"], "expirationSeconds": 600}}),
        ),
        (
            "/api/v1/namespaces/default/pods/a/eviction",
            json!({"metadata": {"name": "a"}}),
        ),
        (
            "/api/v1/namespaces/default/pods/a/binding",
            json!({"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "a"}}),
        ),
        (
            "/api/v1/namespaces/a/finalize",
            json!({"metadata": {"name": "a"}, "spec": {"finalizers": []}}),
        ),
    ];
    for (path, body) in reviews {
        let method = if path.ends_with("finalize") {
            "PUT"
        } else {
            "POST"
        };
        all.push(Request::new(method, path, JSON, body.to_string()));
    }
    // Protobuf: the magic, and an envelope that names a ConfigMap with two bytes of nothing.
    let mut protobuf = b"k8s\0".to_vec();
    protobuf.extend([0x0a, 0x0f, 0x0a, 0x02, b'v', b'1', 0x12, 0x09]);
    protobuf.extend(b"ConfigMap");
    protobuf.extend([0x12, 0x05, 0x0a, 0x03, 0x0a, 0x01, b'p']);
    all.push(Request::new(
        "POST",
        "/api/v1/namespaces/default/configmaps",
        "application/vnd.kubernetes.protobuf",
        protobuf,
    ));
    all.push(Request::new(
        "POST",
        "/api/v1/namespaces/default/configmaps",
        "application/yaml",
        "metadata: {name: &n b}\ndata: {k: *n, l: |\n  text\n}\n",
    ));
    all
}
