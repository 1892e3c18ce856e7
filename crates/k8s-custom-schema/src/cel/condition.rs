//! Expressions over objects of no known type.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::check::{self, Checked};
use super::eval::Scope;
use super::rules::evaluate;
use super::ty::Ty;
use super::value::Val;

/// An expression that is true or false.
#[derive(Clone)]
pub(crate) struct Program {
    checked: Arc<Checked>,
    variables: &'static [&'static str],
}

impl fmt::Debug for Program {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Program")
            .field("variables", &self.variables)
            .finish_non_exhaustive()
    }
}

/// Reads an expression over variables of any type.
///
/// # Errors
///
/// What is wrong with it.
pub(crate) fn compile_condition(
    expression: &str,
    variables: &'static [&'static str],
) -> Result<Program, String> {
    let types: Vec<_> = variables.iter().map(|name| (*name, Ty::Dyn)).collect();
    let checked =
        check::check(expression, &types).map_err(|why| format!("compilation failed: {why}"))?;
    if !matches!(checked.ty, Ty::Bool | Ty::Dyn) {
        return Err("must evaluate to bool".into());
    }
    Ok(Program {
        checked: Arc::new(checked),
        variables,
    })
}

impl Program {
    /// Whether it is true; variables that are not given are null.
    ///
    /// # Errors
    ///
    /// Why it is neither true nor false.
    pub(crate) fn is_true(&self, values: &[(&str, &Value)]) -> Result<bool, String> {
        let mut scope = Scope::default();
        for name in self.variables {
            let given = values.iter().find(|(given, _)| given == name);
            let value = given.map_or(Val::Null, |(_, value)| Val::untyped(value));
            scope.set(name, value);
        }
        match evaluate(&self.checked, scope).0? {
            Val::Bool(flag) => Ok(flag),
            _ => Err("no such overload".into()),
        }
    }
}
