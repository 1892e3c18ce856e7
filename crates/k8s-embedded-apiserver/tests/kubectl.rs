//! The real kubectl against the embedded server over HTTPS and against a real one: the table of `src/kubectl.md`, which
//! the docs of the crate show.
//!
//! What each command prints on a real server is recorded in `tests/kubectl/answers`. The embedded server is compared
//! with the record, and so is the real server, where there is one. With `K8S_CONTROLLER_KUBECTL_RECORD` set, the record
//! is written anew from the real server.

#![cfg(all(unix, feature = "http"))]
#![allow(clippy::unwrap_used, reason = "in a test that is a failure")]

mod front;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use front::{Namespace, Target, mask};

const TABLE: &str = include_str!("../src/kubectl.md");
const RECORD: &str = "K8S_CONTROLLER_KUBECTL_RECORD";

/// How many sections of a server run at a time.
const TOGETHER: usize = 4;
/// What sections leave in no namespace when they fail half-way.
const LEFT: &str = "kubectl delete --ignore-not-found crd/gizmos.kubectl.example.com node/kubectl-node \
    priorityclass/kubectl-high clusterrole/kubectl-reader clusterrole/kubectl-web clusterrolebinding/kubectl-readers";

/// A part of the table.
struct Section {
    name: String,
    rows: Vec<Row>,
}

/// A command of the table.
#[derive(Clone)]
struct Row {
    command: String,
    note: String,
}

impl Row {
    fn in_background(&self) -> bool {
        self.note.starts_with("in the background")
    }

    fn exit_code_only(&self) -> bool {
        self.note.starts_with("exit code only")
    }
}

/// The sections of the table, in its order.
fn sections() -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for line in TABLE.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            sections.push(Section {
                name: name.replace(' ', "-"),
                rows: Vec::new(),
            });
        } else if let (Some(row), Some(section)) = (line.strip_prefix("| `"), sections.last_mut()) {
            let (command, note) = row.rsplit_once("` |").unwrap();
            section.rows.push(Row {
                command: command.replace("\\|", "|"),
                note: note.trim_end_matches('|').trim().to_owned(),
            });
        }
    }
    sections
}

#[test]
fn the_table_is_read() {
    let sections = sections();
    assert!(sections.len() > 9);
    let rows: Vec<&Row> = sections.iter().flat_map(|section| &section.rows).collect();
    assert_eq!(rows.len(), TABLE.matches("\n| `").count());
    for command in [
        "get",
        "describe",
        "create",
        "apply",
        "diff",
        "edit",
        "patch",
        "replace",
        "delete",
        "label",
        "annotate",
        "scale",
        "rollout",
        "wait",
        "events",
        "explain",
        "api-resources",
        "api-versions",
        "auth can-i",
        "auth whoami",
        "create token",
        "version",
        "config",
        "cluster-info",
        "get --raw",
        "set image",
        "expose",
        "autoscale",
        "taint",
        "cordon",
    ] {
        let words = format!("kubectl {command}");
        assert!(
            rows.iter().any(|row| row.command.contains(&words)),
            "{words}"
        );
    }
    // Every row has an answer, so that none is compared with nothing.
    for section in &sections {
        let answers = recorded(section);
        let commands: Vec<_> = section.rows.iter().map(|row| row.command.clone()).collect();
        let found: Vec<_> = answers.into_iter().map(|(command, _)| command).collect();
        assert_eq!(found, commands, "{}", path_of(section).display());
    }
}

#[test]
fn every_command_answers_as_on_a_real_server() {
    let targets = front::targets();
    let recording = std::env::var_os(RECORD).is_some();
    let sections = sections();
    let only = std::env::var("K8S_CONTROLLER_KUBECTL_SECTION").unwrap_or_default();
    let chosen: Vec<&Section> = sections
        .iter()
        .filter(|section| section.name.contains(&only))
        .collect();
    let mut report = String::new();
    for target in &targets {
        if recording && target.name != "real" {
            continue;
        }
        target.run("default", LEFT);
        for group in chosen.chunks(TOGETHER) {
            let answers: Vec<_> = std::thread::scope(|scope| {
                let running: Vec<_> = group
                    .iter()
                    .map(|section| scope.spawn(|| run(target, section)))
                    .collect();
                running
                    .into_iter()
                    .map(|answers| {
                        answers
                            .join()
                            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                    })
                    .collect()
            });
            for (section, answers) in group.iter().zip(answers) {
                if recording {
                    write(section, &answers);
                } else {
                    compare(target, section, &answers, &mut report);
                }
            }
        }
        target.run("default", LEFT);
    }
    let count = report.matches("\n--- ").count();
    assert!(report.is_empty(), "{count} commands differ:\n{report}");
}

