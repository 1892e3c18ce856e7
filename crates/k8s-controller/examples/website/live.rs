//! Running the operator: its start, what it watches, its graceful stop.

use std::io::{IsTerminal, stderr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use k8s_controller::events::{EventRecorder, Reporter};
use k8s_controller::{Controller, ReconcileObserver};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::watcher;
use kube::{Api, Client, Config};
use tracing_subscriber::EnvFilter;

use crate::failure::Failure;
use crate::operator::WebsiteOperator;
use crate::setup;

/// How the operator signs logs, metrics and events.
const NAME: &str = "website";
/// How long the API server may take for its first answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// How long passes may go on after Ctrl-C. Kubernetes kills a pod 30 s after it asked it to end.
const STOP_WITHIN: Duration = Duration::from_secs(25);
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(300);

/// Runs the operator until `stop`. Returns the Websites whose passes did not end in time.
pub async fn run_operator(
    client: Client,
    operator: WebsiteOperator,
    observers: Vec<Arc<dyn ReconcileObserver>>,
    stop: impl Future<Output = ()>,
    stop_within: Duration,
) -> Vec<String> {
    // In a pod, the host name is the name of the pod.
    let reporter = Reporter {
        controller: NAME.into(),
        instance: std::env::var("HOSTNAME").ok(),
    };
    let recorder = Arc::new(EventRecorder::new(client.clone(), reporter));
    let config_maps = Api::<ConfigMap>::all(client.clone());
    let deployments = Api::<Deployment>::all(client.clone());
    // Of other people's objects, only those with our label are of interest.
    let ours = watcher::Config::default().labels("app.kubernetes.io/name=website");

    let controller = Controller::namespaced_all(client, operator, watcher::Config::default())
        .with_name(NAME)
        .with_event_recorder(recorder)
        .with_stop_deadline(stop_within)
        // Somebody changes or deletes a child: run a pass over the Website that owns it.
        .with_controller(|c| c.owns(config_maps, ours.clone()).owns(deployments, ours));
    let controller = observers
        .into_iter()
        .fold(controller, Controller::with_observer);
    let stopped = controller.run_until(stop).await;
    stopped
        .abandoned
        .iter()
        .map(|site| site.name.clone())
        .collect()
}

/// Runs on the cluster that the kubeconfig at `path` points to, until Ctrl-C or SIGTERM.
pub async fn on_kubeconfig(path: PathBuf) -> Result<bool, Failure> {
    let config = async {
        let kubeconfig = Kubeconfig::read_from(&path)?;
        Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await
    };
    match config.await {
        Ok(config) => on(config).await,
        Err(source) => Err(Failure::Kubeconfig {
            path,
            source: Box::new(source),
        }),
    }
}

/// Runs on the cluster that kubectl would use, or on that of the surrounding pod.
pub async fn on_cluster() -> Result<bool, Failure> {
    on(Config::infer()
        .await
        .map_err(|source| Failure::NoCluster(Box::new(source)))?)
    .await
}

async fn on(config: Config) -> Result<bool, Failure> {
    start_logging()?;
    let url = config.cluster_url.to_string();
    let unreachable = |source| Failure::Unreachable {
        url: url.clone(),
        source,
    };
    let client = Client::try_from(config).map_err(unreachable)?;
    // Asked at once, so that a wrong address is told now and not as a watch that never starts.
    let version = tokio::time::timeout(ANSWER_WITHIN, client.apiserver_version()).await;
    let version = match version {
        Ok(version) => version.map_err(unreachable)?,
        Err(_) => {
            return Err(Failure::Silent {
                url,
                after: ANSWER_WITHIN,
            });
        }
    };
    tracing::info!(url, version = version.git_version, "connected");
    setup::install(&client).await?;
    run_until_signal(client).await
}

/// Runs until Ctrl-C or SIGTERM, then lets running passes end.
pub async fn run_until_signal(client: Client) -> Result<bool, Failure> {
    let stop = signal()?;
    let operator = WebsiteOperator::new(FIRST_RETRY, LAST_RETRY);
    let abandoned = run_operator(client, operator, Vec::new(), stop, STOP_WITHIN).await;
    // The next run takes them up again, so that this is no failure.
    if !abandoned.is_empty() {
        tracing::warn!(?abandoned, "stopped before these passes had ended");
    }
    Ok(true)
}

/// Ready at the first Ctrl-C or SIGTERM, which is what Kubernetes sends to a pod that is to end.
#[cfg(unix)]
fn signal() -> Result<impl Future<Output = ()>, Failure> {
    use tokio::signal::unix::{SignalKind, signal};

    let listen = |kind| signal(kind).map_err(Failure::io("listen for signals"));
    let (mut interrupt, mut terminate) = (
        listen(SignalKind::interrupt())?,
        listen(SignalKind::terminate())?,
    );
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

#[cfg(not(unix))]
fn signal() -> Result<impl Future<Output = ()>, Failure> {
    Ok(async {
        tokio::signal::ctrl_c().await.ok();
    })
}

/// Logs to standard error what `RUST_LOG` says; by default, a line for each pass.
pub fn start_logging() -> Result<(), Failure> {
    let info = tracing_subscriber::filter::LevelFilter::INFO;
    let filter = EnvFilter::builder()
        .with_default_directive(info.into())
        .from_env()?;
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(stderr().is_terminal() && !no_color)
        .with_writer(stderr)
        .init();
    Ok(())
}
