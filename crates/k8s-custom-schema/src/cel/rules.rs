//! The rules of a schema: read once, and checked against objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_api_schema::FieldError;
use serde_json::Value;

use super::check::{self, Checked};
use super::cost::{self, EXCEEDED, Meter};
use super::eval::{self, Outcome, Scope};
use super::ty::Ty;
use super::value::Val;
use crate::correlate;
use crate::field_path;
use crate::path::Path;
use crate::stack;
use crate::structural::{Rule, Structural};

/// Longest text that a message expression may make, in bytes.
const MAX_MESSAGE: usize = 5 * 1024;

/// Where the rules of an object have cost too much.
const NO_BUDGET: &str = "running out of cost budget, no further validation rules will be run";

/// A rule that has been read; empty ones have no program.
#[derive(Clone)]
pub(crate) struct CompiledRule {
    rule: Rule,
    program: Result<Option<Arc<Checked>>, String>,
    message: Result<Option<Arc<Checked>>, String>,
    /// Below the value that the rule is about.
    field: Option<String>,
}

impl std::fmt::Debug for CompiledRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompiledRule")
            .field("rule", &self.rule)
            .finish_non_exhaustive()
    }
}

impl CompiledRule {
    /// What is wrong with the rule.
    pub(crate) fn error(&self) -> Option<&str> {
        self.program.as_ref().err().map(String::as_str)
    }

    /// What is wrong with its message expression.
    pub(crate) fn message_error(&self) -> Option<&str> {
        self.message.as_ref().err().map(String::as_str)
    }

    pub(crate) fn uses_old_self(&self) -> bool {
        matches!(&self.program, Ok(Some(program)) if program.uses_old_self)
    }
}

/// Reads the rules at one node of a schema; none if rules cannot see its values.
pub(crate) fn compile_rules(schema: &Structural, is_resource: bool) -> Option<Vec<CompiledRule>> {
    let ty = Ty::of(schema, is_resource)?;
    Some(
        schema
            .rules
            .iter()
            .map(|rule| compile(rule, schema, &ty))
            .collect(),
    )
}

fn compile(rule: &Rule, schema: &Structural, ty: &Ty) -> CompiledRule {
    let mut compiled = CompiledRule {
        rule: rule.clone(),
        program: Ok(None),
        message: Ok(None),
        field: None,
    };
    if rule.rule.trim().is_empty() {
        return compiled;
    }
    let old = if rule.optional_old_self == Some(true) {
        Ty::optional(ty.clone())
    } else {
        ty.clone()
    };
    let variables = [("self", ty.clone()), ("oldSelf", old)];
    compiled.program = match check::check(&rule.rule, &variables) {
        Err(why) => Err(format!("compilation failed: {why}")),
        Ok(checked) if checked.ty != Ty::Bool => {
            Err("cel expression must evaluate to a bool".into())
        }
        Ok(checked) => Ok(Some(Arc::new(checked))),
    };
    if compiled.program.is_err() {
        return compiled;
    }
    if !rule.message_expression.is_empty() {
        compiled.message = match check::check(&rule.message_expression, &variables) {
            Err(why) => Err(format!("messageExpression compilation failed: {why}")),
            Ok(checked) if checked.ty != Ty::String => {
                Err("messageExpression must evaluate to a string".into())
            }
            Ok(checked) => Ok(Some(Arc::new(checked))),
        };
    }
    if !rule.field_path.is_empty() {
        compiled.field = field_path::resolve(&rule.field_path, schema, true)
            .ok()
            .map(|(path, _)| path);
    }
    compiled
}

/// The rules of a schema and of all that is below it.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    own: Vec<CompiledRule>,
    is_resource: bool,
    schema: Structural,
    properties: BTreeMap<String, Rules>,
    items: Option<Box<Rules>>,
    values: Option<Box<Rules>>,
}

/// What an update may leave as it was.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ratchet<'a> {
    /// The value and what it was, where that can be told.
    current: Option<(&'a Value, &'a Value)>,
    /// The same of the nearest value around it.
    around: Option<(&'a Value, &'a Value)>,
}

impl<'a> Ratchet<'a> {
    pub(crate) fn new(value: &'a Value, old: &'a Value) -> Self {
        Self {
            current: Some((value, old)),
            around: None,
        }
    }

    fn is_unchanged(self) -> bool {
        self.current
            .or(self.around)
            .is_some_and(|(value, old)| value == old)
    }

    fn key(self, name: &str) -> Self {
        let Some((value, old)) = self.current else {
            return self;
        };
        if self.around.is_none() && matches!(name, "apiVersion" | "kind") {
            return Self::default();
        }
        Self {
            current: value.get(name).zip(old.get(name)),
            around: self.current,
        }
    }

