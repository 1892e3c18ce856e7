//! Evaluates an expression that has been checked.

use std::collections::BTreeMap;

use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators as op};

use super::arithmetic::{arithmetic, compare, no_overload};
use super::check::type_name;
use super::cost::{self, EXCEEDED, Meter};
use super::functions;
use super::macros::{self, Loop, Macro};
use super::signatures::NAMESPACES;
use super::value::{Key, Val};

pub(super) type Outcome = Result<Val, String>;

/// Names with their values, innermost last.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope<'a> {
    names: Vec<(&'a str, Val)>,
    meter: Meter,
}

impl<'a> Scope<'a> {
    pub(super) fn set(&mut self, name: &'a str, value: Val) {
        self.names.push((name, value));
    }

    /// What has been evaluated in this scope has cost that much.
    pub(super) fn meter(&self) -> Meter {
        self.meter
    }

    fn get(&self, name: &str) -> Option<&Val> {
        let mut names = self.names.iter().rev();
        names
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }

    fn with<T>(&mut self, name: &'a str, value: Val, body: impl FnOnce(&mut Self) -> T) -> T {
        self.names.push((name, value));
        let result = body(self);
        self.names.pop();
        result
    }
}

fn usable(value: Val) -> Outcome {
    match value {
        Val::Broken(why) => Err(why.to_string()),
        value => Ok(value),
    }
}

/// The value of an expression; no more of it is evaluated than may be paid for.
///
/// # Errors
///
/// Why it has none, as the real server says it.
pub(super) fn eval<'a>(expr: &'a IdedExpr, scope: &mut Scope<'a>) -> Outcome {
    scope.meter.spend(match &expr.expr {
        Expr::Ident(_) | Expr::Select(_) => cost::READ,
        Expr::List(_) => cost::LIST,
        Expr::Map(_) => cost::MAP,
        _ => 0,
    })?;
    match &expr.expr {
        Expr::Literal(literal) => Ok(match literal {
            LiteralValue::Boolean(value) => Val::Bool(*value.inner()),
            LiteralValue::Bytes(value) => Val::Bytes(value.inner().into()),
            LiteralValue::Double(value) => Val::Double(*value.inner()),
            LiteralValue::Int(value) => Val::Int(*value.inner()),
            LiteralValue::Null => Val::Null,
            LiteralValue::String(value) => Val::text(value.inner()),
            LiteralValue::UInt(value) => Val::Uint(*value.inner()),
        }),
        Expr::Ident(name) => match scope.get(name) {
            Some(value) => usable(value.clone()),
            None => match type_name(name) {
                Some(name) => Ok(Val::Type(name)),
                None => Err(format!("no such attribute(s): {name}")),
            },
        },
        Expr::Select(select) => {
            if let Expr::Ident(outer) = &select.operand.expr
                && scope.get(outer).is_none()
                && let Some(name) = type_name(&format!("{outer}.{}", select.field))
            {
                return Ok(Val::Type(name));
            }
            let operand = eval(&select.operand, scope)?;
            self::select(&operand, &select.field)
        }
        Expr::List(list) => {
            let mut items = Vec::with_capacity(list.elements.len());
            for (index, item) in list.elements.iter().enumerate() {
                match (eval(item, scope)?, list.optional_indices.contains(&index)) {
                    (Val::Optional(value), true) => {
                        items.extend(value.map(|value| (*value).clone()));
                    }
                    (value, _) => items.push(value),
                }
            }
            Ok(Val::list(items))
        }
        Expr::Map(map) => {
            let mut entries = BTreeMap::new();
            for entry in &map.entries {
                let EntryExpr::MapEntry(entry) = &entry.expr else {
                    continue;
                };
                let key = eval(&entry.key, scope)?;
                let Some(key) = Key::of(&key) else {
                    return Err(format!("unsupported key type: {}", key.type_name()));
                };
                let value = match (eval(&entry.value, scope)?, entry.optional) {
                    (Val::Optional(None), true) => continue,
                    (Val::Optional(Some(value)), true) => (*value).clone(),
                    (value, _) => value,
                };
                entries.insert(key, value);
            }
            Ok(Val::map(entries))
        }
        Expr::Call(call) => match macros::find(call) {
            Err((_, why)) => Err(why.into()),
            Ok(Some(found)) => expand(found, scope),
            Ok(None) => self::call(call, scope),
        },
        Expr::Struct(_) | Expr::Comprehension(_) | Expr::Unspecified => no_overload(),
    }
}

