//! Columns and cells: the group `apps`.

use serde_json::{Value, json};

use crate::table::cells::{Row, or_none, selector_text};
use crate::table::columns::{Column, age, name, shown, wide};

pub(super) fn columns(kind: &str) -> Option<Vec<Column>> {
    Some(match kind {
        "Deployment" => vec![name(), shown("Ready", "Number of the pod with ready state"), shown("Up-to-date", "Total number of non-terminating pods targeted by this deployment that have the desired template spec."), shown("Available", "Total number of available non-terminating pods (ready for at least minReadySeconds) targeted by this deployment."), age(), wide("Containers", "Names of each container in the template."), wide("Images", "Images referenced by each container in the template."), wide("Selector", "Label selector for pods. Existing ReplicaSets whose pods are selected by this will be the ones affected by this deployment. It must match the pod template's labels.")],
        "ReplicaSet" => vec![name(), shown("Desired", "Replicas is the number of desired pods. This is a pointer to distinguish between explicit zero and unspecified. Defaults to 1. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicaset").of_type("integer"), shown("Current", "Replicas is the most recently observed number of non-terminating pods. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicaset").of_type("integer"), shown("Ready", "The number of non-terminating pods targeted by this ReplicaSet with a Ready Condition.").of_type("integer"), age(), wide("Containers", "Names of each container in the template."), wide("Images", "Images referenced by each container in the template."), wide("Selector", "Selector is a label query over pods that should match the replica count. Label keys and values that must match in order to be controlled by this replica set. It must match the pod template's labels. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors")],
        "StatefulSet" => vec![name(), shown("Ready", "Number of the pod with ready state"), age(), wide("Containers", "Names of each container in the template."), wide("Images", "Images referenced by each container in the template.")],
        "DaemonSet" => vec![name(), shown("Desired", "The total number of nodes that should be running the daemon pod (including nodes correctly running the daemon pod). More info: https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/").of_type("integer"), shown("Current", "The number of nodes that are running at least 1 daemon pod and are supposed to run the daemon pod. More info: https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/").of_type("integer"), shown("Ready", "numberReady is the number of nodes that should be running the daemon pod and have one or more of the daemon pod running with a Ready Condition.").of_type("integer"), shown("Up-to-date", "The total number of nodes that are running updated daemon pod").of_type("integer"), shown("Available", "The number of nodes that should be running the daemon pod and have one or more of the daemon pod running and available (ready for at least spec.minReadySeconds)").of_type("integer"), shown("Node Selector", "NodeSelector is a selector which must be true for the pod to fit on a node. Selector which must match a node's labels for the pod to be scheduled on that node. More info: https://kubernetes.io/docs/concepts/configuration/assign-pod-node/"), age(), wide("Containers", "Names of each container in the template."), wide("Images", "Images referenced by each container in the template."), wide("Selector", "A label query over pods that are managed by the daemon set. Must match in order to be controlled. It must match the pod template's labels. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors")],
        "ControllerRevision" => vec![name(), shown("Controller", "Controller of the object"), shown("Revision", "Revision indicates the revision of the state represented by Data."), age()],
        _ => return None,
    })
}

pub(super) fn cells(kind: &str, row: &Row<'_>) -> Option<Vec<Value>> {
    let [names, images] = row.containers();
    let selector = || selector_text(row.object.pointer("/spec/selector"));
    let shown_selector = || json!(or_none(selector()));
    let count = |pointer: &str| json!(row.number(pointer));
    let ready = || {
        let (ready, wanted) = (
            row.number("/status/readyReplicas"),
            row.number("/spec/replicas"),
        );
        json!(format!("{ready}/{wanted}"))
    };
    Some(match kind {
        "Deployment" => vec![
            row.name(),
            ready(),
            count("/status/updatedReplicas"),
            count("/status/availableReplicas"),
            row.age(),
            names,
            images,
            json!(selector()),
        ],
        "ReplicaSet" => vec![
            row.name(),
            count("/spec/replicas"),
            count("/status/replicas"),
            count("/status/readyReplicas"),
            row.age(),
            names,
            images,
            shown_selector(),
        ],
        "StatefulSet" => vec![row.name(), ready(), row.age(), names, images],
        "DaemonSet" => vec![
            row.name(),
            count("/status/desiredNumberScheduled"),
            count("/status/currentNumberScheduled"),
            count("/status/numberReady"),
            count("/status/updatedNumberScheduled"),
            count("/status/numberAvailable"),
            json!(row.labels("/spec/template/spec/nodeSelector")),
            row.age(),
            names,
            images,
            shown_selector(),
        ],
        "ControllerRevision" => {
            vec![
                row.name(),
                json!(controller(row)),
                count("/revision"),
                row.age(),
            ]
        }
        _ => return None,
    })
}

/// `kind.group/name` of the owner that controls the object.
fn controller(row: &Row<'_>) -> String {
    let owner = row
        .list("/metadata/ownerReferences")
        .iter()
        .find(|owner| owner.get("controller") == Some(&Value::Bool(true)));
    let Some(owner) = owner else {
        return "<none>".into();
    };
    let text = |field: &str| owner.get(field).and_then(Value::as_str).unwrap_or_default();
    let kind = match text("apiVersion").split_once('/') {
        Some((group, _)) => format!("{}.{group}", text("kind")),
        None => text("kind").to_owned(),
    };
    format!("{}/{}", kind.to_lowercase(), text("name"))
}
