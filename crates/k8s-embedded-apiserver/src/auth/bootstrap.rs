//! The roles and bindings that a kube-apiserver 1.37.2 makes when it starts: those of the system's own components,
//! and `cluster-admin`, `admin`, `edit` and `view`.

use serde_json::{Value, json};

use super::rbac;
use crate::lifecycle::State;
use crate::metadata::{entry_mut, object_mut};
use crate::store::{self, Place};

/// Recorded from a server; what all of them have in common is left out.
const POLICY: &str = include_str!("bootstrap.json");

/// Makes them.
pub(crate) fn install(state: &mut State) {
    let Ok(Value::Array(objects)) = serde_json::from_str(POLICY) else {
        return;
    };
    for mut object in objects {
        let map = object_mut(&mut object);
        let mut metadata = json!({
            "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
            "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
            "uid": state.source.uid(),
            "creationTimestamp": state.source.stamp(),
        });
        let mut texts = [None, None];
        for (text, key) in texts.iter_mut().zip(["namespace", "name"]) {
            if let Some(Value::String(value)) = map.remove(key) {
                metadata[key] = value.as_str().into();
                *text = Some(value);
            }
        }
        if let Some(Value::Object(labels)) = map.remove("labels") {
            entry_mut(object_mut(&mut metadata), "labels").extend(labels);
        }
        let storage = match map.get("kind").and_then(Value::as_str) {
            Some("ClusterRole") => rbac::CLUSTER_ROLES,
            Some("ClusterRoleBinding") => rbac::CLUSTER_ROLE_BINDINGS,
            Some("Role") => rbac::ROLES,
            _ => rbac::ROLE_BINDINGS,
        };
        map.insert("apiVersion".into(), format!("{}/v1", rbac::GROUP).into());
        map.insert("metadata".into(), metadata);
        let [namespace, name] = texts;
        let place = Place {
            storage: storage.into(),
            key: store::key(namespace.as_deref(), &name.unwrap_or_default()),
        };
        state.put(&place, object);
    }
    state.settle();
}
