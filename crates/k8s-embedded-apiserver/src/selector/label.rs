//! Label selectors: `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1`.

use crate::status::Failure;
use crate::validation::{label_key, label_value};
use k8s_api_schema::FieldError;

/// A parsed label selector; the default one selects everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LabelSelector {
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq)]
enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    DoesNotExist,
    GreaterThan(i64),
    LessThan(i64),
}

impl LabelSelector {
    /// Reads a selector.
    ///
    /// # Errors
    ///
    /// 400 for a text that is no selector, a key or value that no label can have.
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        Parser::new(text).selector().map_err(Failure::bad_request)
    }

    /// Whether nothing is selected by.
    pub(crate) fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether an object with these labels is selected.
    pub(crate) fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements
            .iter()
            .all(|requirement| requirement.test.passes(label(&requirement.key)))
    }
}

impl Test {
    fn passes(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match self {
            Self::In(values) => {
                value.is_some_and(|value| values.iter().any(|wanted| wanted == value))
            }
            Self::NotIn(values) => {
                value.is_none_or(|value| values.iter().all(|wanted| wanted != value))
            }
            Self::Exists => value.is_some(),
            Self::DoesNotExist => value.is_none(),
            Self::GreaterThan(bound) => number().is_some_and(|number| number > *bound),
            Self::LessThan(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token<'a> {
    /// A key, a value, or one of the words `in` and `notin`.
    Word(&'a str),
    Symbol(&'a str),
    End,
}

impl<'a> Token<'a> {
    fn text(self) -> &'a str {
        match self {
            Self::Word(text) | Self::Symbol(text) => text,
            Self::End => "",
        }
    }
}

const SYMBOLS: &[&str] = &["==", "!=", "=", "!", "(", ")", ",", ">", "<"];
const OPERATORS: &str = "in, notin, =, ==, !=, gt, lt";

fn tokens(text: &str) -> Vec<Token<'_>> {
    let is_symbol = |c: char| "=!(),><".contains(c);
    let mut tokens = Vec::new();
    // The real server takes a NUL for the end of the text.
    let mut rest = text.split('\0').next().unwrap_or_default();
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        if rest.is_empty() {
            return tokens;
        }
        let end = match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            Some(symbol) => symbol.len(),
            None => rest
                .find(|c: char| is_symbol(c) || " \t\r\n".contains(c))
                .unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(end);
        tokens.push(if token.starts_with(is_symbol) {
            Token::Symbol(token)
        } else {
            Token::Word(token)
        });
        rest = after;
    }
}

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            tokens: tokens(text),
            at: 0,
        }
    }

    fn peek(&self) -> Token<'a> {
        self.tokens.get(self.at).copied().unwrap_or(Token::End)
    }

    fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn selector(&mut self) -> Result<LabelSelector, String> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                Token::End => return Ok(LabelSelector { requirements }),
                Token::Word(_) | Token::Symbol("!") => {}
                Token::Symbol(other) => {
                    return Err(format!(
                        "found '{other}', expected: !, identifier, or 'end of string'"
                    ));
                }
            }
            let requirement = self
                .requirement()
                .map_err(|error| format!("unable to parse requirement: {error}"))?;
            requirements.push(requirement);
            match self.next() {
                Token::End => return Ok(LabelSelector { requirements }),
                Token::Symbol(",") => match self.peek() {
                    Token::Word(_) | Token::Symbol("!") => {}
                    other => {
                        return Err(format!(
                            "found '{}', expected: identifier after ','",
                            other.text()
                        ));
                    }
                },
                other => {
                    return Err(format!(
                        "found '{}', expected: ',' or 'end of string'",
                        other.text()
                    ));
                }
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let negated = self.peek() == Token::Symbol("!");
        if negated {
            self.at += 1;
        }
        let key = match self.next() {
            Token::Word(word) => word,
            other => return Err(format!("found '{}', expected: identifier", other.text())),
        };
        valid_key(key)?;
        if negated {
            return Ok(Requirement {
                key: key.into(),
                test: Test::DoesNotExist,
            });
        }
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Ok(Requirement {
                key: key.into(),
                test: Test::Exists,
            });
        }
        let operator = self.next();
        let test = match operator.text() {
            "in" => Test::In(self.values()?),
            "notin" => Test::NotIn(self.values()?),
            "=" | "==" => Test::In(vec![self.exact_value()?]),
            "!=" => Test::NotIn(vec![self.exact_value()?]),
            ">" => Test::GreaterThan(number(key, &self.exact_value()?)?),
            "<" => Test::LessThan(number(key, &self.exact_value()?)?),
            other => return Err(format!("found '{other}', expected: {OPERATORS}")),
        };
        if let Test::In(values) | Test::NotIn(values) = &test {
            valid_values(key, values)?;
        }
        Ok(Requirement {
            key: key.into(),
            test,
        })
    }

    fn exact_value(&mut self) -> Result<String, String> {
        match self.peek() {
            Token::End | Token::Symbol(",") => Ok(String::new()),
            Token::Word(word) => {
                self.at += 1;
                Ok(word.into())
            }
            Token::Symbol(other) => Err(format!("found '{other}', expected: identifier")),
        }
    }

    /// The values of a set, sorted, each once.
    fn values(&mut self) -> Result<Vec<String>, String> {
        match self.next() {
            Token::Symbol("(") => {}
            other => return Err(format!("found '{}' expected: '('", other.text())),
        }
        let mut values = Vec::new();
        match self.peek() {
            Token::Symbol(")") => values.push(String::new()),
            Token::Word(_) | Token::Symbol(",") => self.list(&mut values)?,
            other => {
                return Err(format!(
                    "found '{}', expected: ',', ')' or identifier",
                    other.text()
                ));
            }
        }
        self.at += 1;
        values.sort_unstable();
        values.dedup();
        Ok(values)
    }

    /// Reads up to the closing parenthesis. A value between two commas, or none at an end, is the empty one.
    fn list(&mut self, values: &mut Vec<String>) -> Result<(), String> {
        loop {
            match self.next() {
                Token::Word(word) => {
                    values.push(word.into());
                    match self.peek() {
                        Token::Symbol(",") => {}
                        Token::Symbol(")") => return Ok(()),
                        other => {
                            return Err(format!("found '{}', expected: ',' or ')'", other.text()));
                        }
                    }
                }
                Token::Symbol(",") => {
                    if values.is_empty() {
                        values.push(String::new());
                    }
                    match self.peek() {
                        Token::Symbol(")") => {
                            values.push(String::new());
                            return Ok(());
                        }
                        Token::Symbol(",") => values.push(String::new()),
                        _ => {}
                    }
                }
                other => {
                    return Err(format!(
                        "found '{}', expected: ',', or identifier",
                        other.text()
                    ));
                }
            }
        }
    }
}

