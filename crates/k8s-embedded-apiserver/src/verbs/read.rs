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
    let object = call.existing(state)?;
    Ok(call.object(200, &object, Vec::new()))
}
