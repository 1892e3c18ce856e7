//! An operator as people write them: owned children, a shared object elsewhere, status, events.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use k8s_controller::events::{Event, EventType};
use k8s_controller::{Context, Controller, Outcome, TraceMetadata};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::controller::Action;
use kube::runtime::watcher;
use kube::{Client, Resource as _, ResourceExt as _};
use serde_json::json;
use tracing::Level;

use crate::harness::cluster::named;
use crate::harness::{AppError, Cluster, Records, Widget};

/// A widget has a page of its own, and its text registered as a host name in a map that all share.
struct Sites {
    registry: Api<ConfigMap>,
}

const REGISTRY: &str = "hosts";

impl Sites {
    /// Registers the host name unless somebody else has it.
    async fn register(&self, widget: &Widget) -> Result<(), AppError> {
        let mut hosts = self.registry.get(REGISTRY).await?;
        let data = hosts.data.get_or_insert_default();
        let uid = widget.uid().unwrap();
        match data.get(&widget.spec.text) {
            Some(owner) if *owner == uid => return Ok(()),
            Some(_) => {
                return Err(AppError::Text(format!(
                    "host name {} is taken",
                    widget.spec.text
                )));
            }
            None => {}
        }
        data.retain(|_, owner| *owner != uid);
        data.insert(widget.spec.text.clone(), uid);
        self.registry
            .replace(REGISTRY, &PostParams::default(), &hosts)
            .await?;
        Ok(())
    }

    async fn unregister(&self, widget: &Widget) -> Result<(), AppError> {
        let mut hosts = self.registry.get(REGISTRY).await?;
        let uid = widget.uid().unwrap();
        hosts
            .data
            .get_or_insert_default()
            .retain(|_, owner| *owner != uid);
        self.registry
            .replace(REGISTRY, &PostParams::default(), &hosts)
            .await?;
        Ok(())
    }
}

#[async_trait]
impl Context for Sites {
    type Resource = Widget;
    type Error = AppError;
    const FINALIZER_NAME: Option<&'static str> = Some("e2e.example.com/sites");

    async fn apply(
        &self,
        client: Client,
        widget: &Widget,
        metadata: &mut TraceMetadata,
    ) -> Result<Option<Action>, AppError> {
        let (name, namespace) = (widget.name_any(), widget.namespace().unwrap());
        let step = metadata.step("register");
        let registered = self.register(widget).await;
        step.finish(if registered.is_ok() {
            Outcome::Completed
        } else {
            Outcome::Failed
        });
        registered?;
        let pages: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
        let page = json!({
            "metadata": {"name": name, "ownerReferences": [widget.controller_owner_ref(&()).unwrap()]},
            "data": {"index.html": format!("welcome to {}", widget.spec.text)},
        });
        if pages.get_opt(&name).await?.is_none() {
            pages
                .create(
                    &PostParams::default(),
                    &serde_json::from_value(page).unwrap(),
                )
                .await?;
            metadata
                .publish_event(Event {
                    type_: EventType::Normal,
                    reason: "PageCreated".into(),
                    action: "CreatePage".into(),
                    note: Some(format!("page of {}", widget.spec.text)),
                    related: None,
                })
                .await;
        } else {
            pages
                .patch(&name, &PatchParams::default(), &Patch::Merge(page))
                .await?;
        }
        let status = json!({"status": {"seen": widget.spec.text, "observedGeneration": widget.metadata.generation}});
        let widgets: Api<Widget> = Api::namespaced(client, &namespace);
        widgets
            .patch_status(&name, &PatchParams::default(), &Patch::Merge(status))
            .await?;
        Ok(None)
    }

    async fn cleanup(
        &self,
        _: Client,
        widget: &Widget,
        _: &mut TraceMetadata,
    ) -> Result<Option<Action>, AppError> {
        self.unregister(widget).await?;
        Ok(None)
    }

    fn error_action(
        self: std::sync::Arc<Self>,
        _: std::sync::Arc<Widget>,
        _: &k8s_controller::Error<AppError>,
        _: u32,
    ) -> Action {
        Action::requeue(Duration::from_millis(300))
    }
}

