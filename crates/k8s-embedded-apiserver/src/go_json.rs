//! JSON with its fields in the order in which the real server's types have them.

use serde_json::Value;

/// Compact JSON; fields come in this order, others after them by name. Maps of the user's are sorted by key.
pub(crate) fn print(value: &Value, order: &[&str]) -> String {
    let mut text = String::new();
    write(value, order, &mut text);
    text
}

/// Maps whose keys are the user's.
const MAPS: &[&str] = &["matchLabels", "labels", "annotations"];

fn write(value: &Value, order: &[&str], text: &mut String) {
    match value {
        Value::Object(map) => {
            let rank = |key: &str| {
                let place = order.iter().position(|known| *known == key);
                place.unwrap_or(order.len())
            };
            let mut fields: Vec<_> = map.iter().collect();
            fields.sort_by(|(left, _), (right, _)| {
                rank(left).cmp(&rank(right)).then_with(|| left.cmp(right))
            });
            text.push('{');
            for (index, (key, value)) in fields.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                let order = if MAPS.contains(&key.as_str()) {
                    &[]
                } else {
                    order
                };
                write(value, order, text);
            }
            text.push('}');
        }
        Value::Array(list) => {
            text.push('[');
            for (index, item) in list.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write(item, order, text);
            }
            text.push(']');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}
