//! The demonstration: the operator on an API server inside this process, with Websites of which
//! some are broken on purpose. None of this is needed in an operator of your own.

mod cast;
mod checks;
mod faults;
mod report;
mod screen;
pub mod serve;
mod snapshot;
mod story;
mod tally;

use std::io::{Write, stdout};
use std::sync::Arc;
use std::time::Duration;

use k8s_embedded_apiserver::EmbeddedApiServer;
use kube::Client;
use tokio_util::sync::CancellationToken;

use crate::controller::{controller, recorder};
use crate::failure::Failure;
use crate::flags::LogFormat;
use crate::operator::WebsiteOperator;
use crate::{logging, setup};
use checks::Ending;
use faults::Faults;
use screen::Paint;
use snapshot::Snapshot;
use story::Stage;
use tally::Tally;

/// Where the Websites of the demonstration are.
pub const NAMESPACE: &str = "demo";

/// Retries are fast, so that the audience need not wait.
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LAST_RETRY: Duration = Duration::from_millis(800);
/// How long running passes may take to end.
const STOP_WITHIN: Duration = Duration::from_secs(2);

/// Runs it on standard output. Answers whether everything came out as it should.
pub async fn run() -> Result<bool, Failure> {
    if std::env::var_os("RUST_LOG").is_some() {
        logging::start(LogFormat::Text)?;
    }
    perform(&mut stdout(), Paint::for_stdout()).await
}

async fn perform(out: &mut impl Write, paint: Paint) -> Result<bool, Failure> {
    let server = EmbeddedApiServer::new();
    let faults = Faults::default();
    // The audience's own requests go past the faults.
    let client = Client::new(server.clone(), NAMESPACE);
    let operators_client = Client::new(faults.in_front_of(server), NAMESPACE);
    setup::install(&client).await?;
    setup::create_namespace(&client, NAMESPACE).await?;
    quiet_planned_panics();

    let tally = Arc::new(Tally::default());
    let stop = CancellationToken::new();
    let running = controller(
        operators_client.clone(),
        WebsiteOperator::new(FIRST_RETRY, LAST_RETRY),
        recorder(operators_client),
        None,
    )
    .with_observer(tally.clone())
    .with_stop_deadline(STOP_WITHIN)
    .run_until(stop.clone().cancelled_owned());
    let running = tokio::spawn(running);

    let restless = Stage::new(client.clone(), faults, tally.clone())
        .play()
        .await;
    stop.cancel();
    let stopped = running.await.map_err(Failure::Panicked)?;
    let abandoned = stopped.abandoned.iter().map(|site| site.name.clone());
    let ending = Ending {
        restless: restless?,
        abandoned: abandoned.collect(),
    };

    let end = Snapshot::take(&client)
        .await
        .map_err(Failure::when("read the outcome"))?;
    report::print(out, &end, &tally, paint)
        .and_then(|()| checks::print(out, &end, &tally, &ending, paint))
        .map_err(Failure::io("write to standard output"))
}

/// Keeps the panics that the demonstration makes on purpose from being printed.
fn quiet_planned_panics() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let text = panic.payload().downcast_ref::<String>();
        if text.is_none_or(|text| text != story::PANIC) {
            print(panic);
        }
    }));
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::RecvTimeoutError;

    use super::*;

    /// In real time, of which the demonstration takes about a second when the clock is paused.
    const GIVE_UP_AFTER: Duration = Duration::from_secs(120);

    #[tokio::test(start_paused = true)]
    async fn everything_comes_out_as_it_should() {
        // The paused clock moves when all tasks wait. An operator that never rests would stop it,
        // and with it every timeout.
        let (_running, ended) = std::sync::mpsc::channel::<()>();
        std::thread::spawn(move || {
            if ended.recv_timeout(GIVE_UP_AFTER) == Err(RecvTimeoutError::Timeout) {
                eprintln!("the operator never rests");
                std::process::exit(1);
            }
        });
        let mut shown = Vec::new();
        let right = perform(&mut shown, Paint::default()).await.unwrap();
        let shown = String::from_utf8(shown).unwrap();
        assert!(right, "{shown}");
        let too_wide: Vec<_> = shown
            .lines()
            .filter(|line| line.chars().count() > screen::WIDTH)
            .collect();
        assert!(too_wide.is_empty(), "{too_wide:#?}");
    }
}
