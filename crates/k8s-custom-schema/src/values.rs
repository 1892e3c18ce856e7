//! Checks values against a schema, in the words of the real server.

use k8s_api_schema::{FieldError, print_float};
use serde_json::{Map, Number, Value};

use crate::correlate::{self, Old};
use crate::formats;
use crate::path::Path;
use crate::structural::{Additional, Structural};

/// Every error of a value. `base` is where the value is in its object; `old` what it was.
pub(crate) fn check(
    schema: &Structural,
    value: &Value,
    base: &Path,
    old: Option<Old<'_>>,
) -> Vec<FieldError> {
    let result = node(schema, value, "", old);
    result
        .errors
        .into_iter()
        .map(|fault| fault.into_error(base))
        .collect()
}

/// One fault. The path is below the base, and may begin with a dot.
#[derive(Debug)]
struct Fault {
    /// None where the real server says no path.
    path: Option<String>,
    kind: FaultKind,
    message: String,
}

#[derive(Debug)]
enum FaultKind {
    Required,
    NotSupported(Value, Vec<String>),
    TooLong(i64),
    TooMany(i64, i64),
    Type(Value),
    Invalid(Value),
}

impl Fault {
    fn into_error(self, base: &Path) -> FieldError {
        let path = match self.path.as_deref() {
            None | Some("" | ".") => base.text(),
            Some(path) => base.child(path.strip_prefix('.').unwrap_or(path)).text(),
        };
        match self.kind {
            FaultKind::Required => FieldError::required(path, ""),
            FaultKind::NotSupported(value, allowed) => {
                let allowed: Vec<&str> = allowed.iter().map(String::as_str).collect();
                FieldError::not_supported(path, value, &allowed)
            }
            FaultKind::TooLong(max) => {
                FieldError::too_long(path, usize::try_from(max).unwrap_or_default())
            }
            FaultKind::TooMany(actual, max) => {
                let count = |number| usize::try_from(number).unwrap_or_default();
                FieldError::too_many(path, count(actual), count(max))
            }
            FaultKind::Type(value) => FieldError::type_invalid(path, value, self.message),
            FaultKind::Invalid(value) => FieldError::invalid(path, value, self.message),
        }
    }
}

/// Faults, and how many checks were made: of alternatives, the one with most is told.
#[derive(Debug, Default)]
struct Outcome {
    errors: Vec<Fault>,
    matches: usize,
}

impl Outcome {
    fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }

    fn push(&mut self, fault: Fault) {
        if !self
            .errors
            .iter()
            .any(|other| other.message == fault.message)
        {
            self.errors.push(fault);
        }
    }

    fn add(&mut self, path: &str, kind: FaultKind, message: String) {
        let path = Some(path.to_owned());
        self.push(Fault {
            path,
            kind,
            message,
        });
    }

    fn invalid(&mut self, path: &str, value: impl Into<Value>, message: String) {
        self.add(path, FaultKind::Invalid(value.into()), message);
    }

    /// A fault that the real server tells without its field.
    fn composite(&mut self, message: String) {
        self.push(Fault {
            path: None,
            kind: FaultKind::Invalid("".into()),
            message,
        });
    }

    fn merge(&mut self, other: Outcome) {
        for fault in other.errors {
            self.push(fault);
        }
        self.matches += other.matches;
    }
}

/// Checks a value whose old one may be known: if it is the same, it may stay as wrong as it was.
fn node(schema: &Structural, value: &Value, path: &str, old: Option<Old<'_>>) -> Outcome {
    let mut outcome = plain(schema, value, path, old);
    if !outcome.is_valid()
        && old.is_some_and(|old| correlate::is_same(old.schema, old.value, value))
    {
        outcome.errors.clear();
    }
    outcome
}

