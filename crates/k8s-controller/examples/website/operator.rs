//! The operator: what one pass over a Website does. Start here.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use k8s_controller::error::{display_chain, is_conflict};
use k8s_controller::events::{Event, EventType};
use k8s_controller::{Context, Error, Outcome, Phase, TraceMetadata};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::runtime::controller::Action;
use kube::runtime::finalizer;

use crate::error::WebsiteError;
use crate::hosts::HostRegistry;
use crate::website::Website;
use crate::{children, status};

/// Keeps Websites served. Holds what all passes share.
#[derive(Debug)]
pub struct WebsiteOperator {
    hosts: HostRegistry,
    first_retry: Duration,
    last_retry: Duration,
}

impl WebsiteOperator {
    /// An operator that retries a failed pass after `first_retry`, then twice that, and so on, up
    /// to `last_retry`.
    pub fn new(first_retry: Duration, last_retry: Duration) -> Self {
        Self {
            hosts: HostRegistry::default(),
            first_retry,
            last_retry,
        }
    }
}

#[async_trait]
impl Context for WebsiteOperator {
    type Resource = Website;
    type Error = WebsiteError;

    /// With a finalizer, a Website stays until `cleanup` has run.
    const FINALIZER_NAME: Option<&'static str> = Some("example.dev/website");

    /// Makes the world be as the Website says. It is called again and again, so it has to look at
    /// what there is, and to write only what differs.
    async fn apply(
        &self,
        client: Client,
        site: &Website,
        metadata: &mut TraceMetadata,
    ) -> Result<Option<Action>, WebsiteError> {
        metadata.annotate("host", &site.spec.host);
        metadata.annotate("generation", site.metadata.generation.unwrap_or_default());

        let result = self.converge(&client, site, metadata).await;
        // Somebody else was faster; the next pass starts at once and knows more.
        if result.as_ref().is_err_and(|error| is_conflict(error)) {
            return result.map(|()| None);
        }
        let status = status::status(site, &result);
        let written = timed(metadata, "status", status::write(&client, site, status)).await;
        // What went wrong first is what the user has to know.
        result?;
        if written? {
            let generation = site.metadata.generation.unwrap_or_default();
            let note = format!(
                "Generation {generation} is served (replicas: {})",
                site.spec.replicas
            );
            metadata
                .publish_event(normal("Published", "Publish", note))
                .await;
        }
        // `None` is `success_action`: look again in about an hour, should a watch have missed
        // something.
        Ok(None)
    }

    /// Takes back what owner references do not reach. The children go with their owner.
    async fn cleanup(
        &self,
        client: Client,
        site: &Website,
        metadata: &mut TraceMetadata,
    ) -> Result<Option<Action>, WebsiteError> {
        let owner = site.full_name();
        if timed(metadata, "host", self.hosts.release(&client, &owner)).await? {
            metadata
                .publish_event(normal(
                    "HostReleased",
                    "Release",
                    format!("Released {}", site.spec.host),
                ))
                .await;
        }
        // `None` lets the finalizer go. To be called again, return a requeue instead.
        Ok(None)
    }

    /// The default is similar, but waits 1 to 256 s. Conflicts do not come here: they are retried
    /// at once.
    fn error_action(
        self: Arc<Self>,
        _site: Arc<Website>,
        error: &Error<WebsiteError>,
        consecutive_errors: u32,
    ) -> Action {
        if error.is_terminal() {
            return Action::await_change();
        }
        let retry = self
            .first_retry
            .saturating_mul(1 << consecutive_errors.min(16))
            .min(self.last_retry);
        // A server that is overloaded says when it wants to be asked again.
        Action::requeue(retry.max(error.retry_after().unwrap_or_default()))
    }

    /// The default has one reason for all errors; with a reason for each cause, scripts and alerts
    /// can tell them apart.
    fn failure_event(
        &self,
        _site: &Website,
        phase: Phase,
        error: &Error<WebsiteError>,
    ) -> Option<Event> {
        // To lose a race is no news for the user: the next pass starts at once.
        if error.is_conflict() {
            return None;
        }
        // With our own error, the note is what the status says, too.
        let (reason, note) = match cause(error) {
            Some(cause) => (cause.reason(), display_chain(cause).to_string()),
            None => ("ReconcileFailed", error.display_chain()),
        };
        let action = if phase == Phase::Cleanup {
            "Cleanup"
        } else {
            "Reconcile"
        };
        Some(Event {
            type_: EventType::Warning,
            reason: reason.into(),
            action: action.into(),
            note: Some(note),
            related: None,
        })
    }
}

impl WebsiteOperator {
    async fn converge(
        &self,
        client: &Client,
        site: &Website,
        metadata: &TraceMetadata,
    ) -> Result<(), WebsiteError> {
        let problems = site.problems();
        if !problems.is_empty() {
            return Err(WebsiteError::invalid(&problems));
        }
        // The host first: a Website that cannot have its host should not start pods.
        let (host, owner) = (&site.spec.host, site.full_name());
        if timed(metadata, "host", self.hosts.claim(client, host, &owner)).await? {
            metadata
                .publish_event(normal(
                    "HostRegistered",
                    "Register",
                    format!("Registered {host}"),
                ))
                .await;
        }
        let page = children::config_map(site)?;
        timed(
            metadata,
            "configmap",
            children::ensure::<ConfigMap>(client, site, page),
        )
        .await?;
        let server = children::deployment(site)?;
        timed(
            metadata,
            "deployment",
            children::ensure::<Deployment>(client, site, server),
        )
        .await?;
        Ok(())
    }
}

/// Our own error in an error of the controller, if there is one.
fn cause(error: &Error<WebsiteError>) -> Option<&WebsiteError> {
    match error {
        Error::FinalizerError(
            finalizer::Error::ApplyFailed(cause) | finalizer::Error::CleanupFailed(cause),
        ) => Some(cause),
        _ => None,
    }
}

/// Runs a part of a pass under a name of its own in spans and metrics.
async fn timed<T>(
    metadata: &TraceMetadata,
    name: &'static str,
    work: impl Future<Output = Result<T, WebsiteError>>,
) -> Result<T, WebsiteError> {
    let step = metadata.step(name);
    let result = work.await;
    step.finish(if result.is_ok() {
        Outcome::Completed
    } else {
        Outcome::Failed
    });
    result
}

fn normal(reason: &str, action: &str, note: String) -> Event {
    Event {
        type_: EventType::Normal,
        reason: reason.into(),
        action: action.into(),
        note: Some(note),
        related: None,
    }
}
