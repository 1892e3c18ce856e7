//! Whether an expression makes sense for the types of its variables.

use std::collections::BTreeMap;

use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SourceInfo, operators};

use super::functions;
use super::macros::{self, Loop, Macro};
use super::parse::{self, Parsed};
use super::signatures::{self, Found, NAMESPACES};
use super::ty::Ty;
use super::value::Val;
use crate::stack;

/// An expression that has been read, and its type.
pub(super) struct Checked {
    pub(super) expr: IdedExpr,
    pub(super) ty: Ty,
    pub(super) uses_old_self: bool,
    /// Of the tree.
    pub(super) depth: usize,
}

/// Reads and checks an expression.
///
/// # Errors
///
/// All that is wrong with it, as the real server says it.
pub(super) fn check(source: &str, variables: &[(&str, Ty)]) -> Result<Checked, String> {
    let parsed = parse::parse(source).map_err(|errors| {
        let texts = errors
            .iter()
            .map(|(place, message)| print_error(source, *place, message));
        texts.collect::<Vec<_>>().join("\n")
    })?;
    stack::for_depth(parsed.depth, || check_tree(source, parsed, variables))?
}

fn check_tree(
    source: &str,
    Parsed { expr, info, depth }: Parsed,
    variables: &[(&str, Ty)],
) -> Result<Checked, String> {
    let mut checker = Checker {
        source,
        info: &info,
        scopes: vec![
            variables
                .iter()
                .map(|(name, ty)| ((*name).to_owned(), ty.clone()))
                .collect(),
        ],
        errors: Vec::new(),
        uses_old_self: false,
        mixed: false,
    };
    let ty = checker.expr(&expr);
    if checker.errors.is_empty() {
        checker.literals(&expr);
    }
    if !checker.errors.is_empty() {
        checker.errors.sort_by_key(|(place, _)| *place);
        let texts: Vec<String> = checker
            .errors
            .iter()
            .map(|((line, column), message)| {
                let place = (line.cast_signed(), column.cast_signed());
                print_error(source, place, message)
            })
            .collect();
        return Err(texts.join("\n"));
    }
    let uses_old_self = checker.uses_old_self;
    Ok(Checked {
        expr,
        ty,
        uses_old_self,
        depth,
    })
}

/// As the real server shows an error: what is no ASCII is marked by wide characters. One that is about the whole is at
/// no place.
fn print_error(source: &str, (line, column): (isize, isize), message: &str) -> String {
    let mut text = format!("ERROR: <input>:{line}:{column}: {message}");
    let shown = usize::try_from(line)
        .ok()
        .and_then(|line| source.lines().nth(line.saturating_sub(1)));
    if let Some(shown) = shown {
        let shown = shown.replace('\t', " ");
        let mut letters = shown.chars();
        let dots: String = letters
            .by_ref()
            .take(column.unsigned_abs().saturating_sub(1))
            .map(|letter| if letter.is_ascii() { '.' } else { '．' })
            .collect();
        let mark = if letters.next().is_none_or(|letter| letter.is_ascii()) {
            '^'
        } else {
            '＾'
        };
        text = format!("{text}\n | {shown}\n | {dots}{mark}");
    }
    text
}

struct Checker<'a> {
    source: &'a str,
    info: &'a SourceInfo,
    scopes: Vec<BTreeMap<String, Ty>>,
    errors: Vec<((usize, usize), String)>,
    uses_old_self: bool,
    /// What `format` fills in may be of different types.
    mixed: bool,
}

