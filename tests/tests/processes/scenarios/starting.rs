//! What keeps the operator from starting, as whoever starts it sees it.

use std::ffi::OsString;
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Command, Output};

use crate::support::cluster::Cluster;
use crate::support::operator::Operator;
use crate::support::wait::{PATIENCE, within};

pub(crate) async fn failures_are_told(cluster: Cluster) {
    let kubeconfig = cluster.account("starter", cluster.server()).await;
    let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
    // A port that is taken, and one where nobody listens.
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let nobody = silent.local_addr().unwrap();
    drop(silent);
    let unreachable = cluster.kubeconfig("unreachable", "token", nobody);
    let unreachable = format!("--kubeconfig={}", unreachable.display());
    let stranger = cluster.kubeconfig("stranger", "no token", cluster.server());
    let stranger = format!("--kubeconfig={}", stranger.display());
    let taken_address = format!("--admin-address={}", taken.local_addr().unwrap());
    let no_pem = cluster.folder().join("no.pem");
    std::fs::write(&no_pem, "no certificate").unwrap();
    let no_pem = no_pem.display().to_string();
    let (cert, key) = (
        format!("--tls-cert={no_pem}"),
        format!("--tls-key={no_pem}"),
    );

    let rows: &[(&[&str], &[&str])] = &[
        (&["--no-such-flag"], &["--no-such-flag"]),
        (
            &["--pass-timeout=60"],
            &["--pass-timeout", "such as", "15s"],
        ),
        (
            &["--leader-elect=maybe"],
            &["--leader-elect", "true, false"],
        ),
        (
            &["--leader-elect", "--renew-deadline=20s", &kubeconfig],
            &["--renew-deadline", "20s", "--lease-duration", "15s"],
        ),
        (
            &["--leader-elect", "--lease-name=No Way", &kubeconfig],
            &["--lease-name", "No Way"],
        ),
        (&["--kubeconfig=/no/such/file"], &["/no/such/file"]),
        (&["--kubeconfig", &no_pem], &[&no_pem, "expected"]),
        (&[&unreachable], &["cannot reach", &nobody.to_string()]),
        (&[&stranger], &["cannot reach", "Unauthorized"]),
        (
            &[&kubeconfig, &taken_address],
            &[&taken_address["--admin-address=".len()..], "already"],
        ),
        (
            &[&kubeconfig, "--admin-address=127.0.0.1:0", &cert, &key],
            &[&no_pem],
        ),
    ];
    for (words, expected) in rows {
        let Output { status, stderr, .. } = run(&cluster, words).await;
        let text = String::from_utf8(stderr).unwrap();
        assert_eq!(status.code(), Some(1), "{words:?}: {text}");
        let error = text.find("error: ").unwrap_or_else(|| panic!("{text}"));
        for part in *expected {
            assert!(text[error..].contains(part), "{words:?}: {part}: {text}");
        }
        assert!(!text.contains("panicked"), "{words:?}: {text}");
    }
}

/// An account that may not use leases is told which right it lacks.
pub(crate) async fn missing_right_is_told(cluster: Cluster) {
    let kubeconfig = cluster.account("poor", cluster.server()).await;
    let mut arguments: Vec<OsString> = [
        "run",
        "--leader-elect",
        "--lease-namespace=default",
        "--log-format=json",
        "--kubeconfig",
    ]
    .map(Into::into)
    .into();
    arguments.push(kubeconfig.into());
    let mut operator = Operator::spawn(&cluster, "poor", &arguments, &[]);
    within(PATIENCE, "the missing right is told", async || {
        let lines = operator.lines();
        let told = |line: &serde_json::Value| {
            let text = line.to_string();
            let is_loud = line["level"] == "ERROR" || line["level"] == "WARN";
            is_loud && text.contains("leases") && text.contains("default") && text.contains("get")
        };
        if lines.iter().any(told) {
            return Ok(());
        }
        Err(format!("{lines:#?}"))
    })
    .await;
    operator.assert_well();
}

/// What `website run` says, and how it ends. It does not run for long.
async fn run(cluster: &Cluster, words: &[&str]) -> Output {
    let mut website = Command::new(&cluster.given().website);
    website.arg("run").args(words).env_remove("KUBECONFIG");
    let ended = tokio::task::spawn_blocking(move || website.output());
    let ended = tokio::time::timeout(PATIENCE, ended).await;
    ended.expect("it ends").unwrap().unwrap()
}
