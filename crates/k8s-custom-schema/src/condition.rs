//! Conditions of admission webhooks.

use serde_json::Value;

use crate::cel::{Program, compile_condition};

/// An expression of the `matchConditions` of an admission webhook: over the `object`, the `oldObject` and the
/// `request`, of whose types nothing is known beforehand. There is no `authorizer`.
///
/// ```
/// use k8s_custom_schema::Condition;
/// use serde_json::json;
///
/// let condition = Condition::new("!object.metadata.name.startsWith('system-')").unwrap();
/// let object = json!({"metadata": {"name": "a"}});
/// let variables = [("object", &object)];
/// assert_eq!(condition.is_met(&variables), Ok(true));
/// ```
#[derive(Clone, Debug)]
pub struct Condition(Program);

impl Condition {
    /// Reads an expression.
    ///
    /// # Errors
    ///
    /// What is wrong with it, as the real server says it.
    pub fn new(expression: &str) -> Result<Self, String> {
        compile_condition(expression, &["object", "oldObject", "request"]).map(Self)
    }

    /// Whether it holds; a variable without a value is null.
    ///
    /// # Errors
    ///
    /// Why it can be neither, such as a field that is not there.
    pub fn is_met(&self, variables: &[(&str, &Value)]) -> Result<bool, String> {
        self.0.is_true(variables)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn conditions_hold_or_not_or_fail() {
        let object = json!({"metadata": {"name": "a", "labels": {"x": "1"}}, "spec": {"replicas": 2, "tags": ["b"], "rate": 0.5}});
        let request = json!({"operation": "CREATE", "userInfo": {"groups": ["g"]}});
        for (expression, wanted) in [
            ("object.spec.replicas > 1", Ok(true)),
            ("object.spec.rate < 0.5", Ok(false)),
            (
                "'b' in object.spec.tags && object.metadata.labels['x'] == '1'",
                Ok(true),
            ),
            (
                "request.operation == 'CREATE' && oldObject == null",
                Ok(true),
            ),
            (
                "request.userInfo.groups.exists(group, group == 'h')",
                Ok(false),
            ),
            ("has(object.spec.none)", Ok(false)),
            ("object.spec.none == 1", Err("no such key: none".to_owned())),
            ("object.spec.replicas", Err("no such overload".to_owned())),
        ] {
            let condition = Condition::new(expression).expect(expression);
            let variables = [("object", &object), ("request", &request)];
            assert_eq!(condition.is_met(&variables), wanted, "{expression}");
        }
    }

    #[test]
    fn what_cannot_be_one() {
        for (expression, why) in [
            (
                "object.",
                "compilation failed: ERROR: <input>:1:8: Syntax error",
            ),
            ("'a'", "must evaluate to bool"),
            (
                "self.a",
                "compilation failed: ERROR: <input>:1:1: undeclared reference to 'self'",
            ),
        ] {
            let error = Condition::new(expression).unwrap_err();
            assert!(error.starts_with(why), "{expression}: {error}");
        }
    }
}
