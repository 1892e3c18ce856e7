//! The paths, without sockets.
#![allow(clippy::unwrap_used, clippy::expect_used)] // Also in the helpers of tests.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt;
use k8s_controller_admin::AdminServer;
use prometheus::core::{Collector, Desc};
use prometheus::proto::{Metric, MetricFamily, MetricType};
use prometheus::{IntCounter, Registry};
use tower::ServiceExt;

fn server() -> AdminServer {
    AdminServer::new(([127, 0, 0, 1], 0).into())
}

fn failing(reason: &str) -> impl Fn() -> Result<(), String> + use<> {
    let reason = reason.to_owned();
    move || Err(reason.clone())
}

async fn call(router: &Router, request: Request<Body>) -> (StatusCode, HeaderMap, String) {
    let (head, body) = router.clone().oneshot(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let body = String::from_utf8(body.to_vec()).unwrap();
    (head.status, head.headers, body)
}

async fn get(router: &Router, uri: &str) -> (u16, String) {
    let request = Request::get(uri).body(Body::empty()).unwrap();
    let (status, _, body) = call(router, request).await;
    (status.as_u16(), body)
}

fn sample() -> Router {
    server()
        .with_liveness("controller/website", || Ok(()))
        .with_liveness("leader-election", || Ok(()))
        .with_readiness(
            "controller/website",
            failing("the first list\nis not complete "),
        )
        .with_readiness("größe", || Ok(()))
        .router()
}

#[tokio::test]
async fn health_answers() {
    let router = sample();
    // Statuses and texts as of kube-apiserver 1.37, but for the reasons, which it withholds.
    let cases = [
        ("/healthz", 200, "ok"),
        ("/livez", 200, "ok"),
        (
            "/livez?verbose",
            200,
            "[+]ping ok\n[+]controller/website ok\n[+]leader-election ok\nlivez check passed\n",
        ),
        (
            "/healthz?verbose=0&exclude=leader-election",
            200,
            "[+]ping ok\n[+]controller/website ok\n[+]leader-election excluded: ok\nhealthz check passed\n",
        ),
        ("/livez?exclude=nope", 200, "ok"),
        (
            "/livez?verbose&exclude=ping&exclude=nope&exclude=na%22pe&exclude=nope",
            200,
            "[+]ping excluded: ok\n[+]controller/website ok\n[+]leader-election ok\n\
             warn: some health checks cannot be excluded: no matches for \"na\\\"pe\",\"nope\"\nlivez check passed\n",
        ),
        (
            "/readyz",
            500,
            "[+]ping ok\n[-]controller/website failed: the first list is not complete\n[+]größe ok\nreadyz check failed\n",
        ),
        ("/readyz?exclude=controller/website", 200, "ok"),
        ("/readyz?exclude=controller%2Fwebsite", 200, "ok"),
        ("/readyz/ping", 200, "ok"),
        ("/readyz/ping?verbose", 200, "ok"),
        ("/readyz/gr%C3%B6%C3%9Fe", 200, "ok"),
        (
            "/readyz/controller/website",
            500,
            "internal server error: the first list is not complete\n",
        ),
        ("/healthz/controller/website", 200, "ok"),
        (
            "/readyz/leader-election",
            404,
            "404 page not found; readyz has no check \"leader-election\", /readyz?verbose lists them\n",
        ),
    ];
    for (uri, status, body) in cases {
        assert_eq!(get(&router, uri).await, (status, body.to_owned()), "{uri}");
    }
    for uri in ["/readyz/", "/", "/metrics", "/health"] {
        assert_eq!(get(&router, uri).await.0, 404, "{uri}");
    }
}

#[tokio::test]
async fn health_headers() {
    for uri in [
        "/livez",
        "/readyz",
        "/livez?verbose",
        "/livez/ping",
        "/livez/nope",
        "/readyz/controller/website",
    ] {
        let request = Request::get(uri).body(Body::empty()).unwrap();
        let (_, headers, _) = call(&sample(), request).await;
        assert_eq!(
            headers["content-type"], "text/plain; charset=utf-8",
            "{uri}"
        );
        assert_eq!(headers["cache-control"], "no-cache, private", "{uri}");
        assert_eq!(headers["x-content-type-options"], "nosniff", "{uri}");
    }
}

#[tokio::test]
async fn methods() {
    let router = server().with_registry(Registry::new()).router();
    for uri in ["/livez", "/livez/ping", "/metrics"] {
        let head = Request::head(uri).body(Body::empty()).unwrap();
        let (status, headers, body) = call(&router, head).await;
        assert_eq!((status, &*body), (StatusCode::OK, ""), "{uri}");
        assert!(headers.contains_key("content-type"), "{uri}");
        for method in [Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS] {
            let request = Request::builder()
                .method(method)
                .uri(uri)
                .body(Body::empty())
                .unwrap();
            let (status, headers, _) = call(&router, request).await;
            assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED, "{uri}");
            assert_eq!(headers["allow"], "GET,HEAD", "{uri}");
        }
    }
}

