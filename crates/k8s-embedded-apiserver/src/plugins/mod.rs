//! Built-in admission of what makes Pods, as far as it is on in a real server without asking for it.

mod priority;
mod runtime_class;
mod tolerations;

pub(crate) use priority::first_classes;

use serde_json::Value;

use crate::kinds::Kind;
use crate::lifecycle::State;
use crate::status::Failure;

const PODS: &str = "pods";
const PRIORITY_CLASSES: &str = "priorityclasses.scheduling.k8s.io";

/// Changes an object that is written, not by a subresource; `old` is the one before an update.
pub(crate) fn mutate(
    state: &State,
    kind: &Kind,
    object: &mut Value,
    old: Option<&Value>,
) -> Result<(), Failure> {
    if kind.storage != PODS {
        return Ok(());
    }
    match old {
        None => priority::of_new_pod(state, object)?,
        Some(old) => priority::of_old_pod(object, old),
    }
    tolerations::add(object);
    if old.is_none() {
        runtime_class::check(object)?;
    }
    Ok(())
}

/// Refuses an object as it would be stored.
pub(crate) fn validate(
    state: &State,
    kind: &Kind,
    object: &Value,
    old: Option<&Value>,
) -> Result<(), Failure> {
    if kind.storage == PRIORITY_CLASSES {
        return priority::check_class(state, object, old);
    }
    Ok(())
}
