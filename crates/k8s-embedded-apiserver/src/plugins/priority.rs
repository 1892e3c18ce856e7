//! Priority: the number behind the name of a PriorityClass.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{PODS, PRIORITY_CLASSES};
use crate::lifecycle::State;
use crate::metadata::{copy_key, entry_mut, name, object_mut, text};
use crate::status::Failure;
use crate::store::{self, Place};

/// The classes that are there from the start: name, value, description.
const SYSTEM_CLASSES: [(&str, i64, &str); 2] = [
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
];

/// Makes the classes that are there from the start.
pub(crate) fn first_classes(state: &mut State) {
    for (name, value, description) in SYSTEM_CLASSES {
        let class = json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {
                "name": name, "uid": state.source.uid(), "creationTimestamp": state.source.stamp(), "generation": 1,
            },
            "value": value, "description": description, "preemptionPolicy": "PreemptLowerPriority",
        });
        state.put(&place(name), class);
    }
}

fn place(name: &str) -> Place {
    Place {
        storage: Cow::Borrowed(PRIORITY_CLASSES),
        key: store::key(None, name),
    }
}

/// The class that Pods have which name none: of several the least.
fn default_class(state: &State) -> Option<Value> {
    state
        .store
        .all(&Cow::Borrowed(PRIORITY_CLASSES))
        .iter()
        .filter_map(|place| state.store.at(place))
        .map(|class| class.value())
        .filter(|class| class.get("globalDefault") == Some(&json!(true)))
        .min_by_key(|class| class.get("value").and_then(Value::as_i64))
}

pub(super) fn of_new_pod(state: &State, pod: &mut Value) -> Result<(), Failure> {
    let pod_name = name(pod).to_owned();
    let refuse = |why: String| Failure::forbidden("", PODS, &pod_name, &why);
    let named = text(pod, "/spec/priorityClassName").to_owned();
    let class = if named.is_empty() {
        default_class(state)
    } else {
        let found = state.store.at(&place(&named)).map(|class| class.value());
        Some(found.ok_or_else(|| refuse(format!("no PriorityClass with name {named} was found")))?)
    };
    let spec = entry_mut(object_mut(pod), "spec");
    let (priority, policy) = match &class {
        Some(class) => {
            spec.insert("priorityClassName".into(), name(class).into());
            let priority = class.get("value").and_then(Value::as_i64).unwrap_or(0);
            (priority, class.get("preemptionPolicy").cloned())
        }
        None => (0, Some(json!("PreemptLowerPriority"))),
    };
    if let Some(sent) = spec.get("priority").and_then(Value::as_i64)
        && sent != priority
    {
        return Err(refuse(format!(
            "the integer value of priority ({sent}) must not be provided in pod spec; priority admission controller computed {priority} from the given PriorityClass name"
        )));
    }
    spec.insert("priority".into(), priority.into());
    if let Some(policy) = policy {
        if let Some(sent) = spec.get("preemptionPolicy").filter(|sent| **sent != policy) {
            let (sent, policy) = (
                sent.as_str().unwrap_or_default(),
                policy.as_str().unwrap_or_default(),
            );
            return Err(refuse(format!(
                "the string value of PreemptionPolicy ({sent}) must not be provided in pod spec; priority admission controller computed {policy} from the given PriorityClass name"
            )));
        }
        spec.insert("preemptionPolicy".into(), policy);
    }
    Ok(())
}

/// What an update leaves out stays as it was.
pub(super) fn of_old_pod(pod: &mut Value, old: &Value) {
    let spec = entry_mut(object_mut(pod), "spec");
    let old = old.get("spec").cloned().unwrap_or_default();
    for field in ["priority", "preemptionPolicy"] {
        if !spec.contains_key(field) {
            copy_key(&old, spec, field);
        }
    }
}

/// There is one default class at most.
pub(super) fn check_class(
    state: &State,
    class: &Value,
    old: Option<&Value>,
) -> Result<(), Failure> {
    if class.get("globalDefault") != Some(&json!(true)) {
        return Ok(());
    }
    let Some(default) = default_class(state) else {
        return Ok(());
    };
    if old.is_some() && name(&default) == name(class) {
        return Ok(());
    }
    let why = format!(
        "PriorityClass {} is already marked as default. Only one default can exist",
        name(&default)
    );
    Err(Failure::forbidden(
        "scheduling.k8s.io",
        "priorityclasses",
        name(class),
        &why,
    ))
}