/// The entry of a name, which may be a reserved word that is not escaped.
fn entry<'a>(map: &'a super::value::Map, field: &str) -> Option<&'a Val> {
    let known = |name: &str| map.entries.get(&Key::Str(name.into()));
    known(field).or_else(|| {
        let escaped = super::escape(field).filter(|_| super::is_reserved(field))?;
        known(&escaped)
    })
}

fn select(operand: &Val, field: &str) -> Outcome {
    match operand {
        Val::Map(map) => match entry(map, field) {
            Some(value) => usable(value.clone()),
            None => Err(format!("no such key: {field}")),
        },
        Val::Optional(inner) => Ok(match inner {
            Some(value) => match select(value, field) {
                Ok(value) => Val::some(value),
                Err(_) => Val::Optional(None),
            },
            None => Val::Optional(None),
        }),
        _ => no_overload(),
    }
}

fn is_set(operand: &Val, field: &str) -> Result<bool, String> {
    match operand {
        Val::Map(map) => Ok(entry(map, field).is_some()),
        Val::Optional(inner) => inner
            .as_ref()
            .map_or(Ok(false), |value| is_set(value, field)),
        _ => no_overload(),
    }
}

fn boolean(value: Outcome) -> Result<bool, String> {
    match value? {
        Val::Bool(flag) => Ok(flag),
        _ => no_overload(),
    }
}

fn call<'a>(call: &'a CallExpr, scope: &mut Scope<'a>) -> Outcome {
    let name = call.func_name.as_str();
    if let Some(target) = call.target.as_deref()
        && let Expr::Ident(outer) = &target.expr
        && scope.get(outer).is_none()
        && NAMESPACES.contains(&outer.as_str())
    {
        let args = all(&call.args, scope)?;
        let name = format!("{outer}.{name}");
        pay(&name, None, &args, scope)?;
        return functions::call(&name, None, &args);
    }
    if call.target.is_none() {
        match (name, call.args.as_slice()) {
            (op::LOGICAL_AND, operands) => return logical(operands, false, scope),
            (op::LOGICAL_OR, operands) => return logical(operands, true, scope),
            (op::CONDITIONAL, [condition, then, other]) => {
                let chosen = boolean(eval(condition, scope))?;
                return eval(if chosen { then } else { other }, scope);
            }
            _ => {}
        }
    }
    let target = match call.target.as_deref() {
        Some(target) => Some(eval(target, scope)?),
        None => None,
    };
    let args = all(&call.args, scope)?;
    pay(name, target.as_ref(), &args, scope)?;
    match (name, args.as_slice()) {
        _ if target.is_some() => functions::call(name, target.as_ref(), &args),
        (op::LOGICAL_NOT, [Val::Bool(flag)]) => Ok(Val::Bool(!flag)),
        (op::NEGATE, [Val::Int(number)]) => match number.checked_neg() {
            Some(number) => Ok(Val::Int(number)),
            None => Err("integer overflow".into()),
        },
        (op::NEGATE, [Val::Double(number)]) => Ok(Val::Double(-number)),
        (op::EQUALS, [a, b]) => Ok(Val::Bool(a == b)),
        (op::NOT_EQUALS, [a, b]) => Ok(Val::Bool(a != b)),
        (op::LESS | op::LESS_EQUALS | op::GREATER | op::GREATER_EQUALS, [a, b]) => {
            compare(name, a, b)
        }
        (op::ADD | op::SUBSTRACT | op::MULTIPLY | op::DIVIDE | op::MODULO, [a, b]) => {
            arithmetic(name, a, b)
        }
        (op::IN, [item, Val::List(list)]) => Ok(Val::Bool(list.items.contains(item))),
        (op::IN, [item, Val::Map(map)]) => Ok(Val::Bool(
            Key::of(item).is_some_and(|key| map.entries.contains_key(&key)),
        )),
        (op::INDEX, [range, key]) => index(range, key),
        (op::OPT_INDEX, [range, key]) => Ok(optional(index(range, key))),
        (op::OPT_SELECT, [operand, Val::Str(field)]) => Ok(match select(operand, field) {
            Ok(value @ Val::Optional(_)) => value,
            other => optional(other),
        }),
        (op::LOGICAL_NOT | op::NEGATE | op::IN | op::OPT_SELECT, _) => no_overload(),
        _ => functions::call(name, None, &args),
    }
}

