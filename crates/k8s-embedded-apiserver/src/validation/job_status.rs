//! The status of a Job.

use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use super::path::{Errors, Path, flag, has, int, list, text};

/// Whether a condition is true.
pub(super) fn is(job: &Value, condition: &str) -> bool {
    list(&job["status"], "conditions")
        .iter()
        .any(|found| text(found, "type") == condition && text(found, "status") == "True")
}

fn is_finished(job: &Value) -> bool {
    is(job, "Complete") || is(job, "Failed")
}

/// A write of the status of a Job.
pub(super) fn job(object: &Value, old: &Value, errors: &mut Errors) {
    let (status, before) = (&object["status"], &old["status"]);
    let path = Path::new("status");
    for field in ["active", "succeeded", "failed", "ready", "terminating"] {
        errors.not_negative(path.child(field), int(status, field));
    }
    conditions(path.child("conditions"), object, old, errors);
    times(path, object, old, errors);
    finished(path, object, old, errors);
    listed(path, object, old, errors);
    let active = int(status, "active").unwrap_or(0);
    if let Some(ready) = int(status, "ready").filter(|ready| *ready > active) {
        errors.invalid(
            path.child("ready"),
            ready,
            "cannot set more ready pods than active",
        );
    }
    let indexed = text(&object["spec"], "completionMode") == "Indexed";
    let elastic =
        indexed && int(&object["spec"], "completions") == int(&object["spec"], "parallelism");
    for field in ["failed", "succeeded"] {
        let (new, old) = (
            int(status, field).unwrap_or(0),
            int(before, field).unwrap_or(0),
        );
        if new < old && !(field == "succeeded" && elastic) {
            let why = format!("cannot decrease the {field} counter");
            errors.invalid(path.child(field), new, why);
        }
    }
}

fn conditions(path: Path<'_>, job: &Value, old: &Value, errors: &mut Errors) {
    let changed = |condition: &str| is(job, condition) != is(old, condition);
    let pairs = [
        (
            "Complete",
            "Failed",
            "cannot set Complete=True and Failed=true conditions",
        ),
        (
            "Complete",
            "FailureTarget",
            "cannot set Complete=True and FailureTarget=true conditions",
        ),
    ];
    for (one, other, why) in pairs {
        if (changed(one) || changed(other)) && is(job, one) && is(job, other) {
            errors.omitted(path, why);
        }
    }
    if changed("Failed") && is(job, "Failed") && !is(job, "FailureTarget") {
        errors.omitted(
            path,
            "cannot set Failed=True condition without the FailureTarget=true condition",
        );
    }
    if (changed("Complete") || changed("SuccessCriteriaMet"))
        && is(job, "Complete")
        && !is(job, "SuccessCriteriaMet")
    {
        errors.omitted(
            path,
            "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
        );
    }
    for (other, why) in [
        (
            "Failed",
            "cannot set SuccessCriteriaMet=True and Failed=true conditions",
        ),
        (
            "FailureTarget",
            "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
        ),
    ] {
        if is(job, "SuccessCriteriaMet") && is(job, other) {
            errors.omitted(path, why);
        }
    }
    for condition in ["Failed", "Complete", "FailureTarget"] {
        if is(old, condition) && !is(job, condition) {
            let why = format!("cannot disable the terminal {condition}=True condition");
            errors.omitted(path, why);
        }
    }
    if is(old, "SuccessCriteriaMet") && !is(job, "SuccessCriteriaMet") {
        errors.omitted(path, "cannot disable the SuccessCriteriaMet=True condition");
    }
}

fn times(path: Path<'_>, job: &Value, old: &Value, errors: &mut Errors) {
    let (status, before) = (&job["status"], &old["status"]);
    let (start, end) = (&status["startTime"], &status["completionTime"]);
    let changed = is(job, "Complete") != is(old, "Complete") || *end != before["completionTime"];
    let at = path.child("completionTime");
    if changed && !end.is_null() && !is(job, "Complete") {
        errors.invalid(
            at,
            end.clone(),
            "cannot set completionTime when there is no Complete=True condition",
        );
    }
    if changed && end.is_null() && is(job, "Complete") {
        errors.required(at, "completionTime is required for Complete jobs");
    }
    let time = |value: &Value| {
        value
            .as_str()
            .and_then(|text| text.parse::<Timestamp>().ok())
    };
    if let (Some(start), Some(ended)) = (time(start), time(end))
        && ended < start
    {
        errors.invalid(at, end.clone(), "must be equal to or after `startTime`");
    }
    if !end.is_null() && !before["completionTime"].is_null() && *end != before["completionTime"] {
        errors.invalid(at, end.clone(), "field is immutable");
    }
    let resuming = is(old, "Suspended") && !is(job, "Suspended");
    if !before["startTime"].is_null()
        && *start != before["startTime"]
        && !resuming
        && !flag(&job["spec"], "suspend")
    {
        errors.invalid(
            path.child("startTime"),
            start.clone(),
            "field is immutable for unsuspended job once set",
        );
    }
}

