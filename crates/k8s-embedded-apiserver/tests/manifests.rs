//! Manifests with one thing changed: what a real server makes of each was asked of it.

mod common;

use common::both;
use serde_json::{Value, json};

/// Where a manifest goes, and the manifest.
fn base(kind: &str) -> (&'static str, Value) {
    let template = json!({
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    let selector = json!({"matchLabels": {"a": "b"}});
    match kind {
        "StatefulSet" => (
            "/apis/apps/v1/namespaces/default/statefulsets",
            json!({"spec": {"serviceName": "s", "selector": selector, "template": template}}),
        ),
        "DaemonSet" => (
            "/apis/apps/v1/namespaces/default/daemonsets",
            json!({"spec": {"selector": selector, "template": template}}),
        ),
        "Job" => (
            "/apis/batch/v1/namespaces/default/jobs",
            json!({"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}),
        ),
        "Service" => (
            "/api/v1/namespaces/default/services",
            json!({"spec": {"ports": [{"port": 80}]}}),
        ),
        "PersistentVolumeClaim" => (
            "/api/v1/namespaces/default/persistentvolumeclaims",
            json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}),
        ),
        "PersistentVolume" => (
            "/api/v1/persistentvolumes",
            json!({"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}}}),
        ),
        "PodDisruptionBudget" => (
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
            json!({"spec": {"minAvailable": 1, "selector": selector}}),
        ),
        "EndpointSlice" => (
            "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
            json!({"addressType": "IPv4", "endpoints": []}),
        ),
        "Pod" => (
            "/api/v1/namespaces/default/pods",
            json!({"spec": template["spec"]}),
        ),
        "Node" => ("/api/v1/nodes", json!({})),
        "ConfigMap" => ("/api/v1/namespaces/default/configmaps", json!({})),
        "ValidatingWebhookConfiguration" => (
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
            json!({}),
        ),
        "CustomResourceDefinition" => (
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            json!({
                "metadata": {"name": "things.example.org"},
                "spec": {
                    "group": "example.org", "scope": "Namespaced",
                    "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
                    "versions": [{"name": "v1", "served": true, "storage": true,
                        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"a": {"type": "string", "default": "b"}}}}}],
                },
            }),
        ),
        other => panic!("no base for {other}"),
    }
}

fn claim(spec: &Value) -> Value {
    let mut whole =
        json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    json_patch::merge(&mut whole, spec);
    json!({"spec": {"volumeClaimTemplates": [{"metadata": {"name": "d"}, "spec": whole}]}})
}

/// A configuration whose webhook differs in something from a good one.
fn hook(change: &Value) -> Value {
    let mut hook = json!({
        "name": "a.example.org",
        "clientConfig": {"service": {"namespace": "n", "name": "s"}},
        "rules": [{"operations": ["CREATE"], "apiGroups": ["example.org"], "apiVersions": ["v1"], "resources": ["things"]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    });
    json_patch::merge(&mut hook, change);
    json!({"webhooks": [hook]})
}

async fn answer(server: &both::Server, kind: &str, change: &Value) -> both::Answer {
    let (path, manifest) = base(kind);
    let mut object = json!({"metadata": {"name": "x"}});
    json_patch::merge(&mut object, &manifest);
    json_patch::merge(&mut object, change);
    server
        .post(&format!("{path}?dryRun=All&fieldManager=m"), object)
        .await
}

#[allow(clippy::too_many_lines, reason = "a table")]
#[tokio::test]
async fn what_is_refused() {
    let versions = |name: &str| {
        json!({"spec": {"versions": [{"name": name, "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object"}}}]}})
    };
    let rows = [
        (
            "StatefulSet",
            claim(&json!({"storageClassName": "A"})),
            "spec.volumeClaimTemplates[0].spec.storageClassName: Invalid value: \"A\": a lowercase RFC 1123 subdomain must",
        ),
        (
            "StatefulSet",
            claim(&json!({"accessModes": [""]})),
            "spec.volumeClaimTemplates[0].spec.accessModes: Unsupported value: \"\": supported values:",
        ),
        (
            "StatefulSet",
            claim(&json!({"resources": {"requests": {"storage": "0"}}})),
            "spec.volumeClaimTemplates[0].spec.resources[storage]: Invalid value: \"0\": must be greater than zero",
        ),
        (
            "StatefulSet",
            json!({"spec": {"updateStrategy": {"type": "X", "rollingUpdate": {"partition": 1, "maxUnavailable": 1}}}}),
            "spec.updateStrategy: Invalid value: {\"Type\":\"X\",\"RollingUpdate\":{\"Partition\":1,\"MaxUnavailable\":1}}: must be 'RollingUpdate' or 'OnDelete'",
        ),
        (
            "Job",
            json!({"spec": {"completionMode": ""}}),
            "spec.completionMode: Unsupported value: \"\": supported values: \"NonIndexed\", \"Indexed\"",
        ),
        (
            "Job",
            json!({"spec": {"podReplacementPolicy": ""}}),
            "spec.podReplacementPolicy: Unsupported value: \"\": supported values: \"Failed\", \"TerminatingOrFailed\"",
        ),
        (
            "Service",
            json!({"spec": {"internalTrafficPolicy": ""}}),
            "spec.internalTrafficPolicy: Unsupported value: \"\": supported values: \"Cluster\", \"Local\"",
        ),
        (
            "Service",
            json!({"spec": {"ipFamilyPolicy": ""}}),
            "spec.ipFamilyPolicy: Unsupported value: \"\": supported values:",
        ),
        (
            "PersistentVolumeClaim",
            json!({"spec": {"volumeAttributesClassName": "A"}}),
            "spec.volumeAttributesClassName: Invalid value: \"A\": a lowercase RFC 1123 subdomain must",
        ),
        (
            "PersistentVolume",
            json!({"spec": {"nodeAffinity": {}}}),
            "spec.nodeAffinity.required: Required value: must specify required node constraints",
        ),
        (
            "PersistentVolume",
            json!({"spec": {"nodeAffinity": {"required": {}}}}),
            "spec.nodeAffinity.required.nodeSelectorTerms: Required value: must have at least one node selector term",
        ),
        (
            "PersistentVolume",
            json!({"spec": {"hostPath": {"path": ".."}}}),
            "spec.hostPath.path: Invalid value: \"..\": must not contain '..'",
        ),
        (
            "PersistentVolume",
            json!({"spec": {"hostPath": {"type": "X"}}}),
            "spec.hostPath.type: Unsupported value: \"X\": supported values: \"\", \"BlockDevice\",",
        ),
        (
            "PodDisruptionBudget",
            json!({"spec": {"unhealthyPodEvictionPolicy": ""}}),
            "spec.unhealthyPodEvictionPolicy: Unsupported value: \"\": supported values:",
        ),
        (
            "EndpointSlice",
            json!({"endpoints": [{"addresses": ["bad"]}]}),
            "endpoints[0].addresses[0]: Invalid value: \"bad\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        ),
        (
            "EndpointSlice",
            json!({"endpoints": [{"addresses": ["10.1.2.3"], "hints": {"forZones": [{"name": "z"}, {"name": "z"}]}}]}),
            "endpoints[0].hints.forZones[1].name: Duplicate value: \"z\"",
        ),
        (
            "Pod",
            json!({"spec": {"dnsConfig": {"searches": ["a b"]}}}),
            "spec.dnsConfig.searches[0]: Invalid value: \"a b\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.',",
        ),
        (
            "Pod",
            json!({"spec": {"containers": [{"name": "c", "image": "i", "securityContext": {"privileged": true, "allowPrivilegeEscalation": false}}]}}),
            "[spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy, spec.containers[0].securityContext: Invalid value: {\"Capabilities\":null,\"Privileged\":true,\"SELinuxOptions\":null,\"WindowsOptions\":null,\"RunAsUser\":null,\"RunAsGroup\":null,\"RunAsNonRoot\":null,\"ReadOnlyRootFilesystem\":null,\"AllowPrivilegeEscalation\":false,\"ProcMount\":null,\"SeccompProfile\":null,\"AppArmorProfile\":null}: cannot set `allowPrivilegeEscalation` to false and `privileged` to true]",
        ),
        (
            "ValidatingWebhookConfiguration",
            hook(&json!({"clientConfig": {"service": {"namespace": null}}})),
            "webhooks[0].clientConfig.service.name: Required value",
        ),
        (
            "ValidatingWebhookConfiguration",
            hook(&json!({"clientConfig": {"service": {"path": "Bad!"}}})),
            "[webhooks[0].clientConfig.service.path: Invalid value: \"Bad!\": must start with a '/', webhooks[0].clientConfig.service.path: Invalid value: \"Bad!\": segment[0]: a lowercase RFC 1123 subdomain must",
        ),
        (
            "ValidatingWebhookConfiguration",
            hook(&json!({"clientConfig": {"service": {"path": "/a//b/"}}})),
            "webhooks[0].clientConfig.service.path: Invalid value: \"/a//b/\": segment[1] may not be empty",
        ),
        (
            "ValidatingWebhookConfiguration",
            hook(&json!({"admissionReviewVersions": ["v1", "v1"]})),
            "webhooks[0].admissionReviewVersions[1]: Invalid value: \"v1\": duplicate version",
        ),
        (
            "ValidatingWebhookConfiguration",
            hook(
                &json!({"rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": [""], "resources": ["pods"]}]}),
            ),
            "webhooks[0].rules[0].apiVersions[0]: Required value",
        ),
        (
            "ValidatingWebhookConfiguration",
            hook(
                &json!({"matchConditions": [{"name": "a", "expression": "true"}, {"name": "a", "expression": "true"}]}),
            ),
            "webhooks[0].matchConditions[1].name: Duplicate value: \"a\"",
        ),
        (
            "ValidatingWebhookConfiguration",
            hook(&json!({"matchConditions": [{"name": "a", "expression": "object."}]})),
            "webhooks[0].matchConditions[0].expression: Invalid value: \"object.\": compilation failed: ERROR: <input>:1:8: Syntax error:",
        ),
        (
            "ValidatingWebhookConfiguration",
            hook(&json!({"matchConditions": [{"name": "a", "expression": "'a'"}]})),
            "webhooks[0].matchConditions[0].expression: Invalid value: \"'a'\": must evaluate to bool",
        ),
        (
            "CustomResourceDefinition",
            json!({"spec": {"conversion": {}}}),
            "spec.conversion.strategy: Required value",
        ),
        (
            "CustomResourceDefinition",
            json!({"spec": {"preserveUnknownFields": true}}),
            "[spec.preserveUnknownFields: Invalid value: true: must be false in order to use defaults in the schema, spec.preserveUnknownFields: Invalid value: true: cannot set to true,",
        ),
        (
            "CustomResourceDefinition",
            versions(&"a".repeat(64)),
            "[spec.versions[0].name: Invalid value: \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\": must be no more than 63 characters, spec.version: Invalid value:",
        ),
        (
            "CustomResourceDefinition",
            json!({"spec": {"versions": [{"name": "v1", "served": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}),
            "[spec.versions: Invalid value: [{\"Name\":\"v1\",\"Served\":true,\"Storage\":false,\"Deprecated\":false,\"DeprecationWarning\":null,\"Schema\":null,\"Subresources\":null,\"AdditionalPrinterColumns\":null,\"SelectableFields\":null}]: must have exactly one version marked as storage version,",
        ),
    ];
    for server in both::servers().await {
        for (kind, change, why) in &rows {
            let answer = answer(&server, kind, change).await;
            let found = answer.message().split_once(" is invalid: ");
            let found = found.map_or_else(|| answer.message(), |(_, found)| found);
            assert!(
                found.starts_with(why),
                "{}: {kind} {change}:\n{found}\n{why}",
                server.name
            );
        }
    }
}

#[tokio::test]
async fn what_is_taken() {
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"});
    let rows = [
        (
            "PodDisruptionBudget",
            json!({"metadata": {"name": "A b"}}),
            "/metadata/name",
            json!("A b"),
        ),
        (
            "PersistentVolume",
            json!({}),
            "/status/phase",
            json!("Pending"),
        ),
        (
            "PersistentVolume",
            json!({"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": " 1"}}}),
            "/spec/capacity/storage",
            json!("1"),
        ),
        (
            "Pod",
            json!({"spec": {"containers": [{"name": "c", "image": "a".repeat(254)}]}}),
            "/spec/containers/0/imagePullPolicy",
            json!("IfNotPresent"),
        ),
        (
            "Pod",
            json!({"spec": {"containers": [{"name": "c", "image": "a".repeat(247)}]}}),
            "/spec/containers/0/imagePullPolicy",
            json!("Always"),
        ),
        (
            "ConfigMap",
            json!({"metadata": {"ownerReferences": [owner, owner]}}),
            "/metadata/ownerReferences",
            json!([owner]),
        ),
        ("EndpointSlice", json!({}), "/endpoints", Value::Null),
        (
            "Job",
            json!({"spec": {"podFailurePolicy": {"rules": []}}}),
            "/spec/podFailurePolicy/rules",
            Value::Null,
        ),
        (
            "Node",
            json!({"spec": {"podCIDRs": ["10.1.0.0/24"]}}),
            "/spec/podCIDR",
            json!("10.1.0.0/24"),
        ),
        (
            "DaemonSet",
            json!({}),
            "/metadata/managedFields/0/fieldsV1/f:metadata/f:annotations/f:deprecated.daemonset.template.generation",
            json!({}),
        ),
    ];
    for server in both::servers().await {
        for (kind, change, pointer, wanted) in &rows {
            let answer = answer(&server, kind, change).await;
            let found = answer.body.pointer(pointer);
            assert_eq!(
                found,
                Some(wanted),
                "{}: {kind} {change}: {}",
                server.name,
                answer.body
            );
        }
        let volume = answer(&server, "PersistentVolume", &json!({})).await;
        let status = &volume.body["status"];
        assert_eq!(
            status["lastPhaseTransitionTime"], volume.body["metadata"]["creationTimestamp"],
            "{}: {status}",
            server.name
        );
    }
}
