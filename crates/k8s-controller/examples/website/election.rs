//! The lease that replicas share, as the flags say.

use std::{future, io};

use http::{Request, Response};
use k8s_controller::LeaderElection;
use k8s_controller::leader_election::{ConfigError, Timings};
use kube::Client;
use kube::client::Body;

use crate::controller::instance;
use crate::failure::Failure;
use crate::flags::Election;

/// Refuses what cannot work, such as a lease that ends before it is renewed.
pub fn election(client: Client, flags: &Election) -> Result<LeaderElection, Failure> {
    let identity = flags.identity.clone().unwrap_or_else(identity);
    LeaderElection::try_new(client, &flags.lease_namespace, &flags.lease_name, &identity)
        .and_then(|election| {
            election.with_timings(Timings {
                lease_duration: flags.lease_duration,
                renew_deadline: flags.renew_deadline,
                retry_period: flags.retry_period,
            })
        })
        .map_err(|error| Failure::Flag(in_flags(&error)))
}

/// Refuses what [`election`] refuses, before there is a client.
pub fn check(flags: &Election) -> Result<(), Failure> {
    // Nothing is sent.
    let nowhere = tower::service_fn(|_: Request<Body>| {
        future::ready(Err::<Response<Body>, _>(io::Error::other("not connected")))
    });
    election(Client::new(nowhere, "default"), flags).map(drop)
}

/// The name of a pod is its alone. Elsewhere, two replicas can run on one host.
fn identity() -> String {
    if std::env::var_os("POD_NAME").is_some_and(|name| !name.is_empty()) {
        return instance();
    }
    format!("{}_{:08x}", instance(), rand::random::<u32>())
}

/// The error in the words of the command line.
fn in_flags(error: &ConfigError) -> String {
    let text = error.to_string();
    let flag = |field: &str| format!("--{}", field.replace('_', "-"));
    match error {
        // It tells of the others, too.
        ConfigError::Duration { .. } => ["lease_duration", "renew_deadline", "retry_period"]
            .iter()
            .fold(text, |text, field| text.replace(field, &flag(field))),
        ConfigError::Empty { field, .. }
        | ConfigError::TooLong { field, .. }
        | ConfigError::Malformed { field, .. } => text.replacen(field, &flag(field), 1),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use k8s_controller::error::display_chain;
    use k8s_embedded_apiserver::EmbeddedApiServer;

    use super::*;
    use crate::flags::{Command, Options};

    fn parsed(words: &[&str]) -> Result<LeaderElection, Failure> {
        let words = ["website", "run", "--leader-elect"].iter().chain(words);
        let Some(Command::Run(run)) = Options::parse_from(words).command else {
            panic!("expected the command run");
        };
        let client = Client::new(EmbeddedApiServer::new(), "default");
        election(client, &run.election)
    }

    #[tokio::test]
    async fn the_flags_arrive() {
        let election = parsed(&[
            "--lease-namespace=a",
            "--lease-name=b",
            "--identity=c",
            "--lease-duration=8s",
            "--renew-deadline=5s",
            "--retry-period=500ms",
        ])
        .unwrap();
        assert_eq!(election.namespace(), "a");
        assert_eq!(election.lease_name(), "b");
        assert_eq!(election.identity(), "c");
        assert_eq!(election.lease_duration().as_millis(), 8000);
        assert_eq!(election.renew_deadline().as_millis(), 5000);
        assert_eq!(election.retry_period().as_millis(), 500);
    }

    #[tokio::test]
    async fn replicas_on_one_host_differ() {
        let [one, other] = [parsed(&[]).unwrap(), parsed(&[]).unwrap()];
        assert_ne!(one.identity(), other.identity());
    }

    #[tokio::test]
    async fn what_cannot_work_names_its_flags() {
        let long = format!("--identity={}", "i".repeat(600));
        for (words, flags) in [
            (
                &["--renew-deadline=15s"][..],
                &["--renew-deadline 15s", "--lease-duration, 15s"][..],
            ),
            (
                &["--retry-period=10s"],
                &["--retry-period 10s", "--renew-deadline, 10s"],
            ),
            (&["--lease-name=No Way"], &["--lease-name \"No Way\""]),
            (&["--identity=\u{7}"], &["--identity"]),
            (&[&long], &["--identity has 600 bytes"]),
        ] {
            let failure = parsed(words).unwrap_err();
            let text = display_chain(&failure).to_string();
            for flag in flags {
                assert!(text.contains(flag), "{words:?}: {text}");
            }
        }
    }
}
