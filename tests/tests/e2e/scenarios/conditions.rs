//! Conditions that controllers write into the status of their objects.

use std::time::Duration;

use k8s_controller::conditions::{
    ConditionStatus, DesiredCondition, find, find_observed, remove, set, set_at,
};
use k8s_controller::{Controller, Phase};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt as _;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::watcher;
use serde_json::json;

use crate::harness::kinds::{GadgetSpec, GadgetStatus};
use crate::harness::{Cluster, Gadget, Script, Without};

/// What is wanted of a gadget: ready if it works.
fn ready(gadget: &Gadget) -> DesiredCondition {
    let (reason, message) = if gadget.spec.working {
        ("Working", format!("{} runs", gadget.spec.text))
    } else {
        ("Broken", format!("{} stands", gadget.spec.text))
    };
    DesiredCondition::new("Ready", gadget.spec.working.into(), reason, message)
        .observed_generation(gadget.metadata.generation)
}

fn conditions_of(gadget: &Gadget) -> Vec<Condition> {
    gadget.status.clone().unwrap_or_default().conditions
}

fn only_conditions(conditions: &[Condition]) -> Patch<serde_json::Value> {
    Patch::Merge(json!({"status": {"conditions": conditions}}))
}

/// A controller that writes the condition of a gadget when it changed; or always, as one does that
/// does not look.
fn script(cluster: &Cluster, always: bool) -> Script<Gadget, Without> {
    let namespace = cluster.namespace().to_owned();
    Script::new().apply(move |client, gadget| {
        let api: Api<Gadget> = Api::namespaced(client, &namespace);
        async move {
            let mut conditions = conditions_of(&gadget);
            if set(&mut conditions, ready(&gadget)).is_changed() || always {
                let patch = only_conditions(&conditions);
                api.patch_status(&gadget.name_any(), &PatchParams::default(), &patch)
                    .await?;
            }
            Ok(None)
        }
    })
}

fn run(cluster: &Cluster, script: &Script<Gadget, Without>) {
    let config = watcher::Config::default();
    cluster.run(Controller::namespaced(
        cluster.client(),
        script.clone(),
        cluster.namespace(),
        config,
    ));
}

async fn create(cluster: &Cluster, name: &str) -> Gadget {
    let gadget = Gadget::new(name, GadgetSpec::default());
    let api: Api<Gadget> = cluster.api();
    api.create(&PostParams::default(), &gadget).await.unwrap()
}

async fn change(cluster: &Cluster, name: &str, working: bool, text: &str) -> Gadget {
    let api: Api<Gadget> = cluster.api();
    let patch = Patch::Merge(json!({"spec": {"working": working, "text": text}}));
    api.patch(name, &PatchParams::default(), &patch)
        .await
        .unwrap()
}

/// Waits for the condition that was found out from the gadget's latest generation.
async fn observed(cluster: &Cluster, name: &str) -> (Gadget, Condition) {
    let api: Api<Gadget> = cluster.api();
    cluster
        .eventually("a condition of this generation", async || {
            let gadget = api.get(name).await.unwrap();
            let conditions = conditions_of(&gadget);
            find_observed(&conditions, "Ready", gadget.metadata.generation)
                .cloned()
                .map(|condition| (gadget.clone(), condition))
                .ok_or_else(|| format!("{gadget:?}"))
        })
        .await
}

