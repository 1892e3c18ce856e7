//! What was asked of a real server once, asked of both.

mod common;

use common::both;
use serde_json::json;

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
