//! The group `batch`.

use k8s_api_schema::FieldError;
use serde_json::{Value, json};

use super::path::{Errors, Path, flag, has, int, list, text};
use super::{cron, job_policies, job_status, names, pod_spec, selectors};
use crate::metadata::{name, uid};

const IMMUTABLE: &str = "field is immutable";
const MAX_PARALLEL: i64 = 100_000;
const MAX_MANAGER: usize = 63;
/// Fields that a Job keeps for good.
const KEPT: [&str; 5] = [
    "completionMode",
    "podFailurePolicy",
    "backoffLimitPerIndex",
    "managedBy",
    "successPolicy",
];
/// What a Job that has not started may change in its template.
const DIRECTIVES: [&str; 3] = ["nodeSelector", "tolerations", "schedulingGates"];

/// A Job; `old` is the one that it replaces.
pub(crate) fn job(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Errors::default();
    if let Some(old) = old.filter(|old| old.get("status") != object.get("status")) {
        job_status::job(object, old, &mut errors);
        return errors.0;
    }
    let (spec, path) = (&object["spec"], Path::new("spec"));
    if old.is_none() {
        generated_selector(object, &mut errors);
    }
    job_spec(path, spec, &mut errors);
    if has(spec, "selector") {
        selectors::selector(path.child("selector"), &spec["selector"], &mut errors);
    } else {
        errors.required(path.child("selector"), "");
    }
    if selectors::is_valid(&spec["selector"]) {
        let template = path.child("template");
        selectors::matches(template, &spec["selector"], &spec["template"], &mut errors);
    }
    if let Some(old) = old {
        update(path, spec, old, &mut errors);
    }
    name_of_last_pod(object, &mut errors);
    errors.0
}

/// The selector of a Job is its uid, unless the user makes it.
fn generated_selector(object: &Value, errors: &mut Errors) {
    let spec = &object["spec"];
    if flag(spec, "manualSelector") || !has(spec, "selector") {
        return;
    }
    let labels = &spec["template"]["metadata"]["labels"];
    let path = Path::new("spec.template.metadata");
    let (name, uid) = (name(object), uid(object));
    let expected = [
        ("controller-uid", uid),
        ("job-name", name),
        ("batch.kubernetes.io/controller-uid", uid),
        ("batch.kubernetes.io/job-name", name),
    ];
    for (key, value) in expected {
        let found = text(labels, key);
        if !has(labels, key) {
            let why = format!("must be '{value}'");
            errors.required(path.child("labels").key(key), &why);
        } else if found != value {
            let why = format!("must be '{value}'");
            errors.invalid(path.child("labels").key(key), labels.clone(), why);
        }
    }
    let expected = expected
        .map(|(key, value)| (key.to_owned(), json!(value)))
        .into_iter()
        .collect();
    let selector = &spec["selector"];
    if selectors::is_valid(selector) && !selectors::selects(selector, &expected) {
        let path = Path::new("spec.selector");
        let printed = selectors::printed(selector);
        errors.invalid_printed(path, printed, "`selector` not auto-generated");
    }
}

fn name_of_last_pod(object: &Value, errors: &mut Errors) {
    let spec = &object["spec"];
    let count = int(spec, "completions").filter(|count| *count > 0);
    let Some(count) = count.filter(|_| text(spec, "completionMode") == "Indexed") else {
        return;
    };
    let host = format!("{}-{}", name(object), count - 1);
    if !names::label_1123(&host).is_empty() {
        let why = format!("will not able to create pod with invalid DNS label: {host}");
        errors.invalid(Path::new("metadata.name"), name(object), why);
    }
}

/// What a Job and the template of one have in common.
fn job_spec(path: Path<'_>, spec: &Value, errors: &mut Errors) {
    for field in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        errors.not_negative(path.child(field), int(spec, field));
    }
    if has(spec, "maxFailedIndexes") && !has(spec, "backoffLimitPerIndex") {
        errors.required(
            path.child("backoffLimitPerIndex"),
            "when maxFailedIndexes is specified",
        );
    }
    if text(spec, "managedBy").len() > MAX_MANAGER {
        errors.too_long(path.child("managedBy"), MAX_MANAGER);
    }
    let mode = text(spec, "completionMode");
    errors.optional_one_of(path, spec, "completionMode", &["NonIndexed", "Indexed"]);
    if mode == "Indexed" {
        indexed(path, spec, errors);
    } else if mode == "NonIndexed" {
        for field in ["backoffLimitPerIndex", "maxFailedIndexes"] {
            if let Some(value) = int(spec, field) {
                errors.invalid(path.child(field), value, "requires indexed completion mode");
            }
        }
    }
    job_policies::failure(path.child("podFailurePolicy"), spec, errors);
    job_policies::success(path.child("successPolicy"), spec, errors);
    replacement(path, spec, errors);
    pod_spec::template(path.child("template"), &spec["template"], errors);
    restart_policy(path, spec, errors);
}

