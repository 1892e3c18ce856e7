//! The syntax of JSON, and its errors in the words of the server. Never calls itself: depth costs a byte.

use crate::field_error::quote;

/// How deep lists and objects may be nested.
pub const MAX_DEPTH: usize = 10_000;

/// Checks that a text is one JSON value.
///
/// # Errors
///
/// What is wrong with it, in the words of the server.
pub fn check(text: &[u8]) -> Result<(), String> {
    let mut scanner = Scanner { text, at: 0 };
    scanner.value()?;
    scanner.space();
    match scanner.peek() {
        None => Ok(()),
        Some(_) => Err(scanner.unexpected("after top-level value")),
    }
}

/// Where the value that begins at `start` ends, in a text that was checked.
pub(super) fn end_of_value(text: &[u8], start: usize) -> usize {
    let mut scanner = Scanner { text, at: start };
    // It was checked.
    let _ = scanner.value();
    scanner.at
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// The error for the byte at hand, or for the end of the text.
    fn unexpected(&self, place: &str) -> String {
        match self.peek() {
            None => "unexpected end of JSON input".into(),
            Some(b'\'') => format!(r"invalid character '\'' {place}"),
            Some(b'"') => format!("invalid character '\"' {place}"),
            Some(byte) => {
                let quoted = quote(&char::from(byte).to_string());
                let inner = &quoted[1..quoted.len() - 1];
                format!("invalid character '{inner}' {place}")
            }
        }
    }

    /// One value with all that is in it.
    fn value(&mut self) -> Result<(), String> {
        // The brackets that are open.
        let mut open: Vec<u8> = Vec::new();
        loop {
            self.space();
            match self.peek() {
                Some(bracket @ (b'{' | b'[')) => {
                    if open.len() == MAX_DEPTH {
                        return Err(self.unexpected("exceeded max depth"));
                    }
                    self.at += 1;
                    self.space();
                    let close = if bracket == b'{' { b'}' } else { b']' };
                    if self.peek() == Some(close) {
                        self.at += 1;
                    } else {
                        open.push(bracket);
                        if bracket == b'{' {
                            self.key()?;
                        }
                        continue;
                    }
                }
                Some(b'"') => self.string()?,
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.literal("true")?,
                Some(b'f') => self.literal("false")?,
                Some(b'n') => self.literal("null")?,
                _ => return Err(self.unexpected("looking for beginning of value")),
            }
            if self.after_value(&mut open)? {
                return Ok(());
            }
        }
    }

    /// What follows a value, up to the next one; whether all of it is over.
    fn after_value(&mut self, open: &mut Vec<u8>) -> Result<bool, String> {
        while let Some(bracket) = open.last() {
            self.space();
            match (bracket, self.peek()) {
                (b'{', Some(b',')) => {
                    self.at += 1;
                    self.space();
                    self.key()?;
                    return Ok(false);
                }
                (b'[', Some(b',')) => {
                    self.at += 1;
                    return Ok(false);
                }
                (b'{', Some(b'}')) | (b'[', Some(b']')) => {
                    self.at += 1;
                    open.pop();
                }
                (b'{', _) => return Err(self.unexpected("after object key:value pair")),
                _ => return Err(self.unexpected("after array element")),
            }
        }
        Ok(true)
    }

    /// A key and its colon.
    fn key(&mut self) -> Result<(), String> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("looking for beginning of object key string"));
        }
        self.string()?;
        self.space();
        if self.peek() != Some(b':') {
            return Err(self.unexpected("after object key"));
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) -> Result<(), String> {
        self.at += 1;
        loop {
            match self.peek() {
                None | Some(0..=0x1f) => return Err(self.unexpected("in string literal")),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape()?;
                }
                Some(_) => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Result<(), String> {
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 1;
                Ok(())
            }
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                        return Err(self.unexpected(r"in \u hexadecimal character escape"));
                    }
                    self.at += 1;
                }
                Ok(())
            }
            _ => Err(self.unexpected("in string escape code")),
        }
    }

    fn digits(&mut self, place: &str) -> Result<(), String> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(self.unexpected(place));
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), String> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits("in numeric literal")?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits("after decimal point in numeric literal")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits("in exponent of numeric literal")?;
        }
        Ok(())
    }

    fn literal(&mut self, word: &str) -> Result<(), String> {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                let place = format!("in literal {word} (expecting '{}')", char::from(expected));
                return Err(self.unexpected(&place));
            }
            self.at += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_the_byte_and_the_place() {
        for (body, expected) in [
            ("", "unexpected end of JSON input"),
            ("{", "unexpected end of JSON input"),
            ("{} trailing", "invalid character 't' after top-level value"),
            (
                "{a",
                "invalid character 'a' looking for beginning of object key string",
            ),
            (
                r#"{"a":1,}"#,
                "invalid character '}' looking for beginning of object key string",
            ),
            (
                "[1,]",
                "invalid character ']' looking for beginning of value",
            ),
            (r#"{"a" 1"#, "invalid character '1' after object key"),
            (
                r#"{"a":1 2"#,
                "invalid character '2' after object key:value pair",
            ),
            ("[1 2", "invalid character '2' after array element"),
            ("-x", "invalid character 'x' in numeric literal"),
            (
                "1.x",
                "invalid character 'x' after decimal point in numeric literal",
            ),
            (
                "nul1",
                "invalid character '1' in literal null (expecting 'l')",
            ),
            (r#""\x""#, "invalid character 'x' in string escape code"),
            ("\"\n\"", r"invalid character '\n' in string literal"),
            (
                "'",
                r"invalid character '\'' looking for beginning of value",
            ),
        ] {
            assert_eq!(check(body.as_bytes()), Err(expected.to_owned()), "{body:?}");
        }
    }

    #[test]
    fn depth_has_an_end() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(check(nested(MAX_DEPTH).as_bytes()), Ok(()));
        assert_eq!(
            check(nested(MAX_DEPTH + 1).as_bytes()),
            Err("invalid character '[' exceeded max depth".into())
        );
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json(text in r#"[\[\]{}",:0-9.eE+\-truefalsn\\ u]{0,24}"#) {
            // Lone surrogates and huge exponents are a matter of values, not of syntax.
            let parsed = serde_json::from_str::<serde_json::Value>(&text);
            match parsed {
                Ok(_) => prop_assert_eq!(check(text.as_bytes()), Ok(())),
                Err(error) if error.to_string().starts_with("number out of range")
                    || error.to_string().contains("surrogate")
                    || error.to_string().contains("hex escape") => {}
                Err(_) => prop_assert!(check(text.as_bytes()).is_err()),
            }
        }

        #[test]
        fn never_panics(body in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = check(&body);
        }
    }
}
