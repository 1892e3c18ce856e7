//! Defaults: the template of Pods, which Deployments and the like have.

use serde_json::{Map, Value, json};

use super::containers::container;
use super::volumes::volume;
use super::{each, fill, quantities};
use crate::metadata::{entry_mut, object_mut};

/// The `template` of a spec.
pub(super) fn template(spec: &mut Map<String, Value>) {
    let template = entry_mut(spec, "template");
    entry_mut(template, "metadata");
    pod_spec(entry_mut(template, "spec"));
}

/// What a Pod and the template of one have in common.
pub(super) fn pod_spec(spec: &mut Map<String, Value>) {
    fill(spec, "restartPolicy", json!("Always"));
    fill(spec, "terminationGracePeriodSeconds", json!(30));
    fill(spec, "dnsPolicy", json!("ClusterFirst"));
    fill(spec, "securityContext", json!({}));
    fill(spec, "schedulerName", json!("default-scheduler"));
    service_account(spec);
    each(spec, "volumes", volume);
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        each(spec, list, container);
    }
    quantities(spec, "overhead");
    if let Some(resources) = spec.get_mut("resources") {
        let resources = object_mut(resources);
        quantities(resources, "limits");
        quantities(resources, "requests");
    }
}

/// The account has two names, of which the newer one wins.
fn service_account(spec: &mut Map<String, Value>) {
    let account = ["serviceAccountName", "serviceAccount"]
        .iter()
        .find_map(|key| spec.get(*key).filter(|account| *account != ""))
        .cloned();
    if let Some(account) = account {
        spec.insert("serviceAccountName".into(), account.clone());
        spec.insert("serviceAccount".into(), account);
    }
}
