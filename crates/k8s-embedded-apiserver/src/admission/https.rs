//! HTTPS to webhooks: one connection a call.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::{Either, select};
use http::header::HOST;
use http::{HeaderValue, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};
use tower::BoxError;

use super::hook::Endpoint;

/// The largest answer that is read, in bytes.
const LIMIT: usize = 3 * 1024 * 1024;

/// Sends a request to `host`, at `address` if that is known, else where the resolver of the system says.
pub(super) async fn send(
    endpoint: &Endpoint,
    (host, port): (&str, u16),
    address: Option<SocketAddr>,
    mut request: Request<Full<Bytes>>,
) -> Result<(StatusCode, Bytes), BoxError> {
    let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())?;
    let stream = match address {
        Some(address) => TcpStream::connect(address).await,
        None => TcpStream::connect((host.trim_matches(['[', ']']), port)).await,
    };
    let stream = stream.map_err(|error| format!("dial tcp {host}:{port}: {error}"))?;
    let stream = TlsConnector::from(Arc::new(tls(endpoint)?))
        .connect(name, stream)
        .await
        .map_err(|error| format!("tls: {error}"))?;
    request
        .headers_mut()
        .insert(HOST, HeaderValue::from_str(&format!("{host}:{port}"))?);
    let path = request
        .uri()
        .path_and_query()
        .map_or("/", |path| path.as_str());
    *request.uri_mut() = path.parse::<Uri>()?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let exchange = Box::pin(async move {
        let response = sender.send_request(request).await?;
        let status = response.status();
        let body = Limited::new(response.into_body(), LIMIT).collect().await?;
        Ok((status, body.to_bytes()))
    });
    // The connection does the work; it is dropped with the exchange.
    match select(exchange, connection).await {
        Either::Left((answer, _)) => answer,
        Either::Right((_, exchange)) => exchange.await,
    }
}

/// Trusts those whom the configuration names, and nobody else.
fn tls(endpoint: &Endpoint) -> Result<ClientConfig, BoxError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&endpoint.ca_bundle) {
        roots.add(certificate?)?;
    }
    let provider = Arc::new(crypto::ring::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}
