//! Macros: calls that bind variables, and `has`. The parser leaves them as they are written.

use cel::common::ast::{CallExpr, Expr, IdedExpr};

/// A call that is a macro.
#[derive(Clone, Copy)]
pub(super) enum Macro<'a> {
    /// The operand and its field.
    Has(&'a IdedExpr, &'a str),
    /// Over a list or a map; the second variable is that of the value beside its index or key.
    Loop {
        kind: Loop,
        range: &'a IdedExpr,
        variable: &'a str,
        second: Option<&'a str>,
        filter: Option<&'a IdedExpr>,
        body: &'a IdedExpr,
    },
    Bind {
        variable: &'a str,
        value: &'a IdedExpr,
        body: &'a IdedExpr,
    },
    /// `optMap` and `optFlatMap`.
    OptMap {
        target: &'a IdedExpr,
        variable: &'a str,
        body: &'a IdedExpr,
        flat: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loop {
    All,
    Exists,
    ExistsOne,
    Map,
    Filter,
    TransformMap,
    TransformMapEntry,
    SortBy,
}

impl Loop {
    /// What a step costs beside what is evaluated in it: reading and making what is gathered, as in the loop that
    /// the macro stands for.
    pub(super) fn step(self) -> u64 {
        match self {
            Self::All | Self::TransformMap | Self::TransformMapEntry => 3,
            Self::Exists => 4,
            Self::ExistsOne => 1,
            Self::Map | Self::SortBy => 12,
            Self::Filter => 6,
        }
    }
}

fn name(expr: &IdedExpr) -> Option<&str> {
    match &expr.expr {
        Expr::Ident(name) => Some(name),
        _ => None,
    }
}

/// The macro that a call is.
///
/// # Errors
///
/// What is wrong with its arguments, and where.
pub(super) fn find(call: &CallExpr) -> Result<Option<Macro<'_>>, (u64, &'static str)> {
    let args = call.args.as_slice();
    let Some(target) = call.target.as_deref() else {
        if call.func_name != "has" || args.len() != 1 {
            return Ok(None);
        }
        return match &args[0].expr {
            Expr::Select(select) if !select.test => {
                Ok(Some(Macro::Has(&select.operand, &select.field)))
            }
            _ => Err((args[0].id, "invalid argument to has() macro")),
        };
    };
    let variable = |expr: &'_ IdedExpr| -> Result<(), (u64, &'static str)> {
        name(expr)
            .map(|_| ())
            .ok_or((expr.id, "argument must be a simple name"))
    };
    let found = match (call.func_name.as_str(), args) {
        ("bind", [a, value, body]) if name(target) == Some("cel") => {
            variable(a)
                .map_err(|(id, _)| (id, "cel.bind() variable names must be simple identifiers"))?;
            Macro::Bind {
                variable: name(a).unwrap_or_default(),
                value,
                body,
            }
        }
        ("optMap" | "optFlatMap", [a, body]) => {
            variable(a)
                .map_err(|(id, _)| (id, "optMap() variable name must be a simple identifier"))?;
            Macro::OptMap {
                target,
                variable: name(a).unwrap_or_default(),
                body,
                flat: call.func_name == "optFlatMap",
            }
        }
        (function, args) => {
            let kind = match function {
                "all" => Loop::All,
                "exists" => Loop::Exists,
                "exists_one" | "existsOne" => Loop::ExistsOne,
                "map" | "transformList" => Loop::Map,
                "filter" => Loop::Filter,
                "transformMap" => Loop::TransformMap,
                "transformMapEntry" => Loop::TransformMapEntry,
                "sortBy" => Loop::SortBy,
                _ => return Ok(None),
            };
            let two = function.starts_with("transform");
            let (first, second, filter, body) = match args {
                [a, body] if !two => (a, None, None, body),
                [a, filter, body] if function == "map" => (a, None, Some(filter), body),
                [a, b, body]
                    if two || matches!(kind, Loop::All | Loop::Exists | Loop::ExistsOne) =>
                {
                    (a, Some(b), None, body)
                }
                [a, b, filter, body] if two => (a, Some(b), Some(filter), body),
                _ => return Ok(None),
            };
            for one in [Some(first), second].into_iter().flatten() {
                variable(one)?;
            }
            Macro::Loop {
                kind,
                range: target,
                variable: name(first).unwrap_or_default(),
                second: second.and_then(name),
                filter,
                body,
            }
        }
    };
    Ok(Some(found))
}