    fn index(self, schema: &Structural, item: &'a Value) -> Self {
        let Some((_, old)) = self.current else {
            return self;
        };
        let was = old
            .as_array()
            .and_then(|old| correlate::keyed(schema, old, item));
        Self {
            current: was.map(|was| (item, was)),
            around: self.current,
        }
    }
}

/// What is found, and what looking for it may still cost.
#[derive(Debug)]
pub(crate) struct Report<'r> {
    errors: &'r mut Vec<FieldError>,
    warnings: &'r mut Vec<String>,
    /// None once it was too much: no more rules are looked at then.
    left: Option<u64>,
}

impl<'r> Report<'r> {
    /// For the rules of one object.
    pub(crate) fn new(errors: &'r mut Vec<FieldError>, warnings: &'r mut Vec<String>) -> Self {
        Self {
            errors,
            warnings,
            left: Some(cost::PER_OBJECT),
        }
    }

    fn end(&mut self, error: FieldError) {
        self.errors.push(error);
        self.left = None;
    }

    /// Whether there was enough for that.
    fn pay(&mut self, meter: Meter) -> bool {
        self.left = self.left.and_then(|left| left.checked_sub(meter.spent()));
        self.left.is_some()
    }
}

/// Evaluates, and tells what it has cost.
pub(super) fn evaluate<'a>(program: &'a Checked, mut scope: Scope<'a>) -> (Outcome, Meter) {
    let work = move || {
        let outcome = eval::eval(&program.expr, &mut scope);
        (outcome, scope.meter())
    };
    match stack::for_depth(program.depth, work) {
        // Whatever would have come of it.
        Ok((_, meter)) if meter.is_exceeded() => (Err(EXCEEDED.into()), meter),
        Ok(done) => done,
        Err(why) => (Err(why), Meter::default()),
    }
}

impl Rules {
    /// Reads the rules of a schema; none if it has none.
    pub(crate) fn new(schema: &Structural, is_resource: bool) -> Option<Self> {
        let own = if schema.rules.is_empty() {
            Vec::new()
        } else {
            compile_rules(schema, is_resource).unwrap_or_default()
        };
        let below = |schema: &Structural| Self::new(schema, schema.embedded);
        let properties: BTreeMap<String, Rules> = schema
            .properties
            .iter()
            .filter_map(|(name, property)| Some((name.clone(), below(property)?)))
            .collect();
        let items = schema.items.as_deref().and_then(below).map(Box::new);
        let values = schema.additional_schema().and_then(below).map(Box::new);
        if own.is_empty() && properties.is_empty() && items.is_none() && values.is_none() {
            return None;
        }
        Some(Self {
            // A node is kept whole only where its own rules read values by it.
            schema: if own.is_empty() {
                Structural {
                    list_type: schema.list_type.clone(),
                    list_keys: schema.list_keys.clone(),
                    map_type: schema.map_type.clone(),
                    type_: schema.type_.clone(),
                    ..Structural::default()
                }
            } else {
                schema.clone()
            },
            own,
            is_resource,
            properties,
            items,
            values,
        })
    }

