//! The server over HTTP on a loopback address: the library's front and the program.

#![cfg(feature = "http")]
#![allow(
    clippy::unwrap_used,
    reason = "a helper of a test fails as the test does"
)]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use futures::StreamExt;
use k8s_embedded_apiserver::{EmbeddedApiServer, http};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, ListParams, PostParams, WatchEvent, WatchParams};
use kube::{Client, Config, ResourceExt};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

async fn listener() -> (TcpListener, Client) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let client = Client::try_from(Config::new(url.parse().unwrap())).unwrap();
    (listener, client)
}

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(serde_json::json!({"metadata": {"name": name}, "data": {"k": "v"}}))
        .unwrap()
}

#[tokio::test]
async fn objects_and_watches_go_over_the_wire() {
    let (listener, client) = listener().await;
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(http::serve(EmbeddedApiServer::new(), listener, async {
        let _ = stopped.await;
    }));
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    let version = api
        .list(&ListParams::default())
        .await
        .unwrap()
        .metadata
        .resource_version
        .unwrap();
    let mut watch = api
        .watch(&WatchParams::default(), &version)
        .await
        .unwrap()
        .boxed();
    api.create(&PostParams::default(), &config_map("a"))
        .await
        .unwrap();
    match watch.next().await.unwrap().unwrap() {
        WatchEvent::Added(found) => assert_eq!(found.name_any(), "a"),
        other => panic!("{other:?}"),
    }

    // The watch is open; the end of the server is its regular end.
    let begun = Instant::now();
    stop.send(()).unwrap();
    assert!(watch.next().await.is_none());
    serving.await.unwrap().unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(3),
        "{:?}",
        begun.elapsed()
    );
    assert!(api.list(&ListParams::default()).await.is_err());
}

#[tokio::test]
async fn one_server_may_be_served_twice() {
    let server = EmbeddedApiServer::new();
    let inside = Client::new(server.clone(), "default");
    let (listener, outside) = listener().await;
    let serving = http::serve(server, listener, std::future::pending());
    let check = async {
        Api::<ConfigMap>::namespaced(inside, "default")
            .create(&PostParams::default(), &config_map("a"))
            .await
            .unwrap();
        Api::<ConfigMap>::namespaced(outside, "default")
            .get("a")
            .await
            .unwrap();
    };
    tokio::select! {
        _ = serving => panic!("ended"),
        () = check => {}
    }
}

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_k8s-embedded-apiserver"))
}

/// A program that is ended with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(kubeconfig: &Path) -> (Running, String) {
    let mut child = program()
        .args(["--listen", "127.0.0.1:0", "--kubeconfig"])
        .arg(kubeconfig)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    (Running(child), line.trim().to_owned())
}

fn failure(arguments: &[&str]) -> (Option<i32>, String) {
    let output = program().args(arguments).output().unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn a_bad_address_is_named() {
    for bad in [
        "nonsense",
        "127.0.0.1",
        "localhost:80",
        "127.0.0.1:99999",
        "",
    ] {
        let (code, text) = failure(&["--listen", bad]);
        assert_eq!(code, Some(2), "{bad:?}: {text}");
        assert!(
            text.contains("--listen") && text.contains("expected an IP address and a port"),
            "{bad:?}: {text}"
        );
    }
}

#[test]
fn a_port_in_use_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (code, text) = failure(&["--listen", &address]);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains(&format!("cannot listen on {address} (--listen): ")),
        "{text}"
    );
}

#[test]
fn somebody_elses_kubeconfig_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    std::fs::write(&path, "precious").unwrap();
    let (code, text) = failure(&["--kubeconfig", path.to_str().unwrap()]);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("was not written by k8s-embedded-apiserver"),
        "{text}"
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
}

#[cfg(unix)]
#[tokio::test]
async fn the_program_serves_and_ends_on_a_signal() {
    for signal in ["TERM", "INT"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        let (mut running, url) = start(&path);
        assert!(
            std::fs::read_to_string(&path)
                .unwrap()
                .contains(&format!("server: {url}\n"))
        );
        let client = Client::try_from(Config::new(url.parse().unwrap())).unwrap();
        let namespaces: Api<Namespace> = Api::all(client);
        let mut watch = namespaces
            .watch(&WatchParams::default(), "0")
            .await
            .unwrap()
            .boxed();
        assert!(watch.next().await.unwrap().is_ok());

        let begun = Instant::now();
        assert!(
            Command::new("kill")
                .args(["-s", signal])
                .arg(running.0.id().to_string())
                .status()
                .unwrap()
                .success()
        );
        let status = tokio::task::spawn_blocking(move || {
            let status = running.0.wait().unwrap();
            let mut text = String::new();
            running
                .0
                .stderr
                .take()
                .unwrap()
                .read_to_string(&mut text)
                .unwrap();
            (status, text)
        });
        let (status, text) = status.await.unwrap();
        assert!(status.success(), "{signal}: {status} {text}");
        assert!(text.contains("kubectl --kubeconfig"), "{text}");
        assert!(
            begun.elapsed() < Duration::from_secs(3),
            "{signal}: {:?}",
            begun.elapsed()
        );
        assert!(!path.exists());
        while let Some(event) = watch.next().await {
            assert!(event.is_ok(), "{event:?}");
        }
    }
}
