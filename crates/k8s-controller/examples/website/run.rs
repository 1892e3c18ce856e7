//! `website run`: the operator on a cluster, with what a deployment needs around it.

use std::convert::Infallible;
use std::path::PathBuf;
use std::time::Duration;

use k8s_controller::Manager;
use k8s_controller::admin::AdminServer;
use k8s_controller::manager::LostLease;
use kube::api::ListParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, CustomResourceExt};

use crate::controller::{controller, operator, recorder};
use crate::failure::Failure;
use crate::flags::{self, Run};
use crate::metrics::Metrics;
use crate::website::Website;
use crate::{election, setup};

/// How long the API server may take for its first answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// How often to look for a resource definition that is missing.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(30);

/// Runs until a signal to stop, or until something fails that a new start may mend.
pub async fn run(flags: Run) -> Result<(), Failure> {
    // What can be told of without a cluster, or its server, comes first.
    if flags.election.leader_elect {
        election::check(&flags.election)?;
    }
    let config = config(flags.kubeconfig.clone()).await?;
    let url = config.cluster_url.to_string();
    let metrics = Metrics::new()?;
    let connected = metrics.connect(config);
    let client = connected.map_err(|source| Failure::unreachable(&url, source))?;
    let manager = manager(client.clone(), &flags, &metrics)?;
    greet(&client, &url).await?;
    if flags.install_crd {
        setup::install(&client).await?;
    }
    manage(manager, &client, flags.namespace.as_deref()).await
}

async fn manage(manager: Manager, client: &Client, namespace: Option<&str>) -> Result<(), Failure> {
    tokio::select! {
        ended = manager.run() => Ok(ended?),
        never = tell_of_a_missing_kind(client, namespace) => match never {},
    }
}

fn manager(client: Client, flags: &Run, metrics: &Metrics) -> Result<Manager, Failure> {
    let mut manager = Manager::new(client.clone()).with_stop_deadline(flags.stop_deadline);
    if flags.election.leader_elect {
        let election = election::election(client, &flags.election)?;
        metrics.observe_leadership(&election)?;
        manager = manager.with_leader_election(election).with_lost_lease(
            match flags.election.lost_lease {
                flags::LostLease::Exit => LostLease::Exit,
                flags::LostLease::Rejoin => LostLease::Rejoin,
            },
        );
    }
    if let Some(admin) = admin(&flags.admin, metrics) {
        manager = manager.with_admin(admin);
    }
    let (flags, metrics) = (flags.clone(), metrics.clone());
    // With an election, once for each time that this replica leads; the client then refuses to
    // write when it no longer does.
    Ok(manager.with_controller(move |client| {
        let recorder = recorder(client.clone());
        metrics.observe_events(&recorder);
        let controller = controller(client, operator(), recorder, flags.namespace.as_deref())
            .with_concurrency(flags.concurrency)
            .with_pass_timeout(flags.pass_timeout);
        metrics.observe(controller)
    }))
}

fn admin(flags: &flags::Admin, metrics: &Metrics) -> Option<AdminServer> {
    let admin = AdminServer::new(flags.address?).with_registry(metrics.registry());
    Some(match (&flags.tls_cert, &flags.tls_key) {
        (Some(certificate), Some(key)) => admin.with_tls(certificate.clone(), key.clone()),
        _ => admin,
    })
}

/// That of the kubeconfig at `path`, or that which kubectl would use, or that of the pod.
async fn config(path: Option<PathBuf>) -> Result<Config, Failure> {
    let Some(path) = path else {
        let inferred = Config::infer().await;
        return inferred.map_err(|source| Failure::NoCluster(Box::new(source)));
    };
    let config = async {
        let kubeconfig = Kubeconfig::read_from(&path)?;
        Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await
    };
    config.await.map_err(|source| Failure::Kubeconfig {
        path,
        source: Box::new(source),
    })
}

/// Asks at once, so that a wrong address is told now and not as a watch that never starts.
async fn greet(client: &Client, url: &str) -> Result<(), Failure> {
    let version = tokio::time::timeout(ANSWER_WITHIN, client.apiserver_version())
        .await
        .map_err(|_| Failure::Silent {
            url: url.to_owned(),
            after: ANSWER_WITHIN,
        })?
        .map_err(|source| Failure::unreachable(url, source))?;
    tracing::info!(url, version = version.git_version, "connected");
    Ok(())
}

