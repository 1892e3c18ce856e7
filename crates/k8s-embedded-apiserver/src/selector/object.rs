//! Label selectors in objects: `matchLabels` and `matchExpressions`.

use serde_json::{Map, Value};

use crate::metadata::{text, texts};

/// A `LabelSelector` of an object; an empty one selects everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObjectSelector {
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    /// What no server knows selects nothing.
    Unknown,
}

impl ObjectSelector {
    pub(crate) fn of(selector: &Value) -> Self {
        let labels = selector.get("matchLabels").and_then(Value::as_object);
        let labels = labels
            .into_iter()
            .flatten()
            .map(|(key, value)| Requirement {
                key: key.clone(),
                operator: Operator::In,
                values: vec![value.as_str().unwrap_or_default().into()],
            });
        let expressions = selector.get("matchExpressions").and_then(Value::as_array);
        let expressions = expressions
            .into_iter()
            .flatten()
            .map(|expression| Requirement {
                key: text(expression, "/key").into(),
                operator: match text(expression, "/operator") {
                    "In" => Operator::In,
                    "NotIn" => Operator::NotIn,
                    "Exists" => Operator::Exists,
                    "DoesNotExist" => Operator::DoesNotExist,
                    _ => Operator::Unknown,
                },
                values: texts(expression.get("values"))
                    .into_iter()
                    .map(Into::into)
                    .collect(),
            });
        Self {
            requirements: labels.chain(expressions).collect(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether an object with these labels is selected.
    pub(crate) fn matches(&self, labels: Option<&Map<String, Value>>) -> bool {
        self.requirements.iter().all(|requirement| {
            let label = labels
                .and_then(|labels| labels.get(&requirement.key))
                .and_then(Value::as_str);
            let listed = |label: &str| requirement.values.iter().any(|value| value == label);
            match requirement.operator {
                Operator::In => label.is_some_and(listed),
                Operator::NotIn => !label.is_some_and(listed),
                Operator::Exists => label.is_some(),
                Operator::DoesNotExist => label.is_none(),
                Operator::Unknown => false,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors() {
        let labels = json!({"a": "1", "b": "2"});
        for (selector, want) in [
            (json!({}), true),
            (json!(null), true),
            (json!({"matchLabels": {"a": "1"}}), true),
            (json!({"matchLabels": {"a": "1", "b": "1"}}), false),
            (
                json!({"matchExpressions": [{"key": "a", "operator": "In", "values": ["0", "1"]}]}),
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "c", "operator": "NotIn", "values": ["1"]}]}),
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "b", "operator": "Exists"}]}),
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "b", "operator": "DoesNotExist"}]}),
                false,
            ),
            (
                json!({"matchExpressions": [{"key": "b", "operator": "Near"}]}),
                false,
            ),
        ] {
            assert_eq!(
                ObjectSelector::of(&selector).matches(labels.as_object()),
                want,
                "{selector}"
            );
        }
    }
}
