//! The steps, in the order in which they run: quick ones first.

use std::ffi::OsString;

use anyhow::{Result, bail};

use super::{Ci, tools};
use crate::{
    control_plane, e2e, fuzz,
    process::{self, Spec},
    promtool::{self, PROMTOOL},
    rules,
    workspace::{self, Member},
};

/// One step.
pub(super) struct Step {
    pub name: &'static str,
    pub about: &'static str,
    pub run: fn(&Ci) -> Result<Done>,
}

/// A step that did not fail.
pub(super) enum Done {
    Passed,
    /// Something that it needs is not there.
    Skipped(String),
}

/// How many seeds the simulation of leader election tries.
const SEEDS: &str = "K8S_CONTROLLER_SEEDS";

/// The step that needs the control plane.
pub(super) const E2E: &str = "e2e";

pub(super) const STEPS: [Step; 10] = [
    Step {
        name: "format",
        about: "sources are formatted",
        run: format,
    },
    Step {
        name: "rules",
        about: "rules of the repository",
        run: rules,
    },
    Step {
        name: "clippy",
        about: "no lint fires",
        run: clippy,
    },
    Step {
        name: "test",
        about: "all tests, with all features",
        run: test,
    },
    Step {
        name: "example",
        about: "the website example shows what it should",
        run: example,
    },
    Step {
        name: "alone",
        about: "each published crate is tested and checked alone",
        run: alone,
    },
    Step {
        name: "doc",
        about: "documentation builds without a warning",
        run: doc,
    },
    Step {
        name: "deny",
        about: "licenses, sources and bans of dependencies",
        run: deny,
    },
    Step {
        name: "fuzz",
        about: "mutated requests to embedded servers",
        run: fuzz,
    },
    Step {
        name: E2E,
        about: "end-to-end tests on a real control plane",
        run: real,
    },
];

fn format(ci: &Ci) -> Result<Done> {
    cargo(ci, &["fmt", "--all", "--check"])
}

fn rules(ci: &Ci) -> Result<Done> {
    rules::check(&ci.metadata)?;
    Ok(Done::Passed)
}

fn clippy(ci: &Ci) -> Result<Done> {
    let warnings = ["--", "--deny", "warnings"];
    cargo(
        ci,
        &[
            &["clippy", "--workspace", "--all-targets", "--all-features"],
            &warnings[..],
        ]
        .concat(),
    )
}

fn test(ci: &Ci) -> Result<Done> {
    let mut spec = cargo_spec(&["test", "--workspace", "--all-features"]);
    let promtool = promtool::find_or_get(&ci.metadata.target, ci.strict, &ci.signals)?;
    spec.env.push((PROMTOOL, promtool.map(Into::into)));
    process::run(&spec, &ci.signals)?;
    Ok(Done::Passed)
}

fn example(ci: &Ci) -> Result<Done> {
    // Built as `test` builds it, so nothing is compiled twice.
    cargo(
        ci,
        &[
            "build",
            "--workspace",
            "--all-features",
            "--example",
            "website",
        ],
    )?;
    run(ci, [ci.metadata.target.join("debug/examples/website")])
}

fn alone(ci: &Ci) -> Result<Done> {
    for member in ci
        .metadata
        .members
        .iter()
        .filter(|member| member.is_published())
    {
        let mut spec = cargo_spec(&["test", "--package", &member.name]);
        // All seeds were tried by `test`.
        spec.env.push((SEEDS, Some("1000".into())));
        process::run(&spec, &ci.signals)?;
        for features in feature_sets(member) {
            cargo(ci, &check_command(&member.name, &features.join(",")))?;
        }
    }
    Ok(Done::Passed)
}

/// Like `cargo check`; denies the warnings of this crate, without a build of its own of the others.
fn check_command<'a>(package: &'a str, features: &'a str) -> Vec<&'a str> {
    let mut words = vec!["rustc", "--profile=check", "--lib", "--package", package];
    words.push("--no-default-features");
    if !features.is_empty() {
        words.extend(["--features", features]);
    }
    words.extend(["--", "--deny", "warnings"]);
    words
}