/// A watch of a kind that is not installed fails again and again; this says why, until it is
/// installed.
async fn tell_of_a_missing_kind(client: &Client, namespace: Option<&str>) -> Infallible {
    let api: Api<Website> = match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    };
    let one = ListParams::default().limit(1);
    while let Err(kube::Error::Api(status)) = api.list_metadata(&one).await
        // For a kind that it does not know, a server has no more than this to say.
        && status.code == 404
    {
        tracing::error!(
            definition = Website::crd_name(),
            install = "website manifests | kubectl apply --filename -",
            "CustomResourceDefinition is not installed"
        );
        tokio::time::sleep(LOOK_AGAIN_AFTER).await;
    }
    std::future::pending().await
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use clap::Parser;
    use k8s_embedded_apiserver::EmbeddedApiServer;
    use kube::api::PostParams;
    use kube::runtime::wait::await_condition;

    use super::*;
    use crate::flags::{Command, Options};
    use crate::samples::samples;
    use crate::website::WebsitePhase;

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn flags(words: &[&str]) -> Run {
        let words = ["website", "run"].iter().chain(words);
        match Options::parse_from(words).command {
            Some(Command::Run(run)) => *run,
            other => panic!("{other:?}"),
        }
    }

    async fn reached(sites: &Api<Website>, name: &str, phase: WebsitePhase) {
        let reached = await_condition(sites.clone(), name, |site: Option<&Website>| {
            let status = site.and_then(|site| site.status.as_ref());
            status.is_some_and(|status| status.phase == phase)
        });
        let limit = Duration::from_secs(300);
        tokio::time::timeout(limit, reached).await.unwrap().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_missing_kind_is_told_and_waited_for() {
        // For the threads of other tests: `tracing` may take a log line for disabled everywhere that
        // a thread without a subscriber was the first to meet.
        tracing::subscriber::set_global_default(tracing_subscriber::registry()).unwrap();
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .with_ansi(false)
            .finish();
        let _logging = tracing::subscriber::set_default(subscriber);

        let client = Client::new(EmbeddedApiServer::new(), "default");
        let flags = flags(&["--leader-elect"]);
        let metrics = Metrics::new().unwrap();
        setup::create_namespace(&client, "website-system")
            .await
            .unwrap();
        let manager = manager(client.clone(), &flags, &metrics).unwrap();
        let story = async {
            tokio::time::sleep(LOOK_AGAIN_AFTER * 2).await;
            setup::install(&client).await.unwrap();
            let sites: Api<Website> = Api::default_namespaced(client.clone());
            let [site, ..] = samples();
            sites.create(&PostParams::default(), &site).await.unwrap();
            reached(&sites, "bakery", WebsitePhase::Ready).await;
            metrics.registry().gather()
        };
        let shown = tokio::select! {
            ended = manage(manager, &client, None) => panic!("{ended:?}"),
            shown = story => shown,
        };
        let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        let told = log.lines().filter(|line| line.contains("is not installed"));
        let told: Vec<_> = told.collect();
        assert!((2..5).contains(&told.len()), "{log}");
        assert!(told[0].contains("websites.example.dev"), "{log}");
        assert!(told[0].contains("website manifests"), "{log}");

        // It did all of this as the leader, with everything that it counts on show.
        let text = prometheus::TextEncoder::new();
        let shown = text.encode_to_string(&shown).unwrap();
        for series in [
            "leader_election_master_status{name=\"website\"} 1",
            "controller_runtime_max_concurrent_reconciles{controller=\"website\"} 32",
            "website_reconciliations_total{controller=\"website\",outcome=\"completed\",phase=\"apply\"}",
            "k8s_controller_events_total{controller=\"website\",",
        ] {
            assert!(shown.contains(series), "{series}: {shown}");
        }
    }

    #[tokio::test]
    async fn what_is_wrong_with_flags_is_told_without_a_cluster() {
        for word in ["--renew-deadline=15s", "--lease-name=No Way"] {
            let flags = flags(&["--leader-elect", "--kubeconfig=/no/such/file", word]);
            let text = run(flags).await.unwrap_err().to_string();
            let (flag, _) = word.split_once('=').unwrap();
            assert!(text.contains(flag), "{word}: {text}");
        }
    }

    #[tokio::test]
    async fn a_file_that_is_no_kubeconfig_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        for text in [None, Some("]["), Some("apiVersion: v1\nkind: Config\n")] {
            if let Some(text) = text {
                std::fs::write(&path, text).unwrap();
            }
            let failure = config(Some(path.clone())).await.err().unwrap();
            let text = k8s_controller::error::display_chain(&failure).to_string();
            assert!(text.contains(path.to_str().unwrap()), "{text}");
            assert!(text.contains("expected a YAML file"), "{text}");
        }
    }
}
