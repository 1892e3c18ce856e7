//! The group `apps`.

use k8s_api_schema::FieldError;
use serde_json::{Value, json};

use super::names;
use super::path::{Errors, Path, has, int, list, text};
use super::{persistence, pod_spec, pod_status, selectors};
use crate::go_json;

const IMMUTABLE: &str = "field is immutable";

/// Whether an update is one of the status, which alone is checked then.
fn is_of_status(object: &Value, old: Option<&Value>) -> bool {
    old.is_some_and(|old| old.get("status") != object.get("status"))
}

/// A Deployment; `old` is the one that it replaces.
pub(crate) fn deployment(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Errors::default();
    if let Some(old) = old.filter(|_| is_of_status(object, old)) {
        pod_status::replicas(&object["status"], pod_status::DEPLOYMENT, &mut errors);
        pod_status::collisions(&object["status"], &old["status"], &mut errors);
        return errors.0;
    }
    let (spec, path) = (&object["spec"], Path::new("spec"));
    errors.not_negative(path.child("replicas"), int(spec, "replicas"));
    selectors::required(path.child("selector"), spec, "deployment", &mut errors);
    replicated(path, spec, &mut errors);
    deployment_strategy(path.child("strategy"), &spec["strategy"], &mut errors);
    let ready = int(spec, "minReadySeconds");
    errors.not_negative(path.child("minReadySeconds"), ready);
    errors.not_negative(
        path.child("revisionHistoryLimit"),
        int(spec, "revisionHistoryLimit"),
    );
    let deadline = int(spec, "progressDeadlineSeconds");
    errors.not_negative(path.child("progressDeadlineSeconds"), deadline);
    if let Some(deadline) = deadline.filter(|deadline| *deadline <= ready.unwrap_or(0)) {
        errors.invalid(
            path.child("progressDeadlineSeconds"),
            deadline,
            "must be greater than minReadySeconds",
        );
    }
    same_selector(path, spec, old, &mut errors);
    errors.0
}

fn same_selector(path: Path<'_>, spec: &Value, old: Option<&Value>, errors: &mut Errors) {
    let selector = &spec["selector"];
    if old.is_some_and(|old| old["spec"]["selector"] != *selector) {
        errors.invalid_printed(
            path.child("selector"),
            selectors::printed(selector),
            IMMUTABLE,
        );
    }
}

/// The template of what keeps a number of Pods running.
fn replicated(path: Path<'_>, spec: &Value, errors: &mut Errors) {
    let (selector, template) = (&spec["selector"], &spec["template"]);
    if !selectors::is_valid(selector) {
        errors.invalid_printed(
            path.child("selector"),
            selectors::printed(selector),
            "invalid label selector",
        );
        return;
    }
    let path = path.child("template");
    if selector.is_null() || !selectors::is_empty(selector) {
        selectors::matches(path, selector, template, errors);
    }
    pod_spec::template(path, template, errors);
    pod_spec::always_running(path, template, "ReplicaSet", errors);
}

fn deployment_strategy(path: Path<'_>, strategy: &Value, errors: &mut Errors) {
    let rolling = &strategy["rollingUpdate"];
    let at = path.child("rollingUpdate");
    match text(strategy, "type") {
        "Recreate" => {
            if !rolling.is_null() {
                errors.forbidden(
                    at,
                    "may not be specified when strategy `type` is 'Recreate'",
                );
            }
        }
        "RollingUpdate" => {
            let (unavailable, surge) = (&rolling["maxUnavailable"], &rolling["maxSurge"]);
            selectors::int_or_percent(at.child("maxUnavailable"), unavailable, errors);
            selectors::int_or_percent(at.child("maxSurge"), surge, errors);
            if selectors::count(unavailable) == 0 && selectors::count(surge) == 0 {
                errors.invalid(
                    at.child("maxUnavailable"),
                    unavailable.clone(),
                    "may not be 0 when `maxSurge` is 0",
                );
            }
            selectors::at_most_100_percent(at.child("maxUnavailable"), unavailable, errors);
        }
        kind => {
            let printed = printed_strategy(kind, rolling);
            errors.0.push(FieldError::not_supported_printed(
                path.to_string(),
                printed,
                &["Recreate", "RollingUpdate"],
            ));
        }
    }
}

/// A strategy as errors show it.
fn printed_strategy(kind: &str, rolling: &Value) -> String {
    let rolling = match rolling {
        Value::Null => Value::Null,
        rolling => json!({
            "MaxUnavailable": rolling.get("maxUnavailable").cloned().unwrap_or(json!(0)),
            "MaxSurge": rolling.get("maxSurge").cloned().unwrap_or(json!(0)),
        }),
    };
    let strategy = json!({"Type": kind, "RollingUpdate": rolling});
    go_json::print(
        &strategy,
        &["Type", "RollingUpdate", "MaxUnavailable", "MaxSurge"],
    )
}

