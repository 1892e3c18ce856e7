//! What an admin server is told before it runs.

use std::fmt;
use std::net::SocketAddr;

use axum::Router;
use prometheus::Registry;
use tokio::net::TcpListener;

use crate::connection::Transport;
use crate::health::{Checks, Probe};
use crate::serve::BoundAdminServer;
use crate::{Error, routes};

/// The admin server of an operator, before it listens.
///
/// See the [crate](crate) for its paths. A clone has the same checks and the same registry.
#[derive(Clone)]
pub struct AdminServer {
    address: SocketAddr,
    registry: Option<Registry>,
    liveness: Checks,
    readiness: Checks,
    #[cfg(feature = "tls")]
    tls: Option<crate::tls::Files>,
}

impl AdminServer {
    /// A server that will listen on `address`, with the check `ping` alone and no `/metrics`.
    ///
    /// Port 0 is a free port of the system's choice; [`BoundAdminServer::local_addr`] tells it. `0.0.0.0` is every
    /// IPv4 address of the machine, `[::]` usually every IPv4 and IPv6 address.
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            registry: None,
            liveness: Checks::new(Probe::Liveness),
            readiness: Checks::new(Probe::Readiness),
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    /// Serves the metrics of `registry` at `/metrics`; said again, it replaces the registry.
    ///
    /// Without a registry there is no `/metrics`. Metrics may be registered at any time, also while the server runs. A
    /// collector is asked on a thread for work that blocks ([`tokio::task::spawn_blocking`]), for two requests at once.
    #[must_use]
    pub fn with_registry(mut self, registry: Registry) -> Self {
        self.registry = Some(registry);
        self
    }

    /// Adds a check to `/healthz` and `/livez`: whether the process still works, or should be restarted.
    ///
    /// `check` is called for each probe, on a thread of the async runtime: it should look at a flag, not work or wait.
    /// Its error is the reason, in a few words. A check that panics has failed. Segments of a `name` are separated by
    /// `/`; [`bind`](Self::bind) refuses names that cannot be part of a path, and names that are there twice.
    ///
    /// ```
    /// # use k8s_controller_admin::AdminServer;
    /// let server = AdminServer::new(([127, 0, 0, 1], 8080).into())
    ///     .with_liveness("controller/website", || Err("its loop has ended".to_owned()));
    /// ```
    #[must_use]
    pub fn with_liveness<F>(mut self, name: impl Into<String>, check: F) -> Self
    where
        F: Fn() -> Result<(), String> + Send + Sync + 'static,
    {
        self.liveness.add(name.into(), check);
        self
    }

    /// Adds a check to `/readyz`: whether the process does what it is there for.
    ///
    /// As for [`with_liveness`](Self::with_liveness).
    #[must_use]
    pub fn with_readiness<F>(mut self, name: impl Into<String>, check: F) -> Self
    where
        F: Fn() -> Result<(), String> + Send + Sync + 'static,
    {
        self.readiness.add(name.into(), check);
        self
    }

    /// Serves HTTPS alone, with the certificate chain and the private key of two PEM files.
    ///
    /// `cert` has the server's own certificate first, then the intermediate ones; `key` is PKCS#8, PKCS#1 or SEC1, and
    /// not encrypted. TLS 1.2 and 1.3 are spoken. The files are looked at every ten seconds: when they have changed, as
    /// they do in a mounted Secret when cert-manager renews a certificate, new connections get the new certificate. Files
    /// that cannot be used are logged, and the certificate from before stays.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn with_tls(
        mut self,
        cert: impl Into<std::path::PathBuf>,
        key: impl Into<std::path::PathBuf>,
    ) -> Self {
        self.tls = Some(crate::tls::Files::new(cert.into(), key.into()));
        self
    }

    /// The address to listen on, as it was given to [`new`](Self::new).
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The paths as a [`Router`], to merge into another server or to call without a socket.
    ///
    /// It works within a tokio runtime. It has no fallback, so it merges with one that has. Names of checks are not looked at, as they are by
    /// [`bind`](Self::bind): of two with the same name, a single check's path answers for the first.
    ///
    /// ```
    /// # use k8s_controller_admin::AdminServer;
    /// let admin = AdminServer::new(([127, 0, 0, 1], 8080).into()).router();
    /// let app: axum::Router = axum::Router::new().nest("/admin", admin);
    /// ```
    pub fn router(&self) -> Router {
        routes::router(
            self.registry.clone(),
            self.liveness.clone(),
            self.readiness.clone(),
        )
    }

    /// Listens, and reads the files for TLS; nothing is answered before [`BoundAdminServer::serve`].
    ///
    /// # Errors
    ///
    /// [`Error::CheckName`] and [`Error::DuplicateCheck`] for the name of a check; [`Error::Bind`] if the address is
    /// occupied, not allowed or not there; `Error::Tls` if a file is missing, is not PEM, lacks what it should have, or
    /// if the key is not the certificate's.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with I/O and time enabled.
    pub async fn bind(self) -> Result<BoundAdminServer, Error> {
        self.liveness.validate()?;
        self.readiness.validate()?;
        let transport = self.transport().await?;
        let failed = |source| Error::Bind {
            address: self.address,
            source,
        };
        let listener = TcpListener::bind(self.address).await.map_err(failed)?;
        let local_addr = listener.local_addr().map_err(failed)?;
        let router = self.router().fallback(routes::not_found);
        // With port 0, the only way to learn the port.
        tracing::info!(address = %local_addr, "admin server listens");
        Ok(BoundAdminServer::new(
            listener, local_addr, router, transport,
        ))
    }

    #[cfg(feature = "tls")]
    async fn transport(&self) -> Result<Transport, Error> {
        Ok(match &self.tls {
            Some(files) => Transport::tls(crate::tls::Identity::load(files.clone()).await?),
            None => Transport::plain(),
        })
    }

    #[cfg(not(feature = "tls"))]
    #[expect(clippy::unused_async, reason = "files are read with the feature `tls`")]
    async fn transport(&self) -> Result<Transport, Error> {
        Ok(Transport::plain())
    }
}

impl fmt::Debug for AdminServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("AdminServer");
        debug
            .field("address", &self.address)
            .field("metrics", &self.registry.is_some())
            .field("liveness", &self.liveness)
            .field("readiness", &self.readiness);
        #[cfg(feature = "tls")]
        debug.field("tls", &self.tls);
        debug.finish()
    }
}
