//! `cargo xtask fuzz`: requests that nobody would send, to embedded servers.

use anyhow::Result;

use crate::{
    flags,
    process::{self, Spec},
    signals::Signals,
    workspace,
};

/// For how long CI does it.
const SECONDS: u64 = 60;

/// Tell the test; it knows the same names.
const SECONDS_VARIABLE: &str = "K8S_CONTROLLER_FUZZ_SECONDS";
const SEED_VARIABLE: &str = "K8S_CONTROLLER_FUZZ_SEED";

const ALONE: &str = "--package k8s-embedded-apiserver";
/// Shares its build with the other tests of CI.
const WORKSPACE: &str = "--workspace --all-features";

pub(crate) fn run(flags: &flags::Fuzz) -> Result<()> {
    let signals = Signals::catch()?;
    let seconds = flags.seconds.unwrap_or(SECONDS);
    process::run(&spec(ALONE, seconds, flags.seed), &signals)
}

/// The step of CI.
pub(crate) fn run_in_ci(signals: &Signals) -> Result<()> {
    process::run(&spec(WORKSPACE, SECONDS, None), signals)
}

fn spec(build: &str, seconds: u64, seed: Option<u64>) -> Spec {
    let mut spec = Spec::new([workspace::cargo()]);
    let words = format!("test {build} --test fuzz -- --ignored --nocapture");
    spec.command.extend(words.split(' ').map(Into::into));
    spec.folder = Some(workspace::root().into());
    spec.env = vec![
        (SECONDS_VARIABLE, Some(seconds.to_string().into())),
        (SEED_VARIABLE, seed.map(|seed| seed.to_string().into())),
    ];
    spec
}