/// Each change of the spec is a pass that writes and one that finds nothing to write; then it is
/// quiet, and so is a controller that writes the same again.
pub(crate) async fn controller_settles(cluster: Cluster) {
    for (always, name) in [(false, "looks"), (true, "writes")] {
        let script = script(&cluster, always);
        let running = Script::<Gadget, Without>::clone(&script);
        let controller = Controller::namespaced(
            cluster.client(),
            running,
            cluster.namespace(),
            watcher::Config::default().fields(&format!("metadata.name={name}")),
        );
        cluster.run(controller);
        create(&cluster, name).await;
        observed(&cluster, name).await;
        const CHANGES: [(bool, &str); 3] = [(true, "it"), (true, "this"), (false, "that")];
        for (working, text) in CHANGES {
            change(&cluster, name, working, text).await;
            let (gadget, condition) = observed(&cluster, name).await;
            assert_eq!(condition.status, if working { "True" } else { "False" });
            assert_eq!(condition.message, ready(&gadget).message);
        }
        cluster.pass(Duration::from_secs(1)).await;
        let settled = Api::<Gadget>::get(&cluster.api(), name).await.unwrap();
        let passes = script.calls(Phase::Apply).len();
        let generations = 1 + CHANGES.len();
        assert!(
            (generations..=2 * generations + 1).contains(&passes),
            "{name}: {passes} passes for {generations} generations"
        );
        cluster.pass(Duration::from_secs(2)).await;
        assert_eq!(script.calls(Phase::Apply).len(), passes, "{name}: no more");
        let later = Api::<Gadget>::get(&cluster.api(), name).await.unwrap();
        assert_eq!(later.resource_version(), settled.resource_version());
    }
}

/// The time in the object is that of the last change of the status: through further passes, changes
/// of the message, a restart of the controller, and until the status changes.
pub(crate) async fn time_of_the_transition_is_kept(cluster: Cluster) {
    let api: Api<Gadget> = cluster.api();
    create(&cluster, "g").await;
    let gadget = change(&cluster, "g", true, "one").await;
    // It has been ready since long ago, as the controller of yesterday wrote.
    let long_ago: Timestamp = "2020-02-02T02:02:02Z".parse().unwrap();
    let mut conditions = Vec::new();
    assert!(set_at(&mut conditions, ready(&gadget), long_ago).is_changed());
    let paused = DesiredCondition::new("Paused", ConditionStatus::Unknown, "NotAsked", "");
    assert!(set_at(&mut conditions, paused, long_ago).is_changed());
    api.patch_status("g", &PatchParams::default(), &only_conditions(&conditions))
        .await
        .unwrap();

    let script = script(&cluster, false);
    run(&cluster, &script);
    change(&cluster, "g", true, "two").await;
    let (_, condition) = observed(&cluster, "g").await;
    assert_eq!(condition.message, "two runs");
    assert_eq!(condition.last_transition_time.0, long_ago);

    change(&cluster, "g", false, "two").await;
    let (gadget, condition) = observed(&cluster, "g").await;
    assert_eq!(
        (condition.status.as_str(), condition.reason.as_str()),
        ("False", "Broken")
    );
    let moved = condition.last_transition_time.0;
    assert!(moved > long_ago, "{moved}");
    assert_eq!(moved.subsec_nanosecond(), 0);

    // The condition of somebody else is as it was, and where it was.
    let conditions = conditions_of(&gadget);
    let types: Vec<_> = conditions.iter().map(|c| c.type_.as_str()).collect();
    assert_eq!(types, ["Ready", "Paused"]);
    assert_eq!(conditions[1].last_transition_time.0, long_ago);
}

