//! Operators that other libraries run, from `tests/clients`: built, or installed, below the target folder.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

use crate::{
    control_plane,
    process::{self, Spec},
    signals::Signals,
    workspace,
};

/// Names the controller-runtime manager for its test.
pub(crate) const MANAGER: &str = "K8S_CONTROLLER_E2E_MANAGER";
/// Names kopf for its test.
pub(crate) const KOPF: &str = "K8S_CONTROLLER_E2E_KOPF";

const PYTHON: &str = "python3";
/// What kopf asks for.
const PYTHON_VERSION: &str = "3.10";

/// The programs that there are.
#[derive(Debug)]
pub(crate) struct Clients {
    manager: Option<PathBuf>,
    kopf: Option<PathBuf>,
}

impl Clients {
    /// Builds and installs them, unless that is done already.
    ///
    /// # Errors
    ///
    /// If that fails; if Go or Python is missing, only where nothing may be skipped (`strict`).
    pub(crate) fn get(target: &Path, strict: bool, signals: &Signals) -> Result<Self> {
        let folder = target.join("clients");
        let manager = match control_plane::go_unavailable() {
            Some(why) => skip("the controller-runtime manager", &why, strict)?,
            None => Some(manager(&folder, signals)?),
        };
        let kopf = match python_unavailable() {
            Some(why) => skip("the kopf operator", &why, strict)?,
            None => Some(kopf(&folder, signals)?),
        };
        Ok(Self { manager, kopf })
    }

    /// What their tests are told.
    pub(crate) fn env(&self) -> Vec<(&'static str, Option<OsString>)> {
        let text = |path: &Option<PathBuf>| path.clone().map(PathBuf::into_os_string);
        vec![(MANAGER, text(&self.manager)), (KOPF, text(&self.kopf))]
    }
}

fn skip(what: &str, why: &str, strict: bool) -> Result<Option<PathBuf>> {
    if strict {
        bail!("{what}: {why}; with CI=true this is a failure");
    }
    eprintln!("xtask: SKIPPED: {what}: {why}");
    Ok(None)
}

fn sources() -> PathBuf {
    workspace::root().join("tests/clients")
}

/// Go itself knows what has changed since the last build.
fn manager(folder: &Path, signals: &Signals) -> Result<PathBuf> {
    let program = folder.join("manager");
    let words = [
        "go",
        "build",
        "-mod=readonly",
        "-trimpath",
        "-buildvcs=false",
    ];
    let mut spec = Spec::new(words);
    spec.command.push("-o".into());
    spec.command.push(program.clone().into());
    spec.command.push(".".into());
    spec.folder = Some(sources().join("manager"));
    spec.env = vec![
        ("CGO_ENABLED", Some("0".into())),
        ("GOWORK", Some("off".into())),
    ];
    process::run(&spec, signals).context("cannot build the controller-runtime manager")?;
    Ok(program)
}

/// A virtual environment with what is required, in a folder that is whole once it says so itself.
fn kopf(folder: &Path, signals: &Signals) -> Result<PathBuf> {
    let environment = folder.join("kopf");
    let program = environment.join("bin/kopf");
    let requirements = sources().join("kopf/requirements.txt");
    let wanted = fs::read_to_string(&requirements)
        .with_context(|| format!("cannot read {}", requirements.display()))?;
    let installed = environment.join("installed");
    if fs::read_to_string(&installed).is_ok_and(|found| found == wanted) && program.is_file() {
        return Ok(program);
    }
    let mut venv = Spec::new([PYTHON, "-m", "venv", "--clear"]);
    venv.command.push(environment.clone().into());
    process::run(&venv, signals).context("cannot make a virtual environment of Python")?;
    let mut pip = Spec::new([environment.join("bin/python")]);
    let words = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--requirement",
    ];
    pip.command.extend(words.map(Into::into));
    pip.command.push(requirements.into());
    process::run(&pip, signals).context("cannot install kopf")?;
    fs::write(&installed, wanted)
        .with_context(|| format!("cannot write {}", installed.display()))?;
    Ok(program)
}

/// Why there is no Python to use.
fn python_unavailable() -> Option<String> {
    let minor = PYTHON_VERSION.trim_start_matches("3.");
    let script = format!("import sys, ensurepip, venv; sys.exit(sys.version_info < (3, {minor}))");
    let status = Command::new(PYTHON)
        .args(["-c", &script])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match status {
        Err(error) => Some(format!("cannot run {PYTHON}: {error}")),
        Ok(status) if !status.success() => Some(format!(
            "{PYTHON} is older than {PYTHON_VERSION}, or has no venv or ensurepip"
        )),
        Ok(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_fails_only_in_ci() {
        assert_eq!(skip("it", "no Go", false).unwrap(), None);
        let error = skip("it", "no Go", true).unwrap_err().to_string();
        assert_eq!(error, "it: no Go; with CI=true this is a failure");
    }

    #[test]
    fn an_installed_environment_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let environment = folder.path().join("kopf");
        fs::create_dir_all(environment.join("bin")).unwrap();
        fs::write(environment.join("bin/kopf"), "").unwrap();
        let requirements = fs::read(sources().join("kopf/requirements.txt")).unwrap();
        fs::write(environment.join("installed"), requirements).unwrap();
        let program = kopf(folder.path(), &Signals::default()).unwrap();
        assert_eq!(program, environment.join("bin/kopf"));
    }

    #[test]
    fn every_requirement_is_pinned() {
        let text = fs::read_to_string(sources().join("kopf/requirements.txt")).unwrap();
        let mut names = text.lines().filter(|line| !line.starts_with('#'));
        assert!(names.all(|line| line.contains("==")), "{text}");
    }
}
