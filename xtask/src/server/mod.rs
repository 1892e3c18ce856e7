//! A real control plane, started on free loopback ports and ended with the value that owns it.

mod audit;
mod commands;
mod folder;
mod kubeconfig;
mod ports;
mod program;

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};

use crate::{
    control_plane::Folder,
    process::{KILLED, POLL},
    signals::{Interrupted, Signals},
};
use folder::DataFolder;
use ports::Ports;
use program::Program;

/// How long a start may take; it takes seconds.
const START_LIMIT: Duration = Duration::from_secs(90);

/// A running etcd, kube-apiserver and kube-controller-manager.
///
/// Dropping it ends them and removes their data. They also end if this program is killed.
#[derive(Debug)]
pub(crate) struct ControlPlane {
    // In the order of starting; dropped by `drop` in the opposite order.
    running: Vec<Program>,
    folder: DataFolder,
    server: String,
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
        audit::write_policy(folder.path())?;
        let mut this = Self {
            running: Vec::new(),
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

    fn spawn(&mut self, named: commands::Named) -> Result<()> {
        self.running.push(Program::start(named)?);
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
                for program in &self.running {
                    let _ = write!(message, "\n{}", program.log_end());
                }
                return Err(Failure::Other(anyhow::anyhow!(message)));
            }
            thread::sleep(POLL);
        }
    }

    /// An error if one of the programs has ended.
    fn check_alive(&mut self) -> Result<(), Failure> {
        for program in &mut self.running {
            if let Some(status) = program.try_wait()? {
                let name = program.name();
                let message = format!("{name} ended with {status}\n{}", program.log_end());
                return Err(if ports::is_taken(&program.log_text()) {
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

    /// The audit log of kube-apiserver.
    pub(crate) fn audit_log(&self) -> PathBuf {
        audit::log(self.folder.path())
    }

    /// The file that holds the process id of kube-apiserver.
    pub(crate) fn apiserver_pid(&self) -> PathBuf {
        commands::apiserver_pid(self.folder.path())
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

    /// Like [`Self::check`], for tests that kill kube-apiserver with SIGKILL: it is started again
    /// as it was, on the same port and data.
    pub(crate) fn supervise(&mut self, signals: &Signals) -> Result<()> {
        for program in &mut self.running {
            if program.name() == commands::KUBE_APISERVER
                && program.try_wait()?.and_then(|status| status.code()) == Some(KILLED)
            {
                eprintln!("kube-apiserver was killed; starting it again.");
                program.start_again()?;
            }
        }
        self.check(signals)
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        // The clients first: kube-apiserver without etcd would wait for it.
        while let Some(program) = self.running.pop() {
            drop(program);
        }
    }
}

/// A path as an argument.
fn flag(name: &str, value: &Path) -> std::ffi::OsString {
    let mut flag = std::ffi::OsString::from(format!("--{name}="));
    flag.push(value);
    flag
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    fn script(folder: &Path, name: &str, script: &str) {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Programs that are scripts, so that failures can be played.
    fn programs(etcd: &str, apiserver: &str) -> (tempfile::TempDir, Folder) {
        let folder = tempfile::tempdir().unwrap();
        script(folder.path(), "etcd", etcd);
        script(folder.path(), "kube-apiserver", apiserver);
        script(folder.path(), "kubectl", "exit 1");
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
    fn only_the_supervised_apiserver_may_be_killed() {
        let (folder, programs) = programs(
            "exec sleep 1000",
            "mkdir -p certificates; : > certificates/apiserver.crt; exec sleep 1000",
        );
        script(folder.path(), "kubectl", "exit 0");
        script(
            folder.path(),
            "kube-controller-manager",
            "echo $$ > kcm.pid; exec sleep 1000",
        );
        let signals = Signals::default();
        let mut control_plane = ControlPlane::start(&programs, &signals).unwrap();
        let until = |done: &mut dyn FnMut() -> bool| {
            let start = Instant::now();
            while !done() {
                assert!(start.elapsed() < Duration::from_secs(30), "after 30 s");
                thread::sleep(Duration::from_millis(5));
            }
        };
        let kill = |path: &Path| -> String {
            let id = fs::read_to_string(path).unwrap();
            let killed = Command::new("kill").args(["-KILL", id.trim()]).status();
            assert!(killed.unwrap().success());
            id
        };
        let pid = control_plane.apiserver_pid();

        let id = kill(&pid);
        until(&mut || control_plane.check(&signals).is_err());
        control_plane.supervise(&signals).unwrap();
        until(&mut || fs::read_to_string(&pid).unwrap() != id);
        control_plane.check(&signals).unwrap();

        let kcm = control_plane.folder.path().join("kcm.pid");
        until(&mut || fs::read_to_string(&kcm).is_ok_and(|text| text.ends_with('\n')));
        kill(&kcm);
        let mut error = None;
        until(&mut || {
            error = control_plane.supervise(&signals).err();
            error.is_some()
        });
        let error = error.unwrap().to_string();
        assert!(
            error.starts_with("kube-controller-manager ended with exit status: 137"),
            "{error}"
        );
    }
}
