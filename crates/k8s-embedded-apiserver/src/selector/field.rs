//! Field selectors: `metadata.name=a,status.phase!=Running`.

use std::borrow::Cow;

use serde_json::Value;

use crate::metadata::Meta as _;
use crate::object::Object;
use crate::status::Failure;
use k8s_api_schema::quote;

/// Fields that a kind can be selected by, beside `metadata.name` (and `metadata.namespace` where it has one).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum FieldRules<'a> {
    /// The kind has no list of its own: another field is `"X" is not a known field selector: only ...`.
    MetadataOnly,
    /// The kind has a list of its own: another field is `field label not supported: X`.
    /// Each entry is the label of the selector and the path of the value in the object.
    Listed(&'a [(&'a str, &'a str)]),
    /// The same in other words.
    OfJobs(&'a [(&'a str, &'a str)]),
}

impl FieldRules<'_> {
    /// The path of the value that `label` selects by.
    fn path(&self, label: &str, namespaced: bool) -> Result<String, Failure> {
        let listed: &[(&str, &str)] = match self {
            Self::MetadataOnly => &[],
            Self::Listed(fields) | Self::OfJobs(fields) => fields,
        };
        // A kind without a list of its own knows metadata.namespace even if it is cluster-scoped.
        if label == "metadata.name"
            || (label == "metadata.namespace"
                && (namespaced || listed.is_empty() && *self == Self::MetadataOnly))
        {
            return Ok(label.into());
        }
        if let Some((_, path)) = listed.iter().find(|(known, _)| *known == label) {
            return Ok((*path).into());
        }
        Err(Failure::bad_request(match self {
            Self::MetadataOnly => {
                let quoted = quote(label);
                format!(
                    "{quoted} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
                )
            }
            Self::Listed(_) => format!("field label not supported: {label}"),
            Self::OfJobs(_) => format!("field label {label:?} not supported for Job"),
        }))
    }
}

/// A parsed field selector; the default one selects everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FieldSelector {
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq)]
struct Term {
    path: String,
    equals: bool,
    value: String,
}

impl FieldSelector {
    /// Reads a selector. Its fields are labels until they are [resolved](Self::resolve).
    ///
    /// # Errors
    ///
    /// 400 for a text that is no selector.
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        let mut terms = Vec::new();
        if text.is_empty() {
            return Ok(Self { terms });
        }
        let mut parts = split_terms(text);
        // As the real server does, which shows in the error for the first part that is none.
        parts.sort_unstable();
        for part in parts {
            if part.is_empty() {
                continue;
            }
            let Some((label, equals, value)) = split_term(part) else {
                return Err(Failure::bad_request(format!(
                    "invalid selector: '{text}'; can't understand '{part}'"
                )));
            };
            let (path, value) = (label.into(), unescape(value)?);
            terms.push(Term {
                path,
                equals,
                value,
            });
        }
        Ok(Self { terms })
    }

    /// Turns labels into the paths that a kind has for them.
    ///
    /// # Errors
    ///
    /// 400 for a field that the kind cannot be selected by.
    pub(crate) fn resolve(
        mut self,
        rules: FieldRules<'_>,
        namespaced: bool,
    ) -> Result<Self, Failure> {
        self.terms
            .retain(|term| !(term.path.is_empty() && term.value.is_empty()));
        for term in &mut self.terms {
            term.path = rules.path(&term.path, namespaced)?;
        }
        Ok(self)
    }

    /// Whether nothing is selected by.
    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The name that `metadata.name=...` asks for.
    pub(crate) fn name(&self) -> Option<&str> {
        self.terms
            .iter()
            .find(|term| term.equals && term.path == "metadata.name")
            .map(|term| term.value.as_str())
    }

    /// Whether the object is selected. A field that is not there is the empty text.
    pub(crate) fn matches(&self, object: &Object) -> bool {
        let mut tree = None;
        self.terms.iter().all(|term| {
            let found: Cow<'_, str> = match term.path.as_str() {
                "metadata.name" => object.name().into(),
                "metadata.namespace" => object.namespace().into(),
                path => value_at(tree.get_or_insert_with(|| object.value()), path).into(),
            };
            (found == term.value) == term.equals
        })
    }
}

