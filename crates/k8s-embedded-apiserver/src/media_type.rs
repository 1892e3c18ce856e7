//! The `Content-Type` header, as Go reads it.

/// The media type of a header without its parameters, in small letters; `None` for what is none.
pub(crate) fn parse(header: &str) -> Option<String> {
    let (base, mut rest) = match header.find(';') {
        Some(at) => header.split_at(at),
        None => (header, ""),
    };
    let essence = base.trim().to_ascii_lowercase();
    let (type_, subtype) = essence.split_once('/').unwrap_or((&essence, "x"));
    if !is_token(type_) || !is_token(subtype) {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    while !rest.trim_start().is_empty() {
        rest = rest.trim_start();
        let Some((name, after)) = parameter(rest) else {
            // A last semicolon is let pass.
            return (rest.trim() == ";").then_some(essence);
        };
        if names.contains(&name) {
            return None;
        }
        names.push(name);
        rest = after;
    }
    Some(essence)
}

/// The name of the parameter at the beginning, and what follows it.
fn parameter(text: &str) -> Option<(String, &str)> {
    let text = text.strip_prefix(';')?.trim_start();
    let (name, rest) = token(text)?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let rest = match rest.strip_prefix('"') {
        Some(quoted) => after_quoted(quoted)?,
        None => token(rest)?.1,
    };
    Some((name.to_ascii_lowercase(), rest))
}

/// What follows the quotation mark that ends a text.
fn after_quoted(text: &str) -> Option<&str> {
    let mut chars = text.chars();
    loop {
        match chars.next()? {
            '"' => return Some(chars.as_str()),
            '\\' => drop(chars.next()?),
            _ => {}
        }
    }
}

fn token(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c| !is_token_char(c)).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_token_char)
}

fn is_token_char(c: char) -> bool {
    c.is_ascii_graphic() && !r#"()<>@,;:\"/[]?="#.contains(c)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn headers() {
        for (header, expected) in [
            ("application/json", Some("application/json")),
            (
                " APPLICATION/JSON ; Charset=utf-8;",
                Some("application/json"),
            ),
            ("a/b; c=\"d;\\\"e\"; f=g", Some("a/b")),
            ("application", Some("application")),
            ("*/*", Some("*/*")),
            ("application/json;;", None),
            ("application/json; =", None),
            ("application/json;a=b;A=c", None),
            ("application/json; charset=\"utf-8", None),
            ("application/json, text/html", None),
            ("a/b/c", None),
            ("ä/b", None),
            ("", None),
        ] {
            assert_eq!(parse(header).as_deref(), expected, "{header}");
        }
    }
}
