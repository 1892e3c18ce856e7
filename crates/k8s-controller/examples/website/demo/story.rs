//! What happens, in two acts.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::NAMESPACE;
use super::cast::{CAST, Outlook, Role};
use super::faults::{Fault, Faults};
use super::screen::Screen;
use super::snapshot::Snapshot;
use super::tally::Tally;
use crate::failure::Failure;
use crate::hosts::HOSTS;
use crate::website::{Website, WebsitePhase};

/// What the planned panics say.
pub const PANIC: &str = "index out of bounds: the len is 0 but the index is 0";
/// After so long, an act ends as it is; the checks then tell what is missing.
const ACT_LIMIT: Duration = Duration::from_secs(15);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long nothing may happen to what is settled.
const QUIET: Duration = Duration::from_millis(500);

/// Everything that the story needs.
pub struct Stage {
    client: Client,
    sites: Api<Website>,
    faults: Faults,
    tally: Arc<Tally>,
    screen: Screen,
}

impl Stage {
    pub fn new(client: Client, faults: Faults, tally: Arc<Tally>) -> Self {
        let sites = Api::namespaced(client.clone(), NAMESPACE);
        Self {
            client,
            sites,
            faults,
            tally,
            screen: Screen::new(),
        }
    }

    /// Plays both acts. Answers which Websites were worked on although nothing was to be done.
    pub async fn play(&mut self) -> Result<Vec<String>, Failure> {
        let played = self.acts().await;
        self.screen.clear();
        played.map_err(Failure::when("play the demonstration"))
    }

    async fn acts(&mut self) -> kube::Result<Vec<String>> {
        let broken = CAST.iter().filter(|role| role.warning.is_some()).count();
        self.screen.announce(&format!(
            "Act 1: {} Websites come; {broken} will be in trouble.",
            CAST.len()
        ));
        self.trouble().await?;
        self.create().await?;
        self.wait("act 1", CAST, |role| role.first).await?;

        self.screen
            .announce("Act 2: some are repaired, some changed, some deleted.");
        self.repair().await?;
        self.change().await?;
        self.delete().await?;
        self.wait("act 2", CAST, |role| role.last).await?;

        self.screen
            .announce("Nothing more is to be done; does the operator leave it at that?");
        Ok(self.restless().await)
    }

    /// Prepares what will go wrong in the first act.
    async fn trouble(&self) -> kube::Result<()> {
        let foreign =
            json!({ "metadata": { "name": "name-taken" }, "data": { "by": "a stranger" } });
        let foreign: ConfigMap =
            serde_json::from_value(foreign).map_err(kube::Error::SerdeError)?;
        self.config_maps()
            .create(&PostParams::default(), &foreign)
            .await?;

        let down = Fault::Answer(500, "InternalError", "etcdserver: leader changed");
        self.faults.arm(3, Method::GET, "/deployments/flaky", down);
        self.faults
            .arm(3, Method::GET, "/configmaps/panics", Fault::Panic(PANIC));
        let lost = Fault::Answer(409, "Conflict", "the object has been modified");
        self.faults
            .arm(2, Method::PATCH, "/websites/contended/status", lost);
        Ok(())
    }

    async fn create(&mut self) -> kube::Result<()> {
        let (first, others) = CAST.split_at(1);
        for role in first {
            self.sites
                .create(&PostParams::default(), &role.website())
                .await?;
        }
        self.wait("act 1", first, |role| role.first).await?;
        for role in others {
            self.sites
                .create(&PostParams::default(), &role.website())
                .await?;
        }
        Ok(())
    }

    /// What users do who have read the events.
    async fn repair(&self) -> kube::Result<()> {
        self.patch("bad-host", json!({ "host": "good-host.example.com" }))
            .await?;
        self.patch("below-zero", json!({ "replicas": 1 })).await?;
        self.config_maps()
            .delete("name-taken", &DeleteParams::default())
            .await?;
        Ok(())
    }