/// What the server gives back is what was set, so that setting it again is no change, and removing
/// it removes it: by merge patch and by update.
pub(crate) async fn written_by_patch_and_by_update(cluster: Cluster) {
    let api: Api<Gadget> = cluster.api();
    for (name, update) in [("patched", false), ("updated", true)] {
        let gadget = create(&cluster, name).await;
        let write = async |conditions: &[Condition]| -> Gadget {
            if update {
                let mut gadget = api.get(name).await.unwrap();
                let conditions = conditions.to_vec();
                gadget.status = Some(GadgetStatus { conditions });
                api.replace_status(name, &PostParams::default(), &gadget)
                    .await
            } else {
                let patch = only_conditions(conditions);
                api.patch_status(name, &PatchParams::default(), &patch)
                    .await
            }
            .unwrap()
        };
        let mut conditions = conditions_of(&gadget);
        let wanted = ["Ready", "example.com/Synced", "Degraded"].map(|type_| {
            DesiredCondition::new(type_, ConditionStatus::Unknown, "Why:Not,2_", "ü\n\"✓\"")
                .observed_generation(gadget.metadata.generation)
        });
        for desired in wanted.clone() {
            assert!(set(&mut conditions, desired).is_changed());
        }
        let mut stored = conditions_of(&write(&conditions).await);
        assert_eq!(stored, conditions, "{name}");
        for desired in wanted {
            assert!(!set(&mut stored, desired).is_changed(), "{name}");
        }
        assert!(remove(&mut stored, "example.com/Synced"));
        let stored = conditions_of(&write(&stored).await);
        assert!(find(&stored, "example.com/Synced").is_none(), "{name}");
        assert_eq!(stored.len(), 2, "{name}");
    }
}

/// What `check` accepts is stored; what it refuses, the schema refuses, and for the same field.
pub(crate) async fn schema_demands_what_check_demands(cluster: Cluster) {
    let api: Api<Gadget> = cluster.api();
    create(&cluster, "g").await;
    let longest_reason = "R".repeat(1024);
    let with = |type_: &str, reason: &str, message: &str| {
        DesiredCondition::new(type_, ConditionStatus::True, reason, message)
    };
    let mut cases = vec![
        with("T", &longest_reason, &"é".repeat(32_768)),
        with("T", "R", &"é".repeat(32_769)),
        with("T", &format!("{longest_reason}R"), ""),
        with("T", "R", "\u{1}\u{7f}\n✓"),
        with("T", "R", "").observed_generation(Some(0)),
        with("T", "R", "").observed_generation(Some(i64::MAX)),
        with("T", "R", "").observed_generation(Some(-1)),
        with(&"T".repeat(316), "R", ""),
        with(&"T".repeat(317), "R", ""),
        with(&format!("{}/{}", "p".repeat(200), "n".repeat(115)), "R", ""),
    ];
    let types = [
        "",
        "-",
        "x",
        "0",
        "a-b_c.D",
        "a/B",
        "0-0.a-b/x.y",
        "A/b",
        "a//b",
        "a/b/c",
        "/a",
        "a/",
        ".a/b",
        "a./b",
        "a..b/c",
        "a-/b",
        "_",
        "a_",
        "not ready",
        "Ré",
        "Ready\n",
    ];
    cases.extend(types.map(|type_| with(type_, "R", "")));
    let reasons = [
        "", "_", "_a", "a_", "1", "a1", ",", "a,", "a:", "a,b:c", "a::b", "a-b", "a.b", "a b", "é",
        "a\n",
    ];
    cases.extend(reasons.map(|reason| with("T", reason, "")));
    let (mut accepted, mut refused) = (0, 0);
    for desired in cases {
        let checked = desired.check();
        if checked.is_err() && !cluster.checks_schemas() {
            continue;
        }
        let mut conditions = Vec::new();
        assert!(set(&mut conditions, desired.clone()).is_changed());
        let written = api
            .patch_status("g", &PatchParams::default(), &only_conditions(&conditions))
            .await;
        match (checked, written) {
            (Ok(()), Ok(gadget)) => {
                assert_eq!(conditions_of(&gadget), conditions);
                accepted += 1;
            }
            (Err(error), Err(kube::Error::Api(status))) => {
                assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"));
                let field = format!("status.conditions[0].{}", error.field());
                assert!(
                    status.message.contains(&field),
                    "{error}: {}",
                    status.message
                );
                refused += 1;
            }
            (checked, written) => panic!("{desired:?}: {checked:?}, the server: {written:?}"),
        }
    }
    assert_eq!(accepted, 15);
    assert_eq!(refused, if cluster.checks_schemas() { 32 } else { 0 });
}
