//! Admission webhooks: services in the process, and one over HTTPS.

#![allow(clippy::expect_used, reason = "in a test that is a failure")]

mod common;

use std::convert::Infallible;
use std::future::pending;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use common::{Api, CONFIG_MAPS, named};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use k8s_embedded_apiserver::{Builder, EmbeddedApiServer};
use serde_json::{Value, json};
use tower::ServiceExt as _;

const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
const VALIDATING: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/// What webhooks were asked, in order.
#[derive(Clone, Default)]
struct Asked(Arc<Mutex<Vec<Value>>>);

impl Asked {
    fn take(&self) -> Vec<Value> {
        std::mem::take(&mut self.0.lock().expect("no panic"))
    }
}

/// A service that answers every review with what `answer` says of its request.
fn service(
    asked: &Asked,
    answer: impl Fn(&Value) -> Value + Clone + Send + Sync + 'static,
) -> impl tower::Service<
    Request<Full<Bytes>>,
    Response = Response<Full<Bytes>>,
    Error = Infallible,
    Future: Send,
> + Clone
+ Send
+ Sync
+ 'static {
    let asked = asked.clone();
    tower::service_fn(move |request: Request<Full<Bytes>>| {
        let (asked, answer) = (asked.clone(), answer.clone());
        async move {
            let body = request.into_body().collect().await?.to_bytes();
            let review: Value = serde_json::from_slice(&body).expect("JSON");
            assert_eq!(review["apiVersion"], "admission.k8s.io/v1");
            let mut response = answer(&review["request"]);
            response["uid"] = review["request"]["uid"].clone();
            asked
                .0
                .lock()
                .expect("no panic")
                .push(review["request"].clone());
            let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
            Ok(Response::new(Full::new(Bytes::from(review.to_string()))))
        }
    })
}

fn patch(operations: &Value) -> Value {
    json!({"allowed": true, "patchType": "JSONPatch", "patch": STANDARD.encode(operations.to_string())})
}

