//! Regular expressions as Go reads them.

use std::iter::Peekable;
use std::str::Chars;

use regex::{Regex, RegexBuilder};

use crate::stack;

/// How deep groups and repetitions may nest; Go's.
const MAX_NESTING: u32 = 1000;
/// How often a part of an expression may be repeated, repetitions within repetitions multiplied; Go's.
const MAX_REPEATS: u64 = 1000;

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
    let depth = Scan::new(text)
        .run()
        .map_err(|why| format!("error parsing regexp: {why}"))?;
    let build = || {
        let mut builder = RegexBuilder::new(&translate(text));
        builder.nest_limit(MAX_NESTING).build()
    };
    stack::for_depth(depth, build)?.map_err(|error| {
        let why = error.to_string();
        let last = why
            .lines()
            .last()
            .unwrap_or("unknown")
            .trim_start_matches("error: ");
        format!("error parsing regexp: {last}: `{text}`")
    })
}

/// More letters than the longest `{2,5}` has that is one.
const LONGEST_COUNT: usize = 64;

/// What follows a backslash.
fn escape(chars: &mut Peekable<Chars<'_>>, in_class: bool, out: &mut String) {
    let Some(next) = chars.next() else {
        out.push('\\');
        return;
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
        ('Q', false) => quoted(chars, out),
        ('0'..='7', _) => octal(next, chars, out),
        ('p' | 'P' | 'x', _) => {
            out.push('\\');
            out.push(next);
            // The braces are part of it.
            if chars.peek() == Some(&'{') {
                for c in chars.by_ref() {
                    out.push(c);
                    if c == '}' {
                        break;
                    }
                }
            }
        }
        (next, _) => {
            out.push('\\');
            out.push(next);
        }
    }
}

/// Everything up to `\E` stands for itself.
fn quoted(chars: &mut Peekable<Chars<'_>>, out: &mut String) {
    while let Some(c) = chars.next() {
        if c == '\\' && chars.next_if_eq(&'E').is_some() {
            return;
        }
        out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
    }
}