    /// Adds what breaks a rule.
    pub(crate) fn check<'a>(
        &self,
        value: &'a Value,
        old: Option<&'a Value>,
        path: &Path,
        ratchet: Ratchet<'a>,
        report: &mut Report<'_>,
    ) {
        if value.is_null() || report.left.is_none() {
            return;
        }
        let was = old.filter(|old| !old.is_null());
        self.own(value, was, path, ratchet, report);
        match value {
            Value::Array(list) => {
                let Some(items) = &self.items else { return };
                let old = old.and_then(Value::as_array);
                for (index, item) in list.iter().enumerate() {
                    let was = old.and_then(|old| correlate::keyed(&self.schema, old, item));
                    let ratchet = ratchet.index(&self.schema, item);
                    items.check(item, was, &path.index(index), ratchet, report);
                }
            }
            Value::Object(map) => {
                for (name, value) in map {
                    let was = old.and_then(|old| old.get(name));
                    let ratchet = ratchet.key(name);
                    if let Some(values) = &self.values {
                        values.check(value, was, &path.key(name), ratchet, report);
                    }
                    if let Some(property) = self.properties.get(name) {
                        property.check(value, was, &path.child(name), ratchet, report);
                    }
                }
            }
            _ => {}
        }
    }

    fn own(
        &self,
        value: &Value,
        old: Option<&Value>,
        path: &Path,
        ratchet: Ratchet<'_>,
        report: &mut Report<'_>,
    ) {
        if self.own.is_empty() {
            return;
        }
        let read = |value: &Value| Val::read(value, &self.schema, self.is_resource);
        let this = read(value);
        let was = self
            .own
            .iter()
            .any(CompiledRule::uses_old_self)
            .then(|| old.map(read))
            .flatten();
        for compiled in &self.own {
            let invalid =
                |text: String| FieldError::invalid(path.text(), self.schema.type_.as_str(), text);
            let program = match &compiled.program {
                Err(why) => {
                    report
                        .errors
                        .push(invalid(format!("rule compile error: {why}")));
                    continue;
                }
                Ok(None) => continue,
                Ok(Some(program)) => program,
            };
            let rule = &compiled.rule;
            let optional = rule.optional_old_self == Some(true);
            if program.uses_old_self && old.is_none() && !optional {
                continue;
            }
            let mut scope = Scope::default();
            scope.set("self", this.clone());
            if optional {
                scope.set("oldSelf", Val::Optional(was.clone().map(Arc::new)));
            } else if let Some(was) = &was {
                scope.set("oldSelf", was.clone());
            }
            let (outcome, meter) = evaluate(program, scope);
            if !report.pay(meter) {
                return report.end(invalid(format!("validation failed due to {NO_BUDGET}")));
            }
            match outcome {
                Ok(Val::Bool(true)) => {}
                Ok(Val::Bool(false)) => {
                    let error = self.failed(compiled, value, (&this, was.as_ref()), path, report);
                    if !program.uses_old_self && ratchet.is_unchanged() {
                        report.warnings.push(error.to_string());
                    } else {
                        report.errors.push(error);
                    }
                    if report.left.is_none() {
                        return;
                    }
                }
                Ok(_) => report
                    .errors
                    .push(invalid(overload("no such overload", rule))),
                Err(why) if why.starts_with("no such overload") => {
                    report.errors.push(invalid(overload(&why, rule)));
                }
                Err(why) if why == EXCEEDED => {
                    return report.end(invalid(format!(
                        "'{why}': no further validation rules will be run due to call cost exceeds limit for rule: {}",
                        told(rule)
                    )));
                }
                Err(why) => {
                    report
                        .errors
                        .push(invalid(format!("{why} evaluating rule: {}", told(rule))));
                }
            }
        }
    }

    fn failed(
        &self,
        compiled: &CompiledRule,
        value: &Value,
        (this, was): (&Val, Option<&Val>),
        path: &Path,
        report: &mut Report<'_>,
    ) -> FieldError {
        let rule = &compiled.rule;
        let made = match &compiled.message {
            Ok(Some(program)) => {
                let mut scope = Scope::default();
                scope.set("self", this.clone());
                if let Some(was) = was {
                    scope.set("oldSelf", was.clone());
                }
                let (outcome, meter) = evaluate(program, scope);
                let too_much =
                    |why: String| FieldError::invalid(path.text(), self.schema.type_.as_str(), why);
                if !report.pay(meter) {
                    return too_much(format!(
                        "messageExpression evaluation failed due to {NO_BUDGET}"
                    ));
                }
                match outcome {
                    Ok(Val::Str(text)) => Some(text.trim().to_owned()),
                    Err(why) if why == EXCEEDED => {
                        report.left = None;
                        return too_much(format!(
                            "no further validation rules will be run due to call cost exceeds limit for messageExpression: {}",
                            k8s_api_schema::quote(&rule.message_expression)
                        ));
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        let made = made
            .filter(|text| !text.is_empty() && !text.contains('\n') && text.len() <= MAX_MESSAGE);
        let detail = made.unwrap_or_else(|| {
            if rule.message.is_empty() {
                format!("failed rule: {}", told(rule))
            } else {
                rule.message.trim().to_owned()
            }
        });
        let field = match &compiled.field {
            Some(below) => path.child(below).text(),
            None => path.text(),
        };
        let shown = !matches!(self.schema.type_.as_str(), "object" | "array");
        match (rule.reason.as_deref(), shown) {
            (Some("FieldValueForbidden"), _) => FieldError::forbidden(field, detail),
            (Some("FieldValueRequired"), _) => FieldError::required(field, detail),
            (Some("FieldValueDuplicate"), true) => FieldError::duplicate(field, value.clone()),
            (Some("FieldValueDuplicate"), false) => FieldError::duplicate_omitted(field),
            (_, true) => FieldError::invalid(field, value.clone(), detail),
            (_, false) => FieldError::invalid_omitted(field, detail),
        }
    }
}

/// The rule, or its message, as errors tell which it is.
fn told(rule: &Rule) -> &str {
    if rule.message.is_empty() {
        rule.rule.trim()
    } else {
        rule.message.trim()
    }
}

fn overload(why: &str, rule: &Rule) -> String {
    format!(
        "'{why}': call arguments did not match a supported operator, function or macro signature for rule: {}",
        told(rule)
    )
}
