//! Operators on values.

use cel::common::ast::operators as op;
use std::cmp::Ordering;
use std::sync::Arc;

use super::value::{Val, compare_numbers};

type Outcome = Result<Val, String>;

pub(super) fn no_overload<T>() -> Result<T, String> {
    Err("no such overload".into())
}

/// `+`, `-`, `*`, `/`, `%`.
pub(super) fn arithmetic(operator: &str, a: &Val, b: &Val) -> Outcome {
    match (a, b) {
        (Val::Int(a), Val::Int(b)) => int(operator, *a, *b).map(Val::Int),
        (Val::Uint(a), Val::Uint(b)) => uint(operator, *a, *b).map(Val::Uint),
        (Val::Double(a), Val::Double(b)) => Ok(Val::Double(match operator {
            op::ADD => a + b,
            op::SUBSTRACT => a - b,
            op::MULTIPLY => a * b,
            op::DIVIDE => a / b,
            _ => return no_overload(),
        })),
        (Val::Str(a), Val::Str(b)) if operator == op::ADD => Ok(Val::Str(format!("{a}{b}").into())),
        (Val::Bytes(a), Val::Bytes(b)) if operator == op::ADD => {
            Ok(Val::Bytes(a.iter().chain(b.iter()).copied().collect()))
        }
        (Val::List(a), Val::List(b)) if operator == op::ADD => Ok(Val::List(Arc::new(a.plus(b)))),
        _ => time(operator, a, b),
    }
}

fn time(operator: &str, a: &Val, b: &Val) -> Outcome {
    let overflow = || "duration overflow".to_owned();
    match (a, operator, b) {
        (Val::Duration(a), op::ADD, Val::Duration(b)) => {
            a.checked_add(*b).map(Val::Duration).ok_or_else(overflow)
        }
        (Val::Duration(a), op::SUBSTRACT, Val::Duration(b)) => {
            a.checked_sub(*b).map(Val::Duration).ok_or_else(overflow)
        }
        (Val::Timestamp(time), op::ADD, Val::Duration(span))
        | (Val::Duration(span), op::ADD, Val::Timestamp(time)) => time
            .checked_add(*span)
            .map(Val::Timestamp)
            .map_err(|_| "timestamp overflow".into()),
        (Val::Timestamp(time), op::SUBSTRACT, Val::Duration(span)) => time
            .checked_sub(*span)
            .map(Val::Timestamp)
            .map_err(|_| "timestamp overflow".into()),
        (Val::Timestamp(a), op::SUBSTRACT, Val::Timestamp(b)) => {
            Ok(Val::Duration(a.duration_since(*b)))
        }
        _ => no_overload(),
    }
}

fn int(operator: &str, a: i64, b: i64) -> Result<i64, String> {
    let result = match operator {
        op::ADD => a.checked_add(b),
        op::SUBSTRACT => a.checked_sub(b),
        op::MULTIPLY => a.checked_mul(b),
        op::DIVIDE if b == 0 => return Err("division by zero".into()),
        op::MODULO if b == 0 => return Err("modulus by zero".into()),
        op::DIVIDE => a.checked_div(b),
        _ => a.checked_rem(b),
    };
    result.ok_or_else(|| "integer overflow".into())
}

fn uint(operator: &str, a: u64, b: u64) -> Result<u64, String> {
    let result = match operator {
        op::ADD => a.checked_add(b),
        op::SUBSTRACT => a.checked_sub(b),
        op::MULTIPLY => a.checked_mul(b),
        op::DIVIDE if b == 0 => return Err("division by zero".into()),
        op::MODULO if b == 0 => return Err("modulus by zero".into()),
        op::DIVIDE => a.checked_div(b),
        _ => a.checked_rem(b),
    };
    result.ok_or_else(|| "unsigned integer overflow".into())
}

/// `<` and its like.
pub(super) fn compare(operator: &str, a: &Val, b: &Val) -> Outcome {
    let ordering = match (a, b) {
        (Val::Bool(a), Val::Bool(b)) => Some(a.cmp(b)),
        (Val::Str(a), Val::Str(b)) => Some(a.cmp(b)),
        (Val::Bytes(a), Val::Bytes(b)) => Some(a.cmp(b)),
        (Val::Duration(a), Val::Duration(b)) => Some(a.cmp(b)),
        (Val::Timestamp(a), Val::Timestamp(b)) => Some(a.cmp(b)),
        _ => match compare_numbers(a, b) {
            Some(ordering) => ordering,
            None => return no_overload(),
        },
    };
    let Some(ordering) = ordering else {
        return Err("NaN values cannot be ordered".into());
    };
    Ok(Val::Bool(match operator {
        op::LESS => ordering == Ordering::Less,
        op::LESS_EQUALS => ordering != Ordering::Greater,
        op::GREATER => ordering == Ordering::Greater,
        _ => ordering != Ordering::Less,
    }))
}
