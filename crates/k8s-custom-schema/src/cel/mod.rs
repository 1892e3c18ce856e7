//! CEL: `x-kubernetes-validations`.
//!
//! The crate `cel` parses; the types of a schema, the equality of its lists and the words of the errors are
//! Kubernetes' own, so that checking and evaluating is done here. Functions of Kubernetes' libraries are those of
//! the crate `kube-cel`.

mod addresses;
mod arithmetic;
mod check;
mod condition;
mod cost;
mod eval;
mod functions;
mod library;
mod macros;
mod parse;
mod rules;
mod signatures;
mod ty;
mod value;

pub(crate) use condition::{Program, compile_condition};
pub(crate) use rules::{Ratchet, Report, Rules, compile_rules};

/// Words of CEL that no variable may be named.
const RESERVED: &[&str] = &[
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// The ways in which CEL can write a field name; none where it cannot be written.
pub(crate) fn names(name: &str) -> Vec<String> {
    let Some(escaped) = escape(name) else {
        return Vec::new();
    };
    // A word that is only reserved may be written as it is, too.
    if is_reserved(name) {
        vec![escaped, name.to_owned()]
    } else {
        vec![escaped]
    }
}

/// Whether a word is reserved, and is not one of the language that means something else.
fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name) && !matches!(name, "true" | "false" | "null" | "in")
}

/// A field name as CEL can always write it; none where it cannot be written.
pub(crate) fn escape(name: &str) -> Option<String> {
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("__") {
            out.push_str("__underscores__");
            rest = after;
            continue;
        }
        match c {
            '.' => out.push_str("__dot__"),
            '-' => out.push_str("__dash__"),
            '/' => out.push_str("__slash__"),
            c if c.is_ascii_alphanumeric() || c == '_' => out.push(c),
            _ => return None,
        }
        rest = &rest[c.len_utf8()..];
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn names_are_escaped() {
        for (name, expected) in [
            ("a", Some("a")),
            ("namespace", Some("__namespace__")),
            ("a-b.c/d", Some("a__dash__b__dot__c__slash__d")),
            ("a__b", Some("a__underscores__b")),
            ("1a", None),
            ("a b", None),
            ("", None),
        ] {
            assert_eq!(escape(name).as_deref(), expected, "{name}");
        }
    }
}
