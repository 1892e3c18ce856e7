//! JSON values of no known type in the words of Go, as messages of the server have them.

use serde_json::Value;

use crate::print_float;

/// The type that Go has for a value.
#[must_use]
pub fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A value as Go prints it with `%v`.
///
/// ```
/// use k8s_api_schema::go_value;
///
/// let value = serde_json::json!({"b": [1, 1.0, null], "a": "x y"});
/// assert_eq!(go_value(&value), "map[a:x y b:[1 1 <nil>]]");
/// ```
#[must_use]
pub fn go_value(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".into(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go_value).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(map) => {
            let members: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{key}:{}", go_value(value)))
                .collect();
            format!("map[{}]", members.join(" "))
        }
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => print_float(float),
            _ => number.to_string(),
        },
        Value::Bool(flag) => flag.to_string(),
    }
}
