//! When a Job has failed or succeeded.

use serde_json::Value;

use super::job_status::indexes;
use super::names;
use super::path::{Errors, Path, has, int, list, text};
use crate::go_json;

const ACTIONS: &[&str] = &["Count", "FailIndex", "FailJob", "Ignore"];

fn quoted(values: &[&str]) -> String {
    let quoted: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
    format!("valid values: [{}]", quoted.join(" "))
}

/// `podFailurePolicy`
pub(super) fn failure(path: Path<'_>, spec: &Value, errors: &mut Errors) {
    if !has(spec, "podFailurePolicy") {
        return;
    }
    let rules = list(&spec["podFailurePolicy"], "rules");
    let path = path.child("rules");
    if rules.len() > 20 {
        errors.too_many(path, rules.len(), 20);
    }
    for (index, rule) in rules.iter().enumerate() {
        failure_rule(path.index(index), rule, spec, errors);
    }
}

fn failure_rule(path: Path<'_>, rule: &Value, spec: &Value, errors: &mut Errors) {
    let action = text(rule, "action");
    let at = path.child("action");
    if action.is_empty() {
        errors.required(at, &quoted(ACTIONS));
    } else if action == "FailIndex" && !has(spec, "backoffLimitPerIndex") {
        errors.invalid(at, action, "requires the backoffLimitPerIndex to be set");
    } else {
        errors.one_of_or_empty(at, action, ACTIONS);
    }
    let codes = has(rule, "onExitCodes");
    let conditions = list(rule, "onPodConditions");
    if codes {
        exit_codes(
            path.child("onExitCodes"),
            &rule["onExitCodes"],
            spec,
            errors,
        );
    }
    let at = path.child("onPodConditions");
    for (index, pattern) in conditions.iter().enumerate() {
        let path = at.index(index);
        let kind = text(pattern, "type");
        errors.faults(path.child("type"), kind, names::label_key(kind));
        let status = text(pattern, "status");
        errors.one_of_or_empty(path.child("status"), status, &["False", "True", "Unknown"]);
    }
    if codes && !conditions.is_empty() {
        errors.omitted(
            path,
            "specifying both OnExitCodes and OnPodConditions is not supported",
        );
    }
    if !codes && conditions.is_empty() {
        errors.omitted(
            path,
            "specifying one of OnExitCodes and OnPodConditions is required",
        );
    }
}

fn exit_codes(path: Path<'_>, codes: &Value, spec: &Value, errors: &mut Errors) {
    let operator = text(codes, "operator");
    if operator.is_empty() {
        errors.required(path.child("operator"), &quoted(&["In", "NotIn"]));
    }
    errors.one_of_or_empty(path.child("operator"), operator, &["In", "NotIn"]);
    let pod = &spec["template"]["spec"];
    let known = ["containers", "initContainers"]
        .iter()
        .flat_map(|field| list(pod, field))
        .any(|container| container.get("name") == codes.get("containerName"));
    if has(codes, "containerName") && !known {
        errors.invalid(
            path.child("containerName"),
            text(codes, "containerName"),
            "must be one of the container or initContainer names in the pod template",
        );
    }
    let values = list(codes, "values");
    let at = path.child("values");
    if values.is_empty() {
        let shown = codes.get("values").cloned().unwrap_or_default();
        errors.invalid(at, shown, "at least one value is required");
    }
    if values.len() > 255 {
        errors.too_many(at, values.len(), 255);
    }
    for (index, value) in values.iter().enumerate() {
        if operator == "In" && value.as_i64() == Some(0) {
            errors.invalid(at.index(index), 0, "must not be 0 for the In operator");
        }
        if values[..index].contains(value) {
            errors.duplicate(at.index(index), value.clone());
        }
    }
    if values
        .windows(2)
        .any(|pair| pair[0].as_i64() > pair[1].as_i64())
    {
        errors.invalid(at, values.to_vec(), "must be ordered");
    }
}

/// `successPolicy`
pub(super) fn success(path: Path<'_>, spec: &Value, errors: &mut Errors) {
    if !has(spec, "successPolicy") {
        return;
    }
    let policy = &spec["successPolicy"];
    if text(spec, "completionMode") != "Indexed" {
        let rules = list(policy, "rules").iter().map(|rule| {
            serde_json::json!({
                "SucceededIndexes": rule.get("succeededIndexes"),
                "SucceededCount": rule.get("succeededCount"),
            })
        });
        let shown = serde_json::json!({"Rules": rules.collect::<Vec<_>>()});
        let shown = go_json::print(&shown, &["Rules", "SucceededIndexes", "SucceededCount"]);
        errors.invalid_printed(path, shown, "requires indexed completion mode");
        return;
    }
    let rules = list(policy, "rules");
    let path = path.child("rules");
    if rules.is_empty() {
        errors.required(
            path,
            "at least one rules must be specified when the successPolicy is specified",
        );
    }
    if rules.len() > 20 {
        errors.too_many(path, rules.len(), 20);
    }
    let completions = int(spec, "completions").unwrap_or(0);
    for (index, rule) in rules.iter().enumerate() {
        success_rule(path.index(index), rule, completions, errors);
    }
}

fn success_rule(path: Path<'_>, rule: &Value, completions: i64, errors: &mut Errors) {
    let (count, listed) = (int(rule, "succeededCount"), has(rule, "succeededIndexes"));
    if count.is_none() && !listed {
        errors.required(
            path,
            "at least one of succeededCount or succeededIndexes must be specified",
        );
    }
    let mut total = 0;
    if listed {
        let text = text(rule, "succeededIndexes");
        match indexes(text, completions) {
            Ok(found) => total = found,
            Err(why) => errors.invalid(
                path.child("succeededIndexes"),
                text,
                format!("error parsing succeededIndexes: {why}"),
            ),
        }
    }
    let Some(count) = count else {
        return;
    };
    let at = path.child("succeededCount");
    errors.not_negative(at, Some(count));
    if count > completions {
        let why = format!(
            "must be less than or equal to {completions} (the number of specified completions)"
        );
        errors.invalid(at, count, why);
    }
    if listed && count > total {
        let why = format!(
            "must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
        );
        errors.invalid(at, count, why);
    }
}