/// A finished Job has nothing that still runs.
fn finished(path: Path<'_>, job: &Value, old: &Value, errors: &mut Errors) {
    if !is_finished(job) {
        return;
    }
    let (status, before) = (&job["status"], &old["status"]);
    let newly = !is_finished(old);
    let changed = |field: &str| newly || status.get(field) != before.get(field);
    if let Some(active) = int(status, "active").filter(|count| *count > 0 && changed("active")) {
        errors.invalid(
            path.child("active"),
            active,
            "active>0 is invalid for finished job",
        );
    }
    if changed("startTime") && !has(status, "startTime") {
        errors.required(
            path.child("startTime"),
            "startTime is required for finished job",
        );
    }
    let uncounted = &status["uncountedTerminatedPods"];
    let some = !list(uncounted, "failed").is_empty() || !list(uncounted, "succeeded").is_empty();
    if changed("uncountedTerminatedPods") && some {
        errors.invalid(
            path.child("uncountedTerminatedPods"),
            uncounted.clone(),
            "must be empty for finished job",
        );
    }
    let count = int(status, "terminating").filter(|count| *count > 0 && changed("terminating"));
    if let Some(count) = count {
        let why = "terminating>0 is invalid for finished job";
        errors.invalid(path.child("terminating"), count, why);
    }
}

fn listed(path: Path<'_>, job: &Value, old: &Value, errors: &mut Errors) {
    let (status, before) = (&job["status"], &old["status"]);
    let completions = int(&job["spec"], "completions");
    let per_index = has(&job["spec"], "backoffLimitPerIndex");
    for field in ["completedIndexes", "failedIndexes"] {
        if status.get(field) == before.get(field) || !has(status, field) {
            continue;
        }
        let text = text(status, field);
        let checked = completions.filter(|_| field == "completedIndexes" || per_index);
        if let Some(Err(why)) = checked.map(|completions| indexes(text, completions)) {
            errors.invalid(
                path.child(field),
                text,
                format!("error parsing {field}: {why}"),
            );
        }
        if field == "failedIndexes" && !per_index {
            let why = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
            errors.invalid(path.child(field), text, why);
        }
        let indexed = super::path::text(&job["spec"], "completionMode") == "Indexed";
        if field == "completedIndexes" && !text.is_empty() && !indexed {
            let why = "cannot set non-empty completedIndexes when non-indexed completion mode";
            errors.invalid(path.child(field), text, why);
        }
    }
}

/// How many indexes a text such as `1,3-5` lists.
///
/// # Errors
///
/// Why it lists none.
pub(super) fn indexes(text: &str, completions: i64) -> Result<i64, String> {
    let (mut last, mut total) = (None, 0);
    for interval in text.split(',').filter(|_| !text.is_empty()) {
        let parts: Vec<&str> = interval.split('-').collect();
        if parts.len() > 2 {
            return Err(format!(
                "the fragment {interval:?} violates the requirement that an index interval can have at most two parts separated by '-'"
            ));
        }
        let mut ends = Vec::new();
        for part in parts {
            let index: i64 = part
                .parse()
                .map_err(|_| format!("cannot convert string to integer for index: {part:?}"))?;
            if index >= completions {
                return Err(format!("too large index: {part:?}"));
            }
            ends.push(index);
        }
        let (first, end) = (ends[0], *ends.last().unwrap_or(&ends[0]));
        if ends.len() == 2 && first >= end {
            return Err(format!(
                "non-increasing order, previous: {first}, current: {end}"
            ));
        }
        if let Some(last) = last.filter(|last| *last >= first) {
            return Err(format!(
                "non-increasing order, previous: {last}, current: {first}"
            ));
        }
        total += end - first + 1;
        last = Some(end);
    }
    Ok(total)
}
