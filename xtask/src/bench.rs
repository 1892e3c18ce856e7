//! `cargo xtask bench`: the benchmarks.

use std::ffi::OsString;

use anyhow::{Result, ensure};

use crate::{
    flags,
    process::{self, Spec},
    signals::Signals,
    workspace::{self, Metadata},
};

pub(crate) fn run(flags: &flags::Bench) -> Result<()> {
    let metadata = Metadata::load()?;
    let mut packages: Vec<_> = metadata
        .members
        .iter()
        .filter(|member| !member.benches.is_empty())
        .collect();
    packages.sort_by(|left, right| left.name.cmp(&right.name));
    ensure!(!packages.is_empty(), "no package has a benchmark");
    let signals = Signals::catch()?;
    for member in packages {
        let words = command(&member.name, &member.benches, flags.quick, &flags.args);
        let mut spec = Spec::new(words);
        spec.folder = Some(workspace::root().into());
        process::run(&spec, &signals)?;
    }
    Ok(())
}

fn command(package: &str, benches: &[String], quick: bool, args: &[OsString]) -> Vec<OsString> {
    let mut command = vec![
        workspace::cargo(),
        "bench".into(),
        "--package".into(),
        package.into(),
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
            "k8s-controller-bench",
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
