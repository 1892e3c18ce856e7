//! `cargo xtask e2e`: the end-to-end tests on a real control plane.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    thread,
    time::Instant,
};

use anyhow::{Context, Result, ensure};

use crate::{
    clients::{self, Clients},
    control_plane::{self, ASSETS, Folder},
    flags,
    process::{self, POLL, Spec},
    promtool::{self, PROMTOOL},
    schemas,
    server::ControlPlane,
    signals::{Interrupted, Signals},
    workspace::{self, Metadata},
};

/// Tells the tests of a real server, by the path of a kubeconfig.
pub(crate) const KUBECONFIG: &str = "K8S_CONTROLLER_E2E_KUBECONFIG";
/// Names the audit log of the server.
const AUDIT_LOG: &str = "K8S_CONTROLLER_E2E_AUDIT_LOG";
/// Names the file that holds the process id of kube-apiserver, which the tests may kill.
const APISERVER_PID: &str = "K8S_CONTROLLER_E2E_APISERVER_PID";
/// Names the website example, built.
const WEBSITE: &str = "K8S_CONTROLLER_E2E_WEBSITE";

/// All that tests on a real server are told by; not to be inherited by other tests.
pub(crate) const VARIABLES: [&str; 6] = [
    KUBECONFIG,
    AUDIT_LOG,
    APISERVER_PID,
    WEBSITE,
    clients::MANAGER,
    clients::KOPF,
];

/// The test programs, in the order in which they run.
const PROGRAMS: [&str; 5] = [E2E, SERVER, KUBECTL, CLIENTS, PROCESSES];
/// The scenarios.
const E2E: &str = "e2e";
/// What was asked of a real server once, asked of both: the files of [`ON_BOTH`].
const SERVER: &str = "server";
/// Test files of the embedded server that ask a real server, too.
const ON_BOTH: [&str; 13] = [
    "access",
    "background",
    "both",
    "definitions",
    "delete_options",
    "forms",
    "hostile",
    "kinds",
    "lists",
    "managed_fields",
    "manifests",
    "rules",
    "workloads",
];
/// The table of commands of kubectl, on the embedded server and on the real one.
const KUBECTL: &str = "kubectl";
/// Operators of other libraries, on both.
const CLIENTS: &str = "clients";
/// The tests that run the website example as processes.
const PROCESSES: &str = "processes";

/// The packages whose features the build of e2e has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Build {
    /// Only the test package: builds least.
    Alone,
    /// All, with all features, as processes and the website example have it: shares its build with
    /// `cargo test --workspace --all-features`.
    Workspace,
}

pub(crate) fn run(flags: &flags::E2e) -> Result<()> {
    let programs = select(flags.test.as_deref())?;
    let signals = Signals::catch()?;
    if let Some(kubeconfig) = existing(flags, std::env::var_os("KUBECONFIG"))? {
        return on_existing(flags, &kubeconfig, &signals);
    }
    let mut tests = Tests::new(Build::Alone, &signals)?;
    tests.args.clone_from(&flags.args);
    let result = tests.run(&programs);
    if flags.keep {
        tests.control_plane.check(&signals)?;
        if let Err(error) = &result {
            eprintln!("xtask: {error:#}");
        }
        tests.tell_how_to_use();
        keep(&mut tests.control_plane, &signals)?;
    }
    result
}

/// Starts a control plane, runs the tests on it and those with kubectl, ends it.
pub(crate) fn run_on_new(signals: &Signals) -> Result<()> {
    let mut tests = Tests::new(Build::Workspace, signals)?;
    schemas::check(&tests.control_plane, signals)?;
    tests.run(&PROGRAMS)
}

