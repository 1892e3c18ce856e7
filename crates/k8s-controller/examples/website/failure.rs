//! Why the program as a whole ends with an error.

use std::path::PathBuf;

/// Shown to whoever started the program, with its causes.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("cannot use kubeconfig {}, expected a YAML file with a cluster, a user and a current-context", path.display())]
    Kubeconfig {
        path: PathBuf,
        source: Box<kube::config::KubeconfigError>,
    },
    #[error(
        "found no cluster, expected to run in a pod, or a kubeconfig in $KUBECONFIG or ~/.kube/config"
    )]
    NoCluster(#[source] Box<kube::config::InferConfigError>),
    #[error("cannot reach the API server at {url}")]
    Unreachable { url: String, source: kube::Error },
    #[error("the API server at {url} has not answered for {} s", after.as_secs())]
    Silent {
        url: String,
        after: std::time::Duration,
    },
    #[error("cannot {action}")]
    Request { action: String, source: kube::Error },
    #[error("cannot {action}")]
    Io {
        action: String,
        source: std::io::Error,
    },
    #[error("cannot use RUST_LOG, expected filters such as `info` or `website=debug,kube=warn`")]
    LogFilter(#[from] tracing_subscriber::filter::FromEnvError),
    #[error("cannot write YAML")]
    Yaml(#[from] serde_saphyr::ser::Error),
    #[error("{0}")]
    Flag(String),
    #[error("cannot make metrics")]
    Metrics(#[from] prometheus::Error),
    #[error(transparent)]
    Manager(#[from] k8s_controller::manager::Error),
    #[error("the operator has ended by a panic")]
    Panicked(#[source] tokio::task::JoinError),
    #[error("CustomResourceDefinition {0} is not established; see its status.conditions for why")]
    NotEstablished(String),
}

impl Failure {
    /// For `map_err`: says what was being done when the request failed.
    pub fn when(action: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let action = action.into();
        move |source| Self::Request { action, source }
    }

    /// For `map_err`: says which server was asked.
    pub fn unreachable(url: &str, source: kube::Error) -> Self {
        let url = url.to_owned();
        Self::Unreachable { url, source }
    }

    /// Like [`Self::when`], for files and sockets.
    pub fn io(action: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source }
    }
}
