//! The requests that make an event or count a repeat.

use std::time::Duration;

use k8s_openapi::api::events::v1::{Event as ApiEvent, EventSeries};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, core::Status};
use serde_json::json;
use tokio::time::{Instant, timeout};
use tracing::debug;

use crate::PublishError;
use crate::attempt::Sent;
use crate::draft::Draft;
use crate::environment::Environment;
use crate::name::event_name;
use crate::table::Table;
use crate::turn::{Repeat, Turn};

/// How many names are tried before the server's word that they all exist is passed on. Names are
/// 64 random bits, so that a second one is next to never needed.
const MAX_NAMES: usize = 4;

/// Sends events to one cluster.
pub(crate) struct Delivery<'a> {
    pub(crate) client: &'a Client,
    pub(crate) table: &'a Table,
    pub(crate) environment: &'a Environment,
    pub(crate) timeout: Duration,
}

impl Delivery<'_> {
    /// Counts a repeat of the last event of the series, or makes a new event.
    pub(crate) async fn send(&self, draft: &Draft<'_>) -> Result<Sent, PublishError> {
        let result = timeout(self.timeout, self.send_in_turn(draft)).await;
        result.unwrap_or(Err(PublishError::Timeout(self.timeout)))
    }

    async fn send_in_turn(&self, draft: &Draft<'_>) -> Result<Sent, PublishError> {
        let start = Instant::now();
        let api = Api::namespaced(self.client.clone(), draft.namespace());
        let turn = self.table.turn(draft.key).await;
        // The turn may come in the same moment as the end of the time, when nothing may be sent.
        if start.elapsed() >= self.timeout {
            return Err(PublishError::Timeout(self.timeout));
        }
        if let Some(repeat) = turn.repeat(draft.fingerprint)
            && self.patch(&api, &turn, draft, &repeat).await?
        {
            return Ok(Sent::Patched);
        }
        self.create(&api, &turn, draft).await
    }

    /// Counts a repeat; false if the server no longer has the event (it keeps events for an hour,
    /// by default).
    async fn patch(
        &self,
        api: &Api<ApiEvent>,
        turn: &Turn<'_>,
        draft: &Draft<'_>,
        repeat: &Repeat,
    ) -> Result<bool, PublishError> {
        let series = EventSeries {
            count: repeat.count,
            last_observed_time: self.environment.now(),
        };
        let patch = Patch::Merge(json!({ "series": series }));
        let name = event_name(draft.object_name(), repeat.unique);
        match api.patch(&name, &PatchParams::default(), &patch).await {
            Ok(_) => {
                turn.published(repeat.unique, draft.fingerprint, repeat.count);
                Ok(true)
            }
            Err(kube::Error::Api(status)) if status.code == 404 => {
                debug!(event = %name, namespace = draft.namespace(), "event is gone, creating it again");
                turn.gone();
                Ok(false)
            }
            Err(error) => {
                if matches!(error, kube::Error::Api(_)) {
                    turn.refused(repeat);
                }
                Err(error.into())
            }
        }
    }

    async fn create(
        &self,
        api: &Api<ApiEvent>,
        turn: &Turn<'_>,
        draft: &Draft<'_>,
    ) -> Result<Sent, PublishError> {
        let mut names = 1;
        loop {
            let unique = self.environment.unique();
            let name = event_name(draft.object_name(), unique);
            let event = draft.to_api(&name, self.environment.now());
            match api.create(&PostParams::default(), &event).await {
                Ok(_) => {
                    turn.published(unique, draft.fingerprint, 1);
                    return Ok(Sent::Created);
                }
                Err(kube::Error::Api(status)) if already_exists(&status) && names < MAX_NAMES => {
                    debug!(event = %name, namespace = draft.namespace(), "event name is taken, trying another");
                    names += 1;
                }
                Err(kube::Error::Api(status)) if namespace_terminating(&status) => {
                    return Ok(Sent::NamespaceTerminating);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn already_exists(status: &Status) -> bool {
    status.code == 409 && status.reason == "AlreadyExists"
}

fn namespace_terminating(status: &Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    status.code == 403
        && causes
            .into_iter()
            .any(|cause| cause.reason == "NamespaceTerminating")
}
