//! Arrows between crates go down only.

use crate::workspace::{Dependency, Member};

/// Which others of the workspace a crate may depend on, in what it ships.
///
/// Tests and examples of a crate may use more, but for [`LONERS`].
const ALLOWED: [(&str, &[&str]); 18] = [
    ("k8s-controller-error", &[]),
    ("k8s-controller-observe", &[]),
    ("k8s-controller-events", &["k8s-controller-error"]),
    (
        "k8s-controller-reconcile",
        &[
            "k8s-controller-error",
            "k8s-controller-events",
            "k8s-controller-observe",
        ],
    ),
    ("k8s-controller-conditions", &[]),
    ("k8s-controller-leader-election", &["k8s-controller-error"]),
    (
        "k8s-controller-prometheus",
        &["k8s-controller-events", "k8s-controller-observe"],
    ),
    ("k8s-controller-admin", &[]),
    (
        "k8s-controller-manager",
        &[
            "k8s-controller-admin",
            "k8s-controller-error",
            "k8s-controller-leader-election",
            "k8s-controller-reconcile",
        ],
    ),
    (
        "k8s-controller",
        &[
            "k8s-controller-admin",
            "k8s-controller-conditions",
            "k8s-controller-error",
            "k8s-controller-events",
            "k8s-controller-leader-election",
            "k8s-controller-manager",
            "k8s-controller-observe",
            "k8s-controller-prometheus",
            "k8s-controller-reconcile",
        ],
    ),
    ("k8s-api-schema", &[]),
    ("k8s-structured-merge", &["k8s-api-schema"]),
    ("k8s-custom-schema", &["k8s-api-schema"]),
    (
        "k8s-embedded-apiserver",
        &[
            "k8s-api-schema",
            "k8s-custom-schema",
            "k8s-structured-merge",
        ],
    ),
    ("k8s-controller-bench", ANY),
    ("k8s-embedded-apiserver-bench", &["k8s-embedded-apiserver"]),
    ("k8s-controller-tests", ANY),
    ("xtask", &[]),
];

const ANY: &[&str] = &["*"];

/// Used alone by others, so that their tests stand alone too.
const LONERS: [&str; 4] = [
    "k8s-controller-conditions",
    "k8s-controller-error",
    "k8s-controller-events",
    "k8s-controller-observe",
];

pub(super) fn breaches(members: &[Member]) -> Vec<String> {
    members.iter().flat_map(breaches_of).collect()
}

fn breaches_of(member: &Member) -> Vec<String> {
    let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| *name == member.name) else {
        return vec![format!(
            "{}: not in the table of allowed dependencies",
            member.name
        )];
    };
    let alone = LONERS.contains(&member.name.as_str());
    let is_allowed = |dependency: &&Dependency| {
        *allowed == ANY || allowed.contains(&dependency.name.as_str()) || (dependency.dev && !alone)
    };
    member
        .ours
        .iter()
        .filter(|dependency| !is_allowed(dependency))
        .map(|dependency| format!("{} may not depend on {}", member.name, dependency.name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, ours: &[(&str, bool)]) -> Member {
        let ours = ours.iter().map(|&(name, dev)| Dependency {
            name: name.into(),
            dev,
        });
        Member {
            name: name.into(),
            folder: name.into(),
            features: Vec::new(),
            ours: ours.collect(),
            benches: Vec::new(),
        }
    }

    #[test]
    fn arrows_that_go_up_are_found() {
        for (member, count) in [
            (
                member("k8s-controller-events", &[("k8s-controller-error", false)]),
                0,
            ),
            (
                member(
                    "k8s-controller-events",
                    &[("k8s-controller-observe", false)],
                ),
                1,
            ),
            (
                member("k8s-controller-events", &[("k8s-embedded-apiserver", true)]),
                1,
            ),
            (
                member(
                    "k8s-controller-reconcile",
                    &[("k8s-embedded-apiserver", true)],
                ),
                0,
            ),
            (
                member(
                    "k8s-controller-reconcile",
                    &[("k8s-embedded-apiserver", false)],
                ),
                1,
            ),
            (
                member("k8s-controller-error", &[("k8s-controller", false)]),
                1,
            ),
            (
                member("k8s-controller-tests", &[("k8s-controller", false)]),
                0,
            ),
            (member("new", &[]), 1),
        ] {
            assert_eq!(breaches_of(&member).len(), count, "{member:?}");
        }
    }

    #[test]
    fn the_table_has_no_cycle() {
        for (name, allowed) in ALLOWED.iter().filter(|(_, allowed)| *allowed != ANY) {
            let above = ALLOWED.iter().position(|(other, _)| other == name);
            for dependency in *allowed {
                let below = ALLOWED.iter().position(|(other, _)| other == dependency);
                assert!(below.is_some() && below < above, "{name} on {dependency}");
            }
        }
    }
}
