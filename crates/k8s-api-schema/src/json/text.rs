//! A reader of JSON that was checked.

use std::borrow::Cow;

use super::scan;

/// What a value begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl Kind {
    /// As errors name it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

/// Reads a text that [`check`](scan::check) let through.
#[derive(Clone, Debug)]
pub(super) struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    fn byte(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(b' ')
    }

    fn space(&mut self) {
        while self.at < self.text.len() && matches!(self.byte(), b' ' | b'\t' | b'\r' | b'\n') {
            self.at += 1;
        }
    }

    /// What comes next.
    pub(super) fn kind(&mut self) -> Kind {
        self.space();
        match self.byte() {
            b'{' => Kind::Object,
            b'[' => Kind::Array,
            b'"' => Kind::String,
            b't' | b'f' => Kind::Bool,
            b'n' => Kind::Null,
            _ => Kind::Number,
        }
    }

    /// Passes over a value, and gives its text.
    pub(super) fn skip(&mut self) -> &'a [u8] {
        self.space();
        let start = self.at;
        self.at = scan::end_of_value(self.text, start);
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Goes into a list or an object.
    pub(super) fn open(&mut self) {
        self.space();
        self.at += 1;
    }

    /// Goes to the next item, or out of the list after the last one.
    pub(super) fn next_item(&mut self) -> bool {
        self.space();
        match self.byte() {
            b',' => {
                self.at += 1;
                true
            }
            b']' => {
                self.at += 1;
                false
            }
            _ => self.at < self.text.len(),
        }
    }

    /// Goes to the next value of an object and gives its key, or goes out of it after the last one.
    pub(super) fn next_key(&mut self) -> Option<Cow<'a, str>> {
        self.space();
        match self.byte() {
            b',' => self.at += 1,
            b'}' => {
                self.at += 1;
                return None;
            }
            _ if self.at >= self.text.len() => return None,
            _ => {}
        }
        let key = self.string();
        self.space();
        // The colon.
        self.at += 1;
        Some(key)
    }

    pub(super) fn bool(&mut self) -> bool {
        self.skip() == b"true"
    }

    /// The digits of a number.
    pub(super) fn number(&mut self) -> &'a str {
        std::str::from_utf8(self.skip()).unwrap_or_default()
    }

    /// A text; what is not valid in it is replaced.
    pub(super) fn string(&mut self) -> Cow<'a, str> {
        self.space();
        let start = self.at + 1;
        let mut end = start;
        let mut plain = true;
        loop {
            match self.text.get(end) {
                None | Some(b'"') => break,
                Some(b'\\') => {
                    plain = false;
                    end += 2;
                }
                Some(_) => end += 1,
            }
        }
        self.at = end + 1;
        let inner = self.text.get(start..end).unwrap_or_default();
        if plain {
            return lossy(inner);
        }
        Cow::Owned(unescape(inner))
    }
}

/// Each byte that is no UTF-8 becomes a character that says so.
fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Cow::Owned(out)
}

fn unescape(inner: &[u8]) -> String {
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        out.push_str(&lossy(&rest[..at]));
        rest = rest.get(at + 1..).unwrap_or_default();
        let Some((escape, after)) = rest.split_first() else {
            break;
        };
        rest = after;
        out.push(match escape {
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let (character, after) = unicode(rest);
                rest = after;
                character
            }
            other => char::from(*other),
        });
    }
    out.push_str(&lossy(rest));
    out
}

/// The character of the four digits, or of two halves of a pair; and what follows.
fn unicode(rest: &[u8]) -> (char, &[u8]) {
    let Some(first) = four_digits(rest) else {
        return (char::REPLACEMENT_CHARACTER, rest);
    };
    let after = &rest[4..];
    if let Some(character) = char::from_u32(first) {
        return (character, after);
    }
    let second = after.strip_prefix(b"\\u").and_then(four_digits);
    if let (0xd800..=0xdbff, Some(low @ 0xdc00..=0xdfff)) = (first, second) {
        let code = 0x1_0000 + ((first - 0xd800) << 10) + (low - 0xdc00);
        let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        return (character, &after[6..]);
    }
    (char::REPLACEMENT_CHARACTER, after)
}

fn four_digits(text: &[u8]) -> Option<u32> {
    let digits = std::str::from_utf8(text.get(..4)?).ok()?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_unescaped_and_mended() {
        for (text, expected) in [
            (&br#""plain""#[..], "plain"),
            (br#""a\"\\\/\b\f\n\r\t""#, "a\"\\/\u{8}\u{c}\n\r\t"),
            (br#""\u00e9\ud83d\ude00""#, "é😀"),
            (br#""\ud83d x \ude00""#, "\u{fffd} x \u{fffd}"),
            (br#""\ud83d\u0041""#, "\u{fffd}A"),
            (b"\"a\xff\xfeb\"", "a\u{fffd}\u{fffd}b"),
            (b"\"a\xff\\n\"", "a\u{fffd}\n"),
        ] {
            assert_eq!(scan::check(text), Ok(()));
            assert_eq!(Reader::new(text).string(), expected);
        }
    }
}
