//! What runs the operator: two replicas, of which one leads.

use serde_json::{Value, json};

use super::{NAME, labels, metadata};

const ADMIN_PORT: u16 = 8080;
/// How the port is called in probes and in the Service.
const ADMIN: &str = "admin";

pub fn objects(image: &str) -> Vec<Value> {
    vec![deployment(image), service(), disruption_budget()]
}

fn deployment(image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(NAME),
        "spec": {
            "replicas": 2,
            "selector": { "matchLabels": labels() },
            // A new one is ready before an old one goes.
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 },
            },
            "template": {
                "metadata": { "labels": labels() },
                "spec": pod(image),
            },
        },
    })
}

fn pod(image: &str) -> Value {
    json!({
        "serviceAccountName": NAME,
        "automountServiceAccountToken": true,
        // Variables named after Services could be taken for those of flags.
        "enableServiceLinks": false,
        // 5 s more than --stop-deadline.
        "terminationGracePeriodSeconds": 30,
        "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "seccompProfile": { "type": "RuntimeDefault" },
        },
        "topologySpreadConstraints": [{
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": { "matchLabels": labels() },
            "matchLabelKeys": ["pod-template-hash"],
        }],
        "containers": [container(image)],
    })
}

fn container(image: &str) -> Value {
    json!({
        "name": NAME,
        "image": image,
        "args": [
            "run",
            "--leader-elect",
            format!("--admin-address=0.0.0.0:{ADMIN_PORT}"),
            "--stop-deadline=25s",
            "--log-format=json",
        ],
        "env": [{
            "name": "POD_NAME",
            "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } },
        }],
        "ports": [{ "name": ADMIN, "containerPort": ADMIN_PORT }],
        "livenessProbe": probe("/healthz"),
        "readinessProbe": probe("/readyz"),
        "resources": {
            "requests": { "cpu": "10m", "memory": "64Mi" },
            "limits": { "memory": "128Mi" },
        },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": { "drop": ["ALL"] },
        },
    })
}

fn probe(path: &str) -> Value {
    json!({
        "httpGet": { "path": path, "port": ADMIN },
        "periodSeconds": 10,
        "timeoutSeconds": 2,
        "failureThreshold": 3,
    })
}

/// For a Prometheus, which asks every replica behind it.
fn service() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata("website-metrics"),
        "spec": {
            "selector": labels(),
            "ports": [{ "name": "metrics", "port": ADMIN_PORT, "targetPort": ADMIN }],
        },
    })
}

/// One replica stays while nodes are drained.
fn disruption_budget() -> Value {
    json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(NAME),
        "spec": { "maxUnavailable": 1, "selector": { "matchLabels": labels() } },
    })
}
