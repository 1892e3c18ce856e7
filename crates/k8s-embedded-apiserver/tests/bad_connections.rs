//! Peers that behave badly, over sockets: floods, garbage, slowness, and very many of them.

#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "in a test that is a failure")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use k8s_embedded_apiserver::EmbeddedApiServer;
use k8s_embedded_apiserver::http::{Certificate, Front};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

struct Served {
    address: SocketAddr,
    certificate: Certificate,
    task: JoinHandle<()>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(tls: bool) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let certificate = Certificate::for_address(address).unwrap();
    let mut front = Front::new(EmbeddedApiServer::new());
    if tls {
        front = front.certificate(&certificate);
    }
    let task = tokio::spawn(async move {
        front.serve(listener, std::future::pending()).await.unwrap();
    });
    Served {
        address,
        certificate,
        task,
    }
}

impl Served {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// What comes back until the connection is closed; the server may close it before all is sent.
    async fn send(&self, bytes: &[u8]) -> String {
        let (mut read, mut write) = self.connect().await.into_split();
        let bytes = bytes.to_vec();
        let writing = tokio::spawn(async move {
            let _ = write.write_all(&bytes).await;
            write
        });
        let mut answer = Vec::new();
        let _ = read.read_to_end(&mut answer).await;
        drop(writing.await);
        String::from_utf8_lossy(&answer).into_owned()
    }
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("nothing")
}

#[tokio::test]
async fn floods_and_garbage() {
    let served = serve(false).await;
    let end = "Host: x\r\nConnection: close\r\n\r\n";
    let many = (0..5000)
        .map(|n| format!("X-A{n}: b\r\n"))
        .collect::<Vec<_>>()
        .concat();
    let big = "x".repeat(4 << 20);
    for (name, request, code) in [
        (
            "a header of 2 MiB",
            format!("GET /api HTTP/1.1\r\nX-A: {}\r\n{end}", "a".repeat(2 << 20)),
            "431",
        ),
        (
            "5,000 headers",
            format!("GET /api HTTP/1.1\r\n{many}{end}"),
            "200",
        ),
        ("garbage", "\u{1}garbage\r\n\r\n".into(), "400"),
        (
            "a header with a space",
            format!("GET /api HTTP/1.1\r\nbad header: x\r\n{end}"),
            "400",
        ),
        (
            "two lengths",
            format!("POST {MAPS} HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n{end}abcd"),
            "400",
        ),
        ("HTTP/1.0", "GET /api HTTP/1.0\r\n\r\n".into(), "200"),
        (
            "a body of 4 MiB",
            format!(
                "POST {MAPS} HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{end}{big}",
                big.len()
            ),
            "413",
        ),
        (
            "a length of 1 GiB, and no body",
            format!(
                "POST {MAPS} HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 1073741824\r\n{end}"
            ),
            "413",
        ),
        (
            "4 MiB in chunks",
            format!(
                "POST {MAPS} HTTP/1.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n{end}{:x}\r\n{big}\r\n0\r\n\r\n",
                big.len()
            ),
            "413",
        ),
    ] {
        let answer = served.send(request.as_bytes()).await;
        assert_eq!(status(&answer), code, "{name}: {answer:.300}");
    }
}

#[tokio::test]
async fn plain_http_where_tls_is_expected() {
    let served = serve(true).await;
    let answer = served.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert_eq!(
        answer,
        "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
    );
}

#[tokio::test]
async fn clients_choose_the_protocol() {
    let served = serve(true).await;
    for (offered, wanted) in [
        (vec!["h2", "http/1.1"], Some("h2")),
        (vec!["http/1.1"], Some("http/1.1")),
        (vec![], None),
    ] {
        let mut roots = RootCertStore::empty();
        let authority = served.certificate.authority();
        roots
            .add(CertificateDer::from_pem_slice(authority.as_bytes()).unwrap())
            .unwrap();
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = offered
            .iter()
            .map(|name| name.as_bytes().to_vec())
            .collect();
        let connector = TlsConnector::from(Arc::new(config));
        for name in ["127.0.0.1", "localhost", "kubernetes.default.svc"] {
            let name = ServerName::try_from(name).unwrap();
            let mut stream = connector
                .connect(name, served.connect().await)
                .await
                .unwrap();
            let chosen = stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
            assert_eq!(chosen, wanted.map(|name| name.as_bytes().to_vec()));
            if wanted != Some("h2") {
                let request = b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
                stream.write_all(request).await.unwrap();
                let mut answer = String::new();
                stream.read_to_string(&mut answer).await.unwrap();
                assert_eq!(status(&answer), "200", "{answer}");
            }
        }
    }
}

/// A connection whose peer says nothing more is closed; virtual time makes that quick.
#[tokio::test(start_paused = true)]
async fn slow_peers_are_left() {
    let served = serve(false).await;
    let begun = tokio::time::Instant::now();
    for (start, code) in [
        (String::new(), "nothing"),
        ("GET /api HTT".into(), "nothing"),
        ("GET /api HTTP/1.1\r\nHost: x\r\n".into(), "nothing"),
        (
            format!(
                "POST {MAPS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{{"
            ),
            "504",
        ),
    ] {
        let mut stream = served.connect().await;
        stream.write_all(start.as_bytes()).await.unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer).await;
        assert_eq!(status(&answer), code, "{start:?}: {answer}");
    }
    assert!(
        begun.elapsed() < Duration::from_secs(300),
        "{:?}",
        begun.elapsed()
    );
}

/// They cost nothing while nothing happens, and all hear of what does.
#[tokio::test]
async fn idle_watches_hear_of_a_change() {
    const COUNT: usize = 300;
    let served = serve(false).await;
    let watch = format!("GET {MAPS}?watch=true HTTP/1.1\r\nHost: x\r\n\r\n");
    let mut watches = Vec::new();
    for _ in 0..COUNT {
        let mut stream = served.connect().await;
        stream.write_all(watch.as_bytes()).await.unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.unwrap();
        assert_eq!(&head, b"HTTP/1.1 200");
        watches.push(stream);
    }
    let body = r#"{"metadata": {"name": "heard-by-all"}}"#;
    let create = format!(
        "POST {MAPS} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    assert_eq!(status(&served.send(create.as_bytes()).await), "201");
    for mut stream in watches {
        let mut heard = Vec::new();
        while !String::from_utf8_lossy(&heard).contains("heard-by-all") {
            let mut more = [0; 4096];
            let count = stream.read(&mut more).await.unwrap();
            assert_ne!(count, 0, "{}", String::from_utf8_lossy(&heard));
            heard.extend_from_slice(&more[..count]);
        }
    }
}
