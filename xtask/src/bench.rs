//! `cargo xtask bench`: the benchmarks.

use std::ffi::OsString;

use anyhow::{Context, Result, ensure};

use crate::{
    flags,
    process::{self, Spec},
    signals::Signals,
    workspace::{self, Metadata},
};

const PACKAGE: &str = "k8s-controller-bench";

pub(crate) fn run(flags: &flags::Bench) -> Result<()> {
    let metadata = Metadata::load()?;
    let member = metadata
        .members
        .iter()
        .find(|member| member.name == PACKAGE)
        .with_context(|| format!("no package {PACKAGE} in the workspace"))?;
    ensure!(!member.benches.is_empty(), "{PACKAGE} has no benchmark");
    let mut spec = Spec::new(command(&member.benches, flags.quick, &flags.args));
    spec.folder = Some(workspace::root().into());
    process::run(&spec, &Signals::catch()?)
}

fn command(benches: &[String], quick: bool, args: &[OsString]) -> Vec<OsString> {
    let mut command = vec![
        workspace::cargo(),
        "bench".into(),
        "--package".into(),
        PACKAGE.into(),
    ];
    // By name: the unit tests of a library know no --quick.
    for bench in benches {
        command.extend(["--bench".into(), bench.into()]);
    }
    command.push("--".into());
    if quick {
        command.push("--quick".into());
    }
    command.extend(args.iter().cloned());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_goes_to_each_benchmark_by_name() {
        let words = command(
            &["events".into(), "passes".into()],
            true,
            &["publish".into()],
        );
        let words: Vec<_> = words[1..]
            .iter()
            .map(|word| word.to_string_lossy())
            .collect();
        assert_eq!(
            words.join(" "),
            "bench --package k8s-controller-bench --bench events --bench passes -- --quick publish"
        );
    }
}
