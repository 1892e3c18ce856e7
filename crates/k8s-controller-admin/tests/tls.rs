//! HTTPS, and the files that it needs.
#![allow(clippy::unwrap_used, clippy::expect_used)] // Also in the helpers of tests.

mod common;

use std::error::Error as _;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use common::{CLOSE, KEEP, Running, ask, exchange, local, pass_time, soon};
use k8s_controller_admin::{Error, TlsError};
use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Two files, as in a mounted Secret.
struct Secret {
    folder: TempDir,
}

impl Secret {
    fn new() -> (Self, CertificateDer<'static>) {
        let secret = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        let certificate = secret.renew();
        (secret, certificate)
    }

    /// Writes a new certificate and its key.
    fn renew(&self) -> CertificateDer<'static> {
        let made = certificate();
        fs::write(self.cert(), made.cert.pem()).unwrap();
        fs::write(self.key(), made.signing_key.serialize_pem()).unwrap();
        made.cert.der().clone()
    }

    fn cert(&self) -> PathBuf {
        self.folder.path().join("tls.crt")
    }

    fn key(&self) -> PathBuf {
        self.folder.path().join("tls.key")
    }

    async fn serve(&self) -> Running {
        let server = local().with_tls(self.cert(), self.key()).bind().await;
        Running::new(server.unwrap())
    }

    async fn bind_error(&self) -> TlsError {
        match local().with_tls(self.cert(), self.key()).bind().await {
            Err(Error::Tls(error)) => error,
            other => panic!("{other:?}"),
        }
    }
}

fn certificate() -> CertifiedKey<KeyPair> {
    generate_simple_self_signed(["localhost".to_owned()]).unwrap()
}

async fn connect(
    address: SocketAddr,
    trusted: &CertificateDer<'static>,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let stream = soon(TcpStream::connect(address)).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    soon(TlsConnector::from(Arc::new(config)).connect(name, stream)).await
}

#[tokio::test]
async fn answers_over_tls() {
    let (secret, trusted) = Secret::new();
    let server = secret.serve().await;

    // One that never shakes hands holds up neither others nor the end.
    let mut silent = soon(TcpStream::connect(server.address)).await.unwrap();
    let mut stream = connect(server.address, &trusted).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    let answer = exchange(&mut stream, CLOSE).await;
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("ok"),
        "{answer}"
    );

    let mut plain = soon(TcpStream::connect(server.address)).await.unwrap();
    let answer = exchange_bytes(&mut plain).await;
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");

    let mut idle = connect(server.address, &trusted).await.unwrap();
    ask(&mut idle, KEEP, "ok").await;
    let begun = std::time::Instant::now();
    server.stop().await.unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(4),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(soon(silent.read(&mut [0; 8])).await.unwrap_or(0), 0);
}