fn plain(schema: &Structural, value: &Value, path: &str, old: Option<Old<'_>>) -> Outcome {
    let mut outcome = Outcome::default();
    let types = Types::of(schema);
    if value.is_null() {
        outcome.merge(types.check(schema, value, path));
        outcome.merge(enumeration(schema, value, path));
        return outcome;
    }
    if types.applies() {
        outcome.merge(types.check(schema, value, path));
        outcome.matches += 1;
    }
    outcome.merge(alternatives(schema, value, path, old));
    outcome.matches += 1;
    if let Value::String(text) = value {
        outcome.merge(string(schema, text, path));
        outcome.matches += 1;
        if !types.format.is_empty()
            && !matches!(types.format, "int32" | "int64" | "float" | "double")
        {
            outcome.merge(format(types.format, text, path));
            outcome.matches += 1;
        }
    }
    if let Value::Number(value) = value {
        outcome.merge(number(schema, &types, value, path));
        outcome.matches += 1;
    }
    if let Value::Array(list) = value {
        outcome.merge(array(schema, list, path, old));
        outcome.matches += 1;
    }
    outcome.merge(enumeration(schema, value, path));
    outcome.matches += 1;
    if let Value::Object(map) = value {
        outcome.merge(object(schema, map, path, old));
        outcome.matches += 1;
    }
    outcome.matches += 1;
    outcome
}

fn in_body(path: &str, message: impl std::fmt::Display) -> String {
    format!("{path} in body {message}")
}

/// The types that a schema allows, with its format if that is one that is checked.
struct Types<'a> {
    allowed: Vec<&'a str>,
    format: &'a str,
}

impl<'a> Types<'a> {
    fn of(schema: &'a Structural) -> Self {
        let allowed = match schema.type_.as_str() {
            _ if schema.int_or_string => vec!["integer", "string"],
            "" => Vec::new(),
            type_ => vec![type_],
        };
        let single = if allowed.len() == 1 { allowed[0] } else { "" };
        let format = schema.checks.format.as_str();
        Self {
            format: if formats::is_known(single, format) {
                format
            } else {
                ""
            },
            allowed,
        }
    }

    fn applies(&self) -> bool {
        !self.allowed.is_empty() || !self.format.is_empty()
    }

    fn has(&self, type_: &str) -> bool {
        self.allowed.contains(&type_)
    }

    fn check(&self, schema: &Structural, value: &Value, path: &str) -> Outcome {
        let mut outcome = Outcome::default();
        let mut wrong = |expected: &str, found: &str| {
            let message = in_body(
                path,
                format_args!(
                    "must be of type {expected}: {}",
                    k8s_api_schema::quote(found)
                ),
            );
            outcome.add(path, FaultKind::Type(found.into()), message);
        };
        let expected = self.allowed.join(",");
        if value.is_null() {
            if !self.allowed.is_empty() && !self.has("null") && !schema.nullable {
                wrong(&expected, "null");
                return outcome;
            }
            outcome.matches += 1;
            return outcome;
        }
        let (found, found_format) = match value {
            Value::Null => ("null", ""),
            Value::Bool(_) => ("boolean", ""),
            // What is no whole number of 64 bits is a float to the real server.
            Value::Number(number) if number.as_i64().is_none() => ("number", "float64"),
            Value::Number(_) => ("integer", "int64"),
            Value::String(_) => ("string", ""),
            Value::Array(_) => ("array", ""),
            Value::Object(_) => ("object", ""),
        };
        let whole = value.as_f64().is_some_and(is_whole);
        let float_as_int = found == "number" && whole && self.has("integer");
        let int_as_float = found == "integer" && self.has("number");
        let fits = self.has(found) || float_as_int || int_as_float;
        let is_text_or_list = matches!(value, Value::String(_) | Value::Array(_));
        if !is_text_or_list && !self.format.is_empty() && !fits && found_format != self.format {
            wrong(self.format, found_format);
            return outcome;
        }
        let numeric = self.has("number") || self.has("integer");
        let is_formatted = !numeric && !self.format.is_empty() && is_text_or_list;
        if !is_formatted && !fits {
            wrong(&expected, found);
            return outcome;
        }
        outcome.matches += 1;
        outcome
    }
}

fn is_whole(value: f64) -> bool {
    const MAX_SAFE: f64 = 9_007_199_254_740_991.0;
    value.fract() == 0.0 && value.abs() <= MAX_SAFE
}