fn valid_key(key: &str) -> Result<(), String> {
    let faults = label_key(key);
    if faults.is_empty() {
        return Ok(());
    }
    Err(FieldError::invalid("<nil>", key, faults.join("; ")).to_string())
}

fn valid_values(key: &str, values: &[String]) -> Result<(), String> {
    let mut errors = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let faults = label_value(value);
        if !faults.is_empty() {
            let path = format!("values[{index}][{key}]");
            errors.push(FieldError::invalid(path, value.as_str(), faults.join("; ")).to_string());
        }
    }
    match errors.len() {
        0 => Ok(()),
        1 => Err(errors.remove(0)),
        _ => Err(format!("[{}]", errors.join(", "))),
    }
}

fn number(key: &str, value: &str) -> Result<i64, String> {
    let number = value.parse().map_err(|_| {
        let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
        FieldError::invalid("values[0]", value, detail).to_string()
    })?;
    valid_values(key, &[value.to_owned()])?;
    Ok(number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn matches(selector: &str, labels: &Value) -> bool {
        LabelSelector::parse(selector)
            .unwrap()
            .matches(|key| labels.get(key).and_then(Value::as_str))
    }

    #[test]
    fn matching() {
        let labels = json!({"x": "1", "app.kubernetes.io/name": "web-1.x", "in": "in"});
        for (selector, expected) in [
            ("", true),
            ("x", true),
            ("!x", false),
            ("x=1", true),
            ("x==1,y!=2", true),
            ("x!=1", false),
            ("x in (1,2)", true),
            ("x in ( 1 )", true),
            ("x in (,1)", true),
            ("x in ()", false),
            ("x notin (1)", false),
            ("y notin (1)", true),
            ("x notin (1),x", false),
            ("app.kubernetes.io/name=web-1.x", true),
            ("in in (in)", true),
            ("x>0,x<2", true),
            ("x>1", false),
            ("y=", false),
        ] {
            assert_eq!(matches(selector, &labels), expected, "{selector}");
        }
        assert!(LabelSelector::parse("!x").unwrap().matches(|_| None));
    }

    #[test]
    fn texts_of_the_real_server() {
        for (selector, expected) in [
            (
                "x in 1",
                "unable to parse requirement: found '1' expected: '('",
            ),
            (
                "x in (1",
                "unable to parse requirement: found '', expected: ',' or ')'",
            ),
            (
                "x y",
                "unable to parse requirement: found 'y', expected: in, notin, =, ==, !=, gt, lt",
            ),
            ("x,", "found '', expected: identifier after ','"),
            (
                ",x",
                "found ',', expected: !, identifier, or 'end of string'",
            ),
            ("x=1 y", "found 'y', expected: ',' or 'end of string'"),
            (
                "!",
                "unable to parse requirement: found '', expected: identifier",
            ),
            (
                "x>a",
                "unable to parse requirement: values[0]: Invalid value: \"a\": for 'Gt', 'Lt' operators, the value must be an integer",
            ),
            (
                "a/b/c",
                "unable to parse requirement: <nil>: Invalid value: \"a/b/c\": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
            ),
        ] {
            let failure = LabelSelector::parse(selector).unwrap_err();
            assert_eq!(
                (failure.code, failure.message.as_str()),
                (400, expected),
                "{selector}"
            );
        }
        let value = LabelSelector::parse("x=-").unwrap_err();
        assert!(value.message.starts_with(
            "unable to parse requirement: values[0][x]: Invalid value: \"-\": a valid label"
        ));
    }

    proptest! {
        #[test]
        fn never_panics(selector in "[a-c/.=!(),<> \\x00ü-]{0,24}") {
            let _ = LabelSelector::parse(&selector);
        }

        #[test]
        fn one_of_a_set_is_in_it(values in proptest::collection::vec("[a-z0-9]{1,5}", 1..5), at in any::<prop::sample::Index>()) {
            let wanted = &values[at.index(values.len())];
            let labels = json!({"k": wanted});
            let in_set = format!("k in ({})", values.join(","));
            let not_in_set = format!("k notin ({})", values.join(","));
            prop_assert!(matches(&in_set, &labels));
            prop_assert!(!matches(&not_in_set, &labels));
        }
    }
}