async fn exchange_bytes(stream: &mut TcpStream) -> Vec<u8> {
    use tokio::io::AsyncWriteExt;
    stream.write_all(CLOSE.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = soon(stream.read_to_end(&mut answer)).await;
    answer
}

/// Symbolic links as a kubelet makes them: the folder behind `..data` is replaced in one step.
#[cfg(unix)]
#[tokio::test]
async fn a_renewed_certificate_is_served() {
    use std::os::unix::fs::symlink;

    let folder = tempfile::tempdir().unwrap();
    let version = |name: &str| {
        let made = certificate();
        let version = folder.path().join(name);
        fs::create_dir(&version).unwrap();
        fs::write(version.join("tls.crt"), made.cert.pem()).unwrap();
        fs::write(version.join("tls.key"), made.signing_key.serialize_pem()).unwrap();
        made.cert.der().clone()
    };
    let point_to = |name: &str| {
        let temporary = folder.path().join("..data_tmp");
        symlink(name, &temporary).unwrap();
        fs::rename(&temporary, folder.path().join("..data")).unwrap();
    };
    let first = version("..1");
    let second = version("..2");
    point_to("..1");
    let file = |name: &str| {
        let link = folder.path().join(name);
        symlink(Path::new("..data").join(name), &link).unwrap();
        link
    };
    let server = local()
        .with_tls(file("tls.crt"), file("tls.key"))
        .bind()
        .await
        .unwrap();
    let server = Running::new(server);
    connect(server.address, &first).await.unwrap();

    point_to("..2");
    served_after_reload(server.address, &second).await;

    // A file that cannot be used changes nothing, and the next good one is taken again.
    fs::write(folder.path().join("..2/tls.key"), "nonsense").unwrap();
    pass_time(Duration::from_secs(60)).await;
    connect(server.address, &second).await.unwrap();
    point_to("..1");
    served_after_reload(server.address, &first).await;
    server.stop().await.unwrap();
}

async fn served_after_reload(address: SocketAddr, certificate: &CertificateDer<'static>) {
    pass_time(Duration::from_secs(11)).await;
    connect(address, certificate).await.unwrap();
}

#[tokio::test]
async fn a_handshake_that_does_not_end_is_cut_off() {
    let (secret, trusted) = Secret::new();
    let server = secret.serve().await;
    let mut silent = soon(TcpStream::connect(server.address)).await.unwrap();
    connect(server.address, &trusted).await.unwrap();
    pass_time(Duration::from_secs(11)).await;
    assert_eq!(soon(silent.read(&mut [0; 8])).await.unwrap_or(0), 0);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn words_around_a_block_do_not_matter() {
    // Words around the blocks are usual too; openssl writes them.
    let (secret, trusted) = Secret::new();
    let pkcs8 = fs::read_to_string(secret.key()).unwrap();
    fs::write(secret.key(), format!("some words before\n\n{pkcs8}")).unwrap();
    let server = secret.serve().await;
    connect(server.address, &trusted).await.unwrap();
    server.stop().await.unwrap();
}

type Harm<'a> = &'a dyn Fn(&Secret);

/// Does each harm to a good Secret, and compares what `bind` says.
async fn expect_errors(cases: &[(Harm<'_>, &str)]) {
    for (harm, expected) in cases {
        let (secret, _) = Secret::new();
        harm(&secret);
        let error = secret.bind_error().await;
        let cause = error.source().map(|cause| format!(": {cause}"));
        let text = format!("{error}{}", cause.unwrap_or_default())
            .replace(secret.cert().to_str().unwrap(), "CERT")
            .replace(secret.key().to_str().unwrap(), "KEY");
        // What rustls says of a bad key is its own affair.
        let same = text == *expected || expected.ends_with(": ") && text.starts_with(expected);
        assert!(same, "{text}\n{expected}");
    }
}

#[tokio::test]
async fn files_that_cannot_be_read() {
    expect_errors(&[
        (
            &|s| fs::remove_file(s.cert()).unwrap(),
            "CERT cannot be read; expected a PEM file with the server's certificate and its intermediate ones: No such file or directory (os error 2)",
        ),
        (
            &|s| fs::remove_file(s.key()).unwrap(),
            "KEY cannot be read; expected a PEM file with the certificate's private key: No such file or directory (os error 2)",
        ),
        (
            &|s| {
                fs::remove_file(s.key()).unwrap();
                fs::create_dir(s.key()).unwrap();
            },
            "KEY is not a file; expected a PEM file with the certificate's private key",
        ),
        (
            &|s| fs::write(s.cert(), "x".repeat(1024 * 1024 + 1)).unwrap(),
            "CERT is larger than 1 MiB; expected a PEM file with the server's certificate and its intermediate ones",
        ),
        (
            &|s| fs::write(s.cert(), "").unwrap(),
            "CERT is not PEM: it has no BEGIN line; expected the server's certificate and its intermediate ones",
        ),
        (
            &|s| fs::write(s.key(), [0, 1, 255]).unwrap(),
            "KEY is not PEM: it has no BEGIN line; expected the certificate's private key",
        ),
        (
            &|s| fs::write(s.cert(), "-----BEGIN CERTIFICATE-----\nAAAA\n").unwrap(),
            "CERT is not PEM: a block has no END line; expected the server's certificate and its intermediate ones",
        ),
        (
            &|s| fs::write(s.key(), block("PRIVATE KEY", "!!!")).unwrap(),
            "KEY is not PEM: the base64 of a block is invalid; expected the certificate's private key",
        ),
    ])
    .await;
}

#[tokio::test]
async fn certificates_and_keys_that_cannot_be_used() {
    const ENCRYPTED: &str =
        "the private key in KEY is encrypted; expected one without a passphrase";
    const BAD_CERTIFICATE: &str = "a certificate in CERT cannot be used; expected X.509 version 3: invalid peer certificate: BadEncoding";
    expect_errors(&[
        (
            &|s| {
                fs::rename(s.cert(), s.folder.path().join("swap")).unwrap();
                fs::rename(s.key(), s.cert()).unwrap();
                fs::rename(s.folder.path().join("swap"), s.key()).unwrap();
            },
            "CERT has no certificate, but PRIVATE KEY; expected blocks CERTIFICATE",
        ),
        (
            &|s| {
                fs::copy(s.cert(), s.key()).unwrap();
            },
            "KEY has no private key, but CERTIFICATE; expected a block PRIVATE KEY, RSA PRIVATE KEY or EC PRIVATE KEY",
        ),
        (
            &|s| fs::write(s.key(), block("ENCRYPTED PRIVATE KEY", "AAAA")).unwrap(),
            ENCRYPTED,
        ),
        (
            &|s| {
                let old = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA";
                fs::write(s.key(), block("RSA PRIVATE KEY", old)).unwrap();
            },
            ENCRYPTED,
        ),
        (
            &|s| fs::write(s.cert(), block("CERTIFICATE", "AAAA")).unwrap(),
            BAD_CERTIFICATE,
        ),
        (
            &|s| {
                let chain = fs::read_to_string(s.cert()).unwrap() + &block("CERTIFICATE", "AAAA");
                fs::write(s.cert(), chain).unwrap();
            },
            BAD_CERTIFICATE,
        ),
        (
            &|s| fs::write(s.key(), block("PRIVATE KEY", "AAAA")).unwrap(),
            "the private key in KEY cannot be used; expected RSA (2048 bits or more), ECDSA (P-256, P-384) or Ed25519: ",
        ),
        (
            &|s| fs::write(s.key(), certificate().signing_key.serialize_pem()).unwrap(),
            "the private key in KEY is not that of the first certificate in CERT; expected the server's own certificate first",
        ),
    ])
    .await;
}

fn block(label: &str, content: &str) -> String {
    format!("-----BEGIN {label}-----\n{content}\n-----END {label}-----\n")
}
