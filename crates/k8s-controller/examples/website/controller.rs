//! The controller: which objects start a pass, and how events are signed.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use k8s_controller::Controller;
use k8s_controller::events::{EventRecorder, Reporter};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::NamespaceResourceScope;
use kube::runtime::watcher;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;

use crate::operator::WebsiteOperator;

/// How the operator signs logs, metrics and events.
pub const NAME: &str = "website";
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(300);

/// A controller of all Websites, or of those in one namespace.
pub fn controller(
    client: Client,
    operator: WebsiteOperator,
    recorder: Arc<EventRecorder>,
    namespace: Option<&str>,
) -> Controller<WebsiteOperator> {
    let config_maps: Api<ConfigMap> = api(&client, namespace);
    let deployments: Api<Deployment> = api(&client, namespace);
    // Of other people's objects, only those with our label are of interest.
    let ours = watcher::Config::default().labels("app.kubernetes.io/name=website");
    let all = watcher::Config::default();
    let controller = match namespace {
        Some(namespace) => Controller::namespaced(client, operator, namespace, all),
        None => Controller::namespaced_all(client, operator, all),
    };
    controller
        .with_name(NAME)
        .with_event_recorder(recorder)
        // Somebody changes or deletes a child: run a pass over the Website that owns it.
        .with_controller(|c| c.owns(config_maps, ours.clone()).owns(deployments, ours))
}

/// The operator, with the retries that suit a cluster.
pub fn operator() -> WebsiteOperator {
    WebsiteOperator::new(FIRST_RETRY, LAST_RETRY)
}

/// Publishes events in the name of this process.
pub fn recorder(client: Client) -> Arc<EventRecorder> {
    let reporter = Reporter {
        controller: NAME.into(),
        instance: Some(instance()),
    };
    Arc::new(EventRecorder::new(client, reporter))
}

/// What tells this replica from others: the name of the pod, if the manifest hands it over, or of
/// the host.
pub fn instance() -> String {
    let pod = std::env::var("POD_NAME").ok();
    pod.filter(|name| !name.is_empty()).unwrap_or_else(|| {
        let host = hostname::get()
            .ok()
            .and_then(|name| name.into_string().ok());
        host.unwrap_or_else(|| NAME.into())
    })
}

fn api<K>(client: &Client, namespace: Option<&str>) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    K: Clone + Debug + DeserializeOwned,
{
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}
