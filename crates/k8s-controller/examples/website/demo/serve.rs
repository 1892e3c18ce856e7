//! `website serve`: the operator on an API server inside this process that kubectl can use, too.

use std::io::{Write, stdout};

use k8s_controller::Manager;
use k8s_embedded_apiserver::{EmbeddedApiServer, http};
use kube::api::PostParams;
use kube::runtime::wait::await_condition;
use kube::{Api, Client, ResourceExt};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::controller::{controller, operator, recorder};
use crate::failure::Failure;
use crate::flags::LogFormat;
use crate::samples::samples;
use crate::website::{Website, WebsitePhase};
use crate::{logging, setup};

/// Runs until Ctrl-C or SIGTERM, with some Websites to look at.
pub async fn run() -> Result<bool, Failure> {
    logging::start(LogFormat::Text)?;
    let server = EmbeddedApiServer::new();
    let client = Client::new(server.clone(), "default");
    setup::install(&client).await?;
    let sites: Api<Website> = Api::default_namespaced(client.clone());

    let listening = Failure::io("listen on 127.0.0.1");
    let listener = TcpListener::bind(("127.0.0.1", 0))
        .await
        .map_err(listening)?;
    let address = listener
        .local_addr()
        .map_err(Failure::io("listen on 127.0.0.1"))?;
    // The folder is removed when it is dropped.
    let folder = tempfile::tempdir().map_err(Failure::io("make a folder for the kubeconfig"))?;
    let path = folder.path().join("kubeconfig");
    let writing = Failure::io(format!("write {}", path.display()));
    std::fs::write(&path, http::kubeconfig(address)).map_err(writing)?;
    let path = path.display();
    write!(
        stdout(),
        "An API server with the operator is ready. In another terminal:

    export KUBECONFIG={path}
    kubectl get websites
    kubectl get events --watch
    kubectl patch website below-zero --type merge -p '{{\"spec\":{{\"replicas\":1}}}}'
    kubectl wait --for=condition=Ready website/below-zero
    kubectl delete website bakery       # rival, which wants its host, follows with its next retry

Ctrl-C ends both.
"
    )
    .map_err(Failure::io("write to standard output"))?;

    let stop = CancellationToken::new();
    let front = tokio::spawn(http::serve(
        server,
        listener,
        stop.clone().cancelled_owned(),
    ));
    let ended = tokio::select! {
        ended = manager(client).run() => ended.map(|()| true).map_err(Failure::from),
        Err(failure) = create_samples(sites) => Err(failure),
    };
    stop.cancel();
    front
        .await
        .map_err(Failure::Panicked)?
        .map_err(Failure::io("serve on 127.0.0.1"))?;
    ended
}

fn manager(client: Client) -> Manager {
    let make = |client: Client| controller(client.clone(), operator(), recorder(client), None);
    Manager::new(client).with_controller(make)
}

/// Each when the one before has been looked at: two of them want the same host, and the first is
/// to have it.
async fn create_samples(sites: Api<Website>) -> Result<(), Failure> {
    let looked_at = |site: Option<&Website>| {
        let status = site.and_then(|site| site.status.as_ref());
        status.is_some_and(|status| status.phase != WebsitePhase::Pending)
    };
    for site in samples() {
        let created = sites.create(&PostParams::default(), &site).await;
        created.map_err(Failure::when("create the sample Websites"))?;
        let watched = await_condition(sites.clone(), &site.name_any(), looked_at).await;
        if let Err(error) = watched {
            tracing::warn!(%error, "cannot watch the sample Websites");
        }
    }
    Ok(())
}
