//! Benchmark of `k8s-embedded-apiserver`.
//!
//! `cargo xtask bench` runs it with the others, `cargo bench -p k8s-embedded-apiserver-bench` alone; `-- --quick` at a
//! small size, `-- --full` also with 1,000,000 objects (some 3 GB of memory), `-- get` only what has `get` in its name.
//!
//! It prints a table of what was reached beside the target. Speed never fails it, since that depends on the machine and
//! on what else it does. Everything is measured as a client sees it: a request goes in, the bytes of the answer come
//! out, through the tower service, in one thread, in the processor time of that thread.
//!
//! This library holds the client. It is never published.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body::Body as _;
use http_body_util::{BodyExt as _, Full};
use k8s_embedded_apiserver::{ApiBody, EmbeddedApiServer};
use tower::ServiceExt as _;

/// The processor time that this thread has used; the wall clock where there is no such clock.
#[must_use]
pub fn processor_time() -> Duration {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::try_from(time).unwrap_or_default()
    }
    #[cfg(not(unix))]
    {
        static BEGUN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        BEGUN.get_or_init(std::time::Instant::now).elapsed()
    }
}

/// Where the objects of the benchmark are.
pub const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A client without a library.
#[derive(Clone, Debug)]
pub struct Client(pub EmbeddedApiServer);

impl Client {
    /// Sends a request and takes all of the answer.
    ///
    /// # Panics
    ///
    /// If the answer is an error.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: impl Into<Bytes>,
    ) -> Bytes {
        let body = self.open(method, path, content_type, body).await;
        let Ok(collected) = body.collect().await;
        collected.to_bytes()
    }

    /// Sends a request; the body of the answer is still to be read.
    ///
    /// # Panics
    ///
    /// If the answer is an error.
    pub async fn open(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: impl Into<Bytes>,
    ) -> ApiBody {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type)
            .header("accept", "application/json")
            .header("user-agent", "bench/1")
            .body(Full::new(body.into()));
        let Ok(request) = request else {
            panic!("no request: {method} {path}")
        };
        let Ok(response) = self.0.clone().oneshot(request).await;
        let status = response.status();
        assert!(status.is_success(), "{method} {path}: {status}");
        response.into_body()
    }

    /// Gets the text at a path.
    pub async fn get(&self, path: &str) -> Bytes {
        self.send("GET", path, "", "").await
    }

    /// Creates the objects `from..to` of about `size` bytes.
    pub async fn fill(&self, from: usize, to: usize, size: usize) {
        for number in from..to {
            self.send(
                "POST",
                CONFIG_MAPS,
                "application/json",
                config_map(number, size),
            )
            .await;
        }
    }
}

/// A ConfigMap of about `size` bytes.
#[must_use]
pub fn config_map(number: usize, size: usize) -> String {
    let value = "x".repeat(size.saturating_sub(190) / 4);
    format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"object-{number:07}","labels":{{"app":"bench","part":"p{}"}}}},"data":{{"a":"{value}","b":"{value}","c":"{value}","d":"{value}"}}}}"#,
        number % 10
    )
}

/// Reads `count` frames of a watch.
///
/// # Panics
///
/// If the watch ends before.
pub async fn frames(body: &mut ApiBody, count: usize) {
    for _ in 0..count {
        let frame = std::future::poll_fn(|cx| std::pin::Pin::new(&mut *body).poll_frame(cx)).await;
        assert!(frame.is_some(), "the watch ended");
    }
}
