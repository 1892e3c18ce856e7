//! The columns of all kinds but those of workloads, and the cells of kinds that have no file of their own.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::kinds::Kind;
use crate::table::cells::{Row, or_none, selector_text};
use crate::table::columns::Column;

/// Name, type, format, description and priority of each column by group and kind, as a real server has them.
const COLUMNS: &str = include_str!("columns.json");

type Heads = BTreeMap<String, Vec<(String, String, String, String, i64)>>;

pub(super) fn columns(kind: &Kind) -> Option<Vec<Column>> {
    static HEADS: OnceLock<Heads> = OnceLock::new();
    // The text is a part of this crate; a test reads it.
    let heads = HEADS.get_or_init(|| serde_json::from_str(COLUMNS).unwrap_or_default());
    let found = heads.get(&format!("{}/{}", kind.group, kind.kind))?;
    let columns = found
        .iter()
        .map(|(name, kind, format, description, priority)| Column {
            name: name.clone(),
            kind: kind.clone(),
            format: format.clone(),
            description: description.clone(),
            priority: *priority,
            path: None,
        });
    Some(columns.collect())
}

const UNSET: &str = "<unset>";

pub(super) fn cells(kind: &str, row: &Row<'_>) -> Option<Vec<Value>> {
    let (name, age) = (row.name(), row.age());
    let or_unset = |pointer: &str| match row.text(pointer) {
        "" => json!(UNSET),
        text => json!(text),
    };
    Some(match kind {
        "ComponentStatus" => component(row),
        "Endpoints" => vec![name, json!(endpoints(row)), age],
        "PersistentVolume" => volume(row),
        "PersistentVolumeClaim" => claim(row),
        "ResourceQuota" => quota(row),
        "Ingress" => ingress(row),
        "IngressClass" => ingress_class(row),
        "IPAddress" => {
            let text = |key: &str| row.text(&format!("/spec/parentRef/{key}"));
            let resource = match text("group") {
                "" => text("resource").to_owned(),
                group => format!("{}.{group}", text("resource")),
            };
            let parent = format!("{resource}/{}/{}", text("namespace"), text("name"));
            vec![name, json!(parent.replace("//", "/"))]
        }
        "NetworkPolicy" => {
            let pods = selector_text(row.object.pointer("/spec/podSelector"));
            vec![name, json!(or_none(pods)), age]
        }
        "ServiceCIDR" => vec![name, json!(texts(row, "/spec/cidrs").join(",")), age],
        "RoleBinding" | "ClusterRoleBinding" => binding(row),
        "EndpointSlice" => slice(row),
        "StorageClass" => storage_class(row),
        "CSIDriver" => csi_driver(row),
        "CSINode" => vec![name, json!(row.list("/spec/drivers").len()), age],
        "VolumeAttachment" => vec![
            name,
            row.cell("/spec/attacher"),
            row.cell("/spec/source/persistentVolumeName"),
            row.cell("/spec/nodeName"),
            json!(row.object.pointer("/status/attached") == Some(&Value::Bool(true))),
            age,
        ],
        "VolumeAttributesClass" => vec![name, row.cell("/driverName"), age],
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
            vec![name, json!(row.list("/webhooks").len()), age]
        }
        "MutatingAdmissionPolicy" => policy(row, "/spec/mutations"),
        "ValidatingAdmissionPolicy" => policy(row, "/spec/validations"),
        "MutatingAdmissionPolicyBinding" | "ValidatingAdmissionPolicyBinding" => {
            let parameter = match row.text("/spec/paramRef/name") {
                "" => UNSET.to_owned(),
                name => match row.text("/spec/paramRef/namespace") {
                    "" => format!("*/{name}"),
                    namespace => format!("{namespace}/{name}"),
                },
            };
            vec![name, row.cell("/spec/policyName"), json!(parameter), age]
        }
        "APIService" => api_service(row),
        "RuntimeClass" => vec![name, row.cell("/handler"), age],
        "FlowSchema" => flow_schema(row),
        "PriorityLevelConfiguration" => priority_level(row),
        "CertificateSigningRequest" => request(row),
        "PodCertificateRequest" => pod_request(row),
        "StorageVersionMigration" => migration(row),
        "ClusterTrustBundle" => vec![name, row.cell("/spec/signerName")],
        "DeviceClass" | "ResourceClaimTemplate" => vec![name, age],
        "DeviceTaintRule" => vec![
            name,
            row.cell("/spec/taint/key"),
            row.cell("/spec/taint/value"),
            row.cell("/spec/taint/effect"),
            or_unset("/spec/taint/timeAdded"),
            age,
        ],
        "ResourceClaim" => vec![name, json!(claim_state(row)), age],
        "ResourceSlice" => vec![
            name,
            or_unset("/spec/nodeName"),
            row.cell("/spec/driver"),
            row.cell("/spec/pool/name"),
            age,
        ],
        _ => return None,
    })
}

