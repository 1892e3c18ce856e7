//! Admin server of an operator: metrics, liveness and readiness over HTTP.
//!
//! A Kubernetes Deployment asks its containers two questions, whether they are alive and whether they are ready, and
//! Prometheus asks for their metrics. [`AdminServer`] answers all three on one port.
//!
//! | path | answer |
//! |---|---|
//! | `/metrics` | The metrics of a [registry](AdminServer::with_registry), as Prometheus text 0.0.4 or OpenMetrics 1.0, as the `Accept` header asks. |
//! | `/healthz`, `/livez` | The [liveness](AdminServer::with_liveness) checks: 200 if all pass, else 500. |
//! | `/readyz` | The [readiness](AdminServer::with_readiness) checks, likewise. |
//! | `/healthz/NAME`, `/livez/NAME`, `/readyz/NAME` | One check alone. |
//!
//! The health paths answer as kube-apiserver's do: `ok`, or with `?verbose` a line for each check; `?exclude=NAME`
//! (as often as needed) leaves a check out; there is always a check `ping`, which passes. Unlike kube-apiserver, a
//! failing check's reason is told to whoever asks, not just logged, because the port is for operators. A check that
//! begins to fail, or to pass again, is logged; that it still fails is not.
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicBool, Ordering};
//!
//! use k8s_controller_admin::AdminServer;
//! use prometheus::{IntCounter, Registry};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let registry = Registry::new();
//! registry.register(Box::new(IntCounter::new("websites_built_total", "Websites built")?))?;
//!
//! let synced = Arc::new(AtomicBool::new(false));
//! let server = AdminServer::new(([127, 0, 0, 1], 0).into())
//!     .with_registry(registry)
//!     .with_readiness("cache", move || match synced.load(Ordering::Relaxed) {
//!         true => Ok(()),
//!         false => Err("the first list is not complete".to_owned()),
//!     })
//!     .bind()
//!     .await?;
//! println!("listening on {}", server.local_addr());
//! let until_done = async { /* such as tokio::signal::ctrl_c() */ };
//! server.serve(until_done).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! - `tls`: HTTPS by rustls, with a certificate that is read again when its file changes.
//!
//! # What it does not do
//!
//! - It asks nobody who they are: whoever reaches the port reads metrics and the reasons of failing checks. Bind it to
//!   a loopback address, or let a NetworkPolicy say who may connect. TLS makes the traffic private, not the port: client
//!   certificates are not asked for.
//! - It speaks HTTP/1.1 only, and compresses nothing.
//! - It has no profiles (pprof), no log levels to set and no page for browsers.
//! - OpenMetrics is written without exemplars, units and creation times, which the `prometheus` crate does not keep.

mod accept;
mod connection;
mod error;
mod health;
mod metrics;
mod routes;
mod serve;
mod server;
#[cfg(feature = "tls")]
mod tls;

pub use error::Error;
pub use serve::BoundAdminServer;
pub use server::AdminServer;
#[cfg(feature = "tls")]
pub use tls::TlsError;
