//! The certificate of the server, read again when its file changes.

mod error;
mod files;

use std::convert::Infallible;
use std::io;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::sleep;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::server::TlsStream;
use tracing::{info, warn};

pub use error::TlsError;
use files::Contents;
pub(crate) use files::Files;

/// As controller-runtime's certwatcher does. A kubelet writes a changed Secret within about a minute.
const RELOAD_INTERVAL: Duration = Duration::from_secs(10);

/// A certificate and its key, and where they come from.
#[derive(Clone)]
pub(crate) struct Identity {
    files: Files,
    loaded: Contents,
    current: Arc<Current>,
    config: Arc<ServerConfig>,
}

/// What the next handshake shows.
#[derive(Debug)]
struct Current(RwLock<Arc<CertifiedKey>>);

impl Identity {
    pub(crate) async fn load(files: Files) -> Result<Self, TlsError> {
        let loaded = files.read().await?;
        let certified = loaded.certified_key(&files)?;
        let current = Arc::new(Current(RwLock::new(Arc::new(certified))));
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::Setup(error.into()))?
            .with_no_client_auth()
            .with_cert_resolver(current.clone());
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let config = Arc::new(config);
        Ok(Self {
            files,
            loaded,
            current,
            config,
        })
    }

    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        tokio_rustls::TlsAcceptor::from(self.config.clone())
            .accept(stream)
            .await
    }

    /// Looks at the files now and then.
    pub(crate) async fn keep_fresh(&self) -> Infallible {
        let mut loaded = self.loaded.clone();
        let mut logged = None;
        loop {
            sleep(RELOAD_INTERVAL).await;
            match self.reload(&mut loaded).await {
                Ok(changed) => {
                    logged = None;
                    if changed {
                        info!(cert = %self.files.cert.display(), "certificate replaced");
                    }
                }
                Err(error) => {
                    let error = with_causes(&error);
                    if logged.as_ref() != Some(&error) {
                        warn!(error, "certificate not replaced; the one from before stays");
                        logged = Some(error);
                    }
                }
            }
        }
    }

    async fn reload(&self, loaded: &mut Contents) -> Result<bool, TlsError> {
        let contents = self.files.read().await?;
        if contents == *loaded {
            return Ok(false);
        }
        self.current.replace(contents.certified_key(&self.files)?);
        *loaded = contents;
        Ok(true)
    }
}

impl Current {
    // A poisoned lock holds a whole certificate all the same.
    fn replace(&self, key: CertifiedKey) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(key);
    }
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(
            self.0
                .read()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
        )
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
