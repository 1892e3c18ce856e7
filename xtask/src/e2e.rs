//! `cargo xtask e2e`: the end-to-end tests on a real control plane.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    thread,
    time::Instant,
};

use anyhow::{Context, Result, ensure};

use crate::{
    control_plane::{self, Folder},
    flags,
    process::{self, POLL, Spec},
    server::ControlPlane,
    signals::{Interrupted, Signals},
    workspace,
};

/// Tells the tests of a real server, by the path of a kubeconfig.
pub(crate) const KUBECONFIG: &str = "K8S_CONTROLLER_E2E_KUBECONFIG";

/// The packages whose features the build of the tests has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Build {
    /// Only the test package: builds least.
    Alone,
    /// All, with all features: shares its build with `cargo test --workspace --all-features`.
    Workspace,
}

pub(crate) fn run(flags: &flags::E2e) -> Result<()> {
    let signals = Signals::catch()?;
    if let Some(kubeconfig) = existing(flags, std::env::var_os("KUBECONFIG"))? {
        ensure!(
            !flags.keep,
            "--keep is for the control plane that this command starts"
        );
        let spec = spec(Build::Alone, &kubeconfig, &flags.args);
        return process::run_while(&spec, || Ok(signals.check()?));
    }
    let programs = control_plane::find_or_build(&signals)?;
    let mut control_plane = start(&programs, &signals)?;
    let kubeconfig = control_plane.kubeconfig();
    let spec = spec(Build::Alone, &kubeconfig, &flags.args);
    let result = process::run_while(&spec, || control_plane.check(&signals));
    if flags.keep {
        control_plane.check(&signals)?;
        if let Err(error) = &result {
            eprintln!("xtask: {error:#}");
        }
        tell_how_to_use(&kubeconfig, &programs);
        keep(&mut control_plane, &signals)?;
    }
    result
}

/// Starts a control plane, runs the tests on it and those with kubectl, ends it.
pub(crate) fn run_on_new(build: Build, signals: &Signals) -> Result<()> {
    let programs = control_plane::find_or_build(signals)?;
    let mut control_plane = start(&programs, signals)?;
    let mut spec = spec(build, &control_plane.kubeconfig(), &[]);
    // For the tests of the embedded server with kubectl.
    let folder = programs.path().as_os_str().to_owned();
    spec.env.push((control_plane::ASSETS, Some(folder)));
    process::run_while(&spec, || control_plane.check(signals))
}

/// Waits for a signal, which is how a kept control plane ends, or for the end of a program.
fn keep(control_plane: &mut ControlPlane, signals: &Signals) -> Result<()> {
    loop {
        if let Err(error) = control_plane.check(signals) {
            return error.downcast::<Interrupted>().map(drop);
        }
        thread::sleep(POLL);
    }
}

fn start(programs: &Folder, signals: &Signals) -> Result<ControlPlane> {
    let start = Instant::now();
    let control_plane = ControlPlane::start(programs, signals)?;
    eprintln!(
        "Control plane ready at {} after {:.1} s.",
        control_plane.address(),
        start.elapsed().as_secs_f64()
    );
    Ok(control_plane)
}

/// The kubeconfig of the cluster that was asked for instead of a new one.
fn existing(flags: &flags::E2e, variable: Option<OsString>) -> Result<Option<PathBuf>> {
    let path = match (&flags.kubeconfig, flags.use_kubeconfig) {
        (Some(_), true) => anyhow::bail!("--kubeconfig and --use-kubeconfig exclude each other"),
        (Some(path), false) => path.clone(),
        (None, true) => variable
            .filter(|value| !value.is_empty())
            .context("--use-kubeconfig: the variable KUBECONFIG is not set")?
            .into(),
        (None, false) => return Ok(None),
    };
    // The tests run in another folder.
    let path = path
        .canonicalize()
        .with_context(|| format!("kubeconfig {}", path.display()))?;
    ensure!(path.is_file(), "kubeconfig {}: not a file", path.display());
    Ok(Some(path))
}

fn spec(build: Build, kubeconfig: &Path, args: &[OsString]) -> Spec {
    let mut spec = Spec::new(command(build, args));
    spec.folder = Some(workspace::root().into());
    spec.env = vec![(KUBECONFIG, Some(kubeconfig.into()))];
    spec
}

fn command(build: Build, args: &[OsString]) -> Vec<OsString> {
    let words: &[&str] = match build {
        Build::Alone => &["--package", "k8s-controller-tests", "--test", "e2e"],
        Build::Workspace => &[
            "--workspace",
            "--all-features",
            "--test",
            "e2e",
            "--test",
            "kubectl",
        ],
    };
    let mut command = vec![workspace::cargo(), "test".into()];
    command.extend(words.iter().map(OsString::from));
    if !args.is_empty() {
        command.push("--".into());
        command.extend(args.iter().cloned());
    }
    command
}

fn tell_how_to_use(kubeconfig: &Path, programs: &Folder) {
    eprintln!(
        "\nThe control plane stays up until Ctrl-C.\n  kubeconfig: {}\n  try:        {} --kubeconfig {} get events -A",
        kubeconfig.display(),
        programs.program("kubectl").display(),
        kubeconfig.display()
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags() -> flags::E2e {
        flags::E2e {
            keep: false,
            kubeconfig: None,
            use_kubeconfig: false,
            args: Vec::new(),
        }
    }

    #[test]
    fn an_existing_cluster_is_used_only_when_asked_for() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path: OsString = file.path().into();
        assert_eq!(existing(&flags(), Some(path.clone())).unwrap(), None);

        let by_variable = flags::E2e {
            use_kubeconfig: true,
            ..flags()
        };
        let found = existing(&by_variable, Some(path)).unwrap();
        assert_eq!(found, Some(file.path().canonicalize().unwrap()));

        let by_path = flags::E2e {
            kubeconfig: Some(file.path().into()),
            ..flags()
        };
        assert_eq!(existing(&by_path, None).unwrap(), found);
    }

    #[test]
    fn wrong_kubeconfigs_are_refused() {
        let error = |flags: &flags::E2e, variable: Option<&str>| {
            format!(
                "{:#}",
                existing(flags, variable.map(OsString::from)).unwrap_err()
            )
        };
        let by_variable = flags::E2e {
            use_kubeconfig: true,
            ..flags()
        };
        assert!(error(&by_variable, None).contains("KUBECONFIG is not set"));
        assert!(error(&by_variable, Some("")).contains("KUBECONFIG is not set"));
        assert!(error(&by_variable, Some("/no/file")).starts_with("kubeconfig /no/file: "));
        let both = flags::E2e {
            kubeconfig: Some("x".into()),
            use_kubeconfig: true,
            ..flags()
        };
        assert!(error(&both, None).contains("exclude each other"));
        let folder = flags::E2e {
            kubeconfig: Some("/".into()),
            ..flags()
        };
        assert!(error(&folder, None).ends_with("not a file"));
    }

    #[test]
    fn arguments_reach_the_test_program() {
        let words = command(Build::Alone, &["panic".into(), "--nocapture".into()]);
        let words: Vec<_> = words[1..]
            .iter()
            .map(|word| word.to_string_lossy())
            .collect();
        assert_eq!(
            words.join(" "),
            "test --package k8s-controller-tests --test e2e -- panic --nocapture"
        );
    }
}