impl Checker<'_> {
    fn error(&mut self, id: u64, message: impl Into<String>) -> Ty {
        let offset = self
            .info
            .offset_for(id)
            .map_or(0, |(start, _)| start as usize);
        let before: String = self.source.chars().take(offset).collect();
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        self.errors.push(((line, column), message.into()));
        Ty::Dyn
    }

    /// Texts that are written in the expression must be what the function reads them as.
    fn literals(&mut self, expr: &IdedExpr) {
        if let Expr::Call(call) = &expr.expr
            && let Some(first) = call.args.first()
            && let Expr::Literal(LiteralValue::String(text)) = &first.expr
        {
            let name = call.func_name.as_str();
            let is_read = match name {
                "matches" => crate::pattern::compile(text.inner()).is_ok(),
                "duration" | "timestamp" => {
                    functions::call(name, None, &[Val::text(text.inner())]).is_ok()
                }
                _ => true,
            };
            if !is_read {
                self.error(first.id, format!("invalid {name} argument"));
            }
        }
        for child in parse::children(expr) {
            self.literals(child);
        }
    }

    fn variable(&self, name: &str) -> Option<Ty> {
        let mut scopes = self.scopes.iter().rev();
        scopes.find_map(|scope| scope.get(name).cloned())
    }

    fn scoped(&mut self, names: &[(&str, Ty)], body: impl FnOnce(&mut Self) -> Ty) -> Ty {
        let scope = names
            .iter()
            .map(|(name, ty)| ((*name).to_owned(), ty.clone()));
        self.scopes.push(scope.collect());
        let ty = body(self);
        self.scopes.pop();
        ty
    }

    fn expr(&mut self, expr: &IdedExpr) -> Ty {
        match &expr.expr {
            Expr::Literal(literal) => match literal {
                LiteralValue::Boolean(_) => Ty::Bool,
                LiteralValue::Bytes(_) => Ty::Bytes,
                LiteralValue::Double(_) => Ty::Double,
                LiteralValue::Int(_) => Ty::Int,
                LiteralValue::Null => Ty::Null,
                LiteralValue::String(_) => Ty::String,
                LiteralValue::UInt(_) => Ty::Uint,
            },
            Expr::Ident(name) => self.ident(expr.id, name),
            Expr::Select(select) => {
                if let Expr::Ident(outer) = &select.operand.expr
                    && self.variable(outer).is_none()
                    && is_type_name(&format!("{outer}.{}", select.field))
                {
                    return Ty::Type;
                }
                let operand = self.expr(&select.operand);
                self.select(expr.id, &operand, &select.field)
            }
            Expr::List(list) => {
                let mut items: Option<Ty> = None;
                for (index, item) in list.elements.iter().enumerate() {
                    let mut ty = self.expr(item);
                    if list.optional_indices.contains(&index)
                        && let Ty::Optional(inner) = ty
                    {
                        ty = (*inner).clone();
                    }
                    items = Some(self.same(item.id, items, ty));
                }
                Ty::list(items.unwrap_or(Ty::Dyn))
            }
            Expr::Map(map) => {
                let (mut keys, mut values): (Option<Ty>, Option<Ty>) = (None, None);
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        let key = self.expr(&entry.key);
                        keys = Some(self.same(entry.key.id, keys, key));
                        let mut value = self.expr(&entry.value);
                        if entry.optional
                            && let Ty::Optional(inner) = value
                        {
                            value = (*inner).clone();
                        }
                        values = Some(self.same(entry.value.id, values, value));
                    }
                }
                let or_any = |ty: Option<Ty>| ty.unwrap_or(Ty::Dyn).into();
                Ty::Map(or_any(keys), or_any(values))
            }
            Expr::Struct(made) => self.error(
                expr.id,
                format!(
                    "undeclared reference to '{}' (in container '')",
                    made.type_name
                ),
            ),
            Expr::Call(call) => match macros::find(call) {
                Err((id, why)) => self.error(id, why),
                Ok(Some(found)) => self.expand(expr.id, found),
                Ok(None) => self.call(expr.id, call),
            },
            Expr::Unspecified | Expr::Comprehension(_) => Ty::Dyn,
        }
    }

    /// Literals hold values of one type.
    fn same(&mut self, id: u64, so_far: Option<Ty>, ty: Ty) -> Ty {
        match so_far {
            None => ty,
            Some(known) if self.mixed || ty.fits(&known) => known.join(&ty),
            Some(known) => {
                self.error(id, format!("expected type '{known}' but found '{ty}'"));
                known
            }
        }
    }

    fn ident(&mut self, id: u64, name: &str) -> Ty {
        if let Some(ty) = self.variable(name) {
            self.uses_old_self |= name == "oldSelf";
            return ty;
        }
        if is_type_name(name) {
            return Ty::Type;
        }
        self.error(
            id,
            format!("undeclared reference to '{name}' (in container '')"),
        )
    }

    fn select(&mut self, id: u64, operand: &Ty, field: &str) -> Ty {
        match operand {
            Ty::Dyn => Ty::Dyn,
            Ty::Map(_, values) => (**values).clone(),
            Ty::Object(fields) => match fields.get(field) {
                Some(ty) => ty.clone(),
                None => self.error(id, format!("undefined field '{field}'")),
            },
            Ty::Optional(inner) => Ty::optional(self.select(id, &inner.clone(), field)),
            other => self.error(
                id,
                format!("type '{other}' does not support field selection"),
            ),
        }
    }

    fn expand(&mut self, id: u64, found: Macro<'_>) -> Ty {
        match found {
            Macro::Has(operand, field) => {
                let ty = self.expr(operand);
                self.select(id, &ty, field);
                Ty::Bool
            }
            Macro::Bind {
                variable,
                value,
                body,
            } => {
                let ty = self.expr(value);
                self.scoped(&[(variable, ty)], |this| this.expr(body))
            }
            Macro::OptMap {
                target,
                variable,
                body,
                flat,
            } => {
                let inner = match self.expr(target) {
                    Ty::Optional(inner) => (*inner).clone(),
                    _ => Ty::Dyn,
                };
                let ty = self.scoped(&[(variable, inner)], |this| this.expr(body));
                if flat { ty } else { Ty::optional(ty) }
            }
            Macro::Loop {
                kind,
                range,
                variable,
                second,
                filter,
                body,
            } => {
                let ty = self.expr(range);
                let (keys, values) = match &ty {
                    Ty::List(items) => (Ty::Int, (**items).clone()),
                    Ty::Map(keys, values) => ((**keys).clone(), (**values).clone()),
                    Ty::Dyn => (Ty::Dyn, Ty::Dyn),
                    other => {
                        let message = format!(
                            "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                        );
                        self.error(range.id, message);
                        (Ty::Dyn, Ty::Dyn)
                    }
                };
                let names = match second {
                    Some(second) => vec![(variable, keys.clone()), (second, values.clone())],
                    None if matches!(ty, Ty::Map(..)) => vec![(variable, keys.clone())],
                    None => vec![(variable, values.clone())],
                };
                let item = names[0].1.clone();
                let result = self.scoped(&names, |this| {
                    if let Some(filter) = filter {
                        let ty = this.expr(filter);
                        this.boolean(filter.id, &ty);
                    }
                    let ty = this.expr(body);
                    if matches!(
                        kind,
                        Loop::All | Loop::Exists | Loop::ExistsOne | Loop::Filter
                    ) {
                        this.boolean(body.id, &ty);
                    }
                    ty
                });
                match kind {
                    Loop::All | Loop::Exists | Loop::ExistsOne => Ty::Bool,
                    Loop::Map => Ty::list(result),
                    Loop::Filter => Ty::list(item),
                    Loop::TransformMap => Ty::Map(keys.into(), result.into()),
                    Loop::TransformMapEntry => result,
                    Loop::SortBy => ty,
                }
            }
        }
    }

    fn boolean(&mut self, id: u64, ty: &Ty) {
        if !ty.fits(&Ty::Bool) {
            self.error(id, format!("expected type 'bool' but found '{ty}'"));
        }
    }

    fn call(&mut self, id: u64, call: &CallExpr) -> Ty {
        let name = call.func_name.as_str();
        if let Some(target) = call.target.as_deref()
            && let Expr::Ident(outer) = &target.expr
            && self.variable(outer).is_none()
            && NAMESPACES.contains(&outer.as_str())
        {
            let args: Vec<Ty> = call.args.iter().map(|arg| self.expr(arg)).collect();
            let qualified = format!("{outer}.{name}");
            return self.found(id, &qualified, None, &args);
        }
        let target = call.target.as_deref().map(|target| self.expr(target));
        let was_mixed = std::mem::replace(
            &mut self.mixed,
            name == "format" && target == Some(Ty::String),
        );
        let args: Vec<Ty> = call.args.iter().map(|arg| self.expr(arg)).collect();
        self.mixed = was_mixed;
        if self.bad_literal(call) {
            return Ty::Dyn;
        }
        if target.is_none()
            && let Some(result) = self.operator(id, call, &args)
        {
            return result.unwrap_or_else(|| self.no_overload(id, name, None, &args));
        }
        self.found(id, name, target.as_ref(), &args)
    }

    /// Tells of a pattern, a duration or a time that is written out and is none.
    fn bad_literal(&mut self, call: &CallExpr) -> bool {
        let name = call.func_name.as_str();
        let Some(arg) = call.args.last() else {
            return false;
        };
        let Expr::Literal(LiteralValue::String(text)) = &arg.expr else {
            return false;
        };
        let text = text.inner();
        let is_good = match name {
            "matches" => crate::pattern::compile(text).is_ok(),
            "duration" => super::functions::parse_duration(text).is_some(),
            "timestamp" => text.parse::<jiff::Timestamp>().is_ok(),
            _ => true,
        };
        if !is_good {
            self.error(arg.id, format!("invalid {name} argument"));
        }
        !is_good
    }

    fn found(&mut self, id: u64, name: &str, target: Option<&Ty>, args: &[Ty]) -> Ty {
        match signatures::find(name, target, args) {
            Found::Result(Ty::String | Ty::Bool | Ty::Bytes | Ty::Timestamp) if name == "sum" => {
                self.no_overload(id, name, target, args)
            }
            Found::Result(ty) => ty,
            Found::NoOverload => self.no_overload(id, name, target, args),
            Found::Unknown => self.error(
                id,
                format!("undeclared reference to '{name}' (in container '')"),
            ),
        }
    }

    fn no_overload(&mut self, id: u64, name: &str, target: Option<&Ty>, args: &[Ty]) -> Ty {
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        let args = args.join(", ");
        let applied = match target {
            Some(target) => format!("{target}.({args})"),
            None => format!("({args})"),
        };
        self.error(
            id,
            format!("found no matching overload for '{name}' applied to '{applied}'"),
        )
    }

    /// What an operator gives; inner none for operands that it does not take.
    #[allow(clippy::option_option, reason = "no operator and no overload differ")]
    fn operator(&mut self, id: u64, call: &CallExpr, args: &[Ty]) -> Option<Option<Ty>> {
        use operators as op;
        let any = |ty: &Ty| *ty == Ty::Dyn;
        let result = match (call.func_name.as_str(), args) {
            (op::CONDITIONAL, [condition, then, other]) => {
                if !condition.fits(&Ty::Bool) || !then.fits(other) {
                    return Some(None);
                }
                Some(then.join(other))
            }
            (op::LOGICAL_AND | op::LOGICAL_OR, operands) => {
                for (ty, arg) in operands.iter().zip(&call.args) {
                    if !ty.fits(&Ty::Bool) {
                        self.error(arg.id, format!("expected type 'bool' but found '{ty}'"));
                    }
                }
                Some(Ty::Bool)
            }
            (op::LOGICAL_NOT, [a]) => a.fits(&Ty::Bool).then_some(Ty::Bool),
            (op::NEGATE, [a]) => (any(a) || matches!(a, Ty::Int | Ty::Double)).then(|| a.clone()),
            (op::EQUALS | op::NOT_EQUALS, [a, b]) => a.fits(b).then_some(Ty::Bool),
            (op::LESS | op::LESS_EQUALS | op::GREATER | op::GREATER_EQUALS, [a, b]) => {
                let ordered = |ty: &Ty| {
                    ty.is_number()
                        || matches!(
                            ty,
                            Ty::Bool | Ty::String | Ty::Bytes | Ty::Duration | Ty::Timestamp
                        )
                };
                let fits = (any(a) || ordered(a))
                    && (any(b) || ordered(b))
                    && (a.fits(b) || (a.is_number() && b.is_number()));
                fits.then_some(Ty::Bool)
            }
            (op::ADD | op::SUBSTRACT | op::MULTIPLY | op::DIVIDE | op::MODULO, [a, b]) => {
                arithmetic(&call.func_name, a, b)
            }
            (op::IN, [item, range]) => match range {
                Ty::List(items) => item.fits(items).then_some(Ty::Bool),
                Ty::Map(keys, _) => item.fits(keys).then_some(Ty::Bool),
                range => any(range).then_some(Ty::Bool),
            },
            (op::INDEX | op::OPT_INDEX, [range, key]) => {
                let (range, optional) = match range {
                    Ty::Optional(inner) => (&**inner, true),
                    range => (range, call.func_name == op::OPT_INDEX),
                };
                let found = match range {
                    Ty::List(items) => {
                        (key.fits(&Ty::Int) || key.is_number()).then(|| (**items).clone())
                    }
                    Ty::Map(keys, values) => key.fits(keys).then(|| (**values).clone()),
                    range => any(range).then_some(Ty::Dyn),
                };
                found.map(|ty| if optional { Ty::optional(ty) } else { ty })
            }
            (op::OPT_SELECT, [operand, _]) => {
                let field = match call.args.get(1).map(|arg| &arg.expr) {
                    Some(Expr::Literal(LiteralValue::String(field))) => field.inner().to_owned(),
                    _ => return Some(None),
                };
                let ty = self.select(id, operand, &field);
                Some(match ty {
                    Ty::Optional(_) => ty,
                    ty => Ty::optional(ty),
                })
            }
            _ => return None,
        };
        Some(result)
    }
}

