//! What is set up on a server before scenarios, and taken down after them.

use std::fmt::Debug;
use std::time::Duration;

use k8s_controller::error::display_chain;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::Instant;

use super::cluster::PATIENCE;
use super::kinds::{self, Gadget, Realm, Widget};

pub(super) async fn strip_finalizers<K>(api: &Api<K>)
where
    K: Resource<DynamicType: Default> + Clone + DeserializeOwned + Debug,
{
    for object in api.list(&ListParams::default()).await.into_iter().flatten() {
        if !object.finalizers().is_empty() {
            strip_finalizers_of(api, &object.name_any()).await;
        }
    }
}

pub(super) async fn strip_finalizers_of<K: Clone + DeserializeOwned + Debug>(
    api: &Api<K>,
    name: &str,
) {
    let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    let _ = api.patch(name, &PatchParams::default(), &patch).await;
}

/// Creates the definitions of the kinds, or brings those that exist up to date, and waits until
/// they are served.
pub(super) async fn define(client: &Client) -> Result<(), String> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in kinds::definitions() {
        let name = definition.name_any();
        let failed = |error: kube::Error| {
            format!(
                "custom resource definition {name}: {}",
                display_chain(&error)
            )
        };
        match api.create(&PostParams::default(), &definition).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                let patch = Patch::Merge(json!({"spec": definition.spec}));
                api.patch(&name, &PatchParams::default(), &patch)
                    .await
                    .map_err(failed)?;
            }
            Err(error) => return Err(failed(error)),
        }
    }
    let deadline = Instant::now() + PATIENCE;
    loop {
        let widgets = Api::<Widget>::all(client.clone())
            .list(&ListParams::default())
            .await
            .err();
        let realms = Api::<Realm>::all(client.clone())
            .list(&ListParams::default())
            .await
            .err();
        let gadgets = Api::<Gadget>::all(client.clone())
            .list(&ListParams::default())
            .await
            .err();
        match widgets.or(realms).or(gadgets) {
            None => return Ok(()),
            Some(error) if Instant::now() >= deadline => {
                return Err(format!("kinds are not served: {}", display_chain(&error)));
            }
            Some(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}
