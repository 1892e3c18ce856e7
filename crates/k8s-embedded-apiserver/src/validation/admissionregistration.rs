//! Validation: webhooks of the group `admissionregistration.k8s.io`.

use k8s_api_schema::FieldError;
use k8s_custom_schema::Condition;
use serde_json::{Value, json};

use super::fields::{faults, list, maybe_one_of, number, selector, some, text};
use super::{crd_versions, names};

const SIDE_EFFECTS: &[&str] = &["None", "NoneOnDryRun"];
const OPERATIONS: &[&str] = &["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];

/// A `MutatingWebhookConfiguration`.
pub(crate) fn mutating(object: &Value, _: Option<&Value>) -> Vec<FieldError> {
    webhooks(object)
}

/// A `ValidatingWebhookConfiguration`.
pub(crate) fn validating(object: &Value, _: Option<&Value>) -> Vec<FieldError> {
    webhooks(object)
}

fn webhooks(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let all = list(object, "webhooks");
    for (index, found) in all.iter().enumerate() {
        let path = format!("webhooks[{index}]");
        webhook(&path, found, &mut errors);
        let name = text(found, "name");
        if !name.is_empty() && all[..index].iter().any(|other| text(other, "name") == name) {
            errors.push(FieldError::duplicate(format!("{path}.name"), name));
        }
    }
    errors
}

fn webhook(path: &str, found: &Value, errors: &mut Vec<FieldError>) {
    let name = text(found, "name");
    if name.is_empty() {
        errors.push(FieldError::required(format!("{path}.name"), ""));
    } else {
        let field = format!("{path}.name");
        let wrong = names::subdomain(name, "characters");
        let valid = wrong.is_empty();
        faults(&field, name, wrong, errors);
        if valid && name.split('.').count() < 3 {
            errors.push(FieldError::invalid(
                field,
                name,
                "should be a domain with at least three segments separated by dots",
            ));
        }
    }
    for (index, rule) in list(found, "rules").iter().enumerate() {
        rule_of(&format!("{path}.rules[{index}]"), rule, errors);
    }
    maybe_one_of(
        &format!("{path}.failurePolicy"),
        found.get("failurePolicy"),
        &["Fail", "Ignore"],
        errors,
    );
    maybe_one_of(
        &format!("{path}.matchPolicy"),
        found.get("matchPolicy"),
        &["Equivalent", "Exact"],
        errors,
    );
    match some(found, "sideEffects") {
        None => errors.push(FieldError::required(
            format!("{path}.sideEffects"),
            "must specify one of None, NoneOnDryRun",
        )),
        effects => maybe_one_of(
            &format!("{path}.sideEffects"),
            effects,
            SIDE_EFFECTS,
            errors,
        ),
    }
    let timeout = number(found, "timeoutSeconds");
    if some(found, "timeoutSeconds").is_some() && !(1..=30).contains(&timeout) {
        errors.push(FieldError::invalid(
            format!("{path}.timeoutSeconds"),
            timeout,
            "the timeout value must be between 1 and 30 seconds",
        ));
    }
    for key in ["namespaceSelector", "objectSelector"] {
        if let Some(labels) = some(found, key) {
            selector(&format!("{path}.{key}"), labels, errors);
        }
    }
    maybe_one_of(
        &format!("{path}.reinvocationPolicy"),
        found.get("reinvocationPolicy"),
        &["IfNeeded", "Never"],
        errors,
    );
    let empty = json!({});
    let config = found.get("clientConfig").unwrap_or(&empty);
    client(&format!("{path}.clientConfig"), config, errors);
    let conditions = list(found, "matchConditions");
    for (index, condition) in conditions.iter().enumerate() {
        let path = format!("{path}.matchConditions[{index}]");
        let expression = text(condition, "expression");
        if expression.is_empty() {
            errors.push(FieldError::required(format!("{path}.expression"), ""));
        } else if let Err(why) = Condition::new(expression) {
            errors.push(FieldError::invalid(
                format!("{path}.expression"),
                expression,
                why,
            ));
        }
        let name = text(condition, "name");
        let same = |other: &Value| text(other, "name") == name;
        if conditions[..index].iter().any(same) {
            errors.push(FieldError::duplicate(format!("{path}.name"), name));
        }
        if name.is_empty() {
            errors.push(FieldError::required(format!("{path}.name"), ""));
        } else {
            faults(
                &format!("{path}.name"),
                name,
                names::label_key(name),
                errors,
            );
        }
    }
    versions(path, found, errors);
}

fn versions(path: &str, found: &Value, errors: &mut Vec<FieldError>) {
    let versions = list(found, "admissionReviewVersions");
    let field = format!("{path}.admissionReviewVersions");
    if versions.is_empty() {
        errors.push(FieldError::required(
            field,
            "must specify one of v1, v1beta1",
        ));
    } else {
        crd_versions::review_versions(&field, versions, errors);
    }
}

fn rule_of(path: &str, rule: &Value, errors: &mut Vec<FieldError>) {
    let operations = list(rule, "operations");
    if operations.is_empty() {
        errors.push(FieldError::required(format!("{path}.operations"), ""));
    }
    if operations.len() > 1 && operations.contains(&json!("*")) {
        errors.push(FieldError::invalid(
            format!("{path}.operations"),
            operations.to_vec(),
            "if '*' is present, must not specify other operations",
        ));
    }
    for (index, operation) in operations.iter().enumerate() {
        maybe_one_of(
            &format!("{path}.operations[{index}]"),
            Some(operation),
            OPERATIONS,
            errors,
        );
    }
    for key in ["apiGroups", "apiVersions", "resources"] {
        let values = list(rule, key);
        let field = format!("{path}.{key}");
        // The empty group is that of the core.
        for (index, value) in values.iter().enumerate() {
            if key != "apiGroups" && value == "" {
                errors.push(FieldError::required(format!("{field}[{index}]"), ""));
            }
        }
        if values.is_empty() {
            errors.push(FieldError::required(field, ""));
        } else if key != "resources" && values.len() > 1 && values.contains(&json!("*")) {
            let what = if key == "apiGroups" {
                "API groups"
            } else {
                "API versions"
            };
            errors.push(FieldError::invalid(
                field,
                values.to_vec(),
                format!("if '*' is present, must not specify other {what}"),
            ));
        }
    }
    maybe_one_of(
        &format!("{path}.scope"),
        rule.get("scope"),
        &["*", "Cluster", "Namespaced"],
        errors,
    );
}

fn client(path: &str, config: &Value, errors: &mut Vec<FieldError>) {
    match (
        some(config, "url").and_then(Value::as_str),
        some(config, "service"),
    ) {
        (Some(url), None) => webhook_url(&format!("{path}.url"), url, errors),
        (None, Some(service)) => {
            webhook_service(&format!("{path}.service"), service, errors);
        }
        _ => errors.push(FieldError::required(
            path,
            "exactly one of url or service is required",
        )),
    }
}

/// The service of a webhook. The real server takes its name for its namespace, and the other way round.
pub(super) fn webhook_service(path: &str, service: &Value, errors: &mut Vec<FieldError>) {
    for (key, shown) in [("namespace", "name"), ("name", "namespace")] {
        if text(service, key).is_empty() {
            errors.push(FieldError::required(format!("{path}.{shown}"), ""));
        }
    }
    let port = some(service, "port").map_or(443, |_| number(service, "port"));
    if !(1..=65_535).contains(&port) {
        errors.push(FieldError::invalid(
            format!("{path}.port"),
            port,
            "port is not valid: must be between 1 and 65535, inclusive",
        ));
    }
    let url_path = text(service, "path");
    if !matches!(url_path, "" | "/") {
        webhook_path(&format!("{path}.path"), url_path, errors);
    }
}

fn webhook_path(path: &str, value: &str, errors: &mut Vec<FieldError>) {
    let mut invalid = |why: String| errors.push(FieldError::invalid(path, value, why));
    if value == "//" {
        return invalid("segment[0] may not be empty".into());
    }
    if !value.starts_with('/') {
        invalid("must start with a '/'".into());
    }
    // Whatever the first letter is.
    let mut letters = value.chars();
    letters.next();
    let rest = letters.as_str();
    for (index, step) in rest
        .strip_suffix('/')
        .unwrap_or(rest)
        .split('/')
        .enumerate()
    {
        if step.is_empty() {
            invalid(format!("segment[{index}] may not be empty"));
            continue;
        }
        for fault in names::subdomain(step, "characters") {
            invalid(format!("segment[{index}]: {fault}"));
        }
    }
}

fn webhook_url(path: &str, url: &str, errors: &mut Vec<FieldError>) {
    const FORM: &str = "; desired format: https://host[/path]";
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let mut invalid = |value: &str, detail: &str| {
        errors.push(FieldError::invalid(path, value, format!("{detail}{FORM}")));
    };
    if scheme != "https" {
        invalid(scheme, "'https' is the only allowed URL scheme");
    }
    let host = rest.split('/').next().unwrap_or_default();
    if scheme.is_empty() || host.is_empty() {
        invalid("", "host must be specified");
    }
    if host.contains('@') {
        invalid(host, "user information is not permitted in the URL");
    }
    if rest.contains('#') {
        invalid(rest, "fragments are not permitted in the URL");
    }
    if rest.contains('?') {
        invalid(rest, "query parameters are not permitted in the URL");
    }
}
