//! What the storage of the server makes of a value.

use serde_json::Value;

use crate::model::{Empty, Scalar, Schema, Type, TypeId};

/// Makes of a value what it is once it was stored: the storage knows no lists and maps without content, and no bytes in a
/// map that are not there. Until then a reader can tell them apart.
///
/// ```
/// use k8s_api_schema::{builtin, json::as_stored};
/// use serde_json::json;
///
/// let id = builtin().find("rbac.authorization.k8s.io", "v1", "Role").expect("a built-in kind");
/// let mut role = json!({"metadata": {"name": "a"}, "rules": []});
/// as_stored(&mut role, builtin(), id);
/// assert_eq!(role["rules"], json!(null));
/// ```
pub fn as_stored(value: &mut Value, schema: &Schema, id: TypeId) {
    match (schema.get(id), value) {
        (Type::Struct(struct_), Value::Object(map)) => {
            for (key, value) in map {
                let Some(field) = struct_.fields.get(key) else {
                    continue;
                };
                if matches!(field.empty, Empty::Written | Empty::Null)
                    && is_empty_collection(value, schema, field.type_)
                {
                    *value = Value::Null;
                }
                as_stored(value, schema, field.type_);
            }
        }
        (Type::Map(of), Value::Object(map)) => {
            let are_bytes = matches!(schema.get(of.values), Type::Scalar(Scalar::Bytes));
            for value in map.values_mut() {
                if are_bytes && value.is_null() {
                    *value = "".into();
                }
                as_stored(value, schema, of.values);
            }
        }
        (Type::List(of), Value::Array(items)) => {
            for item in items {
                as_stored(item, schema, of.items);
            }
        }
        _ => {}
    }
}

fn is_empty_collection(value: &Value, schema: &Schema, id: TypeId) -> bool {
    match (schema.get(id), value) {
        (Type::List(_), Value::Array(items)) => items.is_empty(),
        (Type::Map(_), Value::Object(map)) => map.is_empty(),
        _ => false,
    }
}
