//! The rows of Pods, whose status sums up their containers, and of core/v1 what makes Pods.

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use crate::table::age::since;
use crate::table::cells::{Row, or_none};
use crate::table::columns::{Column, age, name, shown, wide};

pub(super) fn columns(kind: &str) -> Option<Vec<Column>> {
    Some(match kind {
        "Pod" => vec![name(), shown("Ready", "The aggregate readiness state of this pod for accepting traffic."), shown("Status", "The aggregate status of the containers in this pod."), shown("Restarts", "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted."), age(), wide("IP", "podIP address allocated to the pod. Routable at least within the cluster. Empty if not yet allocated."), wide("Node", "NodeName indicates in which node this pod is scheduled. If empty, this pod is a candidate for scheduling by the scheduler defined in schedulerName. Once this field is set, the kubelet for this node becomes responsible for the lifecycle of this pod. This field should not be used to express a desire for the pod to be scheduled on a specific node. https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#nodename"), wide("Nominated Node", "nominatedNodeName is set only when this pod preempts other pods on the node, but it cannot be scheduled right away as preemption victims receive their graceful termination periods. This field does not guarantee that the pod will be scheduled on this node. Scheduler may decide to place the pod elsewhere if other nodes become available sooner. Scheduler may also decide to give the resources on this node to a higher priority pod that is created after preemption. As a result, this field may be different than PodSpec.nodeName when the pod is scheduled."), wide("Readiness Gates", "If specified, all readiness gates will be evaluated for pod readiness. A pod is ready when all its containers are ready AND all conditions specified in the readiness gates have status equal to \"True\" More info: https://git.k8s.io/enhancements/keps/sig-network/580-pod-readiness-gates")],
        "PodTemplate" => vec![name(), shown("Containers", "Names of each container in the template."), shown("Images", "Images referenced by each container in the template."), shown("Pod Labels", "The labels for the pod template.")],
        "ReplicationController" => vec![name(), shown("Desired", "Replicas is the number of desired replicas. This is a pointer to distinguish between explicit zero and unspecified. Defaults to 1. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicationcontroller#what-is-a-replicationcontroller").of_type("integer"), shown("Current", "Replicas is the most recently observed number of replicas. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicationcontroller#what-is-a-replicationcontroller").of_type("integer"), shown("Ready", "The number of ready replicas for this replication controller.").of_type("integer"), age(), wide("Containers", "Names of each container in the template."), wide("Images", "Images referenced by each container in the template."), wide("Selector", "Selector is a label query over pods that should match the Replicas count. If Selector is empty, it is defaulted to the labels present on the Pod template. Label keys and values that must match in order to be controlled by this replication controller, if empty defaulted to labels on Pod template. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors")],
        _ => return None,
    })
}

pub(super) fn cells(kind: &str, row: &Row<'_>) -> Option<Vec<Value>> {
    Some(match kind {
        "Pod" => pod(row),
        "PodTemplate" => {
            let [names, images] = row.containers_at("/template/spec/containers");
            let labels = row.labels("/template/metadata/labels");
            vec![row.name(), names, images, json!(labels)]
        }
        "ReplicationController" => {
            let [names, images] = row.containers();
            vec![
                row.name(),
                json!(row.number("/spec/replicas")),
                json!(row.number("/status/replicas")),
                json!(row.number("/status/readyReplicas")),
                row.age(),
                names,
                images,
                json!(row.labels("/spec/selector")),
            ]
        }
        _ => return None,
    })
}

/// What the containers of a Pod come to.
#[derive(Default)]
struct Summary {
    ready: usize,
    restarts: i64,
    last_restart: Option<Timestamp>,
    reason: String,
}

impl Summary {
    fn count(&mut self, status: &Value) {
        self.restarts += status["restartCount"].as_i64().unwrap_or(0);
        let ended = status.pointer("/lastState/terminated/finishedAt");
        let ended = ended
            .and_then(Value::as_str)
            .and_then(|text| text.parse().ok());
        self.last_restart = self.last_restart.max(ended);
    }
}

fn pod(row: &Row<'_>) -> Vec<Value> {
    let containers = row.list("/spec/containers").len();
    let sidecars = row
        .list("/spec/initContainers")
        .iter()
        .filter(|container| container["restartPolicy"] == "Always")
        .count();
    let summary = summary(row);
    let restarts = match summary.last_restart {
        Some(last) if summary.restarts != 0 => {
            let ago = since(Some(&json!(last.to_string())), row.now);
            format!("{} ({ago} ago)", summary.restarts)
        }
        _ => summary.restarts.to_string(),
    };
    let first_ip = row.text("/status/podIPs/0/ip");
    vec![
        row.name(),
        json!(format!("{}/{}", summary.ready, containers + sidecars)),
        json!(summary.reason),
        json!(restarts),
        row.age(),
        json!(or_none(first_ip.into())),
        json!(or_none(row.text("/spec/nodeName").into())),
        json!(or_none(row.text("/status/nominatedNodeName").into())),
        json!(readiness_gates(row)),
    ]
}

