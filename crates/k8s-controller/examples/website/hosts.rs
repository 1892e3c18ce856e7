//! Which host name belongs to which Website: one ConfigMap for the whole cluster.
//!
//! Owner references do not reach across namespaces, so nobody cleans this up after a Website but
//! the operator itself. That is what the finalizer is for.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::Mutex;

use crate::error::WebsiteError;

/// The namespace of the shared ConfigMap.
pub const NAMESPACE: &str = "website-system";
/// The name of the shared ConfigMap. Its keys are host names, its values `namespace/name`.
pub const HOSTS: &str = "website-hosts";

/// The registered hosts.
pub type Hosts = BTreeMap<String, String>;

/// Writes the shared ConfigMap.
#[derive(Debug, Default)]
pub struct HostRegistry {
    /// Passes of this process take turns, which saves them from conflicts with each other. What
    /// makes the writes safe is the resourceVersion alone: it also stops other writers.
    turn: Mutex<()>,
}

impl HostRegistry {
    /// Makes `host` the only host of `owner`. Answers whether anything had to be changed.
    pub async fn claim(
        &self,
        client: &Client,
        host: &str,
        owner: &str,
    ) -> Result<bool, WebsiteError> {
        self.update(client, |hosts| with_claim(hosts, host, owner))
            .await
    }

    /// Takes away every host of `owner`. Answers whether anything had to be changed.
    pub async fn release(&self, client: &Client, owner: &str) -> Result<bool, WebsiteError> {
        match self.update(client, |hosts| Ok(without(hosts, owner))).await {
            // Where no ConfigMap is, no host is registered.
            Err(WebsiteError::NoHosts) => Ok(false),
            result => result,
        }
    }

    /// Reads, changes, and writes back what was read. A conflict is returned: the controller runs
    /// the pass again soon, from fresh state, and does not count it as a failure.
    async fn update(
        &self,
        client: &Client,
        change: impl FnOnce(&Hosts) -> Result<Hosts, WebsiteError>,
    ) -> Result<bool, WebsiteError> {
        let _turn = self.turn.lock().await;
        let api: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
        let found = api
            .get_opt(HOSTS)
            .await
            .map_err(WebsiteError::when("read the hosts"))?;
        let mut map = found.ok_or(WebsiteError::NoHosts)?;
        let before = map.data.take().unwrap_or_default();
        let after = change(&before)?;
        if after == before {
            return Ok(false);
        }
        map.data = Some(after);
        // `map` carries the resourceVersion that was read: if somebody else has written since, the
        // server answers 409.
        let written = api.replace(HOSTS, &PostParams::default(), &map).await;
        written.map_err(WebsiteError::when("write the hosts"))?;
        Ok(true)
    }
}

fn with_claim(hosts: &Hosts, host: &str, owner: &str) -> Result<Hosts, WebsiteError> {
    if let Some(other) = hosts.get(host).filter(|other| *other != owner) {
        return Err(WebsiteError::HostTaken {
            host: host.to_owned(),
            owner: other.clone(),
        });
    }
    let mut hosts = without(hosts, owner);
    hosts.insert(host.to_owned(), owner.to_owned());
    Ok(hosts)
}

fn without(hosts: &Hosts, owner: &str) -> Hosts {
    hosts
        .iter()
        .filter(|(_, of)| *of != owner)
        .map(|(host, of)| (host.clone(), of.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(entries: &[(&str, &str)]) -> Hosts {
        entries
            .iter()
            .map(|(host, owner)| ((*host).to_owned(), (*owner).to_owned()))
            .collect()
    }

    #[test]
    fn a_claim_replaces_the_owners_former_host() {
        let before = hosts(&[("a.com", "ns/a"), ("b.com", "ns/b")]);
        let after = with_claim(&before, "c.com", "ns/a").unwrap();
        assert_eq!(after, hosts(&[("b.com", "ns/b"), ("c.com", "ns/a")]));
        assert_eq!(with_claim(&after, "c.com", "ns/a").unwrap(), after);
    }

    #[test]
    fn a_host_of_another_is_refused() {
        let error = with_claim(&hosts(&[("a.com", "ns/a")]), "a.com", "other/a").unwrap_err();
        assert_eq!(error.to_string(), "host a.com is taken by Website ns/a");
    }

    #[test]
    fn a_release_leaves_the_others() {
        assert_eq!(
            without(&hosts(&[("a.com", "ns/a"), ("b.com", "ns/b")]), "ns/a"),
            hosts(&[("b.com", "ns/b")])
        );
    }
}
