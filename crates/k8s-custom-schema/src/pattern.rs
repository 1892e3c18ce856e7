//! Regular expressions as Go reads them.

use regex::Regex;

/// A regular expression of a schema.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(crate) text: String,
    /// What Go says where it is none.
    pub(crate) compiled: Result<Regex, String>,
}

impl Pattern {
    pub(crate) fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            compiled: compile(text),
        }
    }
}

/// Compiles an expression in Go's syntax.
///
/// # Errors
///
/// The words in which Go refuses it.
pub(crate) fn compile(text: &str) -> Result<Regex, String> {
    if let Some(why) = refusal(text) {
        return Err(format!("error parsing regexp: {why}"));
    }
    Regex::new(&translate(text)).map_err(|error| {
        let why = error.to_string();
        let last = why
            .lines()
            .last()
            .unwrap_or("unknown")
            .trim_start_matches("error: ");
        format!("error parsing regexp: {last}: `{text}`")
    })
}

/// The classes of Go know ASCII only; inside brackets Go gives no meaning to `[`, `&&`, `--` and `~~`.
fn translate(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut chars = text.chars().peekable();
    let mut in_class = false;
    let mut class_start = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                let Some(next) = chars.next() else {
                    out.push('\\');
                    break;
                };
                match (next, in_class) {
                    ('d', true) => out.push_str("0-9"),
                    ('d', false) => out.push_str("[0-9]"),
                    ('D', _) => out.push_str("[^0-9]"),
                    ('w', true) => out.push_str("0-9A-Za-z_"),
                    ('w', false) => out.push_str("[0-9A-Za-z_]"),
                    ('W', _) => out.push_str("[^0-9A-Za-z_]"),
                    ('s', true) => out.push_str("\\t\\n\\f\\r "),
                    ('s', false) => out.push_str("[\\t\\n\\f\\r ]"),
                    ('S', _) => out.push_str("[^\\t\\n\\f\\r ]"),
                    ('b', false) => out.push_str("(?-u:\\b)"),
                    ('B', false) => out.push_str("(?-u:\\B)"),
                    ('Q', false) => {
                        let rest: String = chars.by_ref().collect();
                        let (quoted, after) = rest.split_once("\\E").unwrap_or((&rest, ""));
                        out.push_str(&regex::escape(quoted));
                        out.push_str(&translate(after));
                        break;
                    }
                    (next, _) => {
                        out.push('\\');
                        out.push(next);
                    }
                }
                class_start = false;
            }
            '[' if !in_class => {
                in_class = true;
                class_start = true;
                out.push('[');
                if chars.peek() == Some(&'^') {
                    chars.next();
                    out.push('^');
                }
            }
            ']' if in_class && !class_start => {
                in_class = false;
                out.push(']');
            }
            ']' if in_class => {
                out.push_str("\\]");
                class_start = false;
            }
            '[' => {
                // A named class, `[:alpha:]`, is the one thing that nests.
                if chars.peek() == Some(&':') {
                    out.push('[');
                    for c in chars.by_ref() {
                        out.push(c);
                        if c == ']' {
                            break;
                        }
                    }
                } else {
                    out.push_str("\\[");
                }
                class_start = false;
            }
            '{' if !in_class => {
                let rest: Vec<(usize, char)> = std::iter::once('{')
                    .chain(chars.clone())
                    .enumerate()
                    .collect();
                if counts(&rest, 0).is_none() {
                    out.push('\\');
                }
                out.push('{');
            }
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(c);
                class_start = false;
            }
            c => {
                class_start = false;
                out.push(c);
            }
        }
    }
    out
}

