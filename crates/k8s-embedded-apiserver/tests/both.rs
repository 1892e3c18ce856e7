//! What was asked of a real server once, asked of both.

mod common;

use common::both;
use serde_json::{Value, json};

#[tokio::test]
async fn an_object_comes_back_under_its_name() {
    for server in both::servers().await {
        let namespace = server.namespace().await;
        let config_maps = format!("/api/v1/namespaces/{namespace}/configmaps");
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
        let made = server.post(&config_maps, object).await;
        assert_eq!(made.code, 201, "{}", server.name);
        let found = server.get(&format!("{config_maps}/a")).await;
        assert_eq!(found.body, made.body, "{}", server.name);
        server
            .delete(&format!("/api/v1/namespaces/{namespace}"))
            .await;
    }
}

/// Two rules that stand in several kinds, and one that tells an empty value from none.
#[tokio::test]
async fn what_is_wrong_with_ports_and_selectors() {
    const PORT: &str = r#"Invalid value: "aaaaaaaaaaaaaaaa": must be no more than 15 characters"#;
    let name = "a".repeat(16);
    let template = json!({
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    let refused = [
        (
            "/api/v1",
            "services",
            json!({"ports": [{"port": 80, "targetPort": name}]}),
            format!("spec.ports[0].targetPort: {PORT}"),
        ),
        (
            "/apis/networking.k8s.io/v1",
            "ingresses",
            json!({"defaultBackend": {"service": {"name": "s", "port": {"name": name}}}}),
            format!("spec.defaultBackend.service.port.name: {PORT}"),
        ),
        (
            "/apis/networking.k8s.io/v1",
            "networkpolicies",
            json!({"podSelector": {}, "ingress": [{"ports": [{"port": name}]}]}),
            format!("spec.ingress[0].ports[0].port: {PORT}"),
        ),
        (
            "/api/v1",
            "pods",
            json!({"containers": [{"name": "c", "image": "i", "ports": [{"name": name, "containerPort": 1}]}]}),
            format!("spec.containers[0].ports[0].name: {PORT}"),
        ),
        (
            "/apis/apps/v1",
            "deployments",
            json!({"selector": {}, "template": template}),
            "spec.selector: Invalid value: {}: empty selector is invalid for deployment".into(),
        ),
        (
            "/apis/apps/v1",
            "replicasets",
            json!({"selector": {}, "template": template}),
            "spec.selector: Invalid value: {}: empty selector is invalid for deployment".into(),
        ),
        (
            "/apis/apps/v1",
            "statefulsets",
            json!({"selector": {}, "template": template}),
            "spec.selector: Invalid value: {}: empty selector is invalid for statefulset".into(),
        ),
        (
            "/apis/apps/v1",
            "daemonsets",
            json!({"selector": {}, "template": template}),
            "spec.selector: Invalid value: {}: empty selector is invalid for daemonset".into(),
        ),
    ];
    for server in both::servers().await {
        for (version, plural, spec, why) in &refused {
            let path = format!("{version}/namespaces/default/{plural}?dryRun=All");
            let object = json!({"metadata": {"name": "x"}, "spec": spec});
            let answer = server.post(&path, object).await;
            let found = answer.message().split_once(" is invalid: ");
            let found = found.map(|(_, found)| found);
            assert_eq!(found, Some(why.as_str()), "{}: {plural}", server.name);
        }
    }
}

/// A webhook that nobody answers for: it is called, or not, by its conditions.
#[tokio::test]
async fn conditions_of_webhooks() {
    const HOOKS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    let conditions = json!([
        {"name": "not-skipped", "expression": "object.metadata.name != 'skipped' || request.operation != 'CREATE'"},
        {"name": "old", "expression": "oldObject == null"},
        {"name": "fails", "expression": "object.data.key == 'x'"},
    ]);
    for server in both::servers().await {
        let namespace = server.namespace().await;
        let hook = json!({
            "name": "nobody.example.org",
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
            "sideEffects": "None",
            "timeoutSeconds": 1,
            "admissionReviewVersions": ["v1"],
            "matchConditions": conditions,
        });
        let made = server
            .post(
                HOOKS,
                json!({"metadata": {"name": namespace}, "webhooks": [hook]}),
            )
            .await;
        assert_eq!(made.code, 201, "{}: {}", server.name, made.body);
        let path = format!("/api/v1/namespaces/{namespace}/configmaps?dryRun=All");
        let ask = async |name: &str, data: Value| {
            let map = json!({"metadata": {"name": name}, "data": data});
            server.post(&path, map).await
        };
        // A real server learns of a webhook a moment later.
        let mut failed = ask("a", json!({})).await;
        for _ in 0..100 {
            if failed.code != 201 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            failed = ask("a", json!({})).await;
        }
        let why = "configmaps \"a\" is forbidden: expression 'object.data.key == 'x'' resulted in error: no such key: data";
        assert_eq!(
            (failed.code, failed.message()),
            (403, why),
            "{}",
            server.name
        );
        let skipped = ask("skipped", json!({})).await;
        assert_eq!(skipped.code, 201, "{}: {}", server.name, skipped.body);
        let other = ask("a", json!({"key": "y"})).await;
        assert_eq!(other.code, 201, "{}: {}", server.name, other.body);
        let called = ask("a", json!({"key": "x"})).await;
        assert_eq!(called.code, 500, "{}: {}", server.name, called.body);
        server.delete(&format!("{HOOKS}/{namespace}")).await;
    }
}
