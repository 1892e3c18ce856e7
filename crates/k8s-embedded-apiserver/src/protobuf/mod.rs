//! Bodies in the protobuf form of Kubernetes, as kubectl sends them for `create namespace` and its like.
//!
//! The kinds that kubectl makes by such a command are read: see [`schema`]. A field that the schema does not have is
//! refused, unless it is empty: nothing that was sent is dropped. Answers are always JSON, which kubectl takes as well.

mod schema;
mod wire;

use serde_json::{Map, Value, json};

use schema::{Field, Schema, Shape};
use wire::{Payload, fields, is_empty};

/// What each body begins with.
const MAGIC: &[u8] = b"k8s\0";

/// The object in a body, with its apiVersion and kind; `kind` is that of the path.
///
/// # Errors
///
/// Text that says what cannot be read.
pub(crate) fn read(body: &[u8], kind: &str) -> Result<Value, String> {
    let Some(envelope) = body.strip_prefix(MAGIC) else {
        return Err(
            "protobuf: the body does not begin with the bytes of Kubernetes' protobuf form".into(),
        );
    };
    let envelope = message(&schema::ENVELOPE, envelope, "")?;
    let text = |pointer: &str| {
        envelope
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let named = text("/typeMeta/kind");
    let found = if named.is_empty() { kind } else { &named };
    let Some(schema) = schema::of(found) else {
        return Err(format!(
            "protobuf of a {found} is not read by this server: send JSON"
        ));
    };
    let raw = text("/raw");
    let raw = base64::Engine::decode(&BASE64, raw).map_err(|error| format!("protobuf: {error}"))?;
    let mut object = message(schema, &raw, "")?;
    for field in ["apiVersion", "kind"] {
        let value = text(&format!("/typeMeta/{field}"));
        if !value.is_empty() {
            object[field] = value.into();
        }
    }
    Ok(object)
}

const BASE64: base64::engine::GeneralPurpose = base64::engine::general_purpose::STANDARD;

/// A message as a JSON object. `path` is where it is, for errors.
fn message(schema: &Schema, bytes: &[u8], path: &str) -> Result<Value, String> {
    let mut object = Map::new();
    for field in fields(bytes) {
        let (number, payload) = field.map_err(|why| format!("protobuf: {path}: {why}"))?;
        match schema.iter().find(|known| known.number == number) {
            Some(known) => put(&mut object, known, payload, path)?,
            None if is_empty(payload) => {}
            None => {
                let place = if path.is_empty() { "the object" } else { path };
                return Err(format!(
                    "protobuf: field {number} of {place} is not read by this server: send JSON"
                ));
            }
        }
    }
    Ok(Value::Object(object))
}

fn put(
    object: &mut Map<String, Value>,
    field: &Field,
    payload: Payload<'_>,
    path: &str,
) -> Result<(), String> {
    let place = if path.is_empty() {
        field.name.to_owned()
    } else {
        format!("{path}.{}", field.name)
    };
    let list = |object: &mut Map<String, Value>, value: Value| {
        if let Value::Array(items) = object.entry(field.name).or_insert_with(|| json!([])) {
            items.push(value);
        }
    };
    match (field.shape, payload) {
        (Shape::Text, Payload::Bytes(bytes)) => {
            let text = utf8(bytes, &place)?;
            if !text.is_empty() {
                object.insert(field.name.into(), text.into());
            }
        }
        (Shape::Texts, Payload::Bytes(bytes)) => list(object, utf8(bytes, &place)?.into()),
        (Shape::Bytes, Payload::Bytes(bytes)) => {
            object.insert(
                field.name.into(),
                base64::Engine::encode(&BASE64, bytes).into(),
            );
        }
        (Shape::Number | Shape::Flag, Payload::Number(0)) => {}
        (Shape::Number | Shape::SetNumber, Payload::Number(number)) => {
            object.insert(field.name.into(), number.into());
        }
        (Shape::Flag | Shape::SetFlag, Payload::Number(number)) => {
            object.insert(field.name.into(), (number != 0).into());
        }
        (Shape::Message(schema), Payload::Bytes(bytes)) => {
            object.insert(field.name.into(), message(schema, bytes, &place)?);
        }
        (Shape::Messages(schema), Payload::Bytes(bytes)) => {
            list(object, message(schema, bytes, &place)?);
        }
        (Shape::Map(schema), Payload::Bytes(bytes)) => {
            let entry = message(schema, bytes, &place)?;
            let key = entry.get("key").and_then(Value::as_str).unwrap_or_default();
            let value = entry.get("value").cloned().unwrap_or_else(|| "".into());
            let map = object.entry(field.name).or_insert_with(|| json!({}));
            map[key] = value;
        }
        (Shape::Time, Payload::Bytes(bytes)) if is_empty(Payload::Bytes(bytes)) => {}
        (Shape::Time, _) => {
            return Err(format!(
                "protobuf: {place} is not read by this server: send JSON"
            ));
        }
        (Shape::NumberOrText, Payload::Bytes(bytes)) => {
            let value = message(&schema::NUMBER_OR_TEXT, bytes, &place)?;
            let is_text = value.get("type").is_some();
            let member = if is_text {
                value.get("strVal")
            } else {
                value.get("intVal")
            };
            let empty = if is_text { "".into() } else { 0.into() };
            object.insert(field.name.into(), member.cloned().unwrap_or(empty));
        }
        _ => return Err(format!("protobuf: {place} has a wrong type")),
    }
    Ok(())
}

fn utf8(bytes: &[u8], place: &str) -> Result<String, String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| format!("protobuf: {place} is no UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What kubectl 1.37.2 sends.
    const NAMESPACE: &str = "6b3873000a0f0a02763112094e616d657370616365121a0a120a026e3112001a0022002a0032003800420012001a020a001a002200";
    const CONFIG_MAP: &str = "6b3873000a0f0a0276311209436f6e6669674d6170121b0a110a016312001a0022002a0032003800420012060a016b1201761a002200";
    const SECRET: &str = "6b3873000a0c0a0276311206536563726574121d0a110a017312001a0022002a0032003800420012060a016b1201761a001a002200";
    const DEPLOYMENT: &str = "6b3873000a150a07617070732f7631120a4465706c6f796d656e7412a5010a1b0a016412001a0022002a003200380042005a080a0361707012016412780802120a0a080a036170701201641a600a1a0a0012001a0022002a003200380042005a080a03617070120164124212240a056e67696e7812076e67696e783a312a0042006a007200800100880100900100a201001a00320042004a0052005800600068008201008a01009a0100c2010022020a00280038001a0c0800100018002000280038001a002200";
    const SERVICE: &str = "6b3873000a0d0a02763112075365727669636512630a1b0a017312001a0022002a003200380042005a080a0361707012017312400a1b0a0738302d38303830120354435018502207080010903f1a00280012080a036170701201731a002209436c757374657249503a00420052005a00600068001a020a001a002200";

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
            .collect()
    }

    fn object(hex: &str, kind: &str) -> Value {
        read(&bytes(hex), kind).unwrap()
    }

    #[test]
    fn small_objects() {
        assert_eq!(
            object(NAMESPACE, "Namespace"),
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n1"}, "spec": {}, "status": {}})
        );
        assert_eq!(
            object(CONFIG_MAP, "ConfigMap"),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"k": "v"}})
        );
        assert_eq!(
            object(SECRET, "Secret"),
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": "dg=="}})
        );
    }

    #[test]
    fn a_deployment() {
        let deployment = object(DEPLOYMENT, "Deployment");
        assert_eq!(deployment["apiVersion"], "apps/v1");
        assert_eq!(deployment["spec"]["replicas"], 2);
        assert_eq!(
            deployment["spec"]["selector"],
            json!({"matchLabels": {"app": "d"}})
        );
        let template = &deployment["spec"]["template"];
        assert_eq!(template["metadata"], json!({"labels": {"app": "d"}}));
        assert_eq!(
            template["spec"]["containers"],
            json!([{"name": "nginx", "image": "nginx:1"}])
        );
    }

    #[test]
    fn a_service() {
        let service = object(SERVICE, "Service");
        assert_eq!(
            service["spec"],
            json!({
                "ports": [{"name": "80-8080", "protocol": "TCP", "port": 80, "targetPort": 8080}],
                "selector": {"app": "s"}, "type": "ClusterIP",
            })
        );
    }

    #[test]
    fn what_is_not_known_is_refused() {
        assert!(
            read(b"{}", "ConfigMap")
                .unwrap_err()
                .contains("does not begin with")
        );
        let mut pod = bytes(NAMESPACE);
        pod[12..21].copy_from_slice(b"Unheardof");
        assert_eq!(
            read(&pod, "Namespace").unwrap_err(),
            "protobuf of a Unheardof is not read by this server: send JSON"
        );
        // Field 9 of a ConfigMap, with something in it.
        let mut more = bytes("6b3873000a0f0a0276311209436f6e6669674d617012034a0178");
        assert_eq!(
            read(&more, "ConfigMap").unwrap_err(),
            "protobuf: field 9 of the object is not read by this server: send JSON"
        );
        more.pop();
        assert!(
            read(&more, "ConfigMap")
                .unwrap_err()
                .contains("ends too early")
        );
    }

    proptest! {
        #[test]
        fn never_panics(tail in proptest::collection::vec(any::<u8>(), 0..64), at in 0usize..200, byte in any::<u8>()) {
            let mut body = MAGIC.to_vec();
            body.extend(&tail);
            let _ = read(&body, "ConfigMap");
            let mut changed = bytes(DEPLOYMENT);
            let at = at % changed.len();
            changed[at] = byte;
            let _ = read(&changed, "Deployment");
        }
    }
}