pub(crate) async fn objects_that_own_others_and_share_one(cluster: Cluster) {
    const SITES: usize = 8;
    let shared = cluster.another_namespace("shared").await;
    let registry: Api<ConfigMap> = Api::namespaced(cluster.client(), &shared);
    registry
        .create(&PostParams::default(), &named(REGISTRY))
        .await
        .unwrap();
    let records = Records::default();
    let sites = Sites {
        registry: registry.clone(),
    };
    let pages: Api<ConfigMap> = cluster.api();
    let owned = pages.clone();
    let controller = Controller::namespaced(
        cluster.client(),
        sites,
        cluster.namespace(),
        watcher::Config::default(),
    )
    .with_controller(move |controller| controller.owns(owned, watcher::Config::default()))
    .with_observer(records.observer())
    .with_event_recorder(cluster.recorder());
    cluster.run(controller);

    let host = |index: usize| format!("host-{}", if index == SITES - 1 { 0 } else { index });
    let mut widgets = Vec::new();
    for index in 0..SITES - 1 {
        widgets.push(
            cluster
                .create_widget_with(&format!("site-{index}"), |widget| {
                    widget.spec.text = host(index);
                })
                .await,
        );
    }
    let ready = async |index: usize, text: &str| {
        cluster
            .eventually(&format!("site {index} ready"), async || {
                let widget = cluster
                    .widgets()
                    .get(&format!("site-{index}"))
                    .await
                    .unwrap();
                if widget
                    .status
                    .as_ref()
                    .and_then(|status| status.seen.as_deref())
                    == Some(text)
                {
                    Ok(())
                } else {
                    Err(format!("{widget:?}"))
                }
            })
            .await;
    };
    for index in 0..SITES - 1 {
        ready(index, &host(index)).await;
    }
    // All wrote one object at once: their conflicts were no errors.
    assert!(
        cluster.logs().at(Level::ERROR).is_empty(),
        "{:?}",
        cluster.logs().at(Level::ERROR).first()
    );
    let taken = registry.get(REGISTRY).await.unwrap().data.unwrap();
    let expected: BTreeMap<_, _> = widgets
        .iter()
        .map(|widget| (widget.spec.text.clone(), widget.uid().unwrap()))
        .collect();
    assert_eq!(taken, expected);

    // The last one wants the first one's name, which becomes free only later.
    let last = cluster
        .create_widget_with(&format!("site-{}", SITES - 1), |widget| {
            widget.spec.text = host(SITES - 1);
        })
        .await;
    let event = cluster
        .eventually("an event with a series", async || {
            match cluster.events(&last).await.pop() {
                Some(event) if event.series.is_some() => Ok(event),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    assert_eq!(
        event.note.as_deref(),
        Some("failed to apply object: host name host-0 is taken")
    );
    cluster.delete_widget("site-0").await;
    cluster.gone(&cluster.widgets(), "site-0").await;
    ready(SITES - 1, "host-0").await;

    // A page that somebody deletes or edits comes back.
    pages
        .delete("site-1", &DeleteParams::default())
        .await
        .unwrap();
    cluster
        .eventually("the page again", async || {
            match pages.get_opt("site-1").await.unwrap() {
                Some(page) => Ok(page),
                None => Err("no page".into()),
            }
        })
        .await;
    pages
        .patch(
            "site-2",
            &PatchParams::default(),
            &Patch::Merge(json!({"data": {"index.html": "defaced"}})),
        )
        .await
        .unwrap();
    cluster
        .eventually("the right page", async || {
            let page = pages.get("site-2").await.unwrap().data.unwrap_or_default();
            if page["index.html"] == "welcome to host-2" {
                Ok(())
            } else {
                Err(format!("{page:?}"))
            }
        })
        .await;

    for index in 1..SITES {
        cluster.delete_widget(&format!("site-{index}")).await;
    }
    for index in 1..SITES {
        cluster
            .gone(&cluster.widgets(), &format!("site-{index}"))
            .await;
    }
    let left = registry
        .get(REGISTRY)
        .await
        .unwrap()
        .data
        .unwrap_or_default();
    assert!(left.is_empty(), "{left:?}");
    let steps = records.steps();
    assert!(
        steps.contains(&("register".into(), Outcome::Failed))
            && steps.contains(&("register".into(), Outcome::Completed))
    );
}
