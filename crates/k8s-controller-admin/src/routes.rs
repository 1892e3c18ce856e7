//! The paths.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, VARY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderName, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus::Registry;
use tokio::sync::Semaphore;
use tracing::error;

use crate::accept::{self, Format};
use crate::health::Checks;
use crate::metrics::{self, EncodeError};

const PLAIN: (HeaderName, &str) = (CONTENT_TYPE, "text/plain; charset=utf-8");
const NO_SNIFF: (HeaderName, &str) = (X_CONTENT_TYPE_OPTIONS, "nosniff");
/// Two Prometheus servers are usual. More would each hold the whole text in memory.
const MAX_SCRAPES: usize = 2;
/// What kube-apiserver says of its health.
const NO_CACHE: (HeaderName, &str) = (CACHE_CONTROL, "no-cache, private");

pub(crate) fn router(registry: Option<Registry>, liveness: Checks, readiness: Checks) -> Router {
    let mut router = Router::new()
        .merge(probe("healthz", liveness.clone()))
        .merge(probe("livez", liveness))
        .merge(probe("readyz", readiness));
    if let Some(registry) = registry {
        router = router.merge(
            Router::new()
                .route("/metrics", get(scrape))
                .with_state(Scrapes::new(registry)),
        );
    }
    router
}

/// What a path that is not there answers.
pub(crate) async fn not_found() -> Response {
    let text =
        "404 page not found; there are /healthz, /livez, /readyz and, with a registry, /metrics\n";
    (StatusCode::NOT_FOUND, [PLAIN, NO_SNIFF], text).into_response()
}

#[derive(Clone)]
struct ProbeState {
    path: &'static str,
    checks: Checks,
}

fn probe(path: &'static str, checks: Checks) -> Router {
    Router::new()
        .route(&format!("/{path}"), get(all_checks))
        .route(&format!("/{path}/{{*name}}"), get(one_check))
        .with_state(ProbeState { path, checks })
}

async fn all_checks(State(state): State<ProbeState>, uri: Uri) -> Response {
    let mut verbose = false;
    let mut excluded = BTreeSet::new();
    for (key, value) in form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
        match &*key {
            "verbose" => verbose = true,
            "exclude" => {
                excluded.insert(value.into_owned());
            }
            _ => {}
        }
    }
    let report = state.checks.run_all(state.path, excluded);
    match (report.passed, verbose) {
        (true, false) => health(StatusCode::OK, "ok".to_owned()),
        (true, true) => health(StatusCode::OK, report.text),
        // Always with each check's line, so that the events of a failing probe say why.
        (false, _) => health(StatusCode::INTERNAL_SERVER_ERROR, report.text),
    }
}

async fn one_check(State(state): State<ProbeState>, Path(name): Path<String>) -> Response {
    match state.checks.run_one(&name) {
        Some(Ok(())) => health(StatusCode::OK, "ok".to_owned()),
        Some(Err(reason)) => health(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("internal server error: {reason}\n"),
        ),
        None => health(
            StatusCode::NOT_FOUND,
            format!(
                "404 page not found; {} has no check {name:?}, /{0}?verbose lists them\n",
                state.path
            ),
        ),
    }
}

fn health(status: StatusCode, text: String) -> Response {
    (status, [PLAIN, NO_SNIFF, NO_CACHE], text).into_response()
}

/// The registry, and who may read it now.
#[derive(Clone)]
struct Scrapes {
    registry: Registry,
    free: Arc<Semaphore>,
}

impl Scrapes {
    fn new(registry: Registry) -> Self {
        let free = Arc::new(Semaphore::new(MAX_SCRAPES));
        Self { registry, free }
    }

    /// Gathering many series takes long and collectors may wait, so neither is done on the threads of the runtime,
    /// where it would hold up probes, the renewal of a lease and controllers.
    async fn encode(&self, format: Format) -> Result<String, EncodeError> {
        // The semaphore is never closed.
        let permit = self.free.clone().acquire_owned().await.ok();
        let registry = self.registry.clone();
        let encoding = tokio::task::spawn_blocking(move || {
            // Kept here, for nothing ends this when the client is gone.
            let _permit = permit;
            metrics::encode(&registry, format)
        });
        encoding
            .await
            .unwrap_or_else(|error| Err(EncodeError::NotRun(error)))
    }
}

async fn scrape(State(scrapes): State<Scrapes>, headers: HeaderMap) -> Response {
    let asked = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let format = accept::negotiate(asked);
    match scrapes.encode(format).await {
        Ok(text) => {
            let headers = [
                (CONTENT_TYPE, format.content_type()),
                NO_SNIFF,
                (VARY, "accept"),
            ];
            (headers, text).into_response()
        }
        Err(error) => {
            error!(error = %error, "metrics cannot be served");
            let text = format!("metrics cannot be served: {error}\n");
            (
                StatusCode::INTERNAL_SERVER_ERROR,
                [PLAIN, NO_SNIFF, (VARY, "accept")],
                text,
            )
                .into_response()
        }
    }
}
