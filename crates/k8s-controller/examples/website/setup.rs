//! What has to be on a server before the operator can work: the kind, and the ConfigMap of hosts.
//!
//! The manifests bring it, so that the operator need not be allowed to; `--install-crd` is for trying
//! it without them.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, CustomResourceExt};
use serde_json::json;

use crate::failure::Failure;
use crate::hosts::{HOSTS, NAMESPACE};
use crate::website::Website;

const ESTABLISHED_WITHIN: Duration = Duration::from_secs(10);

/// Installs what is missing. It can be called again.
pub async fn install(client: &Client) -> Result<(), Failure> {
    install_kind(client).await?;
    create_namespace(client, NAMESPACE).await?;
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    or_exists(api.create(&PostParams::default(), &hosts()).await).map_err(Failure::when(format!(
        "create ConfigMap {NAMESPACE}/{HOSTS}"
    )))
}

/// Creates a namespace, if it is not there.
pub async fn create_namespace(client: &Client, name: &str) -> Result<(), Failure> {
    let api: Api<Namespace> = Api::all(client.clone());
    or_exists(api.create(&PostParams::default(), &namespace(name)).await)
        .map_err(Failure::when(format!("create Namespace {name}")))
}

/// The namespace of this name.
pub fn namespace(name: &str) -> Namespace {
    let metadata = ObjectMeta {
        name: Some(name.into()),
        ..ObjectMeta::default()
    };
    Namespace {
        metadata,
        ..Namespace::default()
    }
}

/// The shared ConfigMap, empty.
pub fn hosts() -> ConfigMap {
    let metadata = ObjectMeta {
        name: Some(HOSTS.into()),
        namespace: Some(NAMESPACE.into()),
        ..ObjectMeta::default()
    };
    ConfigMap {
        metadata,
        ..ConfigMap::default()
    }
}

async fn install_kind(client: &Client) -> Result<(), Failure> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = Website::crd_name();
    let failed = || Failure::when(format!("install CustomResourceDefinition {name}"));
    let installed = match api.create(&PostParams::default(), &Website::crd()).await {
        // An older one becomes ours.
        Err(kube::Error::Api(status)) if status.is_already_exists() => {
            let spec = Patch::Merge(json!({ "spec": Website::crd().spec }));
            api.patch(name, &PatchParams::default(), &spec).await
        }
        created => created,
    };
    if installed
        .map_err(failed())?
        .metadata
        .deletion_timestamp
        .is_some()
    {
        // Its Websites still need their cleanup, so that there is something to do.
        tracing::warn!(
            name,
            "the CustomResourceDefinition is being deleted; no Website can be created"
        );
        return Ok(());
    }
    // The server serves the new kind only after it has checked it.
    let established = await_condition(api, name, conditions::is_crd_established());
    match tokio::time::timeout(ESTABLISHED_WITHIN, established).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(Failure::NotEstablished(name.into())),
    }
}

fn or_exists<K>(created: kube::Result<K>) -> kube::Result<()> {
    match created {
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
        other => other.map(drop),
    }
}
