//! YAML as the real server writes it: YAML 1.1 in block style, keys in natural order, lines folded after 80 columns.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

/// A line is folded at the first blank after this column.
const WIDTH: usize = 80;

/// Longer keys are written with a question mark.
const SIMPLE_KEY: usize = 128;

/// The YAML of a JSON value.
pub(super) fn write(value: &Value) -> String {
    let mut writer = Writer::default();
    match value {
        Value::Object(map) if !map.is_empty() => writer.map(map, 0, true),
        Value::Array(items) if !items.is_empty() => writer.list(items, 0, true),
        flat => writer.flat(flat, 0),
    }
    writer.line();
    writer.out
}

#[derive(Default)]
struct Writer {
    out: String,
    column: usize,
}

impl Writer {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count();
    }

    fn put_char(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    /// Begins a line, unless one has just begun.
    fn line(&mut self) {
        if self.column > 0 {
            self.break_line();
        }
    }

    fn break_line(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    fn indent(&mut self, indent: usize) {
        self.line();
        self.put(&" ".repeat(indent));
    }

    fn map(&mut self, map: &Map<String, Value>, indent: usize, mut inline: bool) {
        let mut entries: Vec<(&String, &Value)> = map.iter().collect();
        entries.sort_by(|(left, _), (right, _)| natural(left, right));
        for (key, value) in entries {
            if !std::mem::take(&mut inline) {
                self.indent(indent);
            }
            if key.chars().count() > SIMPLE_KEY {
                self.put("? ");
                self.text(key, indent + 2, false);
                self.indent(indent);
            } else {
                self.text(key, indent + 2, true);
            }
            self.put(":");
            match value {
                Value::Object(map) if !map.is_empty() => self.map(map, indent + 2, false),
                // The dashes of a list stand below the key.
                Value::Array(items) if !items.is_empty() => self.list(items, indent, false),
                flat => {
                    self.put(" ");
                    self.flat(flat, indent + 2);
                }
            }
        }
    }

    fn list(&mut self, items: &[Value], indent: usize, mut inline: bool) {
        for item in items {
            if !std::mem::take(&mut inline) {
                self.indent(indent);
            }
            self.put("- ");
            match item {
                Value::Object(map) if !map.is_empty() => self.map(map, indent + 2, true),
                Value::Array(items) if !items.is_empty() => self.list(items, indent + 2, true),
                flat => self.flat(flat, indent + 2),
            }
        }
    }

    fn flat(&mut self, value: &Value, indent: usize) {
        match value {
            Value::Null => self.put("null"),
            Value::Bool(value) => self.put(if *value { "true" } else { "false" }),
            Value::Number(value) => self.put(&number(value)),
            Value::String(text) => self.text(text, indent, false),
            Value::Array(_) => self.put("[]"),
            Value::Object(_) => self.put("{}"),
        }
    }

    fn text(&mut self, text: &str, indent: usize, is_key: bool) {
        match style(text, is_key) {
            Style::Plain => self.folded(text, indent, is_key, ""),
            Style::Single => self.folded(text, indent, is_key, "'"),
            Style::Double => self.double(text, indent, is_key),
            Style::Literal => self.literal(text, indent),
        }
    }

    /// Plain or in single quotes: what can be read back without escapes.
    fn folded(&mut self, text: &str, indent: usize, is_key: bool, quote: &str) {
        self.put(quote);
        let mut after_blank = false;
        let mut chars = text.chars().enumerate().peekable();
        while let Some((index, c)) = chars.next() {
            let next = chars.peek().map(|(_, c)| *c);
            if c == ' ' {
                let inner = quote.is_empty() || (index > 0 && next.is_some());
                if !is_key && !after_blank && self.column > WIDTH && inner && next != Some(' ') {
                    self.indent(indent);
                } else {
                    self.put_char(c);
                }
                after_blank = true;
                continue;
            }
            if c == '\'' && !quote.is_empty() {
                self.put_char('\'');
            }
            self.put_char(c);
            after_blank = false;
        }
        self.put(quote);
    }

    fn double(&mut self, text: &str, indent: usize, is_key: bool) {
        self.put("\"");
        let mut after_blank = false;
        let mut chars = text.chars().enumerate().peekable();
        while let Some((index, c)) = chars.next() {
            let next = chars.peek().map(|(_, c)| *c);
            if c == ' ' {
                if !is_key && !after_blank && self.column > WIDTH && index > 0 && next.is_some() {
                    self.indent(indent);
                    if next == Some(' ') {
                        self.put_char('\\');
                    }
                } else {
                    self.put_char(c);
                }
                after_blank = true;
                continue;
            }
            if is_printable(c) && !is_break(c) && c != '"' && c != '\\' {
                self.put_char(c);
            } else {
                self.put(&escape(c));
            }
            after_blank = false;
        }
        self.put("\"");
    }

    fn literal(&mut self, text: &str, indent: usize) {
        self.put("|");
        if text.starts_with([' ', '\n']) {
            self.put("2");
        }
        match text.strip_suffix('\n') {
            None => self.put("-"),
            Some(rest) if rest.is_empty() || rest.ends_with('\n') => self.put("+"),
            Some(_) => {}
        }
        self.break_line();
        for line in text.split_inclusive('\n') {
            let content = line.strip_suffix('\n').unwrap_or(line);
            if !content.is_empty() {
                self.put(&" ".repeat(indent));
                self.put(content);
            }
            if content.len() < line.len() {
                self.break_line();
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

fn style(text: &str, is_key: bool) -> Style {
    let special = text.chars().any(|c| !is_printable(c));
    let wide_break = text.chars().any(|c| is_break(c) && c != '\n');
    if text.contains('\n') {
        let literal = !special && !wide_break && !text.ends_with(' ') && !is_key;
        return if literal {
            Style::Literal
        } else {
            Style::Double
        };
    }
    if !reads_as_text(text) || special || wide_break {
        return Style::Double;
    }
    if is_plain(text) {
        Style::Plain
    } else {
        Style::Single
    }
}

/// Whether a text of one line means itself without quotes.
fn is_plain(text: &str) -> bool {
    if text.starts_with(' ')
        || text.ends_with(' ')
        || text.starts_with("---")
        || text.starts_with("...")
    {
        return false;
    }
    let mut after_blank = true;
    let mut chars = text.chars().enumerate().peekable();
    while let Some((index, c)) = chars.next() {
        let before_blank = chars.peek().is_none_or(|(_, next)| *next == ' ');
        let indicates = match c {
            '#' => after_blank,
            ':' => before_blank,
            '?' | '-' => index == 0 && before_blank,
            ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@'
            | '`' => index == 0,
            _ => false,
        };
        if indicates {
            return false;
        }
        after_blank = c == ' ';
    }
    true
}

/// Whether a text without quotes is read as a text, and not as a number, a time or a word with a meaning.
fn reads_as_text(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "", "~", "null", "Null", "NULL", "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE",
        "on", "On", "ON", "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off",
        "OFF", ".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf",
        "-.Inf", "-.INF",
    ];
    if WORDS.contains(&text) {
        return false;
    }
    match text.as_bytes().first() {
        Some(b'.') => !is_decimal(text),
        Some(b'+' | b'-' | b'0'..=b'9') => {
            let plain = text.replace('_', "");
            !(is_time(text) || is_integer(&plain) || is_decimal(&plain) || is_base_60(text))
        }
        _ => true,
    }
}

/// An integer with the prefix of its base; others are decimals, too.
fn is_integer(text: &str) -> bool {
    let (negative, digits) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    let (base, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        _ => return false,
    };
    if digits.starts_with(['+', '-']) {
        return false;
    }
    match u64::from_str_radix(digits, base) {
        Ok(number) => !negative || number <= 1 << 63,
        Err(_) => false,
    }
}

/// Digits with a point and an exponent, within the range of a float.
fn is_decimal(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa_fits = match mantissa.split_once('.') {
        Some(("", fraction)) => !fraction.is_empty() && digits(fraction),
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => !mantissa.is_empty() && digits(mantissa),
    };
    let exponent_fits = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    mantissa_fits && exponent_fits && unsigned.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Numbers like 12:30, which are quoted for other readers.
fn is_base_60(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let number = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'_')
    };
    let mut parts = whole.split(':');
    let first = parts.next().unwrap_or_default();
    let mut sixties = parts.peekable();
    sixties.peek().is_some()
        && first.starts_with(|c: char| c.is_ascii_digit())
        && number(first)
        && number(fraction)
        && sixties.all(|part| match part.as_bytes() {
            [digit] => digit.is_ascii_digit(),
            [tens, digit] => (b'0'..=b'5').contains(tens) && digit.is_ascii_digit(),
            _ => false,
        })
}

/// A date, or a date and a time.
fn is_time(text: &str) -> bool {
    fn digits<'a>(text: &mut &'a str, least: usize, most: usize) -> Option<&'a str> {
        let count = text
            .bytes()
            .take(most)
            .take_while(u8::is_ascii_digit)
            .count();
        let (found, rest) = text.split_at_checked(count).filter(|_| count >= least)?;
        *text = rest;
        Some(found)
    }
    fn number(text: &mut &str, range: std::ops::RangeInclusive<u32>) -> Option<u32> {
        digits(text, 1, 2)?
            .parse()
            .ok()
            .filter(|number| range.contains(number))
    }
    fn mark(text: &mut &str, mark: &[char]) -> Option<()> {
        *text = text.strip_prefix(mark)?;
        Some(())
    }
    fn time(mut rest: &str) -> Option<()> {
        let year: u32 = digits(&mut rest, 4, 4)?.parse().ok()?;
        mark(&mut rest, &['-'])?;
        let month = number(&mut rest, 1..=12)?;
        mark(&mut rest, &['-'])?;
        let leap =
            year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let last = match month {
            2 => 28 + u32::from(leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        number(&mut rest, 1..=last)?;
        if rest.is_empty() {
            return Some(());
        }
        let zoned = !rest.starts_with(' ');
        mark(&mut rest, &['T', 't', ' '])?;
        number(&mut rest, 0..=23)?;
        mark(&mut rest, &[':'])?;
        number(&mut rest, 0..=59)?;
        mark(&mut rest, &[':'])?;
        number(&mut rest, 0..=59)?;
        if mark(&mut rest, &['.', ',']).is_some() {
            digits(&mut rest, 1, usize::MAX)?;
        }
        if zoned && mark(&mut rest, &['Z']).is_none() {
            mark(&mut rest, &['+', '-'])?;
            digits(&mut rest, 2, 2)?;
            mark(&mut rest, &[':'])?;
            digits(&mut rest, 2, 2)?;
        }
        rest.is_empty().then_some(())
    }
    time(text).is_some()
}

fn number(number: &Number) -> String {
    if !number.is_f64() {
        return number.to_string();
    }
    let value = number.as_f64().unwrap_or_default();
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
        }
        _ => format!("{value}"),
    }
}

fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}')
        && c != '\u{feff}'
}

