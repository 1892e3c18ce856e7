//! Who the operator is, and what it may do: just what it needs.

use serde_json::{Value, json};

use super::{NAME, cluster_metadata, metadata};
use crate::hosts::{HOSTS, NAMESPACE};

pub fn objects() -> Vec<Value> {
    vec![
        json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": metadata(NAME),
            // The Deployment asks for the token; other pods of this account need not have it.
            "automountServiceAccountToken": false,
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": cluster_metadata(NAME),
            "rules": everywhere(),
        }),
        binding("ClusterRoleBinding", "ClusterRole", &cluster_metadata(NAME)),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": metadata(NAME),
            "rules": in_own_namespace(),
        }),
        binding("RoleBinding", "Role", &metadata(NAME)),
    ]
}

/// For the Websites and their children, which can be in any namespace.
fn everywhere() -> Value {
    json!([
        // Its finalizer is patched. If somebody else has changed it meanwhile, it is got anew.
        rule(
            "example.dev",
            "websites",
            &["get", "list", "watch", "patch"],
        ),
        rule("example.dev", "websites/status", &["patch"]),
        rule(
            "",
            "configmaps",
            &["get", "list", "watch", "create", "patch"]
        ),
        rule(
            "apps",
            "deployments",
            &["get", "list", "watch", "create", "patch"]
        ),
        // A repeated event is patched.
        rule("events.k8s.io", "events", &["create", "patch"]),
    ])
}

/// For what all replicas share.
fn in_own_namespace() -> Value {
    json!([
        named_rule("", "configmaps", HOSTS, &["get", "update"]),
        named_rule("coordination.k8s.io", "leases", NAME, &["get", "update"]),
        // The name of what is to be created is unknown when this is checked.
        rule("coordination.k8s.io", "leases", &["create"]),
    ])
}

fn rule(group: &str, resource: &str, verbs: &[&str]) -> Value {
    json!({ "apiGroups": [group], "resources": [resource], "verbs": verbs })
}

fn named_rule(group: &str, resource: &str, name: &str, verbs: &[&str]) -> Value {
    let mut rule = rule(group, resource, verbs);
    rule["resourceNames"] = json!([name]);
    rule
}

fn binding(kind: &str, role: &str, metadata: &Value) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": metadata,
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": NAME },
        "subjects": [{ "kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE }],
    })
}
