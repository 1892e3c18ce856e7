//! The certificate with which the server shows itself.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa};
use rcgen::{Issuer, KeyPair, KeyUsagePurpose, SanType};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

pub(super) const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

/// Names under which a kube-apiserver is reached, beside its addresses.
const NAMES: [&str; 4] = [
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
];

/// A certificate for HTTPS, made for one server and signed by an authority of its own.
///
/// The keys are random and are kept in memory alone.
#[derive(Clone)]
pub struct Certificate {
    authority: String,
    config: Arc<ServerConfig>,
}

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// Keys or certificates could not be made.
    #[error("a certificate could not be made")]
    Make(#[from] rcgen::Error),
    /// The certificate is not fit for TLS.
    #[error("TLS could not be set up")]
    Setup(#[from] rustls::Error),
}

impl Certificate {
    /// A certificate for a server at `address`, at the loopback addresses, and as `localhost` and
    /// `kubernetes.default.svc`.
    ///
    /// # Errors
    ///
    /// If the system has no randomness for keys.
    pub fn for_address(address: SocketAddr) -> Result<Self, CertificateError> {
        let mut params = CertificateParams::new(Vec::new())?;
        params
            .distinguished_name
            .push(DnType::CommonName, "k8s-embedded-apiserver-ca");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let key = KeyPair::generate()?;
        let authority = params.self_signed(&key)?;
        let issuer = Issuer::new(params, key);

        let key = KeyPair::generate()?;
        let leaf = leaf(address)?.signed_by(&key, &issuer)?;
        let chain: Vec<CertificateDer<'static>> = vec![leaf.der().clone(), authority.der().clone()];
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        config.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
        Ok(Self {
            authority: authority.pem(),
            config: Arc::new(config),
        })
    }

    /// The certificate of the authority in PEM, by which clients know the server.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    pub(super) fn config(&self) -> Arc<ServerConfig> {
        self.config.clone()
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate")
            .field("authority", &self.authority)
            .finish_non_exhaustive()
    }
}

fn leaf(address: SocketAddr) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(NAMES.map(String::from).to_vec())?;
    params
        .distinguished_name
        .push(DnType::CommonName, "k8s-embedded-apiserver");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let mut addresses = vec![
        IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::LOCALHOST),
    ];
    if !addresses.contains(&address.ip()) {
        addresses.push(address.ip());
    }
    params
        .subject_alt_names
        .extend(addresses.into_iter().map(SanType::IpAddress));
    Ok(params)
}
