//! Paths of rules and of selectable fields, such as `.spec.colour` or `.data['a']`.

use crate::structural::Structural;

/// The path as errors print it, and the schema that it leads to.
///
/// # Errors
///
/// Why it leads nowhere.
pub(crate) fn resolve<'a>(
    path: &str,
    schema: &'a Structural,
    with_brackets: bool,
) -> Result<(String, &'a Structural), String> {
    let mut tokens = tokens(path).into_iter();
    let mut found = String::new();
    let mut schema = schema;
    while let Some(token) = tokens.next() {
        let name = match token.as_str() {
            "." => tokens.next().ok_or("unexpected end of JSON path")?,
            "[" if !with_brackets => return Err("array notation is not allowed".into()),
            "[" => {
                let quoted = tokens.next().ok_or("unexpected end of JSON path")?;
                let inner = quoted
                    .strip_prefix('\'')
                    .and_then(|rest| rest.strip_suffix('\''))
                    .filter(|_| quoted.len() >= 2)
                    .ok_or_else(|| format!("expected single quoted string but got {quoted}"))?;
                let name = unescape(inner)?;
                match tokens.next().as_deref() {
                    Some("]") => name,
                    Some(other) => return Err(format!("expected ] but got {other}")),
                    None => return Err("unexpected end of JSON path".into()),
                }
            }
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        if !schema.properties.is_empty() {
            if !found.is_empty() {
                found.push('.');
            }
            found.push_str(&name);
            schema = schema
                .properties
                .get(&name)
                .ok_or("does not refer to a valid field")?;
        } else if let Some(values) = schema.additional_schema() {
            found = format!("{found}[{name}]");
            schema = values;
        } else {
            return Err("does not refer to a valid field".into());
        }
    }
    Ok((found, schema))
}

/// `.`, `[`, `]`, and what is between them; a quoted text is one.
fn tokens(path: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut current = String::new();
    let mut previous = ' ';
    for c in path.chars() {
        let in_quotes = current.starts_with('\'');
        if in_quotes {
            current.push(c);
            if c == '\'' && previous != '\\' {
                tokens.push(std::mem::take(&mut current));
            }
        } else if matches!(c, '.' | '[' | ']') {
            if !current.is_empty() {
                tokens.push(std::mem::take(&mut current));
            }
            tokens.push(c.to_string());
        } else {
            current.push(c);
        }
        previous = c;
    }
    if !current.is_empty() {
        tokens.push(current);
    }
    tokens
}

fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        out.push(match chars.next() {
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\u{b}',
            Some('\'') => '\'',
            Some('\\') => '\\',
            Some(other) => {
                return Err(format!(
                    "invalid string literal: invalid escape char \\{other}"
                ));
            }
            None => return Err("invalid string literal: invalid escape char \\".into()),
        });
    }
    Ok(out)
}
