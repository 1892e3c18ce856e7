//! Subresources of Pods that are orders: binding to a node, eviction.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use super::{Answer, Call, delete};
use crate::body;
use crate::lifecycle::State;
use crate::metadata::{self, entry_mut, metadata_mut, object_mut, text};
use crate::status::{Cause, Details, Failure};
use crate::store::{self, Place};

const BUDGETS: &str = "poddisruptionbudgets.policy";
/// Seconds after which an eviction may be tried again, where the budget is out of date.
const RETRY: u32 = 10;

fn done() -> Answer {
    let object = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
    });
    Answer::Other { code: 201, object }
}

/// POST on `pods/NAME/binding` and on `bindings`.
pub(super) fn bind(state: &mut State, call: &Call) -> Result<Answer, Failure> {
    let dry_run = call.query.dry_run("CreateOptions")?;
    let binding = body::read(&call.body, call.content_type.as_deref(), "Binding")?;
    let name = metadata::name(&binding).to_owned();
    if call
        .target
        .name
        .as_ref()
        .is_some_and(|wanted| *wanted != name)
    {
        return Err(Failure::bad_request(
            "name in URL does not match name in Binding object",
        ));
    }
    let (kind, node) = (
        text(&binding, "/target/kind"),
        text(&binding, "/target/name"),
    );
    let mut faults = Vec::new();
    if !matches!(kind, "" | "Node") {
        faults.push(format!(
            "target.kind: Unsupported value: {}: supported values: \"Node\", \"<empty>\"",
            k8s_api_schema::quote(kind)
        ));
    }
    if node.is_empty() {
        faults.push("target.name: Required value".into());
    }
    match faults.as_slice() {
        [] => {}
        [fault] => return Err(Failure::unclassified(fault.clone())),
        several => return Err(Failure::unclassified(format!("[{}]", several.join(", ")))),
    }
    let place = Place {
        storage: "pods".into(),
        key: store::key(call.namespace(), &name),
    };
    let Some(pod) = state.store.at(&place).map(|pod| pod.value()) else {
        return Err(Failure::not_found("", "pods", &name));
    };
    let conflict = |why: &str| Failure::conflict("", "pods/binding", &name, why);
    if metadata::is_deleting(&pod) {
        let why = format!("pod {name} is being deleted, cannot be assigned to a host");
        return Err(conflict(&why));
    }
    let bound = text(&pod, "/spec/nodeName");
    if !bound.is_empty() {
        return Err(conflict(&format!(
            "pod {name} is already assigned to node \"{bound}\""
        )));
    }
    if pod.pointer("/spec/schedulingGates/0").is_some() {
        return Err(conflict(&format!(
            "pod {name} has non-empty .spec.schedulingGates"
        )));
    }
    if !dry_run {
        let pod = assigned(state, pod, &binding);
        state.store_update(&place, pod);
    }
    Ok(done())
}

fn assigned(state: &mut State, mut pod: Value, binding: &Value) -> Value {
    let node = text(binding, "/target/name");
    entry_mut(object_mut(&mut pod), "spec").insert("nodeName".into(), node.into());
    for field in ["annotations", "labels"] {
        if let Some(Value::Object(more)) = binding.pointer(&format!("/metadata/{field}")) {
            entry_mut(metadata_mut(&mut pod), field).extend(more.clone());
        }
    }
    let now = state.source.stamp();
    set_condition(
        &mut pod,
        json!({"type": "PodScheduled", "status": "True"}),
        &now,
    );
    pod
}

/// Sets a condition of the status.
fn set_condition(object: &mut Value, mut condition: Value, now: &str) {
    condition["lastProbeTime"] = Value::Null;
    condition["lastTransitionTime"] = now.into();
    let status = entry_mut(object_mut(object), "status");
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    let Some(list) = conditions.as_array_mut() else {
        return;
    };
    let found = list
        .iter_mut()
        .find(|found| found["type"] == condition["type"]);
    match found {
        Some(found) => {
            if found["status"] == condition["status"] {
                condition["lastTransitionTime"] = found["lastTransitionTime"].clone();
            }
            *found = condition;
        }
        None => list.push(condition),
    }
}

