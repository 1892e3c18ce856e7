//! Syntax errors of JSON in the words of the real server, which quotes its JSON scanner to the client.

use k8s_api_schema::quote;

/// What is wrong with `body` as one JSON document; `None` if nothing is.
pub(crate) fn syntax_error(body: &[u8]) -> Option<String> {
    let mut scanner = Scanner { body, at: 0 };
    let result = scanner.value(0).and_then(|()| {
        scanner.space();
        match scanner.peek() {
            None => Ok(()),
            Some(_) => Err(scanner.unexpected("after top-level value")),
        }
    });
    result.err()
}

/// The word that the real server uses for the JSON type of `value`.
pub(crate) fn type_name(value: &serde_json::Value) -> &'static str {
    match value {
        serde_json::Value::Null => "null",
        serde_json::Value::Bool(_) => "bool",
        serde_json::Value::Number(_) => "number",
        serde_json::Value::String(_) => "string",
        serde_json::Value::Array(_) => "array",
        serde_json::Value::Object(_) => "object",
    }
}

/// How many objects and lists may be nested: what `serde_json` reads. The real server gives up at 10,000.
pub(crate) const MAX_DEPTH: usize = 127;

/// Says that JSON is nested too deep.
pub(crate) fn too_deep() -> String {
    format!("exceeded max depth of {MAX_DEPTH}")
}

struct Scanner<'a> {
    body: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.body.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// The error for the byte at hand, or for the end of the input.
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

    fn value(&mut self, depth: usize) -> Result<(), String> {
        self.space();
        match self.peek() {
            Some(b'{' | b'[') if depth == MAX_DEPTH => Err(too_deep()),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal("true"),
            Some(b'f') => self.literal("false"),
            Some(b'n') => self.literal("null"),
            _ => Err(self.unexpected("looking for beginning of value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<(), String> {
        self.at += 1;
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("looking for beginning of object key string"));
            }
            self.string()?;
            self.space();
            if self.peek() != Some(b':') {
                return Err(self.unexpected("after object key"));
            }
            self.at += 1;
            self.value(depth + 1)?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.unexpected("after object key:value pair")),
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), String> {
        self.at += 1;
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value(depth + 1)?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.unexpected("after array element")),
            }
        }
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
            assert_eq!(
                syntax_error(body.as_bytes()).as_deref(),
                Some(expected),
                "{body:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json(text in r#"[\[\]{}",:0-9.eE+\-truefalsn\\ u]{0,24}"#) {
            // Lone surrogates and huge exponents are a matter of values, not of syntax.
            let parsed = serde_json::from_str::<serde_json::Value>(&text);
            match parsed {
                Ok(_) => prop_assert_eq!(syntax_error(text.as_bytes()), None),
                Err(error) if error.to_string().starts_with("number out of range")
                    || error.to_string().contains("surrogate")
                    || error.to_string().contains("hex escape") => {}
                Err(_) => prop_assert!(syntax_error(text.as_bytes()).is_some()),
            }
        }

        #[test]
        fn never_panics(body in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = syntax_error(&body);
        }
    }
}