/// Runs the tests that need no more than a server.
fn on_existing(flags: &flags::E2e, kubeconfig: &Path, signals: &Signals) -> Result<()> {
    ensure!(
        !flags.keep,
        "--keep is for the control plane that this command starts"
    );
    let program = flags.test.as_deref().unwrap_or(E2E);
    ensure!(
        program == E2E,
        "--test {program} needs the control plane that this command starts"
    );
    let mut spec = spec(test_command(Build::Alone, E2E, &flags.args));
    spec.env = vec![(KUBECONFIG, Some(kubeconfig.into()))];
    process::run_while(&spec, || Ok(signals.check()?))
}

/// The programs to run: the named one, or all.
fn select(name: Option<&str>) -> Result<Vec<&'static str>> {
    let Some(name) = name else {
        return Ok(PROGRAMS.into());
    };
    let program = PROGRAMS.into_iter().find(|program| *program == name);
    let program = program.with_context(|| {
        format!(
            "--test: no program {name}; there are {}",
            PROGRAMS.join(", ")
        )
    })?;
    Ok(vec![program])
}

/// A control plane of our own, and the tests to run on it.
struct Tests<'a> {
    build: Build,
    args: Vec<OsString>,
    folder: Folder,
    control_plane: ControlPlane,
    target: PathBuf,
    promtool: Option<PathBuf>,
    signals: &'a Signals,
}

impl<'a> Tests<'a> {
    /// Starts the control plane.
    fn new(build: Build, signals: &'a Signals) -> Result<Self> {
        let target = Metadata::load()?.target;
        let promtool = promtool::find_or_get(&target, is_ci(), signals)?;
        let folder = control_plane::find_or_build(signals)?;
        Ok(Self {
            build,
            args: Vec::new(),
            control_plane: start(&folder, signals)?,
            folder,
            target,
            promtool,
            signals,
        })
    }

    fn run(&mut self, programs: &[&str]) -> Result<()> {
        for program in programs {
            let mut tests = spec(test_command(self.build, program, &self.args));
            tests.env = self.env();
            if *program == CLIENTS {
                let clients = Clients::get(&self.target, is_ci(), self.signals)?;
                tests.env.extend(clients.env());
            }
            if *program == PROCESSES {
                let example = spec(example_command());
                process::run_while(&example, || self.control_plane.check(self.signals))?;
                process::run_while(&tests, || self.control_plane.supervise(self.signals))?;
            } else {
                process::run_while(&tests, || self.control_plane.check(self.signals))?;
            }
        }
        Ok(())
    }

    /// What the tests are told.
    fn env(&self) -> Vec<(&'static str, Option<OsString>)> {
        let path = |path: PathBuf| Some(path.into_os_string());
        let mut env = vec![
            (KUBECONFIG, path(self.control_plane.kubeconfig())),
            (AUDIT_LOG, path(self.control_plane.audit_log())),
            (APISERVER_PID, path(self.control_plane.apiserver_pid())),
            (WEBSITE, path(self.target.join("debug/examples/website"))),
            (ASSETS, path(self.folder.path().into())),
        ];
        if let Some(promtool) = &self.promtool {
            env.push((PROMTOOL, path(promtool.clone())));
        }
        env
    }

    fn tell_how_to_use(&self) {
        let kubeconfig = self.control_plane.kubeconfig();
        let kubeconfig = kubeconfig.display();
        eprintln!(
            "\nThe control plane stays up until Ctrl-C.\n  kubeconfig: {kubeconfig}\n  audit log:  {}\n  try:        {} --kubeconfig {kubeconfig} get events -A",
            self.control_plane.audit_log().display(),
            self.folder.program("kubectl").display(),
        );
    }
}

/// Whether this is a CI service, where nothing may be skipped.
pub(crate) fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| value == "true")
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

fn spec(command: Vec<OsString>) -> Spec {
    let mut spec = Spec::new(command);
    spec.folder = Some(workspace::root().into());
    spec
}

