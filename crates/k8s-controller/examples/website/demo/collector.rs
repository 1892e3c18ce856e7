//! Stands in for the garbage collector of kube-controller-manager, which the embedded server does
//! not have: deletes what belonged to a Website that is gone.

use std::collections::HashSet;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, Preconditions};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use crate::website::Website;

const PERIOD: Duration = Duration::from_millis(100);

/// Collects until it is dropped.
pub async fn run(client: Client) {
    loop {
        let collected = async {
            collect::<ConfigMap>(&client).await?;
            collect::<Deployment>(&client).await
        };
        if let Err(error) = collected.await {
            tracing::warn!(%error, "cannot collect garbage");
        }
        tokio::time::sleep(PERIOD).await;
    }
}

async fn collect<K>(client: &Client) -> kube::Result<()>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + DeserializeOwned
        + std::fmt::Debug,
{
    // Children first: one whose owner comes into being in between is then not taken for an orphan.
    let children = Api::<K>::all(client.clone())
        .list(&ListParams::default())
        .await?;
    let sites = Api::<Website>::all(client.clone())
        .list(&ListParams::default())
        .await?;
    let alive: HashSet<_> = sites.iter().filter_map(ResourceExt::uid).collect();
    let is_orphan = |child: &&K| {
        child
            .owner_references()
            .iter()
            .any(|owner| owner.kind == "Website" && !alive.contains(&owner.uid))
    };
    for orphan in children.iter().filter(is_orphan) {
        let api: Api<K> = Api::namespaced(client.clone(), &orphan.namespace().unwrap_or_default());
        let this_one = Preconditions {
            uid: orphan.uid(),
            resource_version: None,
        };
        let deleted = api
            .delete(
                &orphan.name_any(),
                &DeleteParams::default().preconditions(this_one),
            )
            .await;
        match deleted {
            Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => {}
            other => drop(other?),
        }
    }
    Ok(())
}