/// A webhook of the service `name.default` for writes of ConfigMaps.
fn hook(name: &str, more: &Value) -> Value {
    let mut hook = json!({
        "name": format!("{name}.example.com"),
        "clientConfig": {"service": {"namespace": "default", "name": name, "path": "/admit"}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        hook[key] = value.clone();
    }
    hook
}

async fn configure(api: &Api, path: &str, name: &str, hooks: Value) {
    api.make(path, json!({"metadata": {"name": name}, "webhooks": hooks}))
        .await;
}

fn builder() -> Builder {
    EmbeddedApiServer::builder().seed(1)
}

#[tokio::test]
async fn a_webhook_changes_what_is_stored() {
    let asked = Asked::default();
    let webhook = service(&asked, |request| match request["operation"].as_str() {
        Some("CREATE") => {
            let mut answer = patch(&json!([{"op": "add", "path": "/data", "value": {"k": "v"}}]));
            answer["warnings"] = json!(["changed"]);
            answer
        }
        _ => json!({"allowed": true}),
    });
    let api = Api(builder().webhook("mutate.default.svc", webhook).build());
    configure(&api, MUTATING, "m", json!([hook("mutate", &json!({}))])).await;

    let response = api
        .raw(
            "POST",
            &format!("{CONFIG_MAPS}?fieldManager=me"),
            "application/json",
            named("a").to_string(),
        )
        .await;
    assert_eq!(response.headers()["warning"], "299 - \"changed\"");
    let made = common::json_of(response).await;
    assert_eq!(made["data"], json!({"k": "v"}));
    let requests = asked.take();
    assert_eq!(requests.len(), 1, "asked once");
    let request = &requests[0];
    assert_eq!(
        request["kind"],
        json!({"group": "", "version": "v1", "kind": "ConfigMap"})
    );
    assert_eq!(
        request["requestResource"],
        json!({"group": "", "version": "v1", "resource": "configmaps"})
    );
    assert_eq!(
        (&request["name"], &request["namespace"]),
        (&json!("a"), &json!("default"))
    );
    assert_eq!(
        request["userInfo"],
        json!({"username": "admin", "groups": ["system:masters", "system:authenticated"]})
    );
    assert_eq!(request["object"]["metadata"]["name"], "a");
    assert_eq!(
        request["object"]["metadata"].get("uid"),
        None,
        "not stored yet"
    );
    assert_eq!(
        (&request["oldObject"], &request["dryRun"]),
        (&Value::Null, &json!(false))
    );
    assert_eq!(
        request["options"],
        json!({"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "me"})
    );

    api.merge(&format!("{CONFIG_MAPS}/a"), json!({"data": {"k": "w"}}))
        .await;
    api.delete(&format!("{CONFIG_MAPS}/a")).await;
    let requests = asked.take();
    let told: Vec<_> = requests
        .iter()
        .map(|request| {
            (
                request["operation"].as_str(),
                request["object"]["data"]["k"].as_str(),
                request["oldObject"]["data"]["k"].as_str(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (Some("UPDATE"), Some("w"), Some("v")),
            (Some("DELETE"), None, Some("w"))
        ]
    );
    // Other kinds, and reads, are none of its business.
    api.make("/api/v1/namespaces/default/secrets", named("s"))
        .await;
    api.get(CONFIG_MAPS).await;
    assert_eq!(asked.take(), Vec::<Value>::new());
}

#[tokio::test]
async fn a_denial_has_the_words_of_the_webhook() {
    let webhook = service(&Asked::default(), |request| {
        match request["name"].as_str() {
            Some("plain") => json!({"allowed": false}),
            Some("reason") => {
                json!({"allowed": false, "status": {"reason": "Because", "code": 403}})
            }
            _ => {
                json!({"allowed": false, "status": {"message": "no", "code": 422, "reason": "Invalid", "details": {"causes": [{"field": "data", "message": "bad"}]}}})
            }
        }
    });
    let api = Api(builder().webhook("deny.default.svc", webhook).build());
    configure(&api, VALIDATING, "v", json!([hook("deny", &json!({}))])).await;
    let denied = "admission webhook \"deny.example.com\" denied the request";
    for (name, code, message) in [
        ("plain", 400, format!("{denied} without explanation")),
        ("reason", 403, format!("{denied}: Because")),
        ("message", 422, format!("{denied}: no")),
    ] {
        let (status, body) = api.post(CONFIG_MAPS, named(name)).await;
        assert_eq!((status, &body["message"]), (code, &json!(message)));
        assert_eq!(
            api.get(&format!("{CONFIG_MAPS}/{name}")).await.0,
            404,
            "nothing is stored"
        );
        if name == "message" {
            assert_eq!(
                body["details"]["causes"],
                json!([{"field": "data", "message": "bad"}])
            );
            assert_eq!(body["reason"], "Invalid");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_does_not_answer_in_time_fails() {
    let silent = tower::service_fn(|_: Request<Full<Bytes>>| {
        pending::<Result<Response<Full<Bytes>>, Infallible>>()
    });
    let api = Api(builder().webhook("silent.default.svc", silent).build());
    configure(
        &api,
        VALIDATING,
        "v",
        json!([hook("silent", &json!({"timeoutSeconds": 7}))]),
    )
    .await;
    let begun = tokio::time::Instant::now();
    let (code, body) = api.post(CONFIG_MAPS, named("a")).await;
    assert_eq!(begun.elapsed().as_secs(), 7);
    assert_eq!(code, 500);
    assert_eq!(
        body["message"],
        "Internal error occurred: failed calling webhook \"silent.example.com\": failed to call webhook: Post \"https://silent.default.svc:443/admit?timeout=7s\": context deadline exceeded"
    );
    api.delete(&format!("{VALIDATING}/v")).await;
    configure(
        &api,
        VALIDATING,
        "v",
        json!([hook("silent", &json!({"failurePolicy": "Ignore"}))]),
    )
    .await;
    assert_eq!(api.post(CONFIG_MAPS, named("a")).await.0, 201);
}

#[tokio::test]
async fn bad_answers_are_failures() {
    for (answer, why) in [
        (
            "{}",
            "received invalid webhook response: webhook response was absent",
        ),
        (
            r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"x","allowed":true}}"#,
            "received invalid webhook response: expected response.uid=",
        ),
        (
            "nonsense",
            "failed to call webhook: couldn't get version/kind; json parse error: ",
        ),
    ] {
        let webhook = tower::service_fn(move |_: Request<Full<Bytes>>| async move {
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(
                answer.as_bytes(),
            ))))
        });
        let api = Api(builder().webhook("bad.default.svc", webhook).build());
        configure(&api, MUTATING, "m", json!([hook("bad", &json!({}))])).await;
        let (code, body) = api.post(CONFIG_MAPS, named("a")).await;
        let message = body["message"].as_str().expect("a message");
        assert_eq!(code, 500);
        let wanted =
            format!("Internal error occurred: failed calling webhook \"bad.example.com\": {why}");
        assert!(message.starts_with(&wanted), "{message}");
    }
    let api = Api(builder().build());
    configure(&api, MUTATING, "m", json!([hook("none", &json!({}))])).await;
    let (_, body) = api.post(CONFIG_MAPS, named("a")).await;
    assert_eq!(
        body["message"],
        "Internal error occurred: failed calling webhook \"none.example.com\": failed to call webhook: Post \"https://none.default.svc:443/admit?timeout=10s\": service \"none\" not found"
    );
}

#[tokio::test]
async fn a_dry_run_is_told() {
    let asked = Asked::default();
    let webhook = service(&asked, |_| json!({"allowed": true}));
    let api = Api(builder().webhook("w.default.svc", webhook).build());
    configure(
        &api,
        VALIDATING,
        "v",
        json!([hook("w", &json!({"sideEffects": "NoneOnDryRun"}))]),
    )
    .await;
    let dry = format!("{CONFIG_MAPS}?dryRun=All");
    assert_eq!(api.post(&dry, named("a")).await.0, 201);
    assert_eq!(asked.take()[0]["dryRun"], true);
    assert_eq!(api.get(&format!("{CONFIG_MAPS}/a")).await.0, 404);
}

#[tokio::test]
async fn a_webhook_sees_later_changes_if_it_asks_to() {
    let (first, second) = (Asked::default(), Asked::default());
    let label = |key: &'static str| {
        move |request: &Value| {
            if request["object"]["metadata"]["labels"].get(key).is_some() {
                return json!({"allowed": true});
            }
            let mut labels = request["object"]["metadata"]["labels"].clone();
            labels[key] = "yes".into();
            patch(&json!([{"op": "add", "path": "/metadata/labels", "value": labels}]))
        }
    };
    let api = Api(builder()
        .webhook("one.default.svc", service(&first, label("one")))
        .webhook("two.default.svc", service(&second, label("two")))
        .build());
    configure(
        &api,
        MUTATING,
        "m",
        json!([
            hook("one", &json!({"reinvocationPolicy": "IfNeeded"})),
            hook("two", &json!({}))
        ]),
    )
    .await;
    let made = api.make(CONFIG_MAPS, named("a")).await;
    assert_eq!(
        made["metadata"]["labels"],
        json!({"one": "yes", "two": "yes"})
    );
    let seen: Vec<_> = first
        .take()
        .iter()
        .map(|request| request["object"]["metadata"]["labels"].clone())
        .collect();
    assert_eq!(seen, [Value::Null, json!({"one": "yes", "two": "yes"})]);
    assert_eq!(second.take().len(), 1);
}

#[tokio::test]
async fn selectors_choose() {
    let asked = Asked::default();
    let webhook = service(&asked, |_| json!({"allowed": true}));
    let api = Api(builder().webhook("w.default.svc", webhook).build());
    api.make(
        "/api/v1/namespaces",
        json!({"metadata": {"name": "on", "labels": {"team": "a"}}}),
    )
    .await;
    let hooks = json!([hook(
        "w",
        &json!({
            "namespaceSelector": {"matchLabels": {"team": "a"}},
            "objectSelector": {"matchExpressions": [{"key": "skip", "operator": "DoesNotExist"}]},
        })
    )]);
    configure(&api, VALIDATING, "v", hooks).await;
    let on = "/api/v1/namespaces/on/configmaps";
    api.make(CONFIG_MAPS, named("a")).await;
    api.make(
        on,
        json!({"metadata": {"name": "b", "labels": {"skip": "yes"}}}),
    )
    .await;
    assert_eq!(asked.take(), Vec::<Value>::new());
    api.make(on, named("c")).await;
    api.delete(on).await;
    let told: Vec<_> = asked
        .take()
        .iter()
        .map(|request| format!("{} {}", request["operation"], request["name"]))
        .collect();
    assert_eq!(told, ["\"CREATE\" \"c\"", "\"DELETE\" \"c\""]);
    assert_eq!(api.get(on).await.1["items"], json!([]));
}

#[tokio::test]
async fn a_write_in_between_is_seen() {
    // The webhook of the first write makes a second one while it is asked.
    let slot: Arc<Mutex<Option<EmbeddedApiServer>>> = Arc::default();
    let seen = Asked::default();
    let webhook = tower::service_fn({
        let (slot, seen) = (slot.clone(), seen.clone());
        move |request: Request<Full<Bytes>>| {
            let (server, seen) = (slot.lock().expect("no panic").take(), seen.clone());
            async move {
                let body = request.into_body().collect().await?.to_bytes();
                let review: Value = serde_json::from_slice(&body).expect("JSON");
                seen.0
                    .lock()
                    .expect("no panic")
                    .push(review["request"]["object"]["data"].clone());
                if let Some(server) = server {
                    let patch = Request::patch(format!("{CONFIG_MAPS}/a"))
                        .header("content-type", common::MERGE)
                        .body(Full::new(Bytes::from(r#"{"data":{"inner":"1"}}"#)))
                        .expect("a request");
                    let answer = server.oneshot(patch).await?;
                    assert_eq!(answer.status(), 200);
                }
                let uid = &review["request"]["uid"];
                let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {"uid": uid, "allowed": true}});
                Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(review.to_string()))))
            }
        }
    });
    let server = builder().webhook("w.default.svc", webhook).build();
    let api = Api(server.clone());
    api.make(CONFIG_MAPS, named("a")).await;
    configure(&api, VALIDATING, "v", json!([hook("w", &json!({}))])).await;
    *slot.lock().expect("no panic") = Some(server);
    let (code, object) = api
        .merge(&format!("{CONFIG_MAPS}/a"), json!({"data": {"outer": "1"}}))
        .await;
    assert_eq!(code, 200, "{object}");
    assert_eq!(
        object["data"],
        json!({"inner": "1", "outer": "1"}),
        "nothing is lost"
    );
    let seen = seen.take();
    assert_eq!(
        seen.last(),
        Some(&json!({"inner": "1", "outer": "1"})),
        "asked anew: {seen:?}"
    );
}

#[cfg(feature = "http")]
#[tokio::test]
async fn a_webhook_over_https() {
    use hyper::server::conn::http1;
    use hyper_util::rt::TokioIo;
    use hyper_util::service::TowerToHyperService;
    use tokio_rustls::TlsAcceptor;
    use tokio_rustls::rustls::{ServerConfig, crypto, pki_types::PrivateKeyDer};

    let signed =
        rcgen::generate_simple_self_signed(["tls.default.svc".to_owned()]).expect("a certificate");
    let provider = Arc::new(crypto::ring::default_provider());
    let key = PrivateKeyDer::try_from(signed.signing_key.serialize_der()).expect("a key");
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![signed.cert.der().clone()], key)
        .expect("a configuration");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a listener");
    let address = listener.local_addr().expect("an address");
    let asked = Asked::default();
    let inner = service(
        &asked,
        |_| json!({"allowed": false, "status": {"message": "seen"}}),
    );
    let serve = async move {
        let acceptor = TlsAcceptor::from(Arc::new(config));
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            // The client that trusts nobody hangs up.
            let Ok(stream) = acceptor.accept(stream).await else {
                continue;
            };
            let inner = inner.clone();
            let service = tower::service_fn(move |request: Request<hyper::body::Incoming>| {
                let inner = inner.clone();
                async move {
                    let (parts, body) = request.into_parts();
                    let body = body.collect().await.expect("a body").to_bytes();
                    inner
                        .oneshot(Request::from_parts(parts, Full::new(body)))
                        .await
                }
            });
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service))
                .await;
        }
    };
    let ask = async {
        let api = Api(builder()
            .webhook_address("tls.default.svc", address)
            .build());
        configure(&api, VALIDATING, "v", json!([hook("tls", &json!({}))])).await;
        let (_, body) = api.post(CONFIG_MAPS, named("a")).await;
        let untrusted = body["message"].as_str().unwrap_or_default().to_owned();
        assert!(untrusted.contains("tls: "), "{untrusted}");
        let bundle = STANDARD.encode(signed.cert.pem());
        let trusted = json!({"clientConfig": {"service": {"namespace": "default", "name": "tls", "path": "/x"}, "caBundle": bundle}});
        api.delete(&format!("{VALIDATING}/v")).await;
        configure(&api, VALIDATING, "v", json!([hook("tls", &trusted)])).await;
        let (code, body) = api.post(CONFIG_MAPS, named("a")).await;
        assert_eq!(
            (code, &body["message"]),
            (
                400,
                &json!("admission webhook \"tls.example.com\" denied the request: seen")
            )
        );
    };
    tokio::select! {
        () = serve => {}
        () = ask => {}
    }
    assert_eq!(asked.take().len(), 1);
}