/// A ReplicaSet; `old` is the one that it replaces.
pub(crate) fn replica_set(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Errors::default();
    if is_of_status(object, old) {
        let limits = pod_status::REPLICATION_CONTROLLER;
        pod_status::replicas(&object["status"], limits, &mut errors);
        return errors.0;
    }
    let (spec, path) = (&object["spec"], Path::new("spec"));
    errors.not_negative(path.child("replicas"), int(spec, "replicas"));
    errors.not_negative(path.child("minReadySeconds"), int(spec, "minReadySeconds"));
    selectors::required(path.child("selector"), spec, "deployment", &mut errors);
    replicated(path, spec, &mut errors);
    same_selector(path, spec, old, &mut errors);
    errors.0
}

/// A StatefulSet; `old` is the one that it replaces.
pub(crate) fn stateful_set(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Errors::default();
    if let Some(old) = old.filter(|_| is_of_status(object, old)) {
        pod_status::replicas(&object["status"], pod_status::STATEFUL_SET, &mut errors);
        pod_status::collisions(&object["status"], &old["status"], &mut errors);
        return errors.0;
    }
    let (spec, path) = (&object["spec"], Path::new("spec"));
    let policy = text(spec, "podManagementPolicy");
    if !matches!(policy, "OrderedReady" | "Parallel") {
        errors.invalid(
            path.child("podManagementPolicy"),
            policy,
            "must be 'OrderedReady' or 'Parallel'",
        );
    }
    stateful_strategy(
        path.child("updateStrategy"),
        &spec["updateStrategy"],
        &mut errors,
    );
    let retention = path.child("persistentVolumeClaimRetentionPolicy");
    for field in ["whenDeleted", "whenScaled"] {
        let policy = text(&spec["persistentVolumeClaimRetentionPolicy"], field);
        errors.one_of_or_empty(retention.child(field), policy, &["Retain", "Delete"]);
    }
    if old.is_none() {
        claims(path.child("volumeClaimTemplates"), spec, &mut errors);
    }
    errors.not_negative(path.child("replicas"), int(spec, "replicas"));
    errors.not_negative(path.child("minReadySeconds"), int(spec, "minReadySeconds"));
    errors.not_negative(
        path.child("ordinals.start"),
        int(&spec["ordinals"], "start"),
    );
    let service = text(spec, "serviceName");
    if old.is_none() && !service.is_empty() {
        errors.faults(
            path.child("serviceName"),
            service,
            names::label_1123(service),
        );
    }
    selectors::required(path.child("selector"), spec, "statefulset", &mut errors);
    stateful_template(path, spec, &mut errors);
    if let Some(old) = old {
        kept(path, spec, &old["spec"], &mut errors);
    }
    errors.0
}

fn claims(path: Path<'_>, spec: &Value, errors: &mut Errors) {
    for (index, claim) in list(spec, "volumeClaimTemplates").iter().enumerate() {
        let claim_path = path.index(index);
        let path = claim_path.child("spec").to_string();
        errors
            .0
            .extend(persistence::claim_spec(&path, &claim["spec"]));
    }
}

/// Claims are volumes of the Pods; names of hosts are made by the set.
fn stateful_template(path: Path<'_>, spec: &Value, errors: &mut Errors) {
    let selector = &spec["selector"];
    if !selectors::is_valid(selector) {
        errors.invalid_printed(path.child("selector"), selectors::printed(selector), "");
        return;
    }
    let mut template = spec["template"].clone();
    let mut names: Vec<_> = list(spec, "volumeClaimTemplates")
        .iter()
        .map(|claim| text(&claim["metadata"], "name"))
        .collect();
    names.sort_unstable();
    names.dedup();
    let claims: Vec<Value> = names
        .into_iter()
        .map(|name| json!({"name": name, "persistentVolumeClaim": {"claimName": name}}))
        .collect();
    if let Some(Value::Object(pod)) = template.get_mut("spec") {
        pod.remove("hostname");
        pod.remove("subdomain");
        let mut volumes = claims.clone();
        let own = list(&spec["template"]["spec"], "volumes");
        volumes.extend(
            own.iter()
                .filter(|volume| claims.iter().all(|claim| claim["name"] != volume["name"]))
                .cloned(),
        );
        if !volumes.is_empty() {
            pod.insert("volumes".into(), volumes.into());
        }
    }
    let path = path.child("template");
    if selector.is_null() || !selectors::is_empty(selector) {
        selectors::matches(path, selector, &template, errors);
    }
    pod_spec::template(path, &template, errors);
    pod_spec::always_running(path, &template, "StatefulSet", errors);
}

