//! Health: a server that answers is healthy, by all the checks that a real one has.

use std::fmt::Write as _;

use super::{Asked, Reply};

/// Checks that start hooks leave, in the order in which a real server tells them.
const HOOKS: [&str; 31] = [
    "poststarthook/start-apiserver-admission-initializer",
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/priority-and-fairness-config-consumer",
    "poststarthook/priority-and-fairness-filter",
    "poststarthook/storage-object-count-tracker-hook",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/start-system-namespaces-controller",
    "poststarthook/peer-endpoint-reconciler-controller",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/start-kube-apiserver-identity-lease-controller",
    "poststarthook/start-kube-apiserver-identity-lease-garbage-collector",
    "poststarthook/storage-readiness",
    "poststarthook/start-legacy-token-tracking-controller",
    "poststarthook/start-service-ip-repair-controllers",
    "poststarthook/rbac/bootstrap-roles",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/priority-and-fairness-config-producer",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-kubernetes-service-cidr-controller",
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/apiservice-status-local-available-controller",
    "poststarthook/apiservice-status-remote-available-controller",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/apiservice-discovery-controller",
    "poststarthook/kube-apiserver-autoregistration",
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
    "shutdown",
];

/// The three questions.
const NAMES: [&str; 3] = ["healthz", "livez", "readyz"];

/// The checks behind a question.
fn checks(name: &str) -> impl Iterator<Item = &'static str> {
    let first: &[&str] = if name == "readyz" {
        &["ping", "log", "etcd", "etcd-readiness", "informer-sync"]
    } else {
        &["ping", "log", "loopback-serving-certificate", "etcd"]
    };
    // Only a server that is asked whether it is ready tells whether it shuts down.
    let hooks = HOOKS.len() - usize::from(name != "readyz");
    first.iter().chain(&HOOKS[..hooks]).copied()
}

pub(super) fn reply(asked: &Asked<'_>) -> Option<Reply> {
    let path = asked.path.strip_prefix('/')?;
    let (name, check) = match path.split_once('/') {
        Some((name, check)) => (name, Some(check)),
        None => (path, None),
    };
    let name = *NAMES.iter().find(|found| **found == name)?;
    match check {
        Some(check) => checks(name)
            .any(|found| found == check)
            .then(|| Reply::Text("ok".into())),
        None => Some(Reply::Text(all(name, asked))),
    }
}

fn all(name: &str, asked: &Asked<'_>) -> String {
    let query: Vec<_> =
        form_urlencoded::parse(asked.query.unwrap_or_default().as_bytes()).collect();
    if !query.iter().any(|(key, _)| key == "verbose") {
        return "ok".into();
    }
    let mut excluded: Vec<&str> = query
        .iter()
        .filter(|(key, _)| key == "exclude")
        .map(|(_, value)| &**value)
        .collect();
    let mut text = String::new();
    for check in checks(name) {
        let before = excluded.len();
        excluded.retain(|found| *found != check);
        let how = if excluded.len() < before {
            "excluded: ok"
        } else {
            "ok"
        };
        let _ = writeln!(text, "[+]{check} {how}");
    }
    if !excluded.is_empty() {
        excluded.sort_unstable();
        let quoted: Vec<String> = excluded.iter().map(|found| format!("{found:?}")).collect();
        let _ = writeln!(
            text,
            "warn: some health checks cannot be excluded: no matches for {}",
            quoted.join(",")
        );
    }
    let _ = writeln!(text, "{name} check passed");
    text
}

/// The paths of all checks.
pub(super) fn paths() -> impl Iterator<Item = String> {
    NAMES.into_iter().flat_map(|name| {
        let own = checks(name).map(move |check| format!("/{name}/{check}"));
        std::iter::once(format!("/{name}")).chain(own)
    })
}