fn condition<'r>(row: &'r Row<'_>, kind: &str) -> Option<&'r Value> {
    row.list("/status/conditions")
        .iter()
        .find(|condition| condition["type"] == kind)
}

fn is_true(row: &Row<'_>, kind: &str) -> bool {
    condition(row, kind).is_some_and(|condition| condition["status"] == "True")
}

fn summary(row: &Row<'_>) -> Summary {
    let phase = row.text("/status/phase");
    let mut summary = Summary {
        reason: match row.text("/status/reason") {
            "" => phase.to_owned(),
            reason => reason.to_owned(),
        },
        ..Summary::default()
    };
    if condition(row, "PodScheduled").is_some_and(|found| found["reason"] == "SchedulingGated") {
        summary.reason = "SchedulingGated".into();
    }
    let sidecars = before(row, &mut summary);
    if let Some(sidecars) = sidecars {
        summary.restarts = sidecars.restarts;
        summary.last_restart = sidecars.last_restart;
        running(row, &mut summary);
    }
    let deleting = !row.text("/metadata/deletionTimestamp").is_empty();
    if deleting && row.text("/status/reason") == "NodeLost" {
        summary.reason = "Unknown".into();
    } else if deleting && !matches!(phase, "Succeeded" | "Failed") {
        summary.reason = "Terminating".into();
    }
    summary
}

/// The containers before the others. While they run there is nothing more to say, else what the sidecars come to.
fn before(row: &Row<'_>, summary: &mut Summary) -> Option<Summary> {
    let all = row.list("/spec/initContainers");
    let mut sidecars = Summary::default();
    let mut initializing = false;
    for (index, status) in row.list("/status/initContainerStatuses").iter().enumerate() {
        summary.count(status);
        let sidecar = all.iter().any(|container| {
            container["name"] == status["name"] && container["restartPolicy"] == "Always"
        });
        if sidecar {
            sidecars.count(status);
        }
        let ended = status.pointer("/state/terminated");
        if ended.is_some_and(|ended| ended["exitCode"] == 0) {
            continue;
        }
        if sidecar && status["started"] == true {
            summary.ready += usize::from(status["ready"] == true);
            continue;
        }
        let waiting = status
            .pointer("/state/waiting/reason")
            .and_then(Value::as_str);
        summary.reason = match (ended, waiting) {
            (Some(ended), _) => format!("Init:{}", why_ended(ended)),
            (None, Some(reason)) if !matches!(reason, "" | "PodInitializing") => {
                format!("Init:{reason}")
            }
            _ => format!("Init:{index}/{}", all.len()),
        };
        initializing = true;
        break;
    }
    (!initializing || is_true(row, "Initialized")).then_some(sidecars)
}

fn why_ended(ended: &Value) -> String {
    match ended["reason"].as_str().unwrap_or_default() {
        "" => match ended["signal"].as_i64().unwrap_or(0) {
            0 => format!("ExitCode:{}", ended["exitCode"].as_i64().unwrap_or(0)),
            signal => format!("Signal:{signal}"),
        },
        reason => reason.to_owned(),
    }
}

fn running(row: &Row<'_>, summary: &mut Summary) {
    let (mut some_run, mut failure) = (false, String::new());
    for status in row.list("/status/containerStatuses").iter().rev() {
        summary.count(status);
        let waiting = status
            .pointer("/state/waiting/reason")
            .and_then(Value::as_str);
        let ended = status.pointer("/state/terminated");
        match (waiting, ended) {
            (Some(reason), _) if !reason.is_empty() => reason.clone_into(&mut summary.reason),
            (_, Some(ended)) => {
                summary.reason = why_ended(ended);
                if ended["exitCode"].as_i64().unwrap_or(0) != 0 {
                    failure.clone_from(&summary.reason);
                }
            }
            _ if status["ready"] == true && status.pointer("/state/running").is_some() => {
                some_run = true;
                summary.ready += 1;
            }
            _ => {}
        }
    }
    if summary.reason == "Completed" {
        if some_run && is_true(row, "Ready") {
            summary.reason = "Running".into();
        } else if !failure.is_empty() {
            summary.reason = failure;
        } else if some_run {
            summary.reason = "NotReady".into();
        }
    }
}

fn readiness_gates(row: &Row<'_>) -> String {
    let gates = row.list("/spec/readinessGates");
    if gates.is_empty() {
        return "<none>".into();
    }
    let holds = |gate: &&Value| is_true(row, gate["conditionType"].as_str().unwrap_or_default());
    format!("{}/{}", gates.iter().filter(holds).count(), gates.len())
}
