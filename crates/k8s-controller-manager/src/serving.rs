//! The admin server, next to the controllers.

use std::future;
use std::time::Duration;

use k8s_controller_error::Panic;
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::error::Error;

/// How long the admin server may take to end. It lets requests that are being answered finish.
const LIMIT: Duration = Duration::from_secs(1);

/// An admin server that is running, if there is one. Dropped, it ends.
#[derive(Debug, Default)]
pub(crate) struct Serving {
    tasks: JoinSet<Result<(), Error>>,
    stop: CancellationToken,
}

impl Serving {
    /// Starts a server with the checks of a manager.
    ///
    /// # Errors
    ///
    /// It cannot be bound to its address.
    #[cfg(feature = "admin")]
    pub(crate) async fn start(
        server: Option<k8s_controller_admin::AdminServer>,
        health: &crate::health::ManagerHealth,
        ready_when_leading: bool,
    ) -> Result<Self, Error> {
        let mut serving = Self::default();
        if let Some(server) = server {
            let server = crate::checks::register(server, health, ready_when_leading);
            let bound = server.bind().await.map_err(Error::Admin)?;
            let stop = serving.stop.clone().cancelled_owned();
            let serve = async move { bound.serve(stop).await.map_err(Error::Admin) };
            serving.tasks.spawn(serve);
        }
        Ok(serving)
    }

    /// Waits for the server to end although it should not.
    pub(crate) async fn failed(&mut self) -> Error {
        match self.tasks.join_next().await {
            Some(result) => outcome(result).err().unwrap_or(Error::AdminEnded),
            None => future::pending().await,
        }
    }

    /// Stops the server and waits for its end.
    pub(crate) async fn stop(&mut self) {
        self.stop.cancel();
        let Ok(ended) = timeout(LIMIT, self.tasks.join_next()).await else {
            tracing::warn!("the admin server did not end in time");
            self.tasks.abort_all();
            return;
        };
        if let Some(Err(error)) = ended.map(outcome) {
            let error = k8s_controller_error::display_chain(&error);
            tracing::warn!(%error, "the admin server did not end well");
        }
    }
}

fn outcome(result: Result<Result<(), Error>, JoinError>) -> Result<(), Error> {
    match result {
        Ok(result) => result,
        Err(error) => Err(match error.try_into_panic() {
            Ok(payload) => Error::AdminPanicked(Panic::from_payload(payload.as_ref())),
            Err(_aborted) => Error::AdminEnded,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_that_ends_by_itself_has_failed() {
        let mut serving = Serving::default();
        serving.tasks.spawn(async { Ok(()) });
        assert!(matches!(serving.failed().await, Error::AdminEnded));
        serving.tasks.spawn(async { panic!("no luck") });
        let error = serving.failed().await;
        let shown = k8s_controller_error::display_chain(&error).to_string();
        assert_eq!(shown, "admin server: panicked: no luck");
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_does_not_end_is_not_waited_for() {
        let started = tokio::time::Instant::now();
        let mut serving = Serving::default();
        serving.tasks.spawn(future::pending());
        assert!(timeout(LIMIT, serving.failed()).await.is_err());
        serving.stop().await;
        assert_eq!(started.elapsed(), 2 * LIMIT);
    }
}