fn pay(
    name: &str,
    target: Option<&Val>,
    args: &[Val],
    scope: &mut Scope<'_>,
) -> Result<(), String> {
    let operands: Vec<&Val> = target.into_iter().chain(args).collect();
    scope.meter.spend(cost::of_call(name, &operands))
}

fn optional(value: Outcome) -> Val {
    value.map_or(Val::Optional(None), Val::some)
}

fn all<'a>(args: &'a [IdedExpr], scope: &mut Scope<'a>) -> Result<Vec<Val>, String> {
    args.iter().map(|arg| eval(arg, scope)).collect()
}

/// One decisive operand decides, whatever goes wrong with others.
fn logical<'a>(operands: &'a [IdedExpr], decisive: bool, scope: &mut Scope<'a>) -> Outcome {
    let mut failure = None;
    for operand in operands {
        match boolean(eval(operand, scope)) {
            Ok(flag) if flag == decisive => return Ok(Val::Bool(decisive)),
            Ok(_) => {}
            Err(why) if why == EXCEEDED => return Err(why),
            Err(why) => failure = failure.or(Some(why)),
        }
    }
    failure.map_or(Ok(Val::Bool(!decisive)), Err)
}

fn index(range: &Val, key: &Val) -> Outcome {
    match range {
        Val::List(list) => match Key::of(key) {
            Some(Key::Int(number)) => {
                let found = usize::try_from(number)
                    .ok()
                    .and_then(|at| list.items.get(at));
                match found {
                    Some(value) => usable(value.clone()),
                    None => Err(format!("index out of bounds: {number}")),
                }
            }
            _ => Err(format!(
                "unsupported index type '{}' in list",
                key.type_name()
            )),
        },
        Val::Map(map) => match Key::of(key).and_then(|key| map.entries.get(&key)) {
            Some(value) => usable(value.clone()),
            None => Err(format!("no such key: {}", functions::print(key))),
        },
        Val::Optional(inner) => Ok(match inner {
            Some(value) => optional(index(value, key)),
            None => Val::Optional(None),
        }),
        _ => no_overload(),
    }
}

fn expand<'a>(found: Macro<'a>, scope: &mut Scope<'a>) -> Outcome {
    match found {
        Macro::Has(operand, field) => {
            let operand = eval(operand, scope)?;
            is_set(&operand, field).map(Val::Bool)
        }
        Macro::Bind {
            variable,
            value,
            body,
        } => {
            let value = eval(value, scope)?;
            scope.with(variable, value, |scope| eval(body, scope))
        }
        Macro::OptMap {
            target,
            variable,
            body,
            flat,
        } => match eval(target, scope)? {
            Val::Optional(None) => Ok(Val::Optional(None)),
            Val::Optional(Some(value)) => {
                let value = scope.with(variable, (*value).clone(), |scope| eval(body, scope))?;
                Ok(if flat { value } else { Val::some(value) })
            }
            _ => no_overload(),
        },
        Macro::Loop {
            kind,
            range,
            variable,
            second,
            filter,
            body,
        } => {
            let range = eval(range, scope)?;
            let names = (variable, second);
            repeat(kind, &range, names, (filter, body), scope)
        }
    }
}

