//! A real control plane, started on free loopback ports and ended with the value that owns it.

mod commands;
mod folder;
mod kubeconfig;
mod ports;

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};

use crate::{
    control_plane::Folder,
    process::{Guarded, POLL},
    signals::{Interrupted, Signals},
};
use folder::DataFolder;
use ports::Ports;

/// How long a start may take; it takes seconds.
const START_LIMIT: Duration = Duration::from_secs(90);

/// Lines of a log that an error shows.
const SHOWN_LINES: usize = 15;

/// A running etcd, kube-apiserver and kube-controller-manager.
///
/// Dropping it ends them and removes their data. They also end if this program is killed.
#[derive(Debug)]
pub(crate) struct ControlPlane {
    // In the order of starting; dropped by `drop` in the opposite order.
    processes: Vec<Process>,
    folder: DataFolder,
    server: String,
}

/// One program of the control plane.
#[derive(Debug)]
struct Process {
    name: &'static str,
    guarded: Guarded,
    log: PathBuf,
}

/// Why a start failed.
enum Failure {
    /// Somebody else took a port after it had been found free.
    PortTaken(String),
    Other(anyhow::Error),
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Other(error)
    }
}

impl From<Interrupted> for Failure {
    fn from(interrupted: Interrupted) -> Self {
        Self::Other(interrupted.into())
    }
}

impl ControlPlane {
    /// Starts the programs and waits until they are ready.
    ///
    /// # Errors
    ///
    /// If a program ends or is not ready in time, with the end of its log; or if a signal is caught.
    pub(crate) fn start(programs: &Folder, signals: &Signals) -> Result<Self> {
        let mut retried = false;
        loop {
            match Self::try_start(programs, signals) {
                Ok(control_plane) => return Ok(control_plane),
                Err(Failure::PortTaken(what)) if !retried => {
                    eprintln!("{what}\nTrying other ports.");
                    retried = true;
                }
                Err(Failure::PortTaken(what)) => bail!(what),
                Err(Failure::Other(error)) => return Err(error),
            }
        }
    }

    fn try_start(programs: &Folder, signals: &Signals) -> Result<Self, Failure> {
        let folder = DataFolder::create()?;
        let ports = Ports::free()?;
        let server = format!("https://127.0.0.1:{}", ports.api);
        kubeconfig::write(folder.path(), &server)?;
        let mut this = Self {
            processes: Vec::new(),
            folder,
            server,
        };
        this.spawn(commands::etcd(programs, this.folder.path(), ports))?;
        this.spawn(commands::kube_apiserver(
            programs,
            this.folder.path(),
            ports,
        ))?;
        this.wait_until("kube-apiserver", signals, |this| this.is_ready(programs))?;
        this.spawn(commands::kube_controller_manager(
            programs,
            this.folder.path(),
        ))?;
        Ok(this)
    }

    fn spawn(&mut self, (name, spec): commands::Named) -> Result<()> {
        let log = spec.log.clone().unwrap_or_default();
        let guarded = Guarded::spawn(&spec)?;
        self.processes.push(Process { name, guarded, log });
        Ok(())
    }

    fn wait_until(
        &mut self,
        name: &str,
        signals: &Signals,
        ready: impl Fn(&Self) -> bool,
    ) -> Result<(), Failure> {
        let start = Instant::now();
        loop {
            signals.check()?;
            self.check_alive()?;
            if ready(self) {
                return Ok(());
            }
            if start.elapsed() > START_LIMIT {
                let mut message = format!("{name} is not ready after {} s", START_LIMIT.as_secs());
                for process in &self.processes {
                    let _ = write!(message, "\n{}", process.log_end());
                }
                return Err(Failure::Other(anyhow::anyhow!(message)));
            }
            thread::sleep(POLL);
        }
    }

    /// An error if one of the programs has ended.
    fn check_alive(&mut self) -> Result<(), Failure> {
        for process in &mut self.processes {
            if let Some(status) = process.guarded.try_wait()? {
                let message = format!(
                    "{} ended with {status}\n{}",
                    process.name,
                    process.log_end()
                );
                return Err(if ports::is_taken(&process.log_text()) {
                    Failure::PortTaken(message)
                } else {
                    Failure::Other(anyhow::anyhow!(message))
                });
            }
        }
        Ok(())
    }

    fn is_ready(&self, programs: &Folder) -> bool {
        // The server makes its certificate first.
        commands::certificate(self.folder.path()).exists()
            && Command::new(programs.program("kubectl"))
                .arg("--kubeconfig")
                .arg(self.kubeconfig())
                .args(["get", "--raw", "/readyz", "--request-timeout", "5s"])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| status.success())
    }

    /// A kubeconfig of a cluster administrator.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        kubeconfig::path(self.folder.path())
    }

    /// The address of kube-apiserver.
    pub(crate) fn address(&self) -> &str {
        &self.server
    }

    /// An error if one of the programs has ended, or a signal was caught.
    pub(crate) fn check(&mut self, signals: &Signals) -> Result<()> {
        signals.check()?;
        match self.check_alive() {
            Ok(()) => Ok(()),
            Err(Failure::PortTaken(what)) => bail!(what),
            Err(Failure::Other(error)) => Err(error),
        }
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        // The clients first: kube-apiserver without etcd would wait for it.
        while let Some(process) = self.processes.pop() {
            drop(process);
        }
    }
}

impl Process {
    fn log_text(&self) -> String {
        let bytes = fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn log_end(&self) -> String {
        format!(
            "--- end of the log of {}:\n{}",
            self.name,
            last_lines(&self.log_text(), SHOWN_LINES)
        )
    }
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// A path as an argument.
fn flag(name: &str, value: &Path) -> std::ffi::OsString {
    let mut flag = std::ffi::OsString::from(format!("--{name}="));
    flag.push(value);
    flag
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Programs that are scripts, so that failures can be played.
    fn programs(etcd: &str, apiserver: &str) -> (tempfile::TempDir, Folder) {
        let folder = tempfile::tempdir().unwrap();
        for (name, script) in [
            ("etcd", etcd),
            ("kube-apiserver", apiserver),
            ("kubectl", "exit 1"),
        ] {
            let path = folder.path().join(name);
            fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let programs = Folder::of_test(folder.path());
        (folder, programs)
    }

    #[test]
    fn a_server_that_ends_is_named_with_the_end_of_its_log() {
        let (_folder, programs) = programs("exec sleep 1000", "echo bad flag >&2; exit 3");
        let error = ControlPlane::start(&programs, &Signals::default())
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("kube-apiserver ended with exit status: 3"),
            "{error}"
        );
        assert!(
            error.ends_with("--- end of the log of kube-apiserver:\nbad flag"),
            "{error}"
        );
    }

    #[test]
    fn a_taken_port_is_tried_again_once() {
        let count = tempfile::NamedTempFile::new().unwrap();
        let etcd = format!(
            "echo try >> {}; echo listen tcp: bind: address already in use; exit 1",
            count.path().display()
        );
        let (_folder, programs) = programs(&etcd, "exec sleep 1000");
        let error = ControlPlane::start(&programs, &Signals::default())
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("etcd ended"), "{error}");
        assert_eq!(fs::read_to_string(count.path()).unwrap(), "try\ntry\n");
    }

    #[test]
    fn the_end_of_a_log() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc");
        assert_eq!(last_lines("a", 2), "a");
        assert_eq!(last_lines("", 2), "");
    }
}
