//! The JSON paths of `additionalPrinterColumns`: `.a.b`, `.a[0]`, `.a[*].b`, `.a['b']`, `.a\.b`, `.*`,
//! and filters such as `.status.conditions[?(@.type=="Ready")].status`.
//! Slices, unions and recursive descent find nothing.

use serde_json::Value;

/// A parsed path.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JsonPath(Vec<Step>);

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    Index(i64),
    All,
    Filter(JsonPath, Comparison, Value),
    /// What is not understood; finds nothing.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

const COMPARISONS: &[(&str, Comparison)] = &[
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

impl JsonPath {
    pub(super) fn parse(text: &str) -> Self {
        let mut steps = Vec::new();
        let mut rest = text.trim().trim_start_matches('$');
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix("..") {
                steps.push(Step::Nothing);
                rest = after;
            } else if let Some(after) = rest.strip_prefix('.') {
                let (name, after) = field(after);
                steps.push(if name == "*" {
                    Step::All
                } else {
                    Step::Field(name)
                });
                rest = after;
            } else if let Some(after) = rest.strip_prefix('[') {
                let Some((inner, after)) = bracket(after) else {
                    steps.push(Step::Nothing);
                    break;
                };
                steps.push(subscript(inner.trim()));
                rest = after;
            } else {
                steps.push(Step::Nothing);
                break;
            }
        }
        Self(steps)
    }

    /// Everything that the path finds, in order.
    pub(super) fn find<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        self.0.iter().fold(vec![value], |found, step| {
            found
                .into_iter()
                .flat_map(|value| step.apply(value))
                .collect()
        })
    }
}

impl Step {
    fn apply<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        match (self, value) {
            (Self::Field(name), Value::Object(map)) => map.get(name).into_iter().collect(),
            (Self::Index(index), Value::Array(items)) => {
                let at = if *index < 0 {
                    usize::try_from(index.unsigned_abs())
                        .ok()
                        .and_then(|back| items.len().checked_sub(back))
                } else {
                    usize::try_from(*index).ok()
                };
                at.and_then(|at| items.get(at)).into_iter().collect()
            }
            (Self::All, Value::Array(items)) => items.iter().collect(),
            (Self::All, Value::Object(map)) => map.values().collect(),
            (Self::Filter(path, comparison, wanted), Value::Array(items)) => items
                .iter()
                .filter(|item| {
                    path.find(item)
                        .first()
                        .is_some_and(|found| comparison.holds(found, wanted))
                })
                .collect(),
            _ => Vec::new(),
        }
    }
}

impl Comparison {
    fn holds(self, found: &Value, wanted: &Value) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};

        let order = match (found, wanted) {
            (Value::String(found), Value::String(wanted)) => Some(found.cmp(wanted)),
            (Value::Number(found), Value::Number(wanted)) => {
                found.as_f64().partial_cmp(&wanted.as_f64())
            }
            (Value::Bool(found), Value::Bool(wanted)) => Some(found.cmp(wanted)),
            _ => None,
        };
        match self {
            Self::Equal => order == Some(Equal),
            Self::NotEqual => order != Some(Equal),
            Self::Less => order == Some(Less),
            Self::LessOrEqual => matches!(order, Some(Less | Equal)),
            Self::Greater => order == Some(Greater),
            Self::GreaterOrEqual => matches!(order, Some(Greater | Equal)),
        }
    }
}

/// A name up to the next `.` or `[`; a backslash takes the next character as it is.
fn field(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '.' | '[' => return (name, &text[at..]),
            '\\' => name.extend(chars.next().map(|(_, escaped)| escaped)),
            c => name.push(c),
        }
    }
    (name, "")
}

/// What is between the brackets, and what follows them. Quotes and inner brackets are skipped over.
fn bracket(text: &str) -> Option<(&str, &str)> {
    let (mut depth, mut quote) = (0usize, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) => quote = Some(open).filter(|open| *open != c),
            (None, '\'' | '"') => quote = Some(c),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some((&text[..at], &text[at + 1..])),
            (None, ']') => depth -= 1,
            _ => {}
        }
    }
    None
}

fn subscript(text: &str) -> Step {
    if text == "*" {
        return Step::All;
    }
    if let Some(name) = unquoted(text) {
        return Step::Field(name.into());
    }
    if let Some(filter) = text
        .strip_prefix("?(")
        .and_then(|text| text.strip_suffix(')'))
    {
        return comparison(filter).unwrap_or(Step::Nothing);
    }
    text.parse().map_or(Step::Nothing, Step::Index)
}

fn unquoted(text: &str) -> Option<&str> {
    ['\'', '"']
        .iter()
        .find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote))
}

fn comparison(filter: &str) -> Option<Step> {
    let (at, (symbol, comparison)) = COMPARISONS
        .iter()
        .filter_map(|entry| filter.find(entry.0).map(|at| (at, entry)))
        .min_by_key(|(at, (symbol, _))| (*at, 3 - symbol.len()))?;
    let (left, right) = (filter[..at].trim(), filter[at + symbol.len()..].trim());
    let path = JsonPath::parse(left.strip_prefix('@')?);
    let wanted = match unquoted(right) {
        Some(text) => Value::String(text.into()),
        None => serde_json::from_str(right).ok()?,
    };
    Some(Step::Filter(path, *comparison, wanted))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn paths() {
        let object = json!({
            "metadata": {"labels": {"a.b/c": "v"}},
            "spec": {"l": [{"k": "one"}, {"k": "two"}], "n": 5},
            "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Synced", "status": "False"}]},
        });
        for (path, expected) in [
            (".spec.n", json!([5])),
            (".spec.l[0].k", json!(["one"])),
            (".spec.l[-1].k", json!(["two"])),
            (".spec.l[-3].k", json!([])),
            (".spec.l[*].k", json!(["one", "two"])),
            (r".metadata.labels.a\.b/c", json!(["v"])),
            (".metadata.labels['a.b/c']", json!(["v"])),
            (
                r#".status.conditions[?(@.type=="Ready")].status"#,
                json!(["True"]),
            ),
            (
                ".status.conditions[?(@.type!='Ready')].status",
                json!(["False"]),
            ),
            (".spec.l[?(@.k>='two')].k", json!(["two"])),
            (".spec.missing", json!([])),
            ("..k", json!([])),
            (".spec.l[", json!([])),
        ] {
            assert_eq!(
                json!(JsonPath::parse(path).find(&object)),
                expected,
                "{path}"
            );
        }
    }

    proptest! {
        #[test]
        fn never_panics(path in r#"[a.\[\]*?(@)='"0-9\\<>!ü]{0,24}"#) {
            let _ = JsonPath::parse(&path).find(&json!({"a": [1, {"a": 2}]}));
        }
    }
}
