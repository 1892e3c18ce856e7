//! `cargo xtask ci`: what a change must pass.

mod early;
mod steps;
mod tools;

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};

use crate::{
    e2e, flags,
    signals::{Interrupted, Signals},
    workspace::Metadata,
};
use early::Early;
use steps::{Done, E2E, STEPS, Step};

/// What the steps share.
struct Ci {
    signals: Signals,
    metadata: Metadata,
    /// Whether this is a CI service, where nothing may be skipped.
    strict: bool,
    early: Early,
}

/// How a step went.
enum Outcome {
    Passed,
    Skipped(String),
    Failed,
    NotRun,
}

pub(crate) fn run(flags: &flags::Ci) -> Result<()> {
    let steps = select(&flags.steps)?;
    let signals = Signals::catch()?;
    let metadata = Metadata::load()?;
    let ends_with_e2e = steps.len() > 1 && steps.iter().any(|step| step.name == E2E);
    let early = if ends_with_e2e {
        Early::start(&metadata.target)?
    } else {
        Early::none()
    };
    let ci = Ci {
        signals,
        metadata,
        strict: e2e::is_ci(),
        early,
    };
    let mut report = Vec::new();
    let mut failed = Vec::new();
    for step in steps {
        if !failed.is_empty() && !flags.keep_going {
            report.push((step.name, Duration::ZERO, Outcome::NotRun));
            continue;
        }
        eprintln!("\n=== {}: {}", step.name, step.about);
        let start = Instant::now();
        let outcome = match (step.run)(&ci) {
            Ok(Done::Passed) => Outcome::Passed,
            Ok(Done::Skipped(why)) => Outcome::Skipped(why),
            Err(error) if error.is::<Interrupted>() => return Err(error),
            Err(error) => {
                eprintln!("xtask: step {} failed: {error:#}", step.name);
                eprintln!("xtask: to run it alone: cargo xtask ci {}", step.name);
                failed.push(step.name);
                Outcome::Failed
            }
        };
        report.push((step.name, start.elapsed(), outcome));
    }
    eprint!("\n{}", summary(&report));
    if failed.is_empty() {
        return Ok(());
    }
    bail!(
        "failed: {}. To run it alone: cargo xtask ci {}",
        failed.join(", "),
        failed.join(" ")
    );
}

/// The named steps in their usual order; all of them if none is named.
fn select(names: &[String]) -> Result<Vec<&'static Step>> {
    let unknown: Vec<_> = names
        .iter()
        .filter(|name| !STEPS.iter().any(|step| step.name == name.as_str()))
        .map(String::as_str)
        .collect();
    if !unknown.is_empty() {
        let known: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        bail!(
            "no step {}; there are {}",
            unknown.join(", "),
            known.join(", ")
        );
    }
    let chosen = |step: &&Step| names.is_empty() || names.iter().any(|name| name == step.name);
    Ok(STEPS.iter().filter(chosen).collect())
}

fn summary(report: &[(&str, Duration, Outcome)]) -> String {
    let mut text = String::new();
    for (name, duration, outcome) in report {
        let seconds = duration.as_secs_f64();
        let _ = match outcome {
            Outcome::Passed => writeln!(text, "{name:<9}{seconds:>8.1} s  passed"),
            Outcome::Failed => writeln!(text, "{name:<9}{seconds:>8.1} s  FAILED"),
            Outcome::Skipped(why) => writeln!(text, "{name:<9}{seconds:>8.1} s  SKIPPED: {why}"),
            Outcome::NotRun => writeln!(text, "{name:<9}{:>8}    not run", "-"),
        };
    }
    let total: Duration = report.iter().map(|(_, duration, _)| duration).sum();
    let _ = writeln!(text, "{:<9}{:>8.1} s", "total", total.as_secs_f64());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(names: &[&str]) -> Result<Vec<&'static str>> {
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        Ok(select(&names)?.iter().map(|step| step.name).collect())
    }

    #[test]
    fn no_name_selects_all_and_names_select_in_order() {
        assert_eq!(selected(&[]).unwrap().len(), STEPS.len());
        assert_eq!(
            selected(&["doc", "format", "doc"]).unwrap(),
            ["format", "doc"]
        );
    }

    #[test]
    fn unknown_steps_are_refused_with_the_known_ones() {
        let error = selected(&["format", "lint"]).unwrap_err().to_string();
        assert!(
            error.starts_with("no step lint; there are format, "),
            "{error}"
        );
    }

    #[test]
    fn the_help_lists_every_step() {
        for step in &STEPS {
            let line = format!("\n    {} ", step.name);
            assert!(
                flags::help().contains(&line),
                "{}:\n{}",
                step.name,
                flags::help()
            );
        }
    }

    #[test]
    fn the_summary_shows_each_outcome() {
        let report = [
            ("format", Duration::from_millis(1234), Outcome::Passed),
            ("e2e", Duration::ZERO, Outcome::Skipped("no Go".into())),
            ("test", Duration::from_secs(61), Outcome::Failed),
            ("doc", Duration::ZERO, Outcome::NotRun),
        ];
        let expected = "\
format        1.2 s  passed
e2e           0.0 s  SKIPPED: no Go
test         61.0 s  FAILED
doc             -    not run
total        62.2 s
";
        assert_eq!(summary(&report), expected);
    }
}
