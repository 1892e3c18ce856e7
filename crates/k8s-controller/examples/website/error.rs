//! Why a pass over a Website fails.

use k8s_controller::error::TerminalError;

use crate::hosts;

/// One variant per cause, so that each gets its own reason in events and its own retry policy.
#[derive(Debug, thiserror::Error)]
pub enum WebsiteError {
    /// The user has to change the Website; trying again does not help.
    #[error(transparent)]
    Invalid(#[from] TerminalError),
    /// Another Website has the host name; it may be gone later.
    #[error("host {host} is taken by Website {owner}")]
    HostTaken { host: String, owner: String },
    /// A child cannot be made because an object that is not ours has its name.
    #[error("{kind} {name} exists already and does not belong to this Website")]
    NameTaken { kind: String, name: String },
    /// The operator's own set-up is incomplete.
    #[error("ConfigMap {}/{} is missing", hosts::NAMESPACE, hosts::HOSTS)]
    NoHosts,
    /// The cluster has given us an object that no server should hand out.
    #[error("the object has no {0}")]
    Incomplete(&'static str),
    /// A request to the API server failed.
    #[error("cannot {action}")]
    Api { action: String, source: kube::Error },
}

impl WebsiteError {
    /// Everything that the user has to change. `TerminalError` keeps it from being retried.
    pub fn invalid(problems: &[String]) -> Self {
        Self::Invalid(TerminalError::new(problems.join("; ")))
    }

    /// For `map_err`: says what was being done when the request failed.
    pub fn when(action: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let action = action.into();
        move |source| Self::Api { action, source }
    }

    /// The reason that events carry: one CamelCase word that scripts and alerts can rely on.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "InvalidSpec",
            Self::HostTaken { .. } => "HostTaken",
            Self::NameTaken { .. } => "NameTaken",
            Self::NoHosts => "HostsMissing",
            Self::Incomplete(_) => "IncompleteObject",
            Self::Api { .. } => "RequestFailed",
        }
    }
}