    async fn change(&self) -> kube::Result<()> {
        self.patch("aurora", json!({ "content": "<h1>A new page</h1>" }))
            .await?;
        self.patch("cinema", json!({ "host": "movies.example.com" }))
            .await?;
        self.patch("dockyard", json!({ "replicas": 5 })).await?;
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), NAMESPACE);
        deployments
            .delete("elmstreet", &DeleteParams::default())
            .await?;
        Ok(())
    }

    async fn delete(&mut self) -> kube::Result<()> {
        // Let the changes above be done with the hosts, so that the faults hit nobody else.
        let changed = |role: &&Role| role.last == Outlook::Ready && role.name != "rival";
        let changed: Vec<_> = CAST.iter().filter(changed).copied().collect();
        self.wait("act 2", &changed, |role| role.last).await?;
        let down = Fault::Answer(500, "InternalError", "etcdserver: request timed out");
        self.faults
            .arm(2, Method::PUT, format!("/configmaps/{HOSTS}"), down);
        self.sites
            .delete("museum", &DeleteParams::default())
            .await?;
        let museum: Vec<_> = CAST
            .iter()
            .filter(|role| role.name == "museum")
            .copied()
            .collect();
        self.wait("act 2", &museum, |role| role.last).await?;

        for role in CAST
            .iter()
            .filter(|role| role.last == Outlook::Gone && role.name != "museum")
        {
            self.sites
                .delete(role.name, &DeleteParams::default())
                .await?;
        }
        Ok(())
    }

    /// Waits until each of `roles` is as it has to be, and shows how far it is.
    async fn wait(
        &mut self,
        act: &str,
        roles: &[Role],
        outlook: fn(&Role) -> Outlook,
    ) -> kube::Result<()> {
        let until = self.screen.elapsed() + ACT_LIMIT;
        loop {
            let now = Snapshot::take(&self.client).await?;
            self.show(act, &now);
            let met = roles
                .iter()
                .all(|role| now.unmet(role, outlook(role)).is_empty());
            if met || self.screen.elapsed() >= until {
                return Ok(());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    fn show(&mut self, act: &str, now: &Snapshot) {
        let in_phase = |phase| {
            let phases = now.sites.values().filter_map(|site| site.status.as_ref());
            phases.filter(|status| status.phase == phase).count()
        };
        let passes = self.tally.passes();
        self.screen.progress(&format!(
            "{act}: {} Websites, {} ready, {} failed; {} passes, {} of them failed; {} events",
            now.sites.len(),
            in_phase(WebsitePhase::Ready),
            in_phase(WebsitePhase::Failed),
            passes.runs,
            passes.failed,
            now.events.values().map(Vec::len).sum::<usize>(),
        ));
    }

    /// The Websites that are worked on although there is nothing to do. An operator that writes in
    /// every pass would start its own next pass, for ever.
    async fn restless(&self) -> Vec<String> {
        let settled = CAST.iter().filter(|role| role.last != Outlook::Gone);
        let passes = || {
            settled
                .clone()
                .map(|role| (role.name, self.tally.object(role.name).runs))
        };
        let until = Instant::now() + ACT_LIMIT;
        loop {
            let before: Vec<_> = passes().collect();
            tokio::time::sleep(QUIET).await;
            let busy = before
                .into_iter()
                .zip(passes())
                .filter(|(before, after)| before != after);
            let busy: Vec<_> = busy.map(|(_, (name, _))| name.to_owned()).collect();
            // What was waited for can have a last pass behind it, which finds nothing to do.
            if busy.is_empty() || Instant::now() >= until {
                return busy;
            }
        }
    }

    async fn patch(&self, name: &str, spec: Value) -> kube::Result<()> {
        let patch = Patch::Merge(json!({ "spec": spec }));
        self.sites
            .patch(name, &PatchParams::default(), &patch)
            .await?;
        Ok(())
    }

    fn config_maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }
}
