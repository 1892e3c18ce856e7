//! The programs of a real control plane: found, or built from the Go module beside this crate.

mod build;
mod go;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

pub(crate) use build::module;

use crate::{signals::Signals, workspace::Metadata};

/// The programs that a control plane consists of, and the one to look at it with.
pub(crate) const PROGRAMS: [&str; 4] = [
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kubectl",
];

/// Names a folder with [`PROGRAMS`], as for kubebuilder's tools.
pub(crate) const ASSETS: &str = "KUBEBUILDER_ASSETS";

/// A folder with all of [`PROGRAMS`].
#[derive(Clone, Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// A folder whose content is not checked.
    #[cfg(test)]
    pub(crate) fn of_test(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// The path of a program.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

/// Finds the programs in `KUBEBUILDER_ASSETS` if it is set, or else builds them unless that was
/// done before. What goes on is told on stderr.
///
/// # Errors
///
/// If the folder is incomplete, or Go is missing, too old, or fails.
pub(crate) fn find_or_build(signals: &Signals) -> Result<Folder> {
    match std::env::var_os(ASSETS) {
        Some(folder) if !folder.is_empty() => from_assets(Path::new(&folder)),
        _ => build::cached(&Metadata::load()?.target.join("control-plane"), signals),
    }
}

/// Why [`find_or_build`] cannot work on this machine, if it cannot.
pub(crate) fn unavailable() -> Option<String> {
    if std::env::var_os(ASSETS).is_some_and(|folder| !folder.is_empty()) {
        return None;
    }
    let error = go::version().err()?;
    Some(format!("{error:#}, and {ASSETS} is not set"))
}

/// Why the Go programs of [`module`] cannot be run on this machine, if they cannot.
pub(crate) fn go_unavailable() -> Option<String> {
    go::version().err().map(|error| format!("{error:#}"))
}

fn from_assets(folder: &Path) -> Result<Folder> {
    let folder = folder
        .canonicalize()
        .with_context(|| format!("{ASSETS}: no folder {}", folder.display()))?;
    check(&folder).with_context(|| ASSETS)?;
    Ok(Folder(folder))
}

/// Checks that each program is there and tells a version.
fn check(folder: &Path) -> Result<()> {
    let missing: Vec<_> = PROGRAMS
        .into_iter()
        .filter(|name| !folder.join(name).is_file())
        .collect();
    if !missing.is_empty() {
        bail!("{} lacks {}", folder.display(), missing.join(", "));
    }
    for name in PROGRAMS {
        let version = told_version(&folder.join(name))?;
        eprintln!("{name}: {version}");
    }
    Ok(())
}

/// The first line that has a version in what a program prints when asked for it.
fn told_version(program: &Path) -> Result<String> {
    let mut command = Command::new(program);
    if program.ends_with("kubectl") {
        command.args(["version", "--client"]);
    } else {
        command.arg("--version");
    }
    let output = command
        .output()
        .with_context(|| format!("cannot run {}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    version_line(&text).with_context(|| {
        let stderr = String::from_utf8_lossy(&output.stderr);
        format!(
            "{} tells no version: {}{}",
            program.display(),
            text.trim(),
            stderr.trim()
        )
    })
}

fn version_line(text: &str) -> Option<String> {
    text.lines()
        .map(str::trim)
        .find(|line| line.contains("ersion") || line.starts_with("Kubernetes "))
        .filter(|line| line.contains(|character: char| character.is_ascii_digit()))
        .map(str::to_owned)
}

/// Names of files in a folder, sorted; for messages.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn program(folder: &Path, name: &str, script: &str) {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn an_incomplete_folder_is_named_with_what_it_lacks() {
        let folder = tempfile::tempdir().unwrap();
        program(folder.path(), "etcd", "echo etcd Version: 3.7.0");
        program(folder.path(), "kubectl", "echo Client Version: v1.37.2");
        let error = format!("{:#}", from_assets(folder.path()).unwrap_err());
        assert!(error.starts_with("KUBEBUILDER_ASSETS: "), "{error}");
        assert!(
            error.ends_with("lacks kube-apiserver, kube-controller-manager"),
            "{error}"
        );
    }

    #[test]
    fn a_missing_folder_is_named() {
        let error = format!(
            "{:#}",
            from_assets(Path::new("/no/such/folder")).unwrap_err()
        );
        assert!(
            error.starts_with("KUBEBUILDER_ASSETS: no folder /no/such/folder"),
            "{error}"
        );
    }

    #[test]
    fn every_program_must_tell_a_version() {
        let folder = tempfile::tempdir().unwrap();
        program(
            folder.path(),
            "etcd",
            "echo etcd Version: 3.7.0; echo Git SHA: x",
        );
        program(folder.path(), "kube-apiserver", "echo Kubernetes v1.37.2");
        program(
            folder.path(),
            "kube-controller-manager",
            "echo Kubernetes v1.37.2",
        );
        program(folder.path(), "kubectl", "echo broken >&2; exit 1");
        let error = format!("{:#}", from_assets(folder.path()).unwrap_err());
        assert!(
            error.contains("kubectl tells no version: broken"),
            "{error}"
        );

        program(folder.path(), "kubectl", "echo Client Version: v1.37.2");
        let found = from_assets(folder.path()).unwrap();
        assert!(found.program("etcd").is_file());
    }

    #[test]
    fn version_lines() {
        let line = |text| version_line(text);
        assert_eq!(
            line("etcd Version: 3.7.0\nGit SHA: x").as_deref(),
            Some("etcd Version: 3.7.0")
        );
        assert_eq!(
            line("Kubernetes v1.37.2\n").as_deref(),
            Some("Kubernetes v1.37.2")
        );
        assert_eq!(line("flag provided but not defined: -version"), None);
        assert_eq!(line(""), None);
    }
}