/// `anyOf`, `oneOf`, `allOf` and `not`.
fn alternatives(schema: &Structural, value: &Value, path: &str, old: Option<Old<'_>>) -> Outcome {
    let checks = &schema.checks;
    let mut outcome = Outcome::default();
    let best = |best: Option<Outcome>, result: Outcome| match best {
        Some(best) if best.matches >= result.matches => Some(best),
        _ => Some(result),
    };
    if !checks.any_of.is_empty() {
        let mut failed: Option<Outcome> = None;
        let mut success = None;
        for alternative in &checks.any_of {
            let result = plain(alternative, value, path, old);
            if result.is_valid() {
                success = Some(result);
                break;
            }
            failed = best(failed, result);
        }
        if let Some(success) = success {
            outcome.merge(success);
        } else {
            outcome.composite(format!(
                "{} must validate at least one schema (anyOf)",
                k8s_api_schema::quote(path)
            ));
            outcome.merge(failed.unwrap_or_default());
        }
    }
    if !checks.one_of.is_empty() {
        one_of(checks.one_of.as_slice(), value, path, old, &mut outcome);
    }
    if !checks.all_of.is_empty() {
        let mut valid = 0;
        for part in &checks.all_of {
            let result = plain(part, value, path, old);
            valid += usize::from(result.is_valid());
            outcome.merge(result);
        }
        if valid != checks.all_of.len() {
            let more = if valid == 0 { ". None validated" } else { "" };
            outcome.composite(format!(
                "{} must validate all the schemas (allOf){more}",
                k8s_api_schema::quote(path)
            ));
        }
    }
    if let Some(not) = &checks.not
        && plain(not, value, path, old).is_valid()
    {
        outcome.composite(format!(
            "{} must not validate the schema (not)",
            k8s_api_schema::quote(path)
        ));
    }
    outcome.matches += 1;
    outcome
}

fn one_of(
    schemas: &[Structural],
    value: &Value,
    path: &str,
    old: Option<Old<'_>>,
    outcome: &mut Outcome,
) {
    let mut failed: Option<Outcome> = None;
    let mut first = None;
    let mut valid = 0;
    for alternative in schemas {
        let result = plain(alternative, value, path, old);
        if result.is_valid() {
            valid += 1;
            failed = None;
            first.get_or_insert(result);
        } else if valid == 0
            && failed
                .as_ref()
                .is_none_or(|failed| result.matches > failed.matches)
        {
            failed = Some(result);
        }
    }
    if valid == 1 {
        outcome.merge(first.unwrap_or_default());
        return;
    }
    let more = if valid == 0 {
        "Found none valid".to_owned()
    } else {
        format!("Found {valid} valid alternatives")
    };
    outcome.composite(format!(
        "{} must validate one and only one schema (oneOf). {more}",
        k8s_api_schema::quote(path)
    ));
    outcome.merge(failed.unwrap_or_default());
}

fn string(schema: &Structural, text: &str, path: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let checks = &schema.checks;
    let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    if let Some(max) = checks.max_length.filter(|max| length > *max) {
        let message = in_body(path, format_args!("should be at most {max} chars long"));
        outcome.add(path, FaultKind::TooLong(max), message);
    } else if let Some(min) = checks.min_length.filter(|min| length < *min) {
        let message = in_body(path, format_args!("should be at least {min} chars long"));
        outcome.invalid(path, text, message);
    } else if let Some(pattern) = &checks.pattern {
        let shown = match &pattern.compiled {
            Ok(regex) if regex.is_match(text) => None,
            Ok(_) => Some(pattern.text.clone()),
            Err(why) => Some(format!("{}, but pattern is invalid: {why}", pattern.text)),
        };
        if let Some(shown) = shown {
            outcome.invalid(
                path,
                text,
                in_body(path, format_args!("should match '{shown}'")),
            );
        }
    }
    outcome
}

fn format(format: &str, text: &str, path: &str) -> Outcome {
    let mut outcome = Outcome::default();
    if !formats::is_valid(format, text) {
        let message = in_body(
            path,
            format_args!("must be of type {format}: {}", k8s_api_schema::quote(text)),
        );
        outcome.add(path, FaultKind::Type(text.into()), message);
    }
    outcome
}

/// A number: a whole one is compared as such.
#[derive(Clone, Copy)]
enum Amount {
    Whole(i64),
    Float(f64),
}