fn indexed(path: Path<'_>, spec: &Value, errors: &mut Errors) {
    let completions = int(spec, "completions");
    if completions.is_none() {
        errors.required(path.child("completions"), "when completion mode is Indexed");
    }
    if let Some(parallel) = int(spec, "parallelism").filter(|count| *count > MAX_PARALLEL) {
        let why =
            format!("must be less than or equal to {MAX_PARALLEL} when completion mode is Indexed");
        errors.invalid(path.child("parallelism"), parallel, why);
    }
    let Some(failed) = int(spec, "maxFailedIndexes") else {
        return;
    };
    if completions.is_some_and(|completions| failed > completions) {
        errors.invalid(
            path.child("maxFailedIndexes"),
            failed,
            "must be less than or equal to completions",
        );
    }
    if failed > MAX_PARALLEL {
        let why = format!("must be less than or equal to {MAX_PARALLEL}");
        errors.invalid(path.child("maxFailedIndexes"), failed, why);
    }
}

fn replacement(path: Path<'_>, spec: &Value, errors: &mut Errors) {
    let valid: &[&str] = if has(spec, "podFailurePolicy") {
        &["Failed"]
    } else {
        &["Failed", "TerminatingOrFailed"]
    };
    errors.optional_one_of(path, spec, "podReplacementPolicy", valid);
}

fn restart_policy(path: Path<'_>, spec: &Value, errors: &mut Errors) {
    let policy = text(&spec["template"]["spec"], "restartPolicy");
    let template = path.child("template");
    let pod = template.child("spec");
    let path = pod.child("restartPolicy");
    match policy {
        "" | "Always" => errors.required(path, "valid values: \"OnFailure\", \"Never\""),
        "OnFailure" if has(spec, "podFailurePolicy") => errors.invalid(
            path,
            policy,
            "only \"Never\" is supported when podFailurePolicy is specified",
        ),
        "OnFailure" | "Never" => {}
        _ => errors.not_supported(path, policy, &["OnFailure", "Never"]),
    }
}

fn update(path: Path<'_>, new: &Value, old: &Value, errors: &mut Errors) {
    let spec = &old["spec"];
    let completions = path.child("completions");
    let (count, before) = (int(new, "completions"), int(spec, "completions"));
    if count != before {
        let shown = count.map_or(Value::Null, Value::from);
        if text(new, "completionMode") != "Indexed" {
            errors.invalid(completions, shown, IMMUTABLE);
        } else if count.is_some() && count != int(new, "parallelism") {
            let why = "can only be modified in tandem with spec.parallelism";
            errors.invalid(completions, shown, why);
        }
    }
    if new["selector"] != spec["selector"] {
        let printed = selectors::printed(&new["selector"]);
        errors.invalid_printed(path.child("selector"), printed, IMMUTABLE);
    }
    template_kept(path.child("template"), new, old, errors);
    for field in KEPT {
        if new.get(field) != spec.get(field) {
            let value = new.get(field).cloned().unwrap_or_default();
            errors.invalid(path.child(field), value, IMMUTABLE);
        }
    }
}

/// The template stays, but for where the Pods of a Job that does not run may go, and what they ask for.
fn template_kept(path: Path<'_>, new: &Value, old: &Value, errors: &mut Errors) {
    let spec = &old["spec"];
    let (template, mut before) = (&new["template"], spec["template"].clone());
    let started = has(&old["status"], "startTime");
    let waits = flag(spec, "suspend")
        && int(&old["status"], "active").unwrap_or(0) == 0
        && (!started || job_status::is(old, "Suspended"));
    if waits && let Some(Value::Object(pod)) = before.get_mut("spec") {
        for field in DIRECTIVES {
            crate::metadata::copy_key(&template["spec"], pod, field);
        }
        let affinity = template.pointer("/spec/affinity/nodeAffinity").cloned();
        node_affinity(pod, affinity);
        for field in ["containers", "initContainers"] {
            let Some(Value::Array(containers)) = pod.get_mut(field) else {
                continue;
            };
            let own = list(&template["spec"], field);
            for (container, own) in containers.iter_mut().zip(own) {
                if container["name"] == own["name"]
                    && let Value::Object(container) = container
                {
                    crate::metadata::copy_key(own, container, "resources");
                }
            }
        }
        before["metadata"] = template["metadata"].clone();
    }
    if *template == before {
        return;
    }
    let printed = super::pod_printed::printed_template(template);
    if waits {
        let printed = super::pod_printed::printed_spec(&template["spec"]);
        errors.invalid_printed(path.child("spec"), printed, IMMUTABLE);
    } else {
        errors.invalid_printed(path, printed, IMMUTABLE);
    }
}