fn stateful_strategy(path: Path<'_>, strategy: &Value, errors: &mut Errors) {
    let rolling = &strategy["rollingUpdate"];
    let at = path.child("rollingUpdate");
    match text(strategy, "type") {
        "OnDelete" => {
            if !rolling.is_null() {
                let shown = stateful_rolling(rolling);
                let printed = go_json::print(&shown, &["Partition", "MaxUnavailable"]);
                errors.invalid_printed(
                    at,
                    printed,
                    "only allowed for updateStrategy 'RollingUpdate'",
                );
            }
        }
        "RollingUpdate" => {
            errors.not_negative(at.child("partition"), int(rolling, "partition"));
            let unavailable = &rolling["maxUnavailable"];
            if !unavailable.is_null() {
                let at = at.child("maxUnavailable");
                selectors::int_or_percent(at, unavailable, errors);
                if selectors::count(unavailable) == 0 {
                    errors.invalid(at, unavailable.clone(), "cannot be 0");
                }
                selectors::at_most_100_percent(at, unavailable, errors);
            }
        }
        kind => {
            let rolling = match rolling {
                Value::Null => Value::Null,
                rolling => stateful_rolling(rolling),
            };
            let shown = json!({"Type": kind, "RollingUpdate": rolling});
            let order = ["Type", "RollingUpdate", "Partition", "MaxUnavailable"];
            let printed = go_json::print(&shown, &order);
            errors.invalid_printed(path, printed, "must be 'RollingUpdate' or 'OnDelete'");
        }
    }
}

/// The numbers that a StatefulSet rolls by, as errors show them.
fn stateful_rolling(rolling: &Value) -> Value {
    json!({
        "Partition": rolling.get("partition").cloned().unwrap_or(json!(0)),
        "MaxUnavailable": rolling.get("maxUnavailable"),
    })
}

/// What a StatefulSet keeps for good.
fn kept(path: Path<'_>, new: &Value, old: &Value, errors: &mut Errors) {
    if new["selector"] != old["selector"] {
        let printed = selectors::printed(&new["selector"]);
        errors.invalid_printed(path.child("selector"), printed, IMMUTABLE);
    }
    for field in ["volumeClaimTemplates", "serviceName", "podManagementPolicy"] {
        if new.get(field) != old.get(field) {
            let value = new.get(field).cloned().unwrap_or_default();
            errors.invalid(path.child(field), value, IMMUTABLE);
        }
    }
}

/// A DaemonSet; `old` is the one that it replaces.
pub(crate) fn daemon_set(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Errors::default();
    if let Some(old) = old.filter(|_| is_of_status(object, old)) {
        pod_status::replicas(&object["status"], &[], &mut errors);
        pod_status::collisions(&object["status"], &old["status"], &mut errors);
        return errors.0;
    }
    let (spec, path) = (&object["spec"], Path::new("spec"));
    same_selector(path, spec, old, &mut errors);
    let (selector, template) = (&spec["selector"], &spec["template"]);
    selectors::selector(path.child("selector"), selector, &mut errors);
    if selectors::is_valid(selector) {
        selectors::matches(path.child("template"), selector, template, &mut errors);
    }
    if !selector.is_null() && selectors::is_empty(selector) {
        errors.invalid_printed(
            path.child("selector"),
            selectors::printed(selector),
            "empty selector is invalid for daemonset",
        );
    }
    pod_spec::template(path.child("template"), template, &mut errors);
    pod_spec::always_running(path.child("template"), template, "DaemonSet", &mut errors);
    errors.not_negative(path.child("minReadySeconds"), int(spec, "minReadySeconds"));
    daemon_strategy(
        path.child("updateStrategy"),
        &spec["updateStrategy"],
        &mut errors,
    );
    errors.not_negative(
        path.child("revisionHistoryLimit"),
        int(spec, "revisionHistoryLimit"),
    );
    errors.0
}

fn daemon_strategy(path: Path<'_>, strategy: &Value, errors: &mut Errors) {
    let rolling = &strategy["rollingUpdate"];
    match text(strategy, "type") {
        "OnDelete" => {}
        "RollingUpdate" => {
            let path = path.child("rollingUpdate");
            let (unavailable, surge) = (&rolling["maxUnavailable"], &rolling["maxSurge"]);
            selectors::int_or_percent(path.child("maxUnavailable"), unavailable, errors);
            selectors::int_or_percent(path.child("maxSurge"), surge, errors);
            selectors::at_most_100_percent(path.child("maxUnavailable"), unavailable, errors);
            selectors::at_most_100_percent(path.child("maxSurge"), surge, errors);
            match (
                selectors::count(unavailable) != 0,
                selectors::count(surge) != 0,
            ) {
                (true, true) => errors.invalid(
                    path.child("maxSurge"),
                    surge.clone(),
                    "may not be set when maxUnavailable is non-zero",
                ),
                (false, false) => errors.required(
                    path.child("maxUnavailable"),
                    "cannot be 0 when maxSurge is 0",
                ),
                _ => {}
            }
        }
        kind => errors.0.push(FieldError::not_supported_printed(
            path.to_string(),
            printed_strategy(kind, rolling),
            &["RollingUpdate", "OnDelete"],
        )),
    }
}

/// A ControllerRevision; `old` is the one that it replaces.
pub(crate) fn controller_revision(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Errors::default();
    errors.not_negative(Path::new("revision"), int(object, "revision"));
    let path = Path::new("data");
    match old {
        None if !has(object, "data") => errors.required(path, "data is mandatory"),
        None if !object["data"].is_object() => {
            errors.required(path, "data must be a valid JSON object");
        }
        Some(old) if old.get("data") != object.get("data") => {
            errors.invalid(path, object["data"].clone(), IMMUTABLE);
        }
        _ => {}
    }
    errors.0
}