impl Amount {
    #[allow(clippy::cast_precision_loss, reason = "compared as Go compares")]
    fn float(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Float(float) => float,
        }
    }
}

#[allow(clippy::cast_possible_truncation, reason = "as Go converts")]
fn number(schema: &Structural, types: &Types<'_>, number: &Number, path: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let checks = &schema.checks;
    let amount = match number.as_i64() {
        Some(whole) => Amount::Whole(whole),
        None => Amount::Float(number.as_f64().unwrap_or_default()),
    };
    let value = || Value::Number(number.clone());
    let range = |amount: Amount, prefix: &str| out_of_range(types, amount, prefix, path);
    if let Some(why) = range(amount, "Checked") {
        outcome.composite(why);
    }
    if let Some(factor) = checks.multiple_of {
        let why = range(Amount::Float(factor), "MultipleOf");
        let (fits, factor_shown) = match amount {
            Amount::Whole(whole) if why.is_none() => {
                let factor = factor as i64;
                let fits = factor > 0 && whole % factor == 0;
                (fits, factor.to_string())
            }
            amount => {
                let quotient = if factor < 1.0 {
                    1.0 / factor * amount.float()
                } else {
                    amount.float() / factor
                };
                (factor > 0.0 && is_whole(quotient), print_float(factor))
            }
        };
        if let Some(why) = why {
            outcome.composite(why);
        }
        if !fits {
            let message = if factor_shown.starts_with('-') || factor_shown == "0" {
                format!("factor MultipleOf declared for {path} must be positive: {factor_shown}")
            } else {
                in_body(path, format_args!("should be a multiple of {factor_shown}"))
            };
            outcome.invalid(path, value(), message);
        }
    }
    for (bound, exclusive, prefix, is_minimum) in [
        (
            checks.minimum,
            checks.exclusive_minimum,
            "Minimum boundary",
            true,
        ),
        (
            checks.maximum,
            checks.exclusive_maximum,
            "Maximum boundary",
            false,
        ),
    ] {
        let Some(bound) = bound else { continue };
        let why = range(Amount::Float(bound), prefix);
        let (ordering, shown) = match amount {
            Amount::Whole(whole) if why.is_none() => {
                let bound = bound as i64;
                (Some(whole.cmp(&bound)), bound.to_string())
            }
            amount => (amount.float().partial_cmp(&bound), print_float(bound)),
        };
        if let Some(why) = why {
            outcome.composite(why);
        }
        let beyond = if is_minimum {
            std::cmp::Ordering::Less
        } else {
            std::cmp::Ordering::Greater
        };
        if ordering == Some(beyond) || (exclusive && ordering == Some(std::cmp::Ordering::Equal)) {
            let word = if is_minimum { "greater" } else { "less" };
            let or_equal = if exclusive { "" } else { " or equal to" };
            let message = in_body(
                path,
                format_args!("should be {word} than{or_equal} {shown}"),
            );
            outcome.invalid(path, value(), message);
        }
    }
    outcome.matches += 1;
    outcome
}

/// Why a number is not of the type of the schema.
#[allow(
    clippy::cast_possible_truncation,
    reason = "the range is what is checked"
)]
fn out_of_range(types: &Types<'_>, amount: Amount, prefix: &str, path: &str) -> Option<String> {
    let wanted = match types.allowed.as_slice() {
        ["integer"] => "integer",
        ["number"] => "number",
        _ => return None,
    };
    let whole = match amount {
        Amount::Whole(whole) => Some(whole),
        #[allow(clippy::cast_precision_loss, reason = "a bound")]
        Amount::Float(float) => {
            (float.fract() == 0.0 && float.abs() < i64::MAX as f64).then_some(float as i64)
        }
    };
    let fits = match (wanted, types.format) {
        ("integer", "int32") => whole.is_some_and(|whole| i32::try_from(whole).is_ok()),
        ("integer", _) => whole.is_some(),
        (_, "float") => (amount.float() as f32).is_finite(),
        _ => true,
    };
    if fits {
        return None;
    }
    Some(if types.format.is_empty() {
        format!("{prefix} value must be of type {wanted} (default format) in {path}")
    } else {
        format!(
            "{prefix} value must be of type {wanted} with format {} in {path}",
            types.format
        )
    })
}

