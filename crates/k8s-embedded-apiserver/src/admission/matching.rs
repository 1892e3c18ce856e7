//! Which webhooks a request is for.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::hook::{Hook, Rule};
use super::{Attributes, Operation, review};
use crate::kinds::Kind;
use crate::lifecycle::{NAMESPACES, State};
use crate::status::Failure;

impl Rule {
    fn matches(&self, attributes: &Attributes<'_>, kind: &Kind) -> bool {
        let or_all =
            |list: &[String], text: &str| list.iter().any(|found| found == "*" || found == text);
        or_all(&self.operations, attributes.operation.name())
            && or_all(&self.groups, &kind.group)
            && or_all(&self.versions, &kind.version)
            && self.matches_resource(&kind.plural, attributes.subresource())
            && match self.scope.as_str() {
                "Namespaced" => attributes.call.kind().namespaced,
                "Cluster" => !attributes.call.kind().namespaced,
                _ => true,
            }
    }

    fn matches_resource(&self, resource: &str, subresource: &str) -> bool {
        self.resources.iter().any(|found| {
            let (of, inner) = found.split_once('/').unwrap_or((found, ""));
            (of == "*" || of == resource) && (inner == "*" || inner == subresource)
        })
    }
}

/// Configurations of admission are not admitted, so that a broken one can be mended.
pub(super) fn is_exempt(kind: &Kind) -> bool {
    kind.group == "admissionregistration.k8s.io"
}

/// The kind in whose version a webhook is to see the request; none if it is not to be called.
///
/// # Errors
///
/// 404 where the namespace is not there whose labels would decide, 403 for a condition that cannot be evaluated.
pub(super) fn kind_for(
    state: &State,
    hook: &Hook,
    attributes: &Attributes<'_>,
    object: Option<&Value>,
) -> Result<Option<Arc<Kind>>, Failure> {
    let namespace = in_namespace(state, hook, attributes, object);
    if matches!(namespace, Ok(false)) || !selects(hook, attributes, object) {
        return Ok(None);
    }
    let own = &attributes.call.target.kind;
    let matched = |kind: &Kind| hook.rules.iter().any(|rule| rule.matches(attributes, kind));
    let kind = if matched(own) {
        own.clone()
    } else {
        let same =
            |kind: &&Arc<Kind>| hook.equivalent && kind.storage == own.storage && matched(kind);
        match state.registry.kinds().find(same) {
            Some(kind) => kind.clone(),
            None => return Ok(None),
        }
    };
    namespace?;
    match conditions(hook, attributes, &kind, object) {
        Ok(true) => Ok(Some(kind)),
        Ok(false) => Ok(None),
        Err(_) if hook.ignores_failure => Ok(None),
        Err(why) => Err(Failure::forbidden(
            &own.group,
            &own.plural,
            attributes.name,
            &why,
        )),
    }
}

/// Whether all conditions hold; one that does not counts more than one that fails.
fn conditions(
    hook: &Hook,
    attributes: &Attributes<'_>,
    kind: &Kind,
    object: Option<&Value>,
) -> Result<bool, String> {
    if hook.conditions.is_empty() {
        return Ok(true);
    }
    let mut request = review::request(attributes, kind, object);
    let mut take = |key: &str| {
        let value = request.as_object_mut().and_then(|map| map.remove(key));
        value.unwrap_or_default()
    };
    let (object, old) = (take("object"), take("oldObject"));
    let variables = [
        ("object", &object),
        ("oldObject", &old),
        ("request", &request),
    ];
    let mut failed = Vec::new();
    for condition in &hook.conditions {
        let met = match &condition.read {
            Ok(read) => read.is_met(&variables),
            Err(why) => Err(why.clone()),
        };
        match met {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(why) => failed.push(format!(
                "expression '{}' resulted in error: {why}",
                condition.expression
            )),
        }
    }
    match &failed[..] {
        [] => Ok(true),
        [one] => Err(one.clone()),
        all => Err(format!("[{}]", all.join(", "))),
    }
}

fn labels(object: &Value) -> Option<&Map<String, Value>> {
    object
        .pointer("/metadata/labels")
        .and_then(Value::as_object)
}

fn selects(hook: &Hook, attributes: &Attributes<'_>, object: Option<&Value>) -> bool {
    let either = [object, attributes.old];
    hook.objects.is_empty()
        || either
            .into_iter()
            .flatten()
            .any(|object| hook.objects.matches(labels(object)))
}

/// Whether the namespace of the request is selected; what is in no namespace always is.
fn in_namespace(
    state: &State,
    hook: &Hook,
    attributes: &Attributes<'_>,
    object: Option<&Value>,
) -> Result<bool, Failure> {
    if hook.namespaces.is_empty() {
        return Ok(true);
    }
    if attributes.call.kind().storage == NAMESPACES && attributes.operation != Operation::Delete {
        return Ok(object.is_some_and(|object| hook.namespaces.matches(labels(object))));
    }
    let name = attributes.namespace();
    if name.is_empty() {
        return Ok(true);
    }
    match state.namespace(name) {
        Some(namespace) => Ok(hook.namespaces.matches(labels(&namespace.value()))),
        None => Err(Failure::not_found("", NAMESPACES, name)),
    }
}
