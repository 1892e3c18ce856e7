//! The command line. Each flag can be given by an environment variable, too.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use k8s_controller::DEFAULT_CONCURRENCY;
use k8s_openapi::jiff::SignedDuration;

use crate::hosts::NAMESPACE;

/// An operator for Websites. Without a command: a demonstration on an API server inside the
/// process.
#[derive(Debug, Parser)]
#[command(name = "website", version)]
pub struct Options {
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run on a cluster, until Ctrl-C or SIGTERM
    Run(Box<Run>),
    /// Run on an API server inside the process that kubectl can use too, until Ctrl-C
    Serve,
    /// Print what is to be applied to a cluster to deploy the operator, as YAML
    Manifests(Manifests),
    /// Print Websites to try the operator with, as YAML
    Samples,
}

#[derive(Args, Debug)]
pub struct Manifests {
    /// The image of the operator
    #[arg(
        long,
        env = "WEBSITE_IMAGE",
        value_name = "IMAGE",
        default_value = "website:dev",
        value_parser = NonEmptyStringValueParser::new()
    )]
    pub image: String,
}

#[derive(Args, Clone, Debug)]
pub struct Run {
    /// Use the cluster of this kubeconfig, not that of $KUBECONFIG, ~/.kube/config or the pod
    #[arg(long, env = "WEBSITE_KUBECONFIG", value_name = "PATH")]
    pub kubeconfig: Option<PathBuf>,
    /// Work on the Websites of this namespace only
    #[arg(long, env = "WEBSITE_NAMESPACE", value_name = "NAMESPACE", value_parser = namespace)]
    pub namespace: Option<String>,
    /// Install the resource definition and the ConfigMap of hosts first, if they are missing
    #[arg(
        long,
        env = "WEBSITE_INSTALL_CRD",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = false,
        default_missing_value = "true"
    )]
    pub install_crd: bool,
    /// How many passes run at once; 0: no limit
    #[arg(
        long,
        env = "WEBSITE_CONCURRENCY",
        value_name = "NUMBER",
        default_value_t = DEFAULT_CONCURRENCY,
        value_parser = concurrency
    )]
    pub concurrency: u16,
    /// How long one pass may take
    #[arg(
        long,
        env = "WEBSITE_PASS_TIMEOUT",
        value_name = "DURATION",
        default_value = "1m",
        value_parser = duration
    )]
    pub pass_timeout: Duration,
    /// How long passes may go on after the signal to stop
    // Kubernetes kills a pod 30 s after that signal, unless its manifest says otherwise.
    #[arg(
        long,
        env = "WEBSITE_STOP_DEADLINE",
        value_name = "DURATION",
        default_value = "25s",
        value_parser = duration
    )]
    pub stop_deadline: Duration,
    /// How log lines look on standard error; RUST_LOG says which there are
    #[arg(
        long,
        env = "WEBSITE_LOG_FORMAT",
        value_name = "FORMAT",
        default_value = "text"
    )]
    pub log_format: LogFormat,
    // After these, a flag would stand under their headings.
    #[command(flatten)]
    pub election: Election,
    #[command(flatten)]
    pub admin: Admin,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Leader election")]
pub struct Election {
    /// Work only while holding a lease, so that of several replicas one works
    #[arg(
        long,
        env = "WEBSITE_LEADER_ELECT",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = false,
        default_missing_value = "true"
    )]
    pub leader_elect: bool,
    /// The namespace of the lease
    #[arg(
        long,
        env = "WEBSITE_LEASE_NAMESPACE",
        value_name = "NAMESPACE",
        default_value = NAMESPACE,
        value_parser = namespace
    )]
    pub lease_namespace: String,
    /// The name of the lease
    #[arg(
        long,
        env = "WEBSITE_LEASE_NAME",
        value_name = "NAME",
        default_value = "website",
        value_parser = NonEmptyStringValueParser::new()
    )]
    pub lease_name: String,
    /// How this replica signs the lease; must differ between replicas [default: $POD_NAME, or the
    /// name of the host and random digits]
    #[arg(
        long,
        env = "WEBSITE_IDENTITY",
        value_name = "NAME",
        value_parser = NonEmptyStringValueParser::new()
    )]
    pub identity: Option<String>,
    /// How long the others wait for a leader that no longer renews the lease
    #[arg(
        long,
        env = "WEBSITE_LEASE_DURATION",
        value_name = "DURATION",
        default_value = "15s",
        value_parser = duration
    )]
    pub lease_duration: Duration,
    /// After how long without a renewal the leader gives up; less than --lease-duration
    #[arg(
        long,
        env = "WEBSITE_RENEW_DEADLINE",
        value_name = "DURATION",
        default_value = "10s",
        value_parser = duration
    )]
    pub renew_deadline: Duration,
    /// How often each replica tries to take or to renew the lease; less than --renew-deadline
    #[arg(
        long,
        env = "WEBSITE_RETRY_PERIOD",
        value_name = "DURATION",
        default_value = "2s",
        value_parser = duration
    )]
    pub retry_period: Duration,
    /// What to do once the lease is lost
    #[arg(
        long,
        env = "WEBSITE_LOST_LEASE",
        value_name = "ACTION",
        default_value = "exit"
    )]
    pub lost_lease: LostLease,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Metrics and health")]
pub struct Admin {
    /// Serve /metrics, /healthz and /readyz here; port 0: any free port, which is logged
    /// [default: not served]
    #[arg(
        long = "admin-address",
        env = "WEBSITE_ADMIN_ADDRESS",
        value_name = "ADDRESS",
        value_parser = address
    )]
    pub address: Option<SocketAddr>,
    /// Serve them over TLS, with this certificate and those of its issuers (PEM)
    #[arg(
        long,
        env = "WEBSITE_TLS_CERT",
        value_name = "PATH",
        requires_all = ["tls_key", "address"]
    )]
    pub tls_cert: Option<PathBuf>,
    /// The private key of --tls-cert (PEM)
    #[arg(
        long,
        env = "WEBSITE_TLS_KEY",
        value_name = "PATH",
        requires = "tls_cert"
    )]
    pub tls_key: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum LogFormat {
    /// For people
    Text,
    /// One JSON object a line, for programs
    Json,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum LostLease {
    /// End with an error, to be started again with nothing left of before
    Exit,
    /// Stop the controllers and wait for the lease again
    Rejoin,
}

fn duration(text: &str) -> Result<Duration, String> {
    let parsed: Option<SignedDuration> = text.parse().ok();
    parsed
        .and_then(|parsed| Duration::try_from(parsed).ok())
        .filter(|parsed| !parsed.is_zero())
        .ok_or_else(|| "expected a duration above zero, such as 500ms, 15s or 1m30s".to_owned())
}

fn concurrency(text: &str) -> Result<u16, String> {
    let expected = || format!("expected a number from 0 to {}", u16::MAX);
    text.parse().map_err(|_| expected())
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let expected = "expected an IP address and a port, such as 0.0.0.0:8080 or [::1]:8080";
    text.parse().map_err(|_| expected.to_owned())
}

/// A server answers a watch of a namespace that cannot exist with nothing, for ever.
fn namespace(text: &str) -> Result<String, String> {
    let is_label = (1..=63).contains(&text.len())
        && !text.starts_with('-')
        && !text.ends_with('-')
        && text
            .bytes()
            .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    if is_label {
        return Ok(text.to_owned());
    }
    Err("expected the name of a namespace: 1 to 63 of a-z, 0-9 and, within, '-'".to_owned())
}

#[cfg(test)]
mod tests;
