//! What an evaluation costs, and what it may cost; the units are those of cel-go.

use super::value::Val;

/// What one expression may cost, as on a real server.
pub(super) const PER_EXPRESSION: u64 = 1_000_000;
/// What the rules of one object may cost, as on a real server.
pub(super) const PER_OBJECT: u64 = 10_000_000;

/// The error of an expression that costs too much.
pub(super) const EXCEEDED: &str = "operation cancelled: actual cost limit exceeded";

/// What it costs to read a variable or a field.
pub(super) const READ: u64 = 1;
/// What it costs to make a list.
pub(super) const LIST: u64 = 10;
/// What it costs to make a map.
pub(super) const MAP: u64 = 30;

/// The largest text that a function makes, in bytes. What makes it is not charged for it in full.
pub(super) const LARGEST_TEXT: usize = 64 * 1024 * 1024;

/// What evaluating an expression has cost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Meter {
    spent: u64,
}

impl Meter {
    /// Adds a cost.
    ///
    /// # Errors
    ///
    /// [`EXCEEDED`], now and ever after.
    pub(super) fn spend(&mut self, cost: u64) -> Result<(), String> {
        self.spent = self.spent.saturating_add(cost);
        if self.is_exceeded() {
            Err(EXCEEDED.into())
        } else {
            Ok(())
        }
    }

    pub(super) fn is_exceeded(self) -> bool {
        self.spent > PER_EXPRESSION
    }

    pub(super) fn spent(self) -> u64 {
        self.spent
    }
}

/// What a call costs; a receiver is the first operand.
pub(super) fn of_call(name: &str, operands: &[&Val]) -> u64 {
    let at = |index: usize| operands.get(index).map_or(1, |value| size(value));
    match name {
        "_==_" | "_!=_" => match operands {
            [Val::Opaque(_), _] => 1,
            _ => tenth(at(0).min(at(1))),
        },
        "_<_" | "_<=_" | "_>_" | "_>=_" => match operands {
            [Val::Str(_) | Val::Bytes(_), _] => tenth(at(0).min(at(1))),
            _ => 1,
        },
        "_+_" => match operands {
            [Val::Str(_) | Val::Bytes(_), _] => tenth(at(0).saturating_add(at(1))),
            _ => 1,
        },
        "@in" => match operands {
            [_, Val::List(list)] => count(list.items.len()),
            _ => 1,
        },
        "startsWith" | "endsWith" => tenth(at(1)),
        "contains" => tenth(at(0)).saturating_mul(tenth(at(1))),
        "matches" | "find" | "findAll" => {
            tenth(at(0).saturating_add(1)).saturating_mul(at(1).div_ceil(4))
        }
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => match operands {
            [Val::Str(_), ..] => tenth(at(0)),
            _ => at(0),
        },
        "url" | "lowerAscii" | "upperAscii" | "substring" | "trim" | "quantity" | "isQuantity"
        | "semver" | "isSemver" | "cidr" | "ip" | "isIP" | "isCIDR" | "format" | "quote" => {
            tenth(at(0))
        }
        "replace" | "split" | "ip.isCanonical" => tenth(at(0).saturating_mul(2)),
        "string" | "bytes" => match operands {
            [Val::Str(_) | Val::Bytes(_)] => tenth(at(0)),
            _ => 1,
        },
        _ => 1,
    }
}

/// The size of a value as its cost counts: characters, bytes, items.
fn size(value: &Val) -> u64 {
    match value {
        Val::Str(text) => count(text.chars().count()),
        Val::Bytes(bytes) => count(bytes.len()),
        Val::List(list) => count(list.items.len()),
        Val::Map(map) => count(map.entries.len()),
        _ => 1,
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// Texts are passed through at a tenth of the cost of a call.
fn tenth(size: u64) -> u64 {
    size.div_ceil(10)
}