/// Up to three digits; a lone one that is not zero is a reference, which there is not.
fn octal(first: char, chars: &mut Peekable<Chars<'_>>, out: &mut String) {
    let mut code = first.to_digit(8).unwrap_or_default();
    for _ in 0..2 {
        let Some(digit) = chars.peek().and_then(|c| c.to_digit(8)) else {
            break;
        };
        chars.next();
        code = code * 8 + digit;
    }
    out.extend(["\\x{", &format!("{code:x}"), "}"]);
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
                escape(&mut chars, in_class, &mut out);
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
                let is_count = chars.peek().is_some_and(char::is_ascii_digit) && {
                    let rest = std::iter::once('{').chain(chars.clone().take(LONGEST_COUNT));
                    let rest: Vec<(usize, char)> = rest.enumerate().collect();
                    counts(&rest, 0).is_some()
                };
                if !is_count {
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

/// The way through an expression, in characters, for the faults that are seen: brackets, escapes, repetitions, Perl
/// syntax.
struct Scan<'a> {
    text: &'a str,
    /// With their offsets in bytes.
    chars: Vec<(usize, char)>,
    index: usize,
    /// Groups that are open.
    depth: usize,
    /// The most of them that are open at a time.
    deepest: usize,
    /// Whether what was read last can be repeated.
    repeatable: bool,
    /// Where the repetition starts that was read last.
    repeated_from: Option<usize>,
    /// How often what was read last repeats its parts at most.
    last: u64,
    /// The same of all that was read in each group that is open, and outside of them.
    repeats: Vec<u64>,
}

impl<'a> Scan<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            chars: text.char_indices().collect(),
            index: 0,
            depth: 0,
            deepest: 0,
            repeatable: false,
            repeated_from: None,
            last: 1,
            repeats: vec![1],
        }
    }

    fn at(&self, index: usize) -> Option<char> {
        self.chars.get(index).map(|(_, c)| *c)
    }

    fn offset(&self, index: usize) -> usize {
        let offset = self.chars.get(index).map(|(offset, _)| *offset);
        offset.unwrap_or(self.text.len())
    }

    /// What is between two characters, without the second.
    fn between(&self, start: usize, end: usize) -> &'a str {
        &self.text[self.offset(start)..self.offset(end)]
    }

    fn skip_to(&mut self, end: char) {
        while self.at(self.index).is_some_and(|c| c != end) {
            self.index += 1;
        }
    }

    /// How deep groups nest, or why Go refuses the expression.
    fn run(mut self) -> Result<usize, String> {
        while let Some(c) = self.at(self.index) {
            match c {
                '\\' => self.escape()?,
                '[' => self.class()?,
                '(' => self.group()?,
                ')' if self.depth == 0 => return Err(format!("unexpected ): `{}`", self.text)),
                ')' => self.close(),
                '*' | '+' | '?' => {
                    self.repetition(self.index, self.index)?;
                    continue;
                }
                '{' => {
                    if let Some((end, times)) = self.counted()? {
                        let start = self.index;
                        self.repetition(start, end)?;
                        self.multiply(times, start, end)?;
                        continue;
                    }
                }
                _ => {}
            }
            if !matches!(c, ')') {
                self.last = 1;
            }
            self.repeatable = !matches!(c, '(' | '|');
            self.repeated_from = None;
            self.index += 1;
        }
        if self.depth > 0 {
            return Err(format!("missing closing ): `{}`", self.text));
        }
        Ok(self.deepest)
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.last = self.repeats.pop().unwrap_or(1);
        self.note();
    }

    fn note(&mut self) {
        if let Some(most) = self.repeats.last_mut() {
            *most = (*most).max(self.last);
        }
    }

    /// What was read last is repeated that often.
    fn multiply(&mut self, times: u64, start: usize, end: usize) -> Result<(), String> {
        self.last = self.last.saturating_mul(times.max(1));
        self.note();
        if times > 1 && self.last > MAX_REPEATS {
            let shown = self.between(start, end + 1);
            return Err(format!("invalid repeat count: `{shown}`"));
        }
        Ok(())
    }

    /// From a backslash to the last character that belongs to it.
    fn escape(&mut self) -> Result<(), String> {
        let Some(next) = self.at(self.index + 1) else {
            return Err("trailing backslash at end of expression: ``".into());
        };
        if next == 'Q' {
            let start = self.offset(self.index);
            match self.text[start..].find("\\E") {
                Some(length) => {
                    while self.offset(self.index) < start + length {
                        self.index += 1;
                    }
                }
                None => self.index = self.chars.len(),
            }
            self.index += 1;
            return Ok(());
        }
        if next.is_alphanumeric() && !"abBCdDfnpPrsStvwWxzAE01234567".contains(next) {
            return Err(format!("invalid escape sequence: `\\{next}`"));
        }
        let is_octal = |c: Option<char>| c.is_some_and(|c| c.is_digit(8));
        if next != '0' && is_octal(Some(next)) && !is_octal(self.at(self.index + 2)) {
            return Err(format!("invalid escape sequence: `\\{next}`"));
        }
        self.index += 1;
        if matches!(next, 'p' | 'P' | 'x') && self.at(self.index + 1) == Some('{') {
            self.skip_to('}');
        }
        Ok(())
    }

    /// From a bracket to the one that ends the class.
    fn class(&mut self) -> Result<(), String> {
        self.index = class_end(&self.chars, self.index).map_err(|range| match range {
            Some((low, high)) => format!("invalid character class range: `{low}-{high}`"),
            None => format!(
                "missing closing ]: `{}`",
                &self.text[self.offset(self.index)..]
            ),
        })?;
        Ok(())
    }

    /// From a parenthesis to the last character of what says what kind of group it is.
    fn group(&mut self) -> Result<(), String> {
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        if self.depth >= MAX_NESTING as usize {
            return Err(format!("expression nests too deeply: `{}`", self.text));
        }
        self.repeats.push(1);
        if self.at(self.index + 1) != Some('?') {
            return Ok(());
        }
        let rest = &self.text[self.offset(self.index + 2)..];
        let looks_behind = rest.starts_with("<=") || rest.starts_with("<!");
        if rest.starts_with("P<") || (rest.starts_with('<') && !looks_behind) {
            self.skip_to('>');
            return Ok(());
        }
        let flags = rest.chars().take_while(|c| "imsU-".contains(*c)).count();
        match rest.chars().nth(flags) {
            Some(')') => {
                self.close();
                self.index += 2 + flags;
            }
            Some(':') => self.index += 1,
            _ => {
                let shown = self.between(self.index, self.index + 3 + flags);
                return Err(format!("invalid or unsupported Perl syntax: `{shown}`"));
            }
        }
        Ok(())
    }

    /// Where the `{2,5}` ends that starts here, if it is one, and how often it repeats.
    fn counted(&self) -> Result<Option<(usize, u64)>, String> {
        let Some((end, low, high)) = counts(&self.chars, self.index) else {
            return Ok(None);
        };
        if low > 1000 || high.is_some_and(|high| high > 1000 || low > high) {
            let shown = self.between(self.index, end + 1);
            return Err(format!("invalid repeat count: `{shown}`"));
        }
        Ok(Some((end, high.unwrap_or(low))))
    }

    /// Past a repetition.
    fn repetition(&mut self, start: usize, mut end: usize) -> Result<(), String> {
        if self.at(end + 1) == Some('?') {
            end += 1;
        }
        if let Some(first) = self.repeated_from {
            let shown = self.between(first, end + 1);
            return Err(format!("invalid nested repetition operator: `{shown}`"));
        }
        if !self.repeatable {
            let shown = self.between(start, end + 1);
            return Err(format!(
                "missing argument to repetition operator: `{shown}`"
            ));
        }
        self.repeated_from = Some(start);
        self.index = end + 1;
        Ok(())
    }
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
    let is_inner = |c: char| c.is_ascii_digit() || c == ',';
    let mut behind = chars[start + 1..].iter();
    let end = start + 1 + behind.position(|(_, c)| !is_inner(*c))?;
    if chars[end].1 != '}' {
        return None;
    }
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
            (r"^\p{L}+\P{L}[\p{Greek}]$", "äb1λ", true),
            (r"^\pN$", "7", true),
            (r"^\x{1F600}\x41$", "😀A", true),
            (r"^\012\1012$", "\nA2", true),
            (r"^((a{10}){10}){10}$", &"a".repeat(1000), true),
            (
                &format!("^{}a{}$", "(".repeat(900), ")".repeat(900)),
                "a",
                true,
            ),
        ] {
            assert_eq!(
                compile(pattern).map(|regex| regex.is_match(text)),
                Ok(expected),
                "{pattern:.40}"
            );
        }
    }

    #[test]
    fn what_nests_too_deeply() {
        let pattern = format!("{}{}", "(".repeat(1100), ")".repeat(1100));
        let expected = format!("error parsing regexp: expression nests too deeply: `{pattern}`");
        assert_eq!(compile(&pattern).err(), Some(expected));
    }

    #[test]
    fn long_expressions_are_read_or_refused_soon() {
        for part in [
            "\\Qa\\E", "\\Q", "{", "a{", "[", "[[:", "(", "a|", "\\101", "\\x{61}", "\\p{", "a{2}",
        ] {
            let _ = compile(&part.repeat(100_000));
        }
        assert!(compile(r"^\Qa\E\Q.\E$").unwrap().is_match("a."));
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
            ("(a{100}){100}", "invalid repeat count: `{100}`"),
            ("((ab{20}|c){20}d){3}", "invalid repeat count: `{3}`"),
            ("(a)\\1", "invalid escape sequence: `\\1`"),
        ] {
            let expected = format!("error parsing regexp: {expected}");
            assert_eq!(compile(pattern).err(), Some(expected), "{pattern}");
        }
    }
}
