//! Whether it all came out as it should: what is on the server against what was expected.

use std::collections::BTreeSet;
use std::io::{self, Write};

use kube::ResourceExt;

use super::cast::{CAST, Outlook, Role};
use super::screen::Paint;
use super::snapshot::{Snapshot, is, repeats};
use super::tally::Tally;
use crate::hosts::Hosts;

/// What cannot be seen on the server afterwards.
pub struct Ending {
    /// Websites that were worked on although nothing was to be done.
    pub restless: Vec<String>,
    /// Passes that had not ended when the operator stopped.
    pub abandoned: Vec<String>,
}

/// Prints each check with its result. Answers whether all are good.
pub fn print(
    out: &mut impl Write,
    end: &Snapshot,
    tally: &Tally,
    ending: &Ending,
    paint: Paint,
) -> io::Result<bool> {
    writeln!(out, "\n{}", paint.strong("CHECKS"))?;
    let checks = [
        (
            "every Website has the outcome that it should have",
            outcomes(end),
        ),
        (
            "exactly the hosts of the served Websites are registered",
            hosts(end),
        ),
        (
            "no ConfigMap or Deployment is left without its Website",
            orphans(end),
        ),
        (
            "everything that was ever served says so in its events, and once only",
            published(end),
        ),
        (
            "warnings are there for what failed, for nothing else, and count repeats",
            warnings(end),
        ),
        (
            "panics and lost races were seen, and did not stop the operator",
            troubles(end, tally),
        ),
        (
            "an operator with nothing to do does nothing",
            ending.restless.clone(),
        ),
        (
            "all passes had ended when the operator stopped",
            ending.abandoned.clone(),
        ),
    ];
    for (title, problems) in &checks {
        let mark = if problems.is_empty() {
            paint.good("ok  ")
        } else {
            paint.bad("FAIL")
        };
        writeln!(out, "{mark}  {title}")?;
        for problem in problems {
            writeln!(out, "      {problem}")?;
        }
    }
    Ok(checks.iter().all(|(_, problems)| problems.is_empty()))
}

fn outcomes(end: &Snapshot) -> Vec<String> {
    CAST.iter()
        .flat_map(|role| end.unmet(role, role.last))
        .collect()
}

fn hosts(end: &Snapshot) -> Vec<String> {
    let ready = CAST.iter().filter(|role| role.last == Outlook::Ready);
    let sites = ready.filter_map(|role| end.sites.get(role.name));
    let expected: Hosts = sites
        .map(|site| (site.spec.host.clone(), site.full_name()))
        .collect();
    let differing = |a: &Hosts, b: &Hosts, what: &str| -> Vec<String> {
        let only_in_a = a
            .iter()
            .filter(|(host, owner)| b.get(*host) != Some(*owner));
        only_in_a
            .map(|(host, owner)| format!("{what}: {host} of {owner}"))
            .collect()
    };
    [
        differing(&expected, &end.hosts, "missing"),
        differing(&end.hosts, &expected, "too many"),
    ]
    .concat()
}

fn orphans(end: &Snapshot) -> Vec<String> {
    let uids: BTreeSet<_> = end.sites.values().filter_map(ResourceExt::uid).collect();
    let maps = end
        .config_maps
        .values()
        .map(|map| ("ConfigMap", &map.metadata));
    let deployments = end
        .deployments
        .values()
        .map(|deployment| ("Deployment", &deployment.metadata));
    let orphans = maps.chain(deployments).filter(|(_, metadata)| {
        !metadata
            .owner_references
            .iter()
            .flatten()
            .any(|owner| uids.contains(&owner.uid))
    });
    orphans
        .map(|(kind, metadata)| format!("{kind} {}", metadata.name.as_deref().unwrap_or_default()))
        .collect()
}

fn published(end: &Snapshot) -> Vec<String> {
    let mut problems = Vec::new();
    for role in CAST {
        let events = end.events_of(role.name);
        let has = |reason| events.iter().any(|event| is(event, reason));
        if role.is_ever_ready() && !(has("HostRegistered") && has("Published")) {
            problems.push(format!(
                "{}: no event HostRegistered or Published",
                role.name
            ));
        }
        let normal = events
            .iter()
            .filter(|event| event.type_.as_deref() == Some("Normal"));
        for event in normal.filter(|event| repeats(event) > 1) {
            problems.push(format!("{}: {:?} is told again", role.name, event.reason));
        }
    }
    problems
}

fn warnings(end: &Snapshot) -> Vec<String> {
    CAST.iter()
        .flat_map(|role| warnings_of(role, end))
        .collect()
}

fn warnings_of(role: &Role, end: &Snapshot) -> Vec<String> {
    let events = end.events_of(role.name).iter();
    let warnings: Vec<_> = events
        .filter(|event| event.type_.as_deref() == Some("Warning"))
        .collect();
    let mut problems = Vec::new();
    for event in &warnings {
        if role.warning != event.reason.as_deref() {
            let note = event.note.as_deref().unwrap_or_default();
            problems.push(format!(
                "{}: unexpected {:?}: {note}",
                role.name, event.reason
            ));
        }
    }
    if let Some(reason) = role.warning
        && !warnings
            .iter()
            .any(|event| is(event, reason) && repeats(event) > 1)
    {
        problems.push(format!(
            "{}: no event {reason} that counts more than one failure",
            role.name
        ));
    }
    problems
}

/// The failed passes that the faults of the story must have made. There can be more: a pass that
/// begins before its watch has told it of the last write loses against that write.
fn troubles(end: &Snapshot, tally: &Tally) -> Vec<String> {
    let expected = [("flaky", 3), ("panics", 3), ("contended", 2)];
    let wrong = expected
        .iter()
        .filter(|(name, failed)| tally.object(name).failed < *failed);
    let mut problems: Vec<_> = wrong
        .map(|(name, failed)| {
            format!(
                "{name}: expected at least {failed} failed passes, found {}",
                tally.object(name).failed
            )
        })
        .collect();
    if !end.events_of("panics").iter().any(|e| {
        e.note
            .as_deref()
            .is_some_and(|n| n.contains(super::story::PANIC))
    }) {
        problems.push("panics: no event has the text of the panic".into());
    }
    problems
}
