//! What is on the server at one moment, and whether it is what it should be.

use std::collections::BTreeMap;

use k8s_controller::conditions::find_observed;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::events::v1::Event;
use kube::api::ListParams;
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use super::NAMESPACE;
use super::cast::{Outlook, Role};
use crate::children::{CONTENT_HASH, content_hash};
use crate::hosts::{self, HOSTS, Hosts};
use crate::website::{READY, Website, WebsitePhase};

/// The objects of the demonstration, by name.
#[derive(Debug)]
pub struct Snapshot {
    pub sites: BTreeMap<String, Website>,
    pub config_maps: BTreeMap<String, ConfigMap>,
    pub deployments: BTreeMap<String, Deployment>,
    /// Of one Website each, oldest first.
    pub events: BTreeMap<String, Vec<Event>>,
    pub hosts: Hosts,
}

impl Snapshot {
    pub async fn take(client: &Client) -> kube::Result<Self> {
        let mut events: BTreeMap<String, Vec<Event>> = BTreeMap::new();
        for event in by_name::<Event>(client).await?.into_values() {
            let about = event
                .regarding
                .as_ref()
                .and_then(|object| object.name.clone())
                .unwrap_or_default();
            events.entry(about).or_default().push(event);
        }
        for list in events.values_mut() {
            list.sort_by_key(|event| event.event_time.as_ref().map(|time| time.0));
        }
        let hosts: Api<ConfigMap> = Api::namespaced(client.clone(), hosts::NAMESPACE);
        Ok(Self {
            sites: by_name(client).await?,
            config_maps: by_name(client).await?,
            deployments: by_name(client).await?,
            events,
            hosts: hosts.get(HOSTS).await?.data.unwrap_or_default(),
        })
    }

    /// The events of one Website, oldest first.
    pub fn events_of(&self, name: &str) -> &[Event] {
        self.events.get(name).map_or(&[], Vec::as_slice)
    }

    /// Everything in which `role` is not as `outlook` wants it.
    pub fn unmet(&self, role: &Role, outlook: Outlook) -> Vec<String> {
        let mut unmet = Vec::new();
        let mut expect = |ok: bool, what: &str| {
            if !ok {
                unmet.push(format!("{}: {what}", role.name));
            }
        };
        let site = self.sites.get(role.name);
        let status = site.and_then(|site| site.status.as_ref());
        let phase = status.map(|status| status.phase);
        let ready = site.and_then(|site| {
            let conditions = &site.status.as_ref()?.conditions;
            find_observed(conditions, READY, site.metadata.generation)
        });
        let ready = ready.map(|ready| (&*ready.status, &*ready.reason));
        match outlook {
            Outlook::Gone => {
                expect(site.is_none(), "the Website is still there");
                expect(
                    !self.config_maps.contains_key(role.name),
                    "its ConfigMap is still there",
                );
                expect(
                    !self.deployments.contains_key(role.name),
                    "its Deployment is still there",
                );
            }
            Outlook::Failing(reason) => {
                expect(
                    phase == Some(WebsitePhase::Failed),
                    "the phase is not Failed",
                );
                expect(
                    ready == Some(("False", reason)),
                    &format!("Ready is not False for {reason}"),
                );
                expect(
                    self.events_of(role.name)
                        .iter()
                        .any(|event| is(event, reason) && repeats(event) > 1),
                    &format!("no repeated event {reason}"),
                );
            }
            Outlook::Ready => {
                let generation = site.and_then(|site| site.metadata.generation);
                expect(phase == Some(WebsitePhase::Ready), "the phase is not Ready");
                expect(
                    ready.is_some_and(|(status, _)| status == "True"),
                    "Ready is not True",
                );
                expect(
                    generation.is_some()
                        && status.and_then(|s| s.observed_generation) == generation,
                    "the status is about an older generation",
                );
                if let Some(site) = site {
                    expect(
                        self.serves(site),
                        "its ConfigMap or Deployment is not as its spec says",
                    );
                }
            }
        }
        unmet
    }

    /// Whether the children are as the spec says; looked at by other means than the operator's own.
    fn serves(&self, site: &Website) -> bool {
        let name = site.name_any();
        let page = self
            .config_maps
            .get(&name)
            .and_then(|map| map.data.as_ref()?.get("index.html"));
        let spec = self
            .deployments
            .get(&name)
            .map(|deployment| &deployment.spec);
        let hash = spec.and_then(|s| {
            s.template
                .metadata
                .as_ref()?
                .annotations
                .as_ref()?
                .get(CONTENT_HASH)
        });
        page == Some(&site.spec.content)
            && spec.and_then(|spec| spec.replicas) == Some(site.spec.replicas)
            && hash == Some(&content_hash(&site.spec.content))
    }
}

/// Whether `event` has this reason.
pub fn is(event: &Event, reason: &str) -> bool {
    event.reason.as_deref() == Some(reason)
}

/// How often `event` has happened.
pub fn repeats(event: &Event) -> i32 {
    event.series.as_ref().map_or(1, |series| series.count)
}

async fn by_name<K>(client: &Client) -> kube::Result<BTreeMap<String, K>>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + DeserializeOwned
        + std::fmt::Debug,
{
    let api: Api<K> = Api::namespaced(client.clone(), NAMESPACE);
    let list = api.list(&ListParams::default()).await?;
    Ok(list
        .items
        .into_iter()
        .map(|object| (object.name_any(), object))
        .collect())
}
