//! From the text of an expression to its tree, within the bounds of the real server.

use cel::common::ast::{EntryExpr, Expr, IdedEntryExpr, IdedExpr, SourceInfo};

use crate::stack;

/// Longest expression, in characters; cel-go's.
const MAX_CHARACTERS: usize = 100_000;
/// How deep expressions may nest in brackets, with the outermost; cel-go's.
const MAX_NESTING: u16 = 250;
/// How deep a tree may be: as deep as brackets may nest, and the leaf.
const MAX_DEPTH: usize = MAX_NESTING as usize + 1;
/// From here on a tree is not even made: a chain of operators is a tree as deep as it is long.
const MAX_CHAIN: usize = 2_000;
/// An expression that has been read.
pub(super) struct Parsed {
    pub(super) expr: IdedExpr,
    pub(super) info: SourceInfo,
    pub(super) depth: usize,
}

/// What is wrong with an expression: where, in lines and columns, and what.
pub(super) type Wrong = Vec<((isize, isize), String)>;

/// Reads an expression.
///
/// # Errors
///
/// All that is wrong with it.
pub(super) fn parse(source: &str) -> Result<Parsed, Wrong> {
    let nowhere = |why: String| vec![((-1, 0), why)];
    let length = source.chars().count();
    if length > MAX_CHARACTERS {
        return Err(nowhere(format!(
            "expression code point size exceeds limit: size: {length}, limit {MAX_CHARACTERS}"
        )));
    }
    let too_deep = || nowhere("max recursion depth exceeded".into());
    let shape = Shape::of(source);
    if shape.nesting >= usize::from(MAX_NESTING) {
        return Err(nowhere(format!(
            "expression recursion limit exceeded: {MAX_NESTING}"
        )));
    }
    if shape.chain > MAX_CHAIN {
        return Err(too_deep());
    }
    let read = || {
        let parser = cel::Env::default().with_optional_support(true).parser();
        let parsed = parser
            // The parser does not count the outermost.
            .max_recursion_depth(MAX_NESTING - 1)
            .enable_ident_escape_syntax(true)
            .parse_with_source_info(source);
        let (expr, info) = parsed.map_err(|errors| -> Wrong {
            let errors = errors.errors.iter();
            errors.map(|error| (error.pos, error.msg.clone())).collect()
        })?;
        let depth = depth(&expr);
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
        Ok(Parsed { expr, info, depth })
    };
    // The parser takes much stack for each level, and a tree that is refused is dropped level by level.
    stack::large(read).unwrap_or_else(|why| Err(nowhere(why)))
}

fn depth(expr: &IdedExpr) -> usize {
    children(expr).into_iter().map(depth).max().unwrap_or(0) + 1
}

/// What an expression is made of.
pub(super) fn children(expr: &IdedExpr) -> Vec<&IdedExpr> {
    match &expr.expr {
        Expr::Select(select) => vec![&*select.operand],
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => map.entries.iter().flat_map(parts).collect(),
        Expr::Struct(object) => object.entries.iter().flat_map(parts).collect(),
        Expr::Call(call) => call
            .target
            .as_deref()
            .into_iter()
            .chain(&call.args)
            .collect(),
        _ => Vec::new(),
    }
}

fn parts(entry: &IdedEntryExpr) -> Vec<&IdedExpr> {
    match &entry.expr {
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
        EntryExpr::StructField(field) => vec![&field.value],
    }
}

/// How deep the tree of a text may become at most.
#[derive(Debug, Default, PartialEq)]
struct Shape {
    /// Brackets within brackets.
    nesting: usize,
    /// Operators and selections in a row.
    chain: usize,
}

impl Shape {
    fn of(source: &str) -> Self {
        let mut shape = Self::default();
        // The chain at each open bracket.
        let mut open = vec![0_usize];
        let mut rest = source;
        let mut before = ' ';
        while let Some(c) = rest.chars().next() {
            let raw = matches!(before, 'r' | 'R');
            before = c;
            if matches!(c, '"' | '\'') {
                rest = after_text(rest, c, raw);
                continue;
            }
            rest = &rest[c.len_utf8()..];
            match c {
                '(' | '[' | '{' => {
                    if c != '(' {
                        count(&mut open);
                    }
                    open.push(0);
                }
                ')' | ']' | '}' if open.len() > 1 => {
                    open.pop();
                }
                ',' => open.last_mut().into_iter().for_each(|chain| *chain = 0),
                '&' | '|' if rest.starts_with(c) => {
                    rest = &rest[1..];
                    open.last_mut().into_iter().for_each(|chain| *chain = 0);
                }
                '/' if rest.starts_with('/') => {
                    rest = rest.split_once('\n').map_or("", |(_, after)| after);
                }
                '+' | '-' | '*' | '/' | '%' | '.' | '<' | '>' | '=' | '?' => count(&mut open),
                _ => {}
            }
            shape.nesting = shape.nesting.max(open.len() - 1);
            shape.chain = shape.chain.max(open.iter().sum());
        }
        shape
    }
}

fn count(open: &mut [usize]) {
    if let Some(chain) = open.last_mut() {
        *chain += 1;
    }
}

/// What follows the text in quotes that is at the beginning.
fn after_text(source: &str, quote: char, raw: bool) -> &str {
    let triple: String = std::iter::repeat_n(quote, 3).collect();
    let end = if source.starts_with(&triple) {
        triple
    } else {
        quote.into()
    };
    let mut rest = source.get(end.len()..).unwrap_or_default();
    loop {
        if let Some(after) = rest.strip_prefix(&end) {
            return after;
        }
        let mut chars = rest.chars();
        match chars.next() {
            None => return "",
            Some('\\') if !raw => {
                chars.next();
            }
            Some(_) => {}
        }
        rest = chars.as_str();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes() {
        for (source, nesting, chain) in [
            ("a", 0, 0),
            ("((a))", 2, 0),
            ("a + b.c - (d * e)", 1, 4),
            ("a + b && c + d", 0, 1),
            ("f(a + b, c + d)", 1, 1),
            ("'a.b.c(' + \"d'[[\" + r'\\' + '\\'('", 0, 3),
            ("'''a'(''' // ((( ....\n+ a", 0, 1),
            ("a[0][0]", 1, 2),
        ] {
            assert_eq!(Shape::of(source), Shape { nesting, chain }, "{source}");
        }
    }

    #[test]
    fn depths() {
        for (source, expected) in [
            ("a", 1),
            ("a.b + 1", 3),
            ("{'a': [1, b.c]}", 4),
            ("f(a)", 2),
        ] {
            assert_eq!(
                parse(source).map(|parsed| parsed.depth).ok(),
                Some(expected),
                "{source}"
            );
        }
    }
}
