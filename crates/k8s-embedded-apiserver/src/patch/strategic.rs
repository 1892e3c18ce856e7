//! Strategic merge patch: a merge patch that merges lists as the kind's type says.

use k8s_api_schema::json::Checked;
use k8s_api_schema::strategic::{self, StrategicError};
use k8s_api_schema::{Schema, TypeId, go_value};
use serde_json::Value;

use super::Patched;
use crate::status::Failure;

pub(super) fn apply(
    object: &Value,
    text: Checked<'_>,
    schema: &Schema,
    id: TypeId,
) -> Result<Patched, Failure> {
    let read = text.decode_untyped().map_err(Failure::bad_request)?;
    let merged = strategic::merge(object, &read.value, schema, id).map_err(|error| {
        let text = error.to_string();
        match error {
            StrategicError::Format(_) => Failure::bad_request(text),
            // The server tells the client nothing more than this.
            StrategicError::ListOfLists => Failure::unprocessable(),
            _ => Failure::unclassified(text),
        }
    })?;
    Ok(Patched {
        mismatch: strategic::mismatch(&merged, schema, id),
        object: merged,
        strict: read.strict,
        quoted: Some(go_value(&read.value)),
        ..Patched::default()
    })
}

#[cfg(test)]
mod tests {
    use k8s_api_schema::builtin;
    use serde_json::json;

    use super::*;

    #[test]
    fn outcomes_and_refusals() {
        let pod = builtin().find("", "v1", "Pod").unwrap();
        let applied = |body: &str| {
            let text = Checked::new(body.as_bytes()).unwrap();
            apply(
                &json!({"metadata": {"name": "a"}, "spec": {"containers": []}}),
                text,
                builtin(),
                pod,
            )
        };
        let patched = applied(r#"{"metadata":{"name":5,"name":6}}"#).unwrap();
        assert_eq!(patched.quoted(None), "map[metadata:map[name:6]]");
        assert_eq!(patched.strict, [r#"duplicate field "metadata.name""#]);
        assert_eq!(
            patched.mismatch.as_deref(),
            Some("cannot convert int64 to string")
        );
        let failure = applied(r#"{"spec":{"containers":[{"image":"nameless"}]}}"#).unwrap_err();
        assert_eq!(
            (failure.code, failure.message.as_str()),
            (
                500,
                "map: map[image:nameless] does not contain declared merge key: name"
            )
        );
        let failure = applied(r#"{"metadata":{"$retainKeys":"x"}}"#).unwrap_err();
        assert_eq!(failure.code, 400);
    }
}