fn node_affinity(pod: &mut serde_json::Map<String, Value>, new: Option<Value>) {
    let affinity = crate::metadata::entry_mut(pod, "affinity");
    match new {
        Some(new) => {
            affinity.insert("nodeAffinity".into(), new);
        }
        None => {
            affinity.remove("nodeAffinity");
        }
    }
    if affinity.is_empty() {
        pod.remove("affinity");
    }
}

/// A CronJob; `old` is the one that it replaces.
pub(crate) fn cron_job(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Errors::default();
    if old.is_some_and(|old| old.get("status") != object.get("status")) {
        return errors.0;
    }
    let (spec, path) = (&object["spec"], Path::new("spec"));
    let before = old.map(|old| &old["spec"]);
    schedule(path.child("schedule"), spec, before, &mut errors);
    let field = "startingDeadlineSeconds";
    errors.not_negative(path.child(field), int(spec, field));
    if before.is_none_or(|before| before.get("timeZone") != spec.get("timeZone")) {
        time_zone(path.child("timeZone"), spec, &mut errors);
    }
    errors.one_of(
        path.child("concurrencyPolicy"),
        text(spec, "concurrencyPolicy"),
        &["Allow", "Forbid", "Replace"],
    );
    let template = path.child("jobTemplate");
    let job = &spec["jobTemplate"]["spec"];
    let at = template.child("spec");
    job_spec(at, job, &mut errors);
    if has(job, "selector") {
        let printed = selectors::printed(&job["selector"]);
        let why = "`selector` will be auto-generated";
        errors.invalid_printed(at.child("selector"), printed, why);
    }
    if flag(job, "manualSelector") {
        errors.not_supported(at.child("manualSelector"), true, &["nil", "false"]);
    }
    for field in ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        errors.not_negative(path.child(field), int(spec, field));
    }
    if old.is_none() && name(object).len() > 52 {
        errors.invalid(
            Path::new("metadata.name"),
            name(object),
            "must be no more than 52 characters",
        );
    }
    errors.0
}

fn schedule(path: Path<'_>, spec: &Value, old: Option<&Value>, errors: &mut Errors) {
    let schedule = text(spec, "schedule");
    if schedule.is_empty() {
        errors.required(path, "");
        return;
    }
    if let Err(why) = cron::check(schedule) {
        errors.invalid(path, schedule, why);
    }
    let allowed = old.is_some_and(|old| text(old, "schedule").contains("TZ"));
    if !schedule.contains("TZ") {
        return;
    }
    if !allowed {
        errors.invalid(
            path,
            schedule,
            "cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
        );
    } else if has(spec, "timeZone") {
        errors.invalid(
            path,
            schedule,
            "cannot use both timeZone field and TZ or CRON_TZ in schedule",
        );
    }
}

/// The first part of the names of time zones.
const AREAS: &[&str] = &[
    "Africa",
    "America",
    "Antarctica",
    "Arctic",
    "Asia",
    "Atlantic",
    "Australia",
    "Brazil",
    "CET",
    "CST6CDT",
    "Canada",
    "Chile",
    "Cuba",
    "EET",
    "EST",
    "EST5EDT",
    "Egypt",
    "Eire",
    "Etc",
    "Europe",
    "Factory",
    "GB",
    "GB-Eire",
    "GMT",
    "GMT+0",
    "GMT-0",
    "GMT0",
    "Greenwich",
    "HST",
    "Hongkong",
    "Iceland",
    "Indian",
    "Iran",
    "Israel",
    "Jamaica",
    "Japan",
    "Kwajalein",
    "Libya",
    "Local",
    "MET",
    "MST",
    "MST7MDT",
    "Mexico",
    "NZ",
    "NZ-CHAT",
    "Navajo",
    "PRC",
    "PST8PDT",
    "Pacific",
    "Poland",
    "Portugal",
    "ROC",
    "ROK",
    "Singapore",
    "Turkey",
    "UCT",
    "US",
    "UTC",
    "Universal",
    "W-SU",
    "WET",
    "Zulu",
];

fn time_zone(path: Path<'_>, spec: &Value, errors: &mut Errors) {
    let Some(zone) = spec.get("timeZone").and_then(Value::as_str) else {
        return;
    };
    if zone.is_empty() {
        errors.invalid(path, zone, "timeZone must be nil or non-empty string");
        return;
    }
    let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+');
    let well_formed = zone.split('/').all(|part| {
        !matches!(part, "." | "..")
            && !part.starts_with('-')
            && (1..=14).contains(&part.len())
            && part.chars().all(letter)
    });
    let unknown = format!("unknown time zone {zone}");
    if !well_formed {
        errors.invalid(path, zone, unknown);
        return;
    }
    if zone.eq_ignore_ascii_case("local") {
        errors.invalid(
            path,
            zone,
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones",
        );
    }
    let area = zone.split('/').next().unwrap_or_default();
    if !AREAS.contains(&area) {
        errors.invalid(path, zone, unknown);
    }
}