fn repeat<'a>(
    kind: Loop,
    range: &Val,
    (variable, second): (&'a str, Option<&'a str>),
    (filter, body): (Option<&'a IdedExpr>, &'a IdedExpr),
    scope: &mut Scope<'a>,
) -> Outcome {
    let pairs: Vec<(Val, Val)> = match range {
        Val::List(list) => (0_i64..)
            .zip(&list.items)
            .map(|(index, item)| (Val::Int(index), item.clone()))
            .collect(),
        Val::Map(map) => map
            .entries
            .iter()
            .map(|(key, value)| (key.value(), value.clone()))
            .collect(),
        _ => return no_overload(),
    };
    let over_list = matches!(range, Val::List(_));
    let mut made = Vec::new();
    let mut failure = None;
    let mut count = 0;
    for (key, value) in pairs {
        let first = match second {
            None if over_list => value.clone(),
            _ => key.clone(),
        };
        let run = |scope: &mut Scope<'a>, expr: &'a IdedExpr| {
            scope.with(variable, first.clone(), |scope| match second {
                Some(second) => scope.with(second, value.clone(), |scope| eval(expr, scope)),
                None => eval(expr, scope),
            })
        };
        scope.meter.spend(kind.step())?;
        if let Some(filter) = filter
            && !boolean(run(scope, filter))?
        {
            continue;
        }
        let result = run(scope, body);
        match kind {
            Loop::All | Loop::Exists => match boolean(result) {
                Ok(flag) if flag == (kind == Loop::Exists) => return Ok(Val::Bool(flag)),
                Ok(_) => {}
                Err(why) if why == EXCEEDED => return Err(why),
                Err(why) => failure = failure.or(Some(why)),
            },
            Loop::ExistsOne => count += usize::from(boolean(result)?),
            Loop::Filter => {
                if boolean(result)? {
                    made.push((key, first));
                }
            }
            Loop::Map | Loop::TransformMap | Loop::TransformMapEntry => made.push((key, result?)),
            Loop::SortBy => made.push((result?, value)),
        }
    }
    match kind {
        Loop::All | Loop::Exists => failure.map_or(Ok(Val::Bool(kind == Loop::All)), Err),
        Loop::ExistsOne => Ok(Val::Bool(count == 1)),
        Loop::Map | Loop::Filter => Ok(Val::list(
            made.into_iter().map(|(_, value)| value).collect(),
        )),
        Loop::TransformMap => Ok(Val::map(
            made.into_iter()
                .filter_map(|(key, value)| Some((Key::of(&key)?, value)))
                .collect(),
        )),
        Loop::TransformMapEntry => {
            let mut entries = BTreeMap::new();
            for (_, value) in made {
                let Val::Map(map) = value else {
                    return no_overload();
                };
                for (key, value) in &map.entries {
                    if entries.insert(key.clone(), value.clone()).is_some() {
                        return Err(format!(
                            "insert failed: key {} already exists",
                            functions::print(&key.value())
                        ));
                    }
                }
            }
            Ok(Val::map(entries))
        }
        Loop::SortBy => {
            let mut wrong = None;
            made.sort_by(|(a, _), (b, _)| {
                match (compare(op::LESS, a, b), compare(op::GREATER, a, b)) {
                    (Ok(Val::Bool(true)), _) => std::cmp::Ordering::Less,
                    (_, Ok(Val::Bool(true))) => std::cmp::Ordering::Greater,
                    (Err(why), _) => {
                        wrong = Some(why);
                        std::cmp::Ordering::Equal
                    }
                    _ => std::cmp::Ordering::Equal,
                }
            });
            match wrong {
                Some(why) => Err(why),
                None => Ok(Val::list(
                    made.into_iter().map(|(_, value)| value).collect(),
                )),
            }
        }
    }
}
