//! Which webhooks a request is for.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::hook::{Hook, Rule};
use super::{Attributes, Operation};
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
/// 404 where the namespace is not there whose labels would decide, 403 for conditions, which are not evaluated.
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
    if hook.has_conditions {
        if hook.ignores_failure {
            return Ok(None);
        }
        let why = "matchConditions of webhooks are not evaluated by this server";
        return Err(Failure::forbidden(
            &own.group,
            &own.plural,
            attributes.name,
            why,
        ));
    }
    Ok(Some(kind))
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