#[tokio::test]
async fn a_check_that_panics_has_failed() {
    let router = server()
        .with_liveness("broken", || panic!("index 7"))
        .with_liveness("fine", || Ok(()))
        .router();
    for _ in 0..2 {
        let body = "[+]ping ok\n[-]broken failed: the check panicked: index 7\n[+]fine ok\nlivez check failed\n";
        assert_eq!(get(&router, "/livez").await, (500, body.to_owned()));
    }
    assert_eq!(get(&router, "/livez/fine").await, (200, "ok".to_owned()));
}

#[tokio::test]
async fn checks_are_asked_each_time() {
    let alive = Arc::new(AtomicBool::new(false));
    let asked = Arc::new(AtomicUsize::new(0));
    let check = {
        let (alive, asked) = (alive.clone(), asked.clone());
        move || {
            asked.fetch_add(1, Ordering::Relaxed);
            alive
                .load(Ordering::Relaxed)
                .then_some(())
                .ok_or_else(|| "not yet".to_owned())
        }
    };
    let router = server().with_liveness("loop", check).router();
    assert_eq!(get(&router, "/livez").await.0, 500);
    alive.store(true, Ordering::Relaxed);
    assert_eq!(get(&router, "/livez").await.0, 200);
    assert_eq!(asked.load(Ordering::Relaxed), 2);
    // What is excluded is not asked.
    assert_eq!(get(&router, "/livez?exclude=loop").await.0, 200);
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

async fn scrape(registry: &Registry, accept: Option<&str>) -> (u16, String, String) {
    let mut request = Request::get("/metrics");
    if let Some(accept) = accept {
        request = request.header("accept", accept);
    }
    let router = server().with_registry(registry.clone()).router();
    let (status, headers, body) = call(&router, request.body(Body::empty()).unwrap()).await;
    assert_eq!(headers["vary"], "accept");
    (
        status.as_u16(),
        headers["content-type"].to_str().unwrap().to_owned(),
        body,
    )
}

#[tokio::test]
async fn metrics_in_both_formats() {
    let registry = Registry::new();
    let counter = IntCounter::new("websites_built_total", "Websites built").unwrap();
    registry.register(Box::new(counter.clone())).unwrap();
    counter.inc();
    let text = (
        200,
        "text/plain; version=0.0.4; charset=utf-8".to_owned(),
        "# HELP websites_built_total Websites built\n# TYPE websites_built_total counter\nwebsites_built_total 1\n".to_owned(),
    );
    let open = (
        200,
        "application/openmetrics-text; version=1.0.0; charset=utf-8".to_owned(),
        "# TYPE websites_built counter\n# HELP websites_built Websites built\nwebsites_built_total 1.0\n# EOF\n".to_owned(),
    );
    assert_eq!(scrape(&registry, None).await, text);
    assert_eq!(scrape(&registry, Some("*/*")).await, text);
    assert_eq!(
        scrape(
            &registry,
            Some("application/openmetrics-text;version=1.0.0,*/*;q=0.1")
        )
        .await,
        open
    );
}

/// A collector as a user might get it wrong.
struct Broken(fn() -> Vec<MetricFamily>);

impl Collector for Broken {
    fn desc(&self) -> Vec<&Desc> {
        Vec::new()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        (self.0)()
    }
}

#[tokio::test]
async fn metrics_that_cannot_be_written_say_why() {
    fn untyped() -> Vec<MetricFamily> {
        let mut family = MetricFamily::default();
        family.set_name("u".to_owned());
        family.set_field_type(MetricType::UNTYPED);
        family.set_metric(vec![Metric::default()]);
        vec![family]
    }
    fn nameless() -> Vec<MetricFamily> {
        let mut family = MetricFamily::default();
        family.set_metric(vec![Metric::default()]);
        vec![family]
    }
    type Collect = fn() -> Vec<MetricFamily>;
    let cases: [(Collect, &str); 3] = [
        (
            || panic!("lock poisoned"),
            "a collector panicked: lock poisoned",
        ),
        (untyped, "metric \"u\" is untyped"),
        (nameless, "name"),
    ];
    for (collect, reason) in cases {
        for accept in ["text/plain", "application/openmetrics-text"] {
            let registry = Registry::new();
            // A collector needs a description to be registered; it has the broken one beside it.
            registry
                .register(Box::new(WithDesc(
                    IntCounter::new("c", "c").unwrap(),
                    Broken(collect),
                )))
                .unwrap();
            let (status, content_type, body) = scrape(&registry, Some(accept)).await;
            assert_eq!(
                (status, &*content_type),
                (500, "text/plain; charset=utf-8"),
                "{body}"
            );
            assert!(body.starts_with("metrics cannot be served: "), "{body}");
            assert!(body.contains(reason), "{body}");
        }
    }
}

struct WithDesc(IntCounter, Broken);

impl Collector for WithDesc {
    fn desc(&self) -> Vec<&Desc> {
        self.0.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.1.collect()
    }
}

#[tokio::test]
async fn merges_with_an_application_that_has_a_fallback() {
    let app = Router::new()
        .fallback(|| async { "theirs" })
        .merge(server().router());
    assert_eq!(get(&app, "/livez").await, (200, "ok".to_owned()));
    assert_eq!(get(&app, "/elsewhere").await, (200, "theirs".to_owned()));
    let nested = Router::new().nest("/admin", server().router());
    assert_eq!(
        get(&nested, "/admin/readyz/ping").await,
        (200, "ok".to_owned())
    );
}

/// Where a test's log goes.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_change_is_logged_once() {
    // For the threads of other tests: `tracing` may take a log line for disabled everywhere that a
    // thread without a subscriber was the first to meet.
    tracing::subscriber::set_global_default(tracing_subscriber::registry()).unwrap();
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .without_time()
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let asked = AtomicUsize::new(0);
    let check = move || match asked.fetch_add(1, Ordering::Relaxed) {
        n @ 3..6 => Err(format!("late by {n} s")),
        _ => Ok(()),
    };
    let router = server().with_liveness("loop", check).router();
    for uri in ["/livez", "/healthz", "/livez/loop"].repeat(3) {
        get(&router, uri).await;
    }
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let lines: Vec<&str> = log.lines().map(str::trim).collect();
    assert_eq!(
        lines,
        [
            "WARN k8s_controller_admin::health: health check fails probe=\"liveness\" check=\"loop\" reason=\"late by 3 s\"",
            "INFO k8s_controller_admin::health: health check passes again probe=\"liveness\" check=\"loop\"",
        ]
    );
}
