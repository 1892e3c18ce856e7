//! Named checks, and the texts that kube-apiserver would answer for them.

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing::{info, warn};

use crate::Error;

/// Which question a check belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Probe {
    Liveness,
    Readiness,
}

impl Probe {
    fn as_str(self) -> &'static str {
        match self {
            Self::Liveness => "liveness",
            Self::Readiness => "readiness",
        }
    }
}

/// The checks of one probe, in the order in which they were added.
#[derive(Clone)]
pub(crate) struct Checks {
    probe: Probe,
    checks: Vec<Arc<Check>>,
}

struct Check {
    name: String,
    run: Box<dyn Fn() -> Result<(), String> + Send + Sync>,
    /// What was logged last.
    failing: AtomicBool,
}

/// What all checks together say.
pub(crate) struct Report {
    pub(crate) passed: bool,
    /// A line for each check, and the verdict.
    pub(crate) text: String,
}

impl Checks {
    pub(crate) fn new(probe: Probe) -> Self {
        let mut checks = Self {
            probe,
            checks: Vec::new(),
        };
        // As kube-apiserver has it: it says that the server answers.
        checks.add("ping".to_owned(), || Ok(()));
        checks
    }

    pub(crate) fn add(
        &mut self,
        name: String,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) {
        self.checks.push(Arc::new(Check {
            name,
            run: Box::new(check),
            failing: AtomicBool::new(false),
        }));
    }

    pub(crate) fn validate(&self) -> Result<(), Error> {
        let probe = self.probe.as_str();
        let mut names = BTreeSet::new();
        for check in &self.checks {
            let name = &check.name;
            if let Some(problem) = problem_of_name(name) {
                let name = name.clone();
                return Err(Error::CheckName {
                    probe,
                    name,
                    problem,
                });
            }
            if !names.insert(name) {
                let name = name.clone();
                return Err(Error::DuplicateCheck { probe, name });
            }
        }
        Ok(())
    }

    /// Runs one check; `None` if there is none of that name.
    pub(crate) fn run_one(&self, name: &str) -> Option<Result<(), String>> {
        let check = self.checks.iter().find(|check| check.name == name)?;
        Some(check.run(self.probe))
    }

    /// Runs all checks but the excluded ones; `path` is what the verdict calls them.
    pub(crate) fn run_all(&self, path: &str, mut excluded: BTreeSet<String>) -> Report {
        let mut passed = true;
        let mut text = String::new();
        for check in &self.checks {
            let name = &check.name;
            let line = if excluded.remove(name) {
                format!("[+]{name} excluded: ok\n")
            } else if let Err(reason) = check.run(self.probe) {
                passed = false;
                format!("[-]{name} failed: {reason}\n")
            } else {
                format!("[+]{name} ok\n")
            };
            text.push_str(&line);
        }
        if !excluded.is_empty() {
            let unknown: Vec<String> = excluded.iter().map(|name| format!("{name:?}")).collect();
            let unknown = unknown.join(",");
            // Writing to a String does not fail.
            let _ = writeln!(
                text,
                "warn: some health checks cannot be excluded: no matches for {unknown}"
            );
        }
        let verdict = if passed { "passed" } else { "failed" };
        let _ = writeln!(text, "{path} check {verdict}");
        Report { passed, text }
    }
}

impl fmt::Debug for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.checks.iter().map(|check| &check.name);
        f.debug_list().entries(names).finish()
    }
}

impl Check {
    fn run(&self, probe: Probe) -> Result<(), String> {
        let result = catch_unwind(AssertUnwindSafe(|| (self.run)()))
            .unwrap_or_else(|panic| Err(format!("the check panicked: {}", panic_message(&*panic))))
            .map_err(|reason| one_line(&reason));
        let was_failing = self.failing.swap(result.is_err(), Ordering::Relaxed);
        let probe = probe.as_str();
        match &result {
            Err(reason) if !was_failing => {
                warn!(probe, check = self.name, reason, "health check fails");
            }
            Ok(()) if was_failing => info!(probe, check = self.name, "health check passes again"),
            _ => {}
        }
        result
    }
}

fn problem_of_name(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("the name is empty")
    } else if name.contains(|c: char| c.is_whitespace() || c.is_control()) {
        Some("the name has whitespace or a control character")
    } else if name.split('/').any(str::is_empty) {
        Some("the name has an empty segment")
    } else if name.split('/').any(|segment| matches!(segment, "." | "..")) {
        // Clients take these out of a path before they send it.
        Some("the name has a segment \".\" or \"..\"")
    } else {
        None
    }
}

pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> &str {
    if let Some(message) = panic.downcast_ref::<String>() {
        message
    } else if let Some(message) = panic.downcast_ref::<&str>() {
        message
    } else {
        "no message"
    }
}

/// The answer has a line for each check, so a reason must not have more.
fn one_line(reason: &str) -> String {
    reason
        .trim()
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}