fn texts<'a>(row: &'a Row<'_>, pointer: &str) -> Vec<&'a str> {
    row.list(pointer).iter().filter_map(Value::as_str).collect()
}

fn component(row: &Row<'_>) -> Vec<Value> {
    let healthy = row
        .list("/conditions")
        .iter()
        .find(|condition| condition.get("type") == Some(&json!("Healthy")));
    let text = |key: &str| {
        healthy
            .and_then(|condition| condition.get(key))
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let status = match text("status") {
        "True" => "Healthy",
        "" => "Unknown",
        _ => "Unhealthy",
    };
    vec![
        row.name(),
        json!(status),
        json!(text("message")),
        json!(text("error")),
    ]
}

/// The first three, and how many more there are.
fn some_of(all: &[String], separator: &str) -> String {
    const SHOWN: usize = 3;
    let shown = all[..all.len().min(SHOWN)].join(separator);
    match all.len().checked_sub(SHOWN) {
        Some(more) if more > 0 => format!("{shown} + {more} more..."),
        _ => shown,
    }
}

fn endpoints(row: &Row<'_>) -> String {
    let mut all = Vec::new();
    for subset in row.list("/subsets") {
        let list = |key: &str| subset.get(key).and_then(Value::as_array);
        let ips: Vec<&str> = list("addresses")
            .into_iter()
            .flatten()
            .filter_map(|address| address.get("ip").and_then(Value::as_str))
            .collect();
        let Some(ports) = list("ports").filter(|ports| !ports.is_empty()) else {
            all.extend(ips.iter().map(ToString::to_string));
            continue;
        };
        for port in ports {
            let port = port.get("port").and_then(Value::as_i64).unwrap_or(0);
            all.extend(ips.iter().map(|ip| {
                if ip.contains(':') {
                    format!("[{ip}]:{port}")
                } else {
                    format!("{ip}:{port}")
                }
            }));
        }
    }
    if row.list("/subsets").is_empty() {
        return "<none>".into();
    }
    some_of(&all, ",")
}

/// Access modes as `kubectl` writes them.
fn modes(row: &Row<'_>, pointer: &str) -> String {
    let found = texts(row, pointer);
    let short = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let shown: Vec<&str> = short
        .iter()
        .filter(|(mode, _)| found.contains(mode))
        .map(|(_, short)| *short)
        .collect();
    shown.join(",")
}

fn phase(row: &Row<'_>) -> Value {
    let deleting = row.object.pointer("/metadata/deletionTimestamp");
    if deleting.is_some_and(|time| !time.is_null()) {
        return json!("Terminating");
    }
    row.cell("/status/phase")
}

fn or_unset(row: &Row<'_>, pointer: &str) -> Value {
    match row.object.pointer(pointer).and_then(Value::as_str) {
        Some(text) => json!(text),
        None => json!(UNSET),
    }
}

fn amount(row: &Row<'_>, pointer: &str) -> Value {
    match row.text(pointer) {
        "" => json!("0"),
        amount => json!(amount),
    }
}

fn volume(row: &Row<'_>) -> Vec<Value> {
    let claim = match row.object.pointer("/spec/claimRef") {
        Some(_) => format!(
            "{}/{}",
            row.text("/spec/claimRef/namespace"),
            row.text("/spec/claimRef/name")
        ),
        None => String::new(),
    };
    vec![
        row.name(),
        amount(row, "/spec/capacity/storage"),
        json!(modes(row, "/spec/accessModes")),
        row.cell("/spec/persistentVolumeReclaimPolicy"),
        phase(row),
        json!(claim),
        row.cell("/spec/storageClassName"),
        or_unset(row, "/spec/volumeAttributesClassName"),
        row.cell("/status/reason"),
        row.age(),
        or_unset(row, "/spec/volumeMode"),
    ]
}

fn claim(row: &Row<'_>) -> Vec<Value> {
    let bound = !row.text("/spec/volumeName").is_empty();
    let (capacity, modes) = if bound {
        (
            amount(row, "/status/capacity/storage"),
            modes(row, "/status/accessModes"),
        )
    } else {
        (json!(""), String::new())
    };
    vec![
        row.name(),
        phase(row),
        row.cell("/spec/volumeName"),
        capacity,
        json!(modes),
        row.cell("/spec/storageClassName"),
        or_unset(row, "/spec/volumeAttributesClassName"),
        row.age(),
        or_unset(row, "/spec/volumeMode"),
    ]
}

fn quota(row: &Row<'_>) -> Vec<Value> {
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    let hard = row
        .object
        .pointer("/status/hard")
        .and_then(Value::as_object);
    for (name, hard) in hard.into_iter().flatten() {
        let used = row
            .object
            .pointer("/status/used")
            .and_then(|used| used.get(name))
            .and_then(Value::as_str)
            .unwrap_or("0");
        let text = format!("{name}: {used}/{}", hard.as_str().unwrap_or("0"));
        if name.starts_with("limits.") {
            limits.push(text);
        } else {
            requests.push(text);
        }
    }
    vec![
        row.name(),
        json!(requests.join(", ")),
        json!(limits.join(", ")),
        row.age(),
    ]
}

fn ingress(row: &Row<'_>) -> Vec<Value> {
    let class = row
        .object
        .pointer("/spec/ingressClassName")
        .and_then(Value::as_str)
        .unwrap_or("<none>");
    let rules = row.list("/spec/rules");
    let hosts: Vec<String> = rules
        .iter()
        .filter_map(|rule| rule.get("host").and_then(Value::as_str))
        .filter(|host| !host.is_empty())
        .map(Into::into)
        .collect();
    let hosts = if hosts.is_empty() {
        "*".to_owned()
    } else {
        some_of(&hosts, ",")
    };
    let mut addresses: Vec<&str> = row
        .list("/status/loadBalancer/ingress")
        .iter()
        .filter_map(|ingress| {
            let text = |key: &str| {
                ingress
                    .get(key)
                    .and_then(Value::as_str)
                    .filter(|text| !text.is_empty())
            };
            text("ip").or_else(|| text("hostname"))
        })
        .collect();
    addresses.sort_unstable();
    addresses.dedup();
    let ports = if row.list("/spec/tls").is_empty() {
        "80"
    } else {
        "80, 443"
    };
    vec![
        row.name(),
        json!(class),
        json!(hosts),
        json!(addresses.join(",")),
        json!(ports),
        row.age(),
    ]
}

/// The name, marked where the class is the default one.
fn marked(row: &Row<'_>, annotations: &[&str]) -> Value {
    let all = row.object.pointer("/metadata/annotations");
    let is_default = annotations
        .iter()
        .any(|annotation| all.and_then(|all| all.get(*annotation)) == Some(&json!("true")));
    if is_default {
        json!(format!("{} (default)", row.text("/metadata/name")))
    } else {
        row.name()
    }
}

fn ingress_class(row: &Row<'_>) -> Vec<Value> {
    let parameters = match row.object.pointer("/spec/parameters") {
        None | Some(Value::Null) => "<none>".to_owned(),
        Some(_) => {
            let text = |key: &str| row.text(&format!("/spec/parameters/{key}"));
            match text("apiGroup") {
                "" => format!("{}/{}", text("kind"), text("name")),
                group => format!("{}.{group}/{}", text("kind"), text("name")),
            }
        }
    };
    vec![
        marked(row, &["ingressclass.kubernetes.io/is-default-class"]),
        row.cell("/spec/controller"),
        json!(parameters),
        row.age(),
    ]
}

fn binding(row: &Row<'_>) -> Vec<Value> {
    let of = |kind: &str| {
        let found = row
            .list("/subjects")
            .iter()
            .filter(|subject| subject.get("kind") == Some(&json!(kind)));
        let names: Vec<String> = found
            .map(|subject| {
                let text = |key: &str| subject.get(key).and_then(Value::as_str).unwrap_or_default();
                match (kind, text("namespace")) {
                    ("ServiceAccount", namespace) => {
                        format!("{namespace}/{}", text("name"))
                    }
                    _ => text("name").to_owned(),
                }
            })
            .collect();
        json!(names.join(", "))
    };
    vec![
        row.name(),
        json!(format!(
            "{}/{}",
            row.text("/roleRef/kind"),
            row.text("/roleRef/name")
        )),
        row.age(),
        of("User"),
        of("Group"),
        of("ServiceAccount"),
    ]
}

fn slice(row: &Row<'_>) -> Vec<Value> {
    let or_unset = |all: &[String]| {
        if all.is_empty() {
            UNSET.to_owned()
        } else {
            some_of(all, ",")
        }
    };
    let ports: Vec<String> = row
        .list("/ports")
        .iter()
        .map(|port| match port.get("port").and_then(Value::as_i64) {
            Some(number) => number.to_string(),
            None => match port.get("name").and_then(Value::as_str) {
                Some(name) => name.to_owned(),
                None => "*".into(),
            },
        })
        .collect();
    let addresses: Vec<String> = row
        .list("/endpoints")
        .iter()
        .flat_map(|endpoint| crate::metadata::texts(endpoint.get("addresses")))
        .map(Into::into)
        .collect();
    vec![
        row.name(),
        row.cell("/addressType"),
        json!(or_unset(&ports)),
        json!(or_unset(&addresses)),
        row.age(),
    ]
}

fn storage_class(row: &Row<'_>) -> Vec<Value> {
    let expands = row.object.pointer("/allowVolumeExpansion") == Some(&Value::Bool(true));
    vec![
        row.name(),
        row.cell("/provisioner"),
        row.cell("/reclaimPolicy"),
        row.cell("/volumeBindingMode"),
        json!(expands),
        row.age(),
    ]
}

fn csi_driver(row: &Row<'_>) -> Vec<Value> {
    let flag =
        |key: &str| json!(row.object.pointer(&format!("/spec/{key}")) == Some(&Value::Bool(true)));
    let audiences: Vec<&str> = row
        .list("/spec/tokenRequests")
        .iter()
        .filter_map(|request| request.get("audience").and_then(Value::as_str))
        .collect();
    let tokens = if audiences.is_empty() {
        UNSET.to_owned()
    } else {
        audiences.join(",")
    };
    vec![
        row.name(),
        flag("attachRequired"),
        flag("podInfoOnMount"),
        flag("storageCapacity"),
        json!(tokens),
        flag("requiresRepublish"),
        json!(or_none(texts(row, "/spec/volumeLifecycleModes").join(","))),
        row.age(),
    ]
}

fn policy(row: &Row<'_>, list: &str) -> Vec<Value> {
    let parameter = match row.object.pointer("/spec/paramKind") {
        None | Some(Value::Null) => UNSET.to_owned(),
        Some(_) => format!(
            "{}/{}",
            row.text("/spec/paramKind/apiVersion"),
            row.text("/spec/paramKind/kind")
        ),
    };
    vec![
        row.name(),
        json!(row.list(list).len()),
        json!(parameter),
        row.age(),
    ]
}

fn condition<'a>(row: &'a Row<'_>, kind: &str) -> Option<&'a Value> {
    row.list("/status/conditions")
        .iter()
        .find(|condition| condition.get("type") == Some(&json!(kind)))
}

fn api_service(row: &Row<'_>) -> Vec<Value> {
    let service = match row.object.pointer("/spec/service") {
        None | Some(Value::Null) => "Local".to_owned(),
        Some(_) => format!(
            "{}/{}",
            row.text("/spec/service/namespace"),
            row.text("/spec/service/name")
        ),
    };
    let available = match condition(row, "Available") {
        None => "Unknown".to_owned(),
        Some(found) => {
            let text = |key: &str| found.get(key).and_then(Value::as_str).unwrap_or_default();
            match text("status") {
                "True" => "True".into(),
                status => format!("{status} ({})", text("reason")),
            }
        }
    };
    vec![row.name(), json!(service), json!(available), row.age()]
}

fn flow_schema(row: &Row<'_>) -> Vec<Value> {
    let dangling = condition(row, "Dangling")
        .and_then(|found| found.get("status").cloned())
        .unwrap_or_else(|| json!("?"));
    vec![
        row.name(),
        row.cell("/spec/priorityLevelConfiguration/name"),
        json!(row.number("/spec/matchingPrecedence")),
        json!(or_none(row.text("/spec/distinguisherMethod/type").into())),
        row.age(),
        dangling,
    ]
}

fn priority_level(row: &Row<'_>) -> Vec<Value> {
    let of = |pointer: &str| {
        row.object
            .pointer(pointer)
            .cloned()
            .unwrap_or_else(|| json!("<none>"))
    };
    vec![
        row.name(),
        row.cell("/spec/type"),
        of("/spec/limited/nominalConcurrencyShares"),
        of("/spec/limited/limitResponse/queuing/queues"),
        of("/spec/limited/limitResponse/queuing/handSize"),
        of("/spec/limited/limitResponse/queuing/queueLengthLimit"),
        row.age(),
    ]
}

fn request(row: &Row<'_>) -> Vec<Value> {
    let mut state = match (condition(row, "Denied"), condition(row, "Approved")) {
        (Some(_), _) => "Denied",
        (None, Some(_)) => "Approved",
        (None, None) => "Pending",
    }
    .to_owned();
    if condition(row, "Failed").is_some() {
        state.push_str(",Failed");
    }
    if !row.text("/status/certificate").is_empty() {
        state.push_str(",Issued");
    }
    let duration = match row.object.pointer("/spec/expirationSeconds") {
        Some(seconds) => format!("{seconds}s"),
        None => "<none>".into(),
    };
    vec![
        row.name(),
        row.age(),
        json!(or_none(row.text("/spec/signerName").into())),
        row.cell("/spec/username"),
        json!(duration),
        json!(state),
    ]
}

fn pod_request(row: &Row<'_>) -> Vec<Value> {
    let conditions = row.list("/status/conditions").iter();
    let mut kinds = conditions.filter_map(|condition| condition["type"].as_str());
    let state = kinds.rfind(|kind| matches!(*kind, "Issued" | "Denied" | "Failed"));
    vec![
        row.name(),
        row.cell("/spec/podName"),
        row.cell("/spec/serviceAccountName"),
        row.cell("/spec/nodeName"),
        row.cell("/spec/signerName"),
        json!(state.unwrap_or("Pending")),
        json!(row.labels("/spec/unverifiedUserAnnotations")),
    ]
}

fn migration(row: &Row<'_>) -> Vec<Value> {
    let resource = match row.text("/spec/resource/group") {
        "" => row.text("/spec/resource/resource").to_owned(),
        group => format!("{}.{group}", row.text("/spec/resource/resource")),
    };
    let conditions = row.list("/status/conditions").iter();
    let mut kinds = conditions
        .filter(|condition| condition["status"] == "True")
        .filter_map(|condition| condition["type"].as_str());
    let status = kinds.rfind(|kind| matches!(*kind, "Running" | "Failed" | "Succeeded"));
    vec![
        row.name(),
        json!(resource),
        json!(status.unwrap_or("Unknown")),
    ]
}

fn claim_state(row: &Row<'_>) -> String {
    let deleting = row.object.pointer("/metadata/deletionTimestamp");
    let mut states = Vec::new();
    if deleting.is_some_and(|time| !time.is_null()) {
        states.push("deleted");
    }
    if row.object.pointer("/status/allocation").is_none() {
        if deleting.is_none() {
            states.push("pending");
        }
    } else {
        states.push("allocated");
        if !row.list("/status/reservedFor").is_empty() {
            states.push("reserved");
        }
    }
    states.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_but_workloads_has_columns() {
        let heads: Heads = serde_json::from_str(COLUMNS).unwrap();
        for kind in crate::builtin::builtin() {
            let workload = matches!(
                kind.group.as_ref(),
                "apps" | "batch" | "autoscaling" | "policy" | "scheduling.k8s.io"
            );
            let listed = kind.verbs.contains(&"list");
            let pods = kind.group.is_empty()
                && matches!(
                    kind.kind.as_ref(),
                    "Pod" | "PodTemplate" | "ReplicationController"
                );
            let known = heads.contains_key(&format!("{}/{}", kind.group, kind.kind));
            assert_eq!(known, listed && !workload && !pods, "{}", kind.kind);
        }
    }
}
