//! Validation: the group `rbac.authorization.k8s.io`.

use k8s_api_schema::FieldError;
use serde_json::{Value, json};

use super::fields::{faults, list, selector, some, text};
use super::names;

const GROUP: &str = "rbac.authorization.k8s.io";

/// A Role.
pub(crate) fn role(object: &Value, _: Option<&Value>) -> Vec<FieldError> {
    rules(object, true)
}

/// A `ClusterRole`.
pub(crate) fn cluster_role(object: &Value, _: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(aggregation) = some(object, "aggregationRule") {
        let path = "aggregationRule.clusterRoleSelectors";
        let selectors = list(aggregation, "clusterRoleSelectors");
        if selectors.is_empty() {
            errors.push(FieldError::required(
                path,
                "at least one clusterRoleSelector required if aggregationRule is non-nil",
            ));
        }
        for (index, found) in selectors.iter().enumerate() {
            let path = format!("{path}[{index}]");
            let before = errors.len();
            selector(&path, found, &mut errors);
            if errors.len() > before {
                errors.push(FieldError::invalid(
                    path,
                    Value::Null,
                    "invalid label selector.",
                ));
            }
        }
    }
    let late = errors;
    let mut errors = rules(object, false);
    let verbs = errors
        .iter()
        .position(|error| error.field.rsplit('.').next() == Some("verbs"))
        .unwrap_or(errors.len());
    errors.splice(verbs..verbs, late);
    errors
}

/// The rules; those about verbs come last, as the real server checks them elsewhere.
fn rules(object: &Value, namespaced: bool) -> Vec<FieldError> {
    let (mut errors, mut verbs) = (Vec::new(), Vec::new());
    for (index, rule) in list(object, "rules").iter().enumerate() {
        let path = format!("rules[{index}]");
        if list(rule, "verbs").is_empty() {
            verbs.push(FieldError::required(format!("{path}.verbs"), ""));
        }
        let urls = list(rule, "nonResourceURLs");
        if !urls.is_empty() {
            let field = format!("{path}.nonResourceURLs");
            let regular = ["apiGroups", "resources", "resourceNames"];
            if namespaced {
                errors.push(FieldError::invalid(
                    field.as_str(),
                    urls.to_vec(),
                    "namespaced rules cannot apply to non-resource URLs",
                ));
            }
            if regular.iter().any(|key| !list(rule, key).is_empty()) {
                errors.push(FieldError::invalid(
                    field,
                    urls.to_vec(),
                    "rules cannot apply to both regular resources and non-resource URLs",
                ));
            }
            continue;
        }
        for (key, what) in [("apiGroups", "api group"), ("resources", "resource")] {
            if list(rule, key).is_empty() {
                errors.push(FieldError::required(
                    format!("{path}.{key}"),
                    format!("resource rules must supply at least one {what}"),
                ));
            }
        }
    }
    errors.extend(verbs);
    errors
}

/// A `RoleBinding`; `old` is the one that it replaces.
pub(crate) fn role_binding(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    binding(object, old, &["Role", "ClusterRole"])
}

/// A `ClusterRoleBinding`; `old` is the one that it replaces.
pub(crate) fn cluster_role_binding(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    binding(object, old, &["ClusterRole"])
}

fn binding(object: &Value, old: Option<&Value>, kinds: &[&str]) -> Vec<FieldError> {
    let empty = json!({});
    let (mut errors, mut late) = (Vec::new(), Vec::new());
    let role = object.get("roleRef").unwrap_or(&empty);
    let (group, kind, name) = (
        text(role, "apiGroup"),
        text(role, "kind"),
        text(role, "name"),
    );
    if group != GROUP {
        errors.push(FieldError::not_supported(
            "roleRef.apiGroup",
            group,
            &[GROUP],
        ));
    }
    if !kinds.contains(&kind) {
        errors.push(FieldError::not_supported("roleRef.kind", kind, kinds));
    }
    if name.is_empty() {
        late.push(FieldError::required("roleRef.name", ""));
    } else {
        faults(
            "roleRef.name",
            name,
            names::path_segment(name, false),
            &mut errors,
        );
    }
    let (mut names_late, namespaced) = (Vec::new(), kinds.len() > 1);
    for (index, found) in list(object, "subjects").iter().enumerate() {
        subject(
            &format!("subjects[{index}]"),
            found,
            namespaced,
            &mut errors,
            &mut names_late,
        );
    }
    errors.extend(names_late);
    errors.extend(late);
    if let Some(old) = old
        && old.get("roleRef") != object.get("roleRef")
    {
        // The real server prints its internal form.
        let shown = format!(
            "{{\"APIGroup\":{},\"Kind\":{},\"Name\":{}}}",
            json!(group),
            json!(kind),
            json!(name)
        );
        let error = FieldError::invalid("roleRef", Value::Null, "field is immutable");
        errors.insert(0, error.printed(shown));
    }
    errors
}

fn subject(
    path: &str,
    subject: &Value,
    namespaced: bool,
    errors: &mut Vec<FieldError>,
    late: &mut Vec<FieldError>,
) {
    let (kind, name, group) = (
        text(subject, "kind"),
        text(subject, "name"),
        text(subject, "apiGroup"),
    );
    if name.is_empty() {
        late.push(FieldError::required(format!("{path}.name"), ""));
    }
    let mut of_group = |wanted: &str| {
        if group != wanted {
            errors.push(FieldError::not_supported(
                format!("{path}.apiGroup"),
                group,
                &[wanted],
            ));
        }
    };
    match kind {
        "ServiceAccount" => {
            if !name.is_empty() {
                let wrong = names::subdomain(name, "characters");
                faults(&format!("{path}.name"), name, wrong, errors);
            }
            if !group.is_empty() {
                errors.push(FieldError::not_supported(
                    format!("{path}.apiGroup"),
                    group,
                    &[""],
                ));
            }
            if !namespaced && text(subject, "namespace").is_empty() {
                errors.push(FieldError::required(format!("{path}.namespace"), ""));
            }
        }
        "User" | "Group" => of_group(GROUP),
        _ => errors.push(FieldError::not_supported(
            format!("{path}.kind"),
            kind,
            &["ServiceAccount", "User", "Group"],
        )),
    }
}
