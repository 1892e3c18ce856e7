//! The website example as a process.

use std::ffi::OsString;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::cluster::Cluster;
use super::wait::{PATIENCE, within};

/// Lines of the log that a failed test shows.
const SHOWN_LINES: usize = 40;
/// Characters that it shows of each.
const SHOWN_CHARS: usize = 400;

/// A replica of the operator, killed when dropped.
pub(crate) struct Operator {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Operator {
    /// Starts a replica with an account of its own, which gives it its name.
    pub(crate) async fn start(cluster: &Cluster, name: &str, flags: &[&str]) -> Self {
        Self::start_behind(cluster, name, cluster.server(), flags).await
    }

    /// Like [`Self::start`], for one that reaches the server at another address.
    pub(crate) async fn start_behind(
        cluster: &Cluster,
        name: &str,
        server: SocketAddr,
        flags: &[&str],
    ) -> Self {
        let kubeconfig = cluster.account(name, server).await;
        let mut arguments = arguments(cluster, name, &kubeconfig);
        arguments.extend(flags.iter().map(Into::into));
        Self::spawn(cluster, name, &arguments, &[])
    }

    /// Starts a replica with these arguments and variables, whatever they are.
    pub(crate) fn spawn(
        cluster: &Cluster,
        name: &str,
        arguments: &[OsString],
        variables: &[(&str, &str)],
    ) -> Self {
        let log = cluster.folder().join(format!("{name}.log"));
        let file = File::create(&log).unwrap();
        let child = Command::new(&cluster.given().website)
            .args(arguments)
            .env("RUST_LOG", "info")
            .env("RUST_BACKTRACE", "1")
            .envs(variables.iter().copied())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .spawn()
            .unwrap();
        Self {
            name: name.to_owned(),
            child,
            log,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// Waits for its end.
    pub(crate) async fn end(&mut self, limit: Duration) -> ExitStatus {
        let what = format!("the end of {}", self.name);
        within(limit, &what, async || {
            self.ended().ok_or_else(|| "it runs".to_owned())
        })
        .await
    }

    /// Its log so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// The lines of its log so far.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let log = self.log();
        let whole = log.rfind('\n').map_or("", |end| &log[..end]);
        whole
            .lines()
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line:?}\n{log}"))
            })
            .collect()
    }

    /// Waits for the address of its admin server, which the log tells.
    pub(crate) async fn admin_address(&mut self) -> SocketAddr {
        within(PATIENCE, "the address of the admin server", async || {
            if let Some(status) = self.ended() {
                panic!("{} has ended: {status}", self.name);
            }
            let lines = self.lines();
            let address = lines.iter().find_map(|line| line["address"].as_str());
            address
                .map(|address| address.parse().unwrap())
                .ok_or_else(|| "no line with an address".to_owned())
        })
        .await
    }

    /// Checks that it runs as it was started, and has not panicked.
    pub(crate) fn assert_well(&mut self) {
        assert_eq!(self.ended(), None, "{} has ended", self.name);
        self.assert_no_panic();
    }

    pub(crate) fn assert_no_panic(&self) {
        let log = self.log();
        let panic = log.lines().find(|line| line.contains("panicked"));
        assert_eq!(panic, None, "{}", self.name);
    }
}

fn arguments(cluster: &Cluster, name: &str, kubeconfig: &Path) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = [
        "run",
        "--leader-elect",
        "--admin-address=127.0.0.1:0",
        "--log-format=json",
        "--namespace",
        cluster.namespace(),
        "--lease-namespace",
        cluster.namespace(),
        "--identity",
        name,
        "--kubeconfig",
    ]
    .map(Into::into)
    .into();
    arguments.push(kubeconfig.into());
    arguments
}

impl Drop for Operator {
    fn drop(&mut self) {
        // Ended already, perhaps.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            let lines: Vec<_> = log.lines().collect();
            eprintln!("--- end of the log of {}:", self.name);
            for line in &lines[lines.len().saturating_sub(SHOWN_LINES)..] {
                let line: String = line.chars().take(SHOWN_CHARS).collect();
                eprintln!("{line}");
            }
        }
    }
}