fn arithmetic(operator: &str, a: &Ty, b: &Ty) -> Option<Ty> {
    use operators as op;
    Some(match (a, b) {
        (Ty::Dyn, Ty::Dyn) => Ty::Dyn,
        (Ty::Dyn, known) | (known, Ty::Dyn) => match known {
            Ty::Duration | Ty::Timestamp => Ty::Dyn,
            known if known.is_number() => known.clone(),
            Ty::String | Ty::Bytes | Ty::List(_) if operator == op::ADD => known.clone(),
            _ => return None,
        },
        (Ty::Int, Ty::Int) => Ty::Int,
        (Ty::Uint, Ty::Uint) => Ty::Uint,
        (Ty::Double, Ty::Double) if operator != op::MODULO => Ty::Double,
        (Ty::String, Ty::String) if operator == op::ADD => Ty::String,
        (Ty::Bytes, Ty::Bytes) if operator == op::ADD => Ty::Bytes,
        (Ty::List(x), Ty::List(y)) if operator == op::ADD && x.fits(y) => Ty::list(x.join(y)),
        (Ty::Duration, Ty::Duration) if matches!(operator, op::ADD | op::SUBSTRACT) => Ty::Duration,
        (Ty::Timestamp, Ty::Duration) if matches!(operator, op::ADD | op::SUBSTRACT) => {
            Ty::Timestamp
        }
        (Ty::Duration, Ty::Timestamp) if operator == op::ADD => Ty::Timestamp,
        (Ty::Timestamp, Ty::Timestamp) if operator == op::SUBSTRACT => Ty::Duration,
        _ => return None,
    })
}

/// The name of a type, as `type()` gives it.
pub(super) fn is_type_name(name: &str) -> bool {
    type_name(name).is_some()
}

pub(super) fn type_name(name: &str) -> Option<&'static str> {
    const NAMES: &[&str] = &[
        "bool",
        "int",
        "uint",
        "double",
        "string",
        "bytes",
        "list",
        "map",
        "null_type",
        "type",
        "optional_type",
        "google.protobuf.Duration",
        "google.protobuf.Timestamp",
    ];
    NAMES.iter().find(|known| **known == name).copied()
}