fn escape(c: char) -> String {
    let short = match c {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' | '\\' => c,
        '\u{85}' => 'N',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => {
            return match u32::from(c) {
                code @ 0..=0xff => format!("\\x{code:02X}"),
                code @ 0x100..=0xffff => format!("\\u{code:04X}"),
                code => format!("\\U{code:08X}"),
            };
        }
    };
    format!("\\{short}")
}

/// The order of keys: letters after everything else, runs of digits by their value.
fn natural(left: &str, right: &str) -> Ordering {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let Some(at) = left
        .iter()
        .zip(&right)
        .position(|(left, right)| left != right)
    else {
        return left.len().cmp(&right.len());
    };
    let (l, r) = (left[at], right[at]);
    match (l.is_alphabetic(), r.is_alphabetic()) {
        (true, true) => return l.cmp(&r),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    let digits = left[..at].iter().rev().take_while(|c| c.is_ascii_digit());
    // Zeros that follow other digits count.
    let continues = (l == '0' || r == '0') && digits.clone().any(|c| *c != '0');
    let run = |text: &[char]| {
        let run = text[at..].iter().map_while(|c| c.to_digit(10));
        run.fold((i64::from(continues), at), |(value, end), digit| {
            (value.wrapping_mul(10).wrapping_add(digit.into()), end + 1)
        })
    };
    run(&left).cmp(&run(&right)).then(l.cmp(&r))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn as_the_real_server() {
        let value = json!({
            "kind": "ConfigMap", "apiVersion": "v1",
            "metadata": {"name": "a", "labels": {}, "finalizers": [], "managedFields": [{"time": "2026-11-30T14:17:03Z", "f": {".": {}}}]},
            "data": {
                "k10": "1", "k2": "yes", "text": "a\nb\n", "keep": "a\n\n", "strip": "a\n b", "lead": "  a\nb\n", "tab": "a\tb\nc",
                "colon": "a: b", "hash": "a #b", "dash": "- a", "quote": "it's: so", "empty": "", "date": "2026-01-02",
                "octal": "0o17", "sixty": "12:30:45", "smile": "\u{1f600}", "umlaut": "ü", "spaces": " a ", "version": "1.2.3", "e": "1e3",
            },
            "numbers": [1, -2, 1.5, 1_234_567.5, 0.00001, true, null],
            "nested": [[1, [2]], [{"a": [{"b": 1}]}]],
            "message": "only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch",
            "plain": "you requested PartialObjectMetadata, but the requested object is a list (*apps.DeploymentList) and so on",
        });
        let expected = r#"apiVersion: v1
data:
  colon: 'a: b'
  dash: '- a'
  date: "2026-01-02"
  e: "1e3"
  empty: ""
  hash: 'a #b'
  k2: "yes"
  k10: "1"
  keep: |+
    a

  lead: |2
      a
    b
  octal: "0o17"
  quote: 'it''s: so'
  sixty: "12:30:45"
  smile: "\U0001F600"
  spaces: ' a '
  strip: |-
    a
     b
  tab: "a\tb\nc"
  text: |
    a
    b
  umlaut: ü
  version: 1.2.3
kind: ConfigMap
message: 'only the following media types are accepted: application/json;stream=watch,
  application/vnd.kubernetes.protobuf;stream=watch'
metadata:
  finalizers: []
  labels: {}
  managedFields:
  - f:
      .: {}
    time: "2026-11-30T14:17:03Z"
  name: a
nested:
- - 1
  - - 2
- - a:
    - b: 1
numbers:
- 1
- -2
- 1.5
- 1.2345675e+06
- 1e-05
- true
- null
plain: you requested PartialObjectMetadata, but the requested object is a list (*apps.DeploymentList)
  and so on
"#;
        assert_eq!(write(&value), expected);
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[ a-z0-9:#'\"\\-\n\té\u{1f600}.,?!{}\\[\\]%@_+]{0,12}".prop_map(Value::from),
            "([a-z ]{0,9} ){9,14}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("[a-z0-9:\\-# ]{1,6}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn comes_back_as_it_was(value in json()) {
            let text = write(&value);
            let back: Value = serde_saphyr::from_str(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
            prop_assert_eq!(back, value, "{}", text);
        }
    }
}