fn value_at(object: &Value, path: &str) -> String {
    let found = path
        .split('.')
        .filter(|part| !part.is_empty())
        .try_fold(object, |at, part| at.get(part));
    match found {
        None | Some(Value::Null) => match path {
            // These are booleans to the real server, which prints them.
            "spec.hostNetwork" | "spec.unschedulable" => "false".into(),
            _ => String::new(),
        },
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Splits at commas that no backslash escapes.
fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

/// Field, whether the operator is equality, and the escaped value.
fn split_term(term: &str) -> Option<(&str, bool, &str)> {
    term.char_indices().find_map(|(at, _)| {
        let rest = &term[at..];
        [("!=", false), ("==", true), ("=", true)]
            .iter()
            .find_map(|(operator, equals)| {
                rest.strip_prefix(operator)
                    .map(|value| (&term[..at], *equals, value))
            })
    })
}

fn unescape(value: &str) -> Result<String, Failure> {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(next @ ('\\' | ',' | '=')) => out.push(next),
                other => {
                    let sequence: String = std::iter::once('\\').chain(other).collect();
                    return Err(Failure::bad_request(format!(
                        "invalid field selector: invalid escape sequence: {sequence}"
                    )));
                }
            },
            ',' | '=' => {
                return Err(Failure::bad_request(format!(
                    "invalid field selector: unescaped character in value: {}",
                    u32::from(c)
                )));
            }
            c => out.push(c),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const POD: FieldRules<'static> = FieldRules::Listed(&[
        ("status.phase", "status.phase"),
        ("spec.hostNetwork", "spec.hostNetwork"),
    ]);

    fn matches(selector: &str, object: &Value) -> bool {
        FieldSelector::parse(selector)
            .and_then(|selector| selector.resolve(POD, true))
            .unwrap()
            .matches(&Object::new(object))
    }

    #[test]
    fn matching() {
        let pod =
            json!({"metadata": {"name": "a", "namespace": "n"}, "status": {"phase": "Pending"}});
        for (selector, expected) in [
            ("", true),
            ("=", true),
            ("metadata.name=a,", true),
            ("metadata.name==a,metadata.namespace=n", true),
            ("metadata.name!=a", false),
            ("status.phase!=Running,status.phase!=Failed", true),
            ("status.phase=", false),
            ("spec.hostNetwork=false", true),
            (r"metadata.name=a\,b", false),
        ] {
            assert_eq!(matches(selector, &pod), expected, "{selector}");
        }
    }

    #[test]
    fn texts_of_the_real_server() {
        for (selector, rules, expected) in [
            (
                "data.k=v",
                FieldRules::MetadataOnly,
                "\"data.k\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
            ),
            ("spec.bogus=1", POD, "field label not supported: spec.bogus"),
            (
                "metadata.name",
                POD,
                "invalid selector: 'metadata.name'; can't understand 'metadata.name'",
            ),
            (
                "metadata.name in (a,b)",
                POD,
                "invalid selector: 'metadata.name in (a,b)'; can't understand 'b)'",
            ),
            (
                r"metadata.name=\x",
                POD,
                r"invalid field selector: invalid escape sequence: \x",
            ),
            (
                "metadata.name=a=b",
                POD,
                "invalid field selector: unescaped character in value: 61",
            ),
        ] {
            let failure = FieldSelector::parse(selector)
                .and_then(|selector| selector.resolve(rules, true))
                .unwrap_err();
            assert_eq!(
                (failure.code, failure.message.as_str()),
                (400, expected),
                "{selector}"
            );
        }
    }

    #[test]
    fn a_cluster_scoped_custom_resource_has_no_namespace_field() {
        let failure = FieldSelector::parse("metadata.namespace=x")
            .and_then(|selector| selector.resolve(FieldRules::Listed(&[]), false))
            .unwrap_err();
        assert_eq!(
            failure.message,
            "field label not supported: metadata.namespace"
        );
    }

    proptest! {
        #[test]
        fn never_panics(selector in "[a-z.=!,\\\\ ü]{0,24}") {
            let _ = FieldSelector::parse(&selector);
        }

        #[test]
        fn any_value_can_be_selected_by(value in ".{0,12}") {
            let escaped = value.replace('\\', r"\\").replace(',', r"\,").replace('=', r"\=");
            let selector = FieldSelector::parse(&format!("metadata.name={escaped}")).unwrap();
            let object = json!({"metadata": {"name": value}});
            prop_assert!(selector.matches(&Object::new(&object)));
        }
    }
}