/// The answers of a section, each command after the other.
fn run(target: &Target, section: &Section) -> Vec<String> {
    let mut answers = Vec::new();
    let mut background = Vec::new();
    let namespace = target.namespace(&format!("kubectl-{}", section.name));
    for row in &section.rows {
        if row.in_background() {
            background.push((answers.len(), Background::start(&namespace, target, row)));
            answers.push(String::new());
        } else {
            answers.push(answer(target, &namespace, row));
        }
    }
    for (at, background) in background {
        answers[at] = mask::masked(&background.end(), &namespace.name);
    }
    answers
}

fn command(target: &Target, namespace: &Namespace<'_>, row: &Row) -> std::process::Command {
    let mut command = target.shell(&namespace.name, &row.command);
    command
        .current_dir(files())
        .env("NAMESPACE", &namespace.name)
        .stdin(Stdio::null());
    command
}

fn answer(target: &Target, namespace: &Namespace<'_>, row: &Row) -> String {
    let output = command(target, namespace, row).output().unwrap();
    let code = output.status.code().unwrap_or(-1);
    let mut text = format!("exit code {code}\n");
    if !row.exit_code_only() {
        text.push_str(&front::text(&output));
    }
    mask::masked(&text, &namespace.name)
}

/// A command that goes on while others run.
struct Background {
    child: Child,
    output: tempfile::NamedTempFile,
}

impl Background {
    fn start(namespace: &Namespace<'_>, target: &Target, row: &Row) -> Self {
        let output = tempfile::NamedTempFile::new().unwrap();
        let mut row = row.clone();
        // So that kubectl itself is the process that is killed.
        row.command.insert_str(0, "exec ");
        let child = command(target, namespace, &row)
            .stdout(output.reopen().unwrap())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Its watch is open before something happens.
        std::thread::sleep(Duration::from_secs(2));
        Self { child, output }
    }

    /// What it has printed once nothing more comes.
    fn end(mut self) -> String {
        let deadline = Instant::now() + Duration::from_secs(10);
        let mut text = String::new();
        loop {
            let before = text.len();
            text.clear();
            self.output
                .reopen()
                .unwrap()
                .read_to_string(&mut text)
                .unwrap();
            if text.len() == before || Instant::now() > deadline {
                break;
            }
            std::thread::sleep(Duration::from_secs(1));
        }
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        text
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn files() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kubectl")
}

fn path_of(section: &Section) -> PathBuf {
    files().join(format!("answers/{}.txt", section.name))
}

/// No namespace: those of a record are masked already.
const NOWHERE: &str = "\u{0}";

/// Before each command of a record; no answer has it.
const PROMPT: &str = "$ ";

fn write(section: &Section, answers: &[String]) {
    let mut text = String::new();
    for (row, answer) in section.rows.iter().zip(answers) {
        let _ = write!(text, "{PROMPT}{}\n{}\n\n", row.command, answer.trim_end());
    }
    std::fs::create_dir_all(path_of(section).parent().unwrap()).unwrap();
    std::fs::write(path_of(section), text).unwrap();
}

/// The commands of a section and their answers.
fn recorded(section: &Section) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(path_of(section)).unwrap_or_default();
    let text = format!("\n{text}");
    text.split(&format!("\n{PROMPT}"))
        .skip(1)
        .map(|part| {
            let (command, answer) = part.split_once('\n').unwrap_or((part, ""));
            (command.to_owned(), answer.trim_end().to_owned())
        })
        .collect()
}

fn compare(target: &Target, section: &Section, answers: &[String], report: &mut String) {
    let recorded = recorded(section);
    let known: BTreeMap<usize, &str> = recorded
        .iter()
        .enumerate()
        .map(|(at, (_, answer))| (at, answer.as_str()))
        .collect();
    for (at, (row, answer)) in section.rows.iter().zip(answers).enumerate() {
        let wanted = known.get(&at).copied().unwrap_or("no record");
        let wanted = &mask::masked(wanted, NOWHERE);
        if wanted != answer.trim_end() {
            let _ = write!(
                report,
                "\n--- {} {}: {}\n{}",
                target.name,
                section.name,
                row.command,
                difference(wanted, answer.trim_end())
            );
        }
    }
}

/// The lines that differ: those of the record, those that were found.
fn difference(wanted: &str, found: &str) -> String {
    let (wanted, found): (Vec<_>, Vec<_>) = (wanted.lines().collect(), found.lines().collect());
    let same = wanted
        .iter()
        .zip(&found)
        .take_while(|(a, b)| a == b)
        .count();
    let rest = wanted.len().min(found.len()) - same;
    let (end_of_wanted, end_of_found) = (wanted[same..].iter().rev(), found[same..].iter().rev());
    let tail = end_of_wanted
        .zip(end_of_found)
        .take(rest)
        .take_while(|(a, b)| a == b)
        .count();
    let mut text = String::new();
    for line in &wanted[same..wanted.len() - tail] {
        let _ = writeln!(text, "  real  {line}");
    }
    for line in &found[same..found.len() - tail] {
        let _ = writeln!(text, "  found {line}");
    }
    text
}