fn test_command(build: Build, program: &str, args: &[OsString]) -> Vec<OsString> {
    let mut command = cargo("test");
    command.extend(words(match (build, program) {
        (Build::Alone, E2E) => "--package k8s-controller-tests",
        (Build::Alone, SERVER | KUBECTL | CLIENTS) => "--package k8s-embedded-apiserver",
        _ => "--workspace --all-features",
    }));
    let files: &[&str] = if program == SERVER {
        &ON_BOTH
    } else {
        &[program]
    };
    for file in files {
        command.extend(["--test".into(), (*file).into()]);
    }
    if !args.is_empty() {
        command.push("--".into());
        command.extend(args.iter().cloned());
    }
    command
}

fn example_command() -> Vec<OsString> {
    let mut command = cargo("build");
    command.extend(words("--workspace --all-features --example website"));
    command
}

fn cargo(command: &str) -> Vec<OsString> {
    vec![workspace::cargo(), command.into()]
}

fn words(text: &str) -> Vec<OsString> {
    text.split(' ').map(Into::into).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags() -> flags::E2e {
        flags::E2e {
            keep: false,
            kubeconfig: None,
            use_kubeconfig: false,
            test: None,
            args: Vec::new(),
        }
    }

    #[test]
    fn every_file_that_asks_a_real_server_is_named() {
        let folder = workspace::root().join("crates/k8s-embedded-apiserver/tests");
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_test = path.extension().is_some_and(|extension| extension == "rs");
            if is_test
                && std::fs::read_to_string(&path)
                    .unwrap()
                    .contains("servers()")
            {
                found.push(path.file_stem().unwrap().to_string_lossy().into_owned());
            }
        }
        found.push("background".into()); // It names them otherwise.
        found.sort();
        assert_eq!(found, ON_BOTH);
    }

    #[test]
    fn all_files_that_ask_both_servers_are_run() {
        let folder = workspace::root().join("crates/k8s-embedded-apiserver/tests");
        let mut asking: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "rs"))
            .filter(|path| std::fs::read_to_string(path).unwrap().contains("both::"))
            .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        asking.sort();
        assert_eq!(asking, ON_BOTH);
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

    fn shown(command: &[OsString]) -> String {
        let words = command[1..].iter().map(|word| word.to_string_lossy());
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn arguments_reach_the_test_program() {
        let args = ["panic".into(), "--nocapture".into()];
        assert_eq!(
            shown(&test_command(Build::Alone, "e2e", &args)),
            "test --package k8s-controller-tests --test e2e -- panic --nocapture"
        );
    }

    #[test]
    fn one_build_serves_ci_and_the_processes() {
        let commands = [
            test_command(Build::Workspace, "e2e", &[]),
            test_command(Build::Workspace, "clients", &[]),
            test_command(Build::Alone, "kubectl", &[]),
            test_command(Build::Workspace, "processes", &[]),
            test_command(Build::Alone, "processes", &[]),
            example_command(),
        ];
        assert_eq!(
            commands.map(|command| shown(&command)),
            [
                "test --workspace --all-features --test e2e",
                "test --workspace --all-features --test clients",
                "test --package k8s-embedded-apiserver --test kubectl",
                "test --workspace --all-features --test processes",
                "test --workspace --all-features --test processes",
                "build --workspace --all-features --example website",
            ]
        );
    }

    #[test]
    fn test_programs_are_selected_by_name() {
        assert_eq!(select(None).unwrap(), PROGRAMS);
        assert_eq!(select(Some("processes")).unwrap(), ["processes"]);
        let error = select(Some("unit")).unwrap_err().to_string();
        assert_eq!(
            error,
            "--test: no program unit; there are e2e, server, kubectl, clients, processes"
        );
    }

    #[test]
    fn an_existing_cluster_gets_no_process_tests() {
        let flags = flags::E2e {
            test: Some("processes".into()),
            ..flags()
        };
        let error = on_existing(&flags, Path::new("x"), &Signals::default()).unwrap_err();
        assert!(
            error.to_string().starts_with("--test processes needs "),
            "{error}"
        );
    }
}