/// Why Go refuses an expression, for the faults that are seen: brackets, escapes, repetitions, Perl syntax.
fn refusal(text: &str) -> Option<String> {
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let at = |index: usize| chars.get(index).map(|(_, c)| *c);
    let from = |index: usize| chars.get(index).map_or(text.len(), |(offset, _)| *offset);
    let mut depth = 0_usize;
    let mut repeatable = false;
    let mut repeated_from: Option<usize> = None;
    let mut index = 0;
    while let Some(c) = at(index) {
        let start = index;
        match c {
            '\\' => match at(index + 1) {
                None => return Some("trailing backslash at end of expression: ``".into()),
                Some('Q') => {
                    match text[from(index)..].find("\\E") {
                        Some(end) => {
                            let end = from(index) + end;
                            while index < chars.len() && from(index) < end {
                                index += 1;
                            }
                        }
                        None => index = chars.len(),
                    }
                    index += 1;
                }
                Some(next) => {
                    let is_known =
                        !next.is_alphanumeric() || "abBCdDfnpPrsStvwWxzAE01234567".contains(next);
                    if !is_known {
                        return Some(format!("invalid escape sequence: `\\{next}`"));
                    }
                    index += 1;
                    if matches!(next, 'p' | 'P' | 'x') && at(index + 1) == Some('{') {
                        while at(index).is_some_and(|c| c != '}') {
                            index += 1;
                        }
                    }
                }
            },
            '[' => {
                index = match class_end(&chars, index) {
                    Ok(end) => end,
                    Err(Some((low, high))) => {
                        return Some(format!("invalid character class range: `{low}-{high}`"));
                    }
                    Err(None) => {
                        return Some(format!("missing closing ]: `{}`", &text[from(start)..]));
                    }
                };
            }
            '(' => {
                depth += 1;
                if at(index + 1) == Some('?') {
                    let rest: String = chars[index + 2..].iter().map(|(_, c)| *c).collect();
                    let named = rest.starts_with("P<")
                        || (rest.starts_with('<')
                            && !rest.starts_with("<=")
                            && !rest.starts_with("<!"));
                    if named {
                        while at(index).is_some_and(|c| c != '>') {
                            index += 1;
                        }
                    } else {
                        let flags: String =
                            rest.chars().take_while(|c| "imsU-".contains(*c)).collect();
                        let end = rest.chars().nth(flags.chars().count());
                        if !matches!(end, Some(':' | ')')) {
                            let length = 3 + flags.chars().count();
                            let shown: String = chars[index..]
                                .iter()
                                .take(length)
                                .map(|(_, c)| *c)
                                .collect();
                            return Some(format!("invalid or unsupported Perl syntax: `{shown}`"));
                        }
                        if end == Some(')') {
                            depth -= 1;
                            index += 2 + flags.chars().count();
                        } else {
                            index += 1;
                        }
                    }
                }
            }
            ')' => {
                if depth == 0 {
                    return Some(format!("unexpected ): `{text}`"));
                }
                depth -= 1;
            }
            '*' | '+' | '?' | '{' => {
                if c == '{' {
                    let Some((end, low, high)) = counts(&chars, index) else {
                        repeatable = true;
                        repeated_from = None;
                        index += 1;
                        continue;
                    };
                    let shown: String = chars[index..=end].iter().map(|(_, c)| *c).collect();
                    if low > 1000 || high.is_some_and(|high| high > 1000 || low > high) {
                        return Some(format!("invalid repeat count: `{shown}`"));
                    }
                    index = end;
                }
                let mut end = index;
                if at(end + 1) == Some('?') {
                    end += 1;
                }
                if let Some(first) = repeated_from {
                    let shown: String = chars[first..=end].iter().map(|(_, c)| *c).collect();
                    return Some(format!("invalid nested repetition operator: `{shown}`"));
                }
                if !repeatable {
                    let shown: String = chars[start..=end].iter().map(|(_, c)| *c).collect();
                    return Some(format!(
                        "missing argument to repetition operator: `{shown}`"
                    ));
                }
                repeated_from = Some(start);
                index = end + 1;
                continue;
            }
            _ => {}
        }
        repeatable = !matches!(c, '(' | '|');
        repeated_from = None;
        index += 1;
    }
    (depth > 0).then(|| format!("missing closing ): `{text}`"))
}

/// The index of the bracket that ends a class.
fn class_end(chars: &[(usize, char)], start: usize) -> Result<usize, Option<(char, char)>> {
    let at = |index: usize| chars.get(index).map(|(_, c)| *c);
    let mut index = start + 1;
    if at(index) == Some('^') {
        index += 1;
    }
    let first = index;
    loop {
        let c = at(index).ok_or(None)?;
        match c {
            ']' if index > first => return Ok(index),
            '\\' => index += 2,
            '[' if at(index + 1) == Some(':') => {
                while at(index).is_some_and(|c| c != ']') {
                    index += 1;
                }
                index += 1;
            }
            low => {
                let high = at(index + 2);
                if at(index + 1) == Some('-')
                    && let Some(high) = high.filter(|high| !matches!(high, ']' | '\\'))
                {
                    if low > high {
                        return Err(Some((low, high)));
                    }
                    index += 3;
                } else {
                    index += 1;
                }
            }
        }
    }
}

/// `{2,5}`: where it ends and what it says.
fn counts(chars: &[(usize, char)], start: usize) -> Option<(usize, u64, Option<u64>)> {
    let end = chars[start..].iter().position(|(_, c)| *c == '}')? + start;
    let inner: String = chars[start + 1..end].iter().map(|(_, c)| *c).collect();
    let number = |text: &str| {
        (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))
            .then(|| text.parse::<u64>().unwrap_or(u64::MAX))
    };
    match inner.split_once(',') {
        None => {
            let count = number(&inner)?;
            Some((end, count, Some(count)))
        }
        Some((low, "")) => Some((end, number(low)?, None)),
        Some((low, high)) => Some((end, number(low)?, Some(number(high)?))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matches() {
        for (pattern, text, expected) in [
            (r"^\d+$", "12", true),
            (r"^\d+$", "१", false),
            (r"^[\w-]+$", "a-b", true),
            (r"^[^\s]+$", "a b", false),
            (r"^[]a]+$", "]a", true),
            (r"^[[a]+$", "[a", true),
            (r"^[a&&b]$", "&", true),
            (r"^[[:alpha:]_]+$", "ab_", true),
            (r"^\Qa.b\E$", "a.b", true),
            (r"^(?i)abc$", "ABC", true),
            (r"^a{2,3}$", "aa", true),
            (r"a{,2}", "a{,2}", true),
        ] {
            assert_eq!(
                compile(pattern).map(|regex| regex.is_match(text)),
                Ok(expected),
                "{pattern}"
            );
        }
    }

    #[test]
    fn what_go_refuses() {
        for (pattern, expected) in [
            ("a(", "missing closing ): `a(`"),
            ("a)", "unexpected ): `a)`"),
            ("(?=a)b", "invalid or unsupported Perl syntax: `(?=`"),
            ("(?!a)b", "invalid or unsupported Perl syntax: `(?!`"),
            ("[a", "missing closing ]: `[a`"),
            ("[z-a]", "invalid character class range: `z-a`"),
            ("*a", "missing argument to repetition operator: `*`"),
            ("a**", "invalid nested repetition operator: `**`"),
            ("\\y", "invalid escape sequence: `\\y`"),
            ("a\\", "trailing backslash at end of expression: ``"),
            ("a{1001}", "invalid repeat count: `{1001}`"),
        ] {
            let expected = format!("error parsing regexp: {expected}");
            assert_eq!(compile(pattern).err(), Some(expected), "{pattern}");
        }
    }
}
