//! `cargo xtask schemas`: the built-in types that the embedded server knows, from a real server.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    control_plane, e2e, flags,
    process::{self, Spec},
    server::ControlPlane,
    signals::Signals,
    workspace::{self, Metadata},
};

/// What is checked in, below the workspace.
const FILE: &str = "crates/k8s-api-schema/src/builtin.txt";

pub(crate) fn run(flags: &flags::Schemas) -> Result<()> {
    let signals = Signals::catch()?;
    let folder = control_plane::find_or_build(&signals)?;
    let control_plane = ControlPlane::start(&folder, &signals)?;
    let text = generate(&control_plane.kubeconfig(), &signals)?;
    if flags.check {
        return compare(&text);
    }
    fs::write(file(), text).with_context(|| format!("cannot write {FILE}"))
}

/// Checks that a running server publishes what is checked in; skipped, and said so, without Go.
///
/// # Errors
///
/// If they differ; and without Go on a CI service.
pub(crate) fn check(control_plane: &ControlPlane, signals: &Signals) -> Result<()> {
    if let Some(why) = control_plane::go_unavailable() {
        ensure!(!e2e::is_ci(), "the schemas of {FILE} need Go: {why}");
        eprintln!("xtask: SKIPPED, THE CHECK OF {FILE}: {why}");
        return Ok(());
    }
    compare(&generate(&control_plane.kubeconfig(), signals)?)
}

fn file() -> PathBuf {
    workspace::root().join(FILE)
}

fn generate(kubeconfig: &Path, signals: &Signals) -> Result<String> {
    let folder = Metadata::load()?.target.join("tools");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let out = folder.join(format!("schemas-{}.txt", std::process::id()));
    let mut spec = Spec::new(["sh", "-c"]);
    let script = r#"exec go run -mod=readonly ./schemas -kubeconfig "$1" >"$2""#;
    spec.command.extend([script.into(), "go".into()]);
    spec.command.extend([kubeconfig.into(), (&out).into()]);
    spec.folder = Some(control_plane::module());
    spec.env = vec![
        ("CGO_ENABLED", Some("0".into())),
        ("GOWORK", Some("off".into())),
    ];
    let text = process::run(&spec, signals).and_then(|()| {
        fs::read_to_string(&out).with_context(|| format!("cannot read {}", out.display()))
    });
    let _ = fs::remove_file(&out);
    text
}

fn compare(text: &str) -> Result<()> {
    let checked_in = fs::read_to_string(file()).with_context(|| format!("cannot read {FILE}"))?;
    let Some(difference) = difference(&checked_in, text) else {
        return Ok(());
    };
    bail!("{FILE} is not what the server publishes: {difference}; `cargo xtask schemas` writes it")
}

/// The first line that differs.
fn difference(checked_in: &str, published: &str) -> Option<String> {
    if checked_in == published {
        return None;
    }
    let (mut left, mut right) = (checked_in.lines(), published.lines());
    for number in 1.. {
        match (left.next(), right.next()) {
            (None, None) => break,
            (left, right) if left == right => {}
            (left, right) => {
                let text = |line: Option<&str>| line.map_or("nothing".into(), |l| format!("{l:?}"));
                return Some(format!(
                    "line {number} is {}, the server has {}",
                    text(left),
                    text(right)
                ));
            }
        }
    }
    Some("the ends of lines differ".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_told() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(
            difference("a\nb\n", "a\nc\n").as_deref(),
            Some("line 2 is \"b\", the server has \"c\"")
        );
        assert_eq!(
            difference("a\n", "a\nc\n").as_deref(),
            Some("line 2 is nothing, the server has \"c\"")
        );
        assert_eq!(
            difference("a", "a\n").as_deref(),
            Some("the ends of lines differ")
        );
    }
}
