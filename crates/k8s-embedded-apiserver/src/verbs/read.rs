//! GET of one object.

use super::{Answer, Call};
use crate::lifecycle::State;
use crate::status::Failure;

pub(super) fn get(state: &mut State, call: &Call) -> Result<Answer, Failure> {
    if let Some(text) = call.query.get("resourceVersion") {
        let version: u64 = text.parse().map_err(|_| {
            Failure::unclassified(format!(
                "strconv.ParseUint: parsing {text:?}: invalid syntax"
            ))
        })?;
        if version > state.store.version() {
            return Ok(Answer::NotYet(version));
        }
    }
    let place = call.place(call.name());
    let object = state.store.at(&place).ok_or_else(|| call.not_found())?;
    Ok(call.object(object))
}