/// No feature, each alone, all; nothing where there are none, for the tests built that already.
fn feature_sets(member: &Member) -> Vec<Vec<&str>> {
    let features: Vec<_> = member
        .features
        .iter()
        .map(String::as_str)
        .filter(|&feature| feature != "default")
        .collect();
    if features.is_empty() {
        return Vec::new();
    }
    let mut sets = vec![vec![]];
    sets.extend(features.iter().map(|&feature| vec![feature]));
    if features.len() > 1 {
        sets.push(features);
    }
    sets
}

fn doc(ci: &Ci) -> Result<Done> {
    let mut spec = cargo_spec(&["doc", "--workspace", "--no-deps", "--all-features"]);
    spec.env
        .push(("RUSTDOCFLAGS", Some("--deny warnings".into())));
    process::run(&spec, &ci.signals)?;
    Ok(Done::Passed)
}

fn deny(ci: &Ci) -> Result<Done> {
    let tool = tools::DENY.installed(&ci.metadata.target, &ci.signals)?;
    let words = [
        "--all-features",
        "--locked",
        "check",
        "bans",
        "licenses",
        "sources",
    ];
    let command = [tool.into_os_string()]
        .into_iter()
        .chain(words.map(OsString::from));
    run(ci, command)
}

fn fuzz(ci: &Ci) -> Result<Done> {
    fuzz::run_in_ci(&ci.signals)?;
    Ok(Done::Passed)
}

fn real(ci: &Ci) -> Result<Done> {
    if let Some(why) = control_plane::unavailable() {
        let why = format!("no real control plane: {why}");
        if ci.strict {
            bail!("{why}; with CI=true this is a failure");
        }
        eprintln!("xtask: SKIPPED, NOTHING WAS TESTED ON A REAL SERVER: {why}");
        return Ok(Done::Skipped(why));
    }
    ci.early.finish(&ci.signals)?;
    e2e::run_on_new(&ci.signals)?;
    Ok(Done::Passed)
}

fn cargo(ci: &Ci, words: &[&str]) -> Result<Done> {
    process::run(&cargo_spec(words), &ci.signals)?;
    Ok(Done::Passed)
}

fn cargo_spec(words: &[&str]) -> Spec {
    let words = words.iter().map(OsString::from);
    spec([workspace::cargo()].into_iter().chain(words))
}

fn run<I>(ci: &Ci, command: I) -> Result<Done>
where
    I: IntoIterator,
    I::Item: Into<OsString>,
{
    process::run(&spec(command), &ci.signals)?;
    Ok(Done::Passed)
}

fn spec<I>(command: I) -> Spec
where
    I: IntoIterator,
    I::Item: Into<OsString>,
{
    let mut spec = Spec::new(command);
    spec.folder = Some(workspace::root().into());
    // A caller's cluster is for `cargo xtask e2e`.
    spec.env = e2e::VARIABLES.map(|name| (name, None)).into();
    spec
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(features: &[&str]) -> Member {
        Member {
            name: "a".into(),
            folder: "crates/a".into(),
            features: features.iter().map(|&feature| feature.into()).collect(),
            ours: Vec::new(),
            benches: Vec::new(),
        }
    }

    #[test]
    fn each_feature_is_checked_alone() {
        assert!(feature_sets(&member(&[])).is_empty());
        assert!(feature_sets(&member(&["default"])).is_empty());
        assert_eq!(feature_sets(&member(&["a"])), [vec![], vec!["a"]]);
        let member = member(&["a", "b", "default"]);
        let sets = feature_sets(&member);
        assert_eq!(sets, [vec![], vec!["a"], vec!["b"], vec!["a", "b"]]);
    }

    #[test]
    fn a_check_names_its_features() {
        assert_eq!(
            check_command("a", "x,y").join(" "),
            "rustc --profile=check --lib --package a --no-default-features --features x,y -- --deny warnings"
        );
        let none = check_command("a", "").join(" ");
        assert!(
            none.ends_with("--no-default-features -- --deny warnings"),
            "{none}"
        );
    }

    #[test]
    fn names_differ() {
        let mut names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), STEPS.len());
    }
}
