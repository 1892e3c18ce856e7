//! Requests to the API server.

use std::convert::Infallible;
use std::future::pending;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use k8s_controller_prometheus::ClientMetrics;
use kube::client::Body;
use kube::{Client, Config};
use tower::{Layer, Service, service_fn};

use crate::{assert_line, registry_of, text};

const HOST: &str = "192.0.2.1:6443";

/// A client whose server answers all with this code.
pub(crate) fn answering(code: u16) -> Client {
    let service = service_fn(move |_: Request<Body>| async move {
        let status = r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure"}"#;
        let body = Body::from(status.as_bytes().to_vec());
        Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap())
    });
    Client::new(service, "team-a")
}

fn request(method: &str, uri: &str) -> Request<Body> {
    Request::builder()
        .method(method)
        .uri(uri)
        .body(Body::empty())
        .unwrap()
}

#[tokio::test]
async fn requests_are_counted_by_code_method_and_host() {
    let cases = [
        ("GET", 200, "/api/v1/pods", "200", "GET", HOST),
        ("GET", 404, "/api/v1/pods?watch=true", "404", "GET", HOST),
        ("POST", 201, "/x", "201", "POST", HOST),
        ("PUT", 409, "/x", "409", "PUT", HOST),
        ("PATCH", 422, "/x", "422", "PATCH", HOST),
        ("DELETE", 500, "/x", "500", "DELETE", HOST),
        ("HEAD", 200, "/x", "200", "HEAD", HOST),
        ("OPTIONS", 200, "/x", "200", "OPTIONS", HOST),
        ("BREW", 418, "/x", "418", "OTHER", HOST),
        ("get", 400, "/x", "400", "OTHER", HOST),
        (
            "GET",
            200,
            "https://[2001:db8::1]:443/x",
            "200",
            "GET",
            "[2001:db8::1]:443",
        ),
        (
            "GET",
            200,
            "https://user:secret@example.com/x",
            "200",
            "GET",
            "example.com",
        ),
    ];
    for (method, code, uri, code_label, method_label, host) in cases {
        let metrics = ClientMetrics::new();
        let registry = registry_of(&metrics);
        let client = metrics.client(&answering(code), HOST);
        let answer = client.send(request(method, uri)).await.unwrap();
        assert_eq!(answer.status(), code);
        let labels = format!(r#"code="{code_label}",host="{host}",method="{method_label}""#);
        assert_line(
            &registry,
            &format!("rest_client_requests_total{{{labels}}} 1"),
        );
        assert_eq!(text(&registry).lines().count(), 3, "{method} {uri}");
    }
}

#[tokio::test]
async fn the_host_that_is_given_is_cleaned() {
    let hosts = [
        ("", "none"),
        ("user:secret@example.com:6443", "example.com:6443"),
    ];
    for (given, label) in hosts {
        let metrics = ClientMetrics::new();
        let registry = registry_of(&metrics);
        let client = metrics.client(&answering(200), given);
        client.send(request("GET", "/x")).await.unwrap();
        let labels = format!(r#"code="200",host="{label}",method="GET""#);
        assert_line(
            &registry,
            &format!("rest_client_requests_total{{{labels}}} 1"),
        );
    }
}

#[tokio::test]
async fn a_request_without_an_answer_is_an_error() {
    let metrics = ClientMetrics::new();
    let registry = registry_of(&metrics);
    let errors =
        format!(r#"rest_client_requests_total{{code="<error>",host="{HOST}",method="GET"}}"#);

    let refuses = service_fn(|_: Request<Body>| async {
        Err::<Response<Body>, _>(std::io::Error::other("connection refused"))
    });
    let client = metrics.client(&Client::new(refuses, "default"), HOST);
    let error = client.send(request("GET", "/x")).await.unwrap_err();
    assert!(error.to_string().contains("connection refused"), "{error}");
    assert_line(&registry, &format!("{errors} 1"));

    let hangs = service_fn(|_: Request<Body>| pending::<Result<Response<Body>, Infallible>>());
    let mut service = metrics.layer(HOST).layer(hangs);
    let mut given_up = service.call(request("GET", "/x"));
    assert!((&mut given_up).now_or_never().is_none());
    assert_line(&registry, &format!("{errors} 1"));
    drop(given_up);
    assert_line(&registry, &format!("{errors} 2"));
}

/// A watch whose answer has begun is counted, though its body goes on.
#[tokio::test]
async fn a_watch_is_counted_when_it_begins() {
    let metrics = ClientMetrics::new();
    let registry = registry_of(&metrics);
    let service = service_fn(|_: Request<Body>| async {
        let endless = futures::stream::pending::<Result<Frame<Bytes>, Infallible>>();
        Ok::<_, Infallible>(Response::new(StreamBody::new(endless)))
    });
    let client = metrics.client(&Client::new(service, "default"), HOST);
    let watch = client
        .send(request("GET", "/api/v1/pods?watch=true"))
        .await
        .unwrap();
    let line = format!(r#"rest_client_requests_total{{code="200",host="{HOST}",method="GET"}} 1"#);
    assert_line(&registry, &line);
    drop(watch);
    assert_line(&registry, &line);
}

#[tokio::test]
async fn a_wrapped_client_is_otherwise_the_same() {
    let metrics = ClientMetrics::new();
    let valid_until = Some("2026-01-02T03:04:05Z".parse().unwrap());
    let bare = answering(403).with_valid_until(valid_until);
    let client = metrics.client(&bare, HOST);
    assert_eq!(client.default_namespace(), "team-a");
    assert_eq!(client.valid_until(), &valid_until);
    let request = || Request::get("/x").body(Vec::new()).unwrap();
    let errors = [
        bare.request_text(request()).await.unwrap_err(),
        client.request_text(request()).await.unwrap_err(),
    ];
    assert!(matches!(errors[0], kube::Error::Api(_)), "{:?}", errors[0]);
    assert_eq!(errors[0].to_string(), errors[1].to_string());
}

#[tokio::test]
async fn a_client_of_a_config_counts_each_attempt() {
    let overloaded =
        "HTTP/1.1 429 Too Many Requests\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    let fine = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}";
    for (retries, answers, code) in [
        (true, vec![overloaded, fine], 200),
        (false, vec![overloaded], 429),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let attempts = answers.len();
        let server = std::thread::spawn(move || {
            for answer in answers {
                let (mut connection, _) = listener.accept().unwrap();
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    connection.read_exact(&mut byte).unwrap();
                    head.push(byte[0]);
                }
                connection.write_all(answer.as_bytes()).unwrap();
            }
        });

        let metrics = ClientMetrics::new();
        let registry = registry_of(&metrics);
        let mut config = Config::new(format!("http://{host}").parse().unwrap());
        config.default_retry = retries;
        config.default_namespace = "team-b".into();
        config.connect_timeout = Some(Duration::from_secs(30));
        let client = metrics.client_for(config).unwrap();
        assert_eq!(client.default_namespace(), "team-b");
        let answer = client.send(request("GET", "/version")).await.unwrap();
        assert_eq!(answer.status(), code);
        server.join().unwrap();

        let count = |code: u16| {
            format!(r#"rest_client_requests_total{{code="{code}",host="{host}",method="GET"}} 1"#)
        };
        assert_line(&registry, &count(429));
        assert_eq!(text(&registry).contains(&count(200)), attempts == 2);
    }
}