fn array(schema: &Structural, list: &[Value], path: &str, old: Option<Old<'_>>) -> Outcome {
    let mut outcome = Outcome::default();
    let checks = &schema.checks;
    if let Some(items) = &schema.items {
        for (index, item) in list.iter().enumerate() {
            let old = old.and_then(|old| correlate::item(old, item));
            outcome.merge(node(items, item, &format!("{path}[{index}]"), old));
        }
    }
    let size = i64::try_from(list.len()).unwrap_or(i64::MAX);
    if let Some(min) = checks.min_items.filter(|min| size < *min) {
        let message = in_body(path, format_args!("should have at least {min} items"));
        outcome.invalid(path, size, message);
    }
    if let Some(max) = checks.max_items.filter(|max| size > *max) {
        let message = in_body(path, format_args!("should have at most {max} items"));
        outcome.add(path, FaultKind::TooMany(size, max), message);
    }
    if checks.unique_items && (1..list.len()).any(|index| list[..index].contains(&list[index])) {
        outcome.invalid(path, "", in_body(path, "shouldn't contain duplicates"));
    }
    outcome.matches += 1;
    outcome
}

fn enumeration(schema: &Structural, value: &Value, path: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let allowed = &schema.checks.enum_;
    if allowed.is_empty() || allowed.iter().any(|one| is_same(value, one)) {
        return outcome;
    }
    let texts: Vec<String> = allowed
        .iter()
        .map(|one| match one {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
        .collect();
    let shown: Vec<&str> = texts.iter().map(String::as_str).collect();
    let message = in_body(path, format_args!("should be one of [{}]", shown.join(" ")));
    outcome.add(path, FaultKind::NotSupported(value.clone(), texts), message);
    outcome
}

/// Equal, perhaps after the conversion between kinds of numbers; null equals nothing.
#[allow(clippy::cast_possible_truncation, reason = "as Go converts")]
fn is_same(value: &Value, one: &Value) -> bool {
    match (value, one) {
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => a == b,
            (None, Some(b)) => a.as_f64().is_some_and(|a| a as i64 == b),
            _ => a.as_f64() == b.as_f64(),
        },
        _ => value == one,
    }
}

fn object(
    schema: &Structural,
    map: &Map<String, Value>,
    path: &str,
    old: Option<Old<'_>>,
) -> Outcome {
    let mut outcome = Outcome::default();
    let checks = &schema.checks;
    let size = i64::try_from(map.len()).unwrap_or(i64::MAX);
    if let Some(min) = checks.min_properties.filter(|min| size < *min) {
        let message = in_body(path, format_args!("should have at least {min} properties"));
        outcome.invalid(path, size, message);
    }
    if let Some(max) = checks.max_properties.filter(|max| size > *max) {
        let message = in_body(path, format_args!("should have at most {max} properties"));
        outcome.add(path, FaultKind::TooMany(size, max), message);
    }
    let child = |name: &str, schema: &Structural, value: &Value, path: &str, root: bool| {
        let is_type = root && matches!(name, "kind" | "apiVersion");
        let old = old
            .filter(|_| !is_type)
            .and_then(|old| correlate::field(old, name));
        node(schema, value, path, old)
    };
    for (name, value) in map {
        if schema.properties.contains_key(name) {
            continue;
        }
        match &schema.additional {
            Some(Additional::Allowed(false)) => {
                let message = format!("{path}.{name} in body is a forbidden property");
                outcome.invalid(path, name.as_str(), message);
            }
            Some(Additional::Schema(values)) => {
                let below = format!("{path}.{name}");
                outcome.merge(child(name, values, value, &below, path.is_empty()));
            }
            _ => {}
        }
    }
    for (name, property) in &schema.properties {
        if let Some(value) = map.get(name) {
            let below = if path.is_empty() {
                name.clone()
            } else {
                format!("{path}.{name}")
            };
            outcome.merge(child(name, property, value, &below, path.is_empty()));
        }
    }
    for name in &checks.required {
        if !map.contains_key(name) {
            let below = format!("{path}.{name}");
            let message = in_body(&below, "is required");
            outcome.add(&below, FaultKind::Required, message);
        }
    }
    outcome
}