/// POST on `pods/NAME/eviction`: a delete that budgets may refuse.
pub(super) fn evict(state: &mut State, call: &Call) -> Result<Answer, Failure> {
    let eviction = body::read(&call.body, call.content_type.as_deref(), "Eviction")?;
    if metadata::name(&eviction) != call.name() {
        return Err(Failure::bad_request(
            "name in URL does not match name in Eviction object",
        ));
    }
    let mut options = eviction
        .get("deleteOptions")
        .cloned()
        .unwrap_or_else(|| json!({}));
    if call.query.dry_run("CreateOptions")? {
        options["dryRun"] = json!(["All"]);
    }
    let dry_run = options.pointer("/dryRun/0").is_some();
    let pod = call.existing(state)?.value();
    let free = metadata::is_deleting(&pod)
        || matches!(
            text(&pod, "/status/phase"),
            "Succeeded" | "Failed" | "Pending"
        );
    if !free {
        ask_budget(state, call, &pod, dry_run)?;
    }
    if !dry_run {
        let mut marked = pod;
        let now = state.source.stamp();
        let target = json!({
            "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        });
        set_condition(&mut marked, target, &now);
        state.store_update(&call.place(call.name()), marked);
    }
    options["kind"] = "DeleteOptions".into();
    options["apiVersion"] = "v1".into();
    let mut order = call.clone();
    order.method = Method::DELETE;
    order.target.subresource = None;
    order.content_type = Some("application/json".into());
    order.body = Bytes::from(options.to_string());
    delete::delete(state, &order)?;
    Ok(done())
}

/// Takes one disruption from the budget that covers the Pod, if there is one.
fn ask_budget(state: &mut State, call: &Call, pod: &Value, dry_run: bool) -> Result<(), Failure> {
    let labels = pod.pointer("/metadata/labels").and_then(Value::as_object);
    let labels = labels.cloned().unwrap_or_default();
    let mut covering: Vec<(Place, Value)> = state
        .store
        .all(&BUDGETS.into())
        .into_iter()
        .filter_map(|place| {
            let budget = state.store.at(&place)?.value();
            let covers = Some(metadata::namespace(&budget)) == call.namespace()
                && crate::validation::selects(&budget["spec"]["selector"], &labels);
            covers.then_some((place, budget))
        })
        .collect();
    if covering.len() > 1 {
        return Err(Failure::unclassified(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
        ));
    }
    let Some((place, mut budget)) = covering.pop() else {
        return Ok(());
    };
    let count = |field: &str| budget["status"][field].as_i64().unwrap_or(0);
    let ready = pod["status"]["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
    let (healthy, wanted) = (count("currentHealthy"), count("desiredHealthy"));
    let spare = healthy >= wanted && wanted > 0;
    if !ready && (text(&budget, "/spec/unhealthyPodEvictionPolicy") == "AlwaysAllow" || spare) {
        return Ok(());
    }
    let name = metadata::name(&budget).to_owned();
    let generation = budget["metadata"]["generation"].as_i64().unwrap_or(0);
    if count("observedGeneration") < generation {
        let why = format!("The disruption budget {name} is still being processed by the server.");
        return Err(refused(&why, Some(RETRY)));
    }
    let allowed = count("disruptionsAllowed");
    if allowed <= 0 {
        let why = if healthy <= wanted {
            format!(
                "The disruption budget {name} needs {wanted} healthy pods and has {healthy} currently"
            )
        } else {
            format!("The disruption budget {name} does not allow evicting pods currently")
        };
        return Err(refused(&why, None));
    }
    if !dry_run {
        let now = state.source.stamp();
        let status = entry_mut(object_mut(&mut budget), "status");
        status.insert("disruptionsAllowed".into(), (allowed - 1).into());
        entry_mut(status, "disruptedPods").insert(call.name().into(), now.as_str().into());
        if allowed == 1 {
            status.insert("conditions".into(), json!([{
                "type": "DisruptionAllowed", "status": "False", "observedGeneration": generation,
                "lastTransitionTime": now, "reason": "InsufficientPods", "message": "",
            }]));
        }
        state.store_update(&place, budget);
    }
    Ok(())
}

fn refused(why: &str, retry: Option<u32>) -> Failure {
    Failure {
        code: 429,
        reason: "TooManyRequests".into(),
        message: "Cannot evict pod as it would violate the pod's disruption budget.".into(),
        details: Some(Box::new(Details {
            causes: vec![Cause {
                reason: "DisruptionBudget".into(),
                message: why.into(),
                field: String::new(),
            }],
            retry_after_seconds: retry,
            ..Details::default()
        })),
        warnings: Vec::new(),
    }
}
