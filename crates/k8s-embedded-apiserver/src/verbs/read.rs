//! GET of one object.

use super::{Answer, Call};
use crate::lifecycle::State;
use crate::query;
use crate::status::Failure;

pub(super) fn get(state: &mut State, call: &Call) -> Result<Answer, Failure> {
    let Some(version) = call.query.get("resourceVersion") else {
        let object = call.existing(state)?;
        return Ok(call.object(200, &object, Vec::new()));
    };
    // A version asks for the watch cache, which may be behind.
    let version =
        query::version(version).map_err(|error| Failure::unclassified(error.to_string()))?;
    let cached = state.store.cached_version();
    if version > cached {
        return Ok(Answer::NotYet(version));
    }
    let place = call.place(call.name());
    let object = match state.store.view(&place.storage, cached) {
        Ok(view) => view.get(&place.key).cloned(),
        Err(_) => state.store.at(&place).cloned(),
    };
    let object = object.ok_or_else(|| call.not_found())?;
    Ok(call.object(200, &object, Vec::new()))
}
