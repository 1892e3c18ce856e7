//! Users, roles, tokens and reviews: what was recorded of a real server, asked of both; and what only concerns users
//! of the embedded one.

#![allow(clippy::expect_used, reason = "in a test that is a failure")]

mod common;

use std::time::Duration;

use common::{CONFIG_MAPS, both, json_of, named};
use http::Request;
use http_body_util::Full;
use k8s_embedded_apiserver::{EmbeddedApiServer, User};
use serde_json::{Value, json};
use tower::{Service, ServiceExt};

const JSON: (&str, &str) = ("content-type", "application/json");

#[tokio::test]
async fn a_token_request_is_checked() {
    for server in both::servers().await {
        let namespace = server.namespace().await;
        let accounts = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
        let account = server.post(&accounts, named("robot")).await;
        assert_eq!(account.code, 201, "{}", server.name);
        let uid = account.body["metadata"]["uid"]
            .as_str()
            .expect("a uid")
            .to_owned();
        let token = format!("{accounts}/robot/token");
        let other_uid = format!(
            "Operation cannot be fulfilled on TokenRequest.authentication.k8s.io \"robot\": the UID in the token request (other) does not match the UID of the service account ({uid})"
        );
        for (body, code, message) in [
            (
                json!({"spec": {"expirationSeconds": 1}}),
                422,
                "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes",
            ),
            (
                json!({"spec": {"expirationSeconds": 99_999_999_999_u64}}),
                422,
                "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 99999999999: may not specify a duration larger than 2^32 seconds",
            ),
            (
                json!({"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "x"}}}),
                404,
                "pods \"x\" not found",
            ),
            (
                json!({"spec": {"boundObjectRef": {"kind": "ConfigMap", "apiVersion": "v1", "name": "x"}}}),
                400,
                "cannot bind token to object of type /v1, Kind=ConfigMap",
            ),
            (
                json!({"spec": {"boundObjectRef": {"kind": "Secret"}}}),
                400,
                "Name parameter required.",
            ),
            (
                json!({"metadata": {"name": "other"}, "spec": {}}),
                422,
                "TokenRequest.authentication.k8s.io \"robot\" is invalid: metadata.name: Invalid value: \"other\": must match the service account name if specified",
            ),
            (
                json!({"metadata": {"uid": "other"}, "spec": {}}),
                409,
                &other_uid,
            ),
        ] {
            let answer = server.post(&token, body).await;
            assert_eq!(
                (answer.code, answer.message()),
                (code, message),
                "{}",
                server.name
            );
        }
        let answer = server.post(&token, json!({})).await;
        assert_eq!(answer.code, 201, "{}", server.name);
        assert_eq!(answer.body["spec"]["expirationSeconds"], 3600);
        assert_eq!(answer.body["metadata"]["uid"], uid.as_str());
        let missing = server
            .post(&format!("{accounts}/none/token"), json!({"spec": {}}))
            .await;
        assert_eq!(missing.message(), "serviceaccounts \"none\" not found");
        assert_eq!(server.get(&token).await.code, 405, "{}", server.name);
    }
}

#[tokio::test]
async fn reviews_of_access_are_checked() {
    const CLUSTER: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    const LOCAL: &str =
        "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews";
    let controller = "system:serviceaccount:kube-system:namespace-controller";
    let list_pods = json!({"verb": "list", "resource": "pods"});
    for server in both::servers().await {
        for (path, spec, code, message) in [
            (
                CLUSTER,
                json!({"resourceAttributes": list_pods}),
                422,
                ".authorization.k8s.io \"\" is invalid: spec.user: Invalid value: \"\": at least one of user or group must be specified",
            ),
            (
                LOCAL,
                json!({"user": "bob", "resourceAttributes": list_pods}),
                422,
                ".authorization.k8s.io \"\" is invalid: spec.resourceAttributes.namespace: Invalid value: \"\": must match metadata.namespace",
            ),
            (
                LOCAL,
                json!({"user": "bob", "nonResourceAttributes": {"path": "/version", "verb": "get"}}),
                422,
                ".authorization.k8s.io \"\" is invalid: spec.nonResourceAttributes: Invalid value: {\"Path\":\"/version\",\"Verb\":\"get\"}: disallowed on this kind of request",
            ),
            (
                CLUSTER,
                json!({"groups": ["x"], "resourceAttributes": {"verb": "get", "resource": "pods", "fieldSelector": {}}}),
                422,
                ".authorization.k8s.io \"\" is invalid: spec.resourceAttributes.fieldSelector.requirements: Required value: when spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required",
            ),
        ] {
            let answer = server.post(path, json!({"spec": spec})).await;
            assert_eq!(
                (answer.code, answer.message()),
                (code, message),
                "{}",
                server.name
            );
        }
        let allowed = server
            .post(
                CLUSTER,
                json!({"spec": {"user": controller, "resourceAttributes": list_pods}}),
            )
            .await;
        let status = json!({
            "allowed": true,
            "reason": "RBAC: allowed by ClusterRoleBinding \"system:controller:namespace-controller\" of ClusterRole \"system:controller:namespace-controller\" to ServiceAccount \"namespace-controller/kube-system\"",
        });
        assert_eq!(allowed.body["status"], status, "{}", server.name);
        let refused = server
            .post(
                CLUSTER,
                json!({"spec": {"user": "bob", "resourceAttributes": list_pods}}),
            )
            .await;
        assert_eq!(
            refused.body["status"],
            json!({"allowed": false}),
            "{}",
            server.name
        );
        for path in [
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews/x",
            "/apis/authorization.k8s.io/v1/localsubjectaccessreviews",
        ] {
            assert_eq!(server.get(path).await.code, 404, "{} {path}", server.name);
        }
    }
}

#[tokio::test]
async fn a_user_without_leave_is_refused_before_anything_else() {
    for server in both::servers().await {
        let json_as_bob = [
            ("impersonate-user", "bob"),
            ("content-type", "text/nonsense"),
        ];
        for (method, path, message) in [
            (
                "POST",
                "/api/v1/namespaces/none/configmaps",
                "configmaps is forbidden: User \"bob\" cannot create resource \"configmaps\" in API group \"\" in the namespace \"none\"",
            ),
            (
                "PATCH",
                "/api/v1/nodes/n/nothing",
                "nodes \"n\" is forbidden: User \"bob\" cannot patch resource \"nodes/nothing\" in API group \"\" at the cluster scope",
            ),
            (
                "DELETE",
                "/api/v1/namespaces",
                "namespaces is forbidden: User \"bob\" cannot deletecollection resource \"namespaces\" in API group \"\" at the cluster scope",
            ),
            (
                "GET",
                "/nothing",
                "forbidden: User \"bob\" cannot get path \"/nothing\"",
            ),
        ] {
            let answer = server
                .request(method, path, &json_as_bob, json!("{nonsense"))
                .await;
            assert_eq!(
                (answer.code, answer.message()),
                (403, message),
                "{}",
                server.name
            );
        }
    }
}

async fn ask<S, B>(
    service: S,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Value,
) -> (u16, Value)
where
    S: Service<
            Request<Full<bytes::Bytes>>,
            Response = http::Response<B>,
            Error = std::convert::Infallible,
        >,
    B: Into<k8s_embedded_apiserver::ApiBody>,
{
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers.iter().chain([&JSON]) {
        request = request.header(*name, *value);
    }
    let request = request
        .body(Full::new(body.to_string().into()))
        .expect("a request");
    let response = service.oneshot(request).await.expect("an answer");
    let code = response.status().as_u16();
    (code, json_of(response.map(Into::into)).await)
}

const WHO: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

async fn name_of<S, B>(service: S, headers: &[(&str, &str)]) -> (u16, String)
where
    S: Service<
            Request<Full<bytes::Bytes>>,
            Response = http::Response<B>,
            Error = std::convert::Infallible,
        >,
    B: Into<k8s_embedded_apiserver::ApiBody>,
{
    let (code, body) = ask(service, "POST", WHO, headers, json!({})).await;
    let name = body["status"]["userInfo"]["username"]
        .as_str()
        .unwrap_or_default();
    (code, name.to_owned())
}

#[tokio::test]
async fn who_asks() {
    let open = EmbeddedApiServer::new();
    assert_eq!(name_of(open.clone(), &[]).await, (201, "admin".into()));
    assert_eq!(
        name_of(open.clone(), &[("authorization", "Bearer any")]).await,
        (201, "admin".into())
    );
    let bob = User::new("bob", ["developers"]);
    assert_eq!(
        name_of(open.as_user(bob.clone()), &[]).await,
        (201, "bob".into())
    );

    let closed = EmbeddedApiServer::builder()
        .token("s3cr3t", bob)
        .default_user(None)
        .build();
    assert_eq!(name_of(closed.clone(), &[]).await.0, 401);
    assert_eq!(
        name_of(closed.clone(), &[("authorization", "Bearer other")])
            .await
            .0,
        401
    );
    assert_eq!(
        name_of(closed.clone(), &[("authorization", "Bearer s3cr3t")]).await,
        (201, "bob".into())
    );
    let (_, refusal) = ask(closed, "GET", CONFIG_MAPS, &[], Value::Null).await;
    assert_eq!(refusal["message"], "Unauthorized");
    assert_eq!(refusal.get("details"), None);
}

#[tokio::test(start_paused = true)]
async fn a_token_of_a_service_account_ends_with_its_time_and_its_account() {
    const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
    let server = EmbeddedApiServer::builder().rbac(true).seed(1).build();
    let make = || async {
        ask(server.clone(), "POST", ACCOUNTS, &[], named("robot")).await;
        let body = json!({"spec": {"expirationSeconds": 600}});
        let (code, request) = ask(
            server.clone(),
            "POST",
            &format!("{ACCOUNTS}/robot/token"),
            &[],
            body,
        )
        .await;
        assert_eq!(code, 201, "{request}");
        format!(
            "Bearer {}",
            request["status"]["token"].as_str().expect("a token")
        )
    };
    let token = make().await;
    let with = |token: &str| {
        let (server, token) = (server.clone(), token.to_owned());
        async move { name_of(server, &[("authorization", token.as_str())]).await }
    };
    assert_eq!(
        with(&token).await,
        (201, "system:serviceaccount:default:robot".into())
    );
    assert_eq!(with(&format!("{token}x")).await.0, 401);
    let authorization = [("authorization", token.as_str())];
    assert_eq!(
        ask(
            server.clone(),
            "GET",
            CONFIG_MAPS,
            &authorization,
            Value::Null
        )
        .await
        .0,
        403
    );

    // A minute more, since clocks differ.
    tokio::time::advance(Duration::from_secs(661)).await;
    assert_eq!(with(&token).await.0, 401);

    let token = make().await;
    assert_eq!(with(&token).await.0, 201);
    ask(
        server.clone(),
        "DELETE",
        &format!("{ACCOUNTS}/robot"),
        &[],
        Value::Null,
    )
    .await;
    assert_eq!(with(&token).await.0, 401);
    make().await;
    assert_eq!(
        with(&token).await.0,
        401,
        "the account of today is another one"
    );
}

#[tokio::test]
async fn a_cluster_role_grants_what_it_aggregates() {
    const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
    let server = EmbeddedApiServer::builder().rbac(true).build();
    let bob = server.as_user(User::new("bob", [""; 0]));
    assert_eq!(
        ask(bob.clone(), "GET", CONFIG_MAPS, &[], Value::Null)
            .await
            .0,
        403
    );
    let binding = json!({
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "bob"}],
    });
    let path = format!("{RBAC}/namespaces/default/rolebindings");
    assert_eq!(
        ask(server.clone(), "POST", &path, &[], binding).await.0,
        201
    );
    assert_eq!(
        ask(bob.clone(), "POST", CONFIG_MAPS, &[], named("a"))
            .await
            .0,
        201
    );
    let widgets = "/apis/example.com/v1/namespaces/default/widgets";
    assert_eq!(
        ask(bob.clone(), "GET", widgets, &[], Value::Null).await.0,
        403
    );
    let role = json!({
        "metadata": {"name": "widgets", "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
        "rules": [{"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["list"]}],
    });
    assert_eq!(
        ask(
            server.clone(),
            "POST",
            &format!("{RBAC}/clusterroles"),
            &[],
            role
        )
        .await
        .0,
        201
    );
    // `edit` has what `view` has. There are no widgets yet, but now that may be known.
    assert_eq!(
        ask(bob.clone(), "GET", widgets, &[], Value::Null).await.0,
        404
    );
    ask(
        server.clone(),
        "DELETE",
        &format!("{RBAC}/clusterroles/widgets"),
        &[],
        Value::Null,
    )
    .await;
    assert_eq!(
        ask(bob.clone(), "GET", widgets, &[], Value::Null).await.0,
        403
    );
    ask(
        server.clone(),
        "DELETE",
        &format!("{path}/b"),
        &[],
        Value::Null,
    )
    .await;
    assert_eq!(ask(bob, "GET", CONFIG_MAPS, &[], Value::Null).await.0, 403);
}

#[tokio::test]
async fn owners_are_set_by_those_who_may_delete() {
    const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    let server = EmbeddedApiServer::builder().rbac(true).build();
    let bob = server.as_user(User::new("bob", [""; 0]));
    let (_, owner) = ask(server.clone(), "POST", CONFIG_MAPS, &[], named("owner")).await;
    ask(server.clone(), "POST", CONFIG_MAPS, &[], named("a")).await;
    let role = json!({"metadata": {"name": "r"}, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "patch"]}]});
    assert_eq!(
        ask(server.clone(), "POST", &format!("{RBAC}/roles"), &[], role)
            .await
            .0,
        201
    );
    let binding = json!({
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "bob"}],
    });
    assert_eq!(
        ask(
            server.clone(),
            "POST",
            &format!("{RBAC}/rolebindings"),
            &[],
            binding
        )
        .await
        .0,
        201
    );
    let owners = |blocks: bool| json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"], "blockOwnerDeletion": blocks}]);
    let merge = [("content-type", common::MERGE)];
    let patch = json!({"metadata": {"ownerReferences": owners(false)}});
    let mut request = Request::builder()
        .method("PATCH")
        .uri(format!("{CONFIG_MAPS}/a"));
    for (name, value) in merge {
        request = request.header(name, value);
    }
    let request = request
        .body(Full::new(bytes::Bytes::from(patch.to_string())))
        .expect("a request");
    let refused = json_of(bob.clone().oneshot(request).await.expect("an answer")).await;
    assert_eq!(
        refused["message"],
        "configmaps \"a\" is forbidden: cannot set an ownerRef on a resource you can't delete: , <nil>"
    );
    let child = |name: &str, blocks: bool| json!({"metadata": {"name": name, "ownerReferences": owners(blocks)}});
    assert_eq!(
        ask(bob.clone(), "POST", CONFIG_MAPS, &[], child("b", false))
            .await
            .0,
        201
    );
    let (code, refused) = ask(bob, "POST", CONFIG_MAPS, &[], child("c", true)).await;
    assert_eq!(code, 403);
    assert_eq!(
        refused["message"],
        "configmaps \"c\" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , <nil>"
    );
}
