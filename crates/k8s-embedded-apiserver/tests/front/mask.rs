//! Puts words in the place of what no two servers answer alike: times, ages, uids, versions, addresses.

use std::sync::LazyLock;

use regex::Regex;

const MASKS: &[(&str, &str)] = &[
    (
        "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        "<uid>",
    ),
    (
        r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)",
        "<time>",
    ),
    (
        r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}",
        "<time>",
    ),
    (
        r#"(resourceVersion"?|Resource Version)(: *)"?\d+"?"#,
        r#"$1$2"<version>""#,
    ),
    (r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000 UTC", "<time>"),
    (
        r#""storageVersionHash": ?"[^"]*""#,
        r#""storageVersionHash":"<hash>""#,
    ),
    (r"\beyJ[\w-]+\.[\w-]+\.[\w-]+", "<token>"),
    (
        r"https://(127\.0\.0\.1|\[::1\]|localhost):\d+",
        "https://<server>",
    ),
    (r"\b127\.0\.0\.1:\d+", "<server>"),
    (r"\b10\.\d+\.\d+\.\d+\b", "<ip>"),
    (r"\bv1\.37\.2\+embedded", "v1.37.2"),
    // Ages; a quantity such as 100m is taken for one, on all servers alike.
    (r"\b(\d+[dhm])*\d+[dhms]( ago)?\b", "<age>"),
    (r"<invalid>( ago)?", "<age>"),
    (r"\b3[0-2]\d{3}/TCP", "<port>/TCP"),
    (r"nodePort: 3[0-2]\d{3}", "nodePort: <port>"),
    // Columns are as wide as what was in them.
    (r"(\S)(  +|\t+)", "$1  "),
    (r"(?m) +$", ""),
];

static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    MASKS
        .iter()
        .map(|(pattern, word)| (Regex::new(pattern).unwrap(), *word))
        .collect()
});

/// The text without what differs by nature. The namespace becomes `NAMESPACE`.
pub(crate) fn masked(text: &str, namespace: &str) -> String {
    let mut text = text.replace(namespace, "NAMESPACE");
    for (pattern, word) in PATTERNS.iter() {
        text = pattern.replace_all(&text, *word).into_owned();
    }
    sorted(&text)
}

/// A real server tells several causes in random order.
fn sorted(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    for causes in
        lines.chunk_by_mut(|left, right| left.starts_with("* ") && right.starts_with("* "))
    {
        causes.sort_unstable();
    }
    let lines: Vec<String> = lines.into_iter().map(in_order).collect();
    lines.join("\n")
}

/// A line that is a JSON object has its members in the order of their names: that order means nothing.
fn in_order(line: &str) -> String {
    match serde_json::from_str::<serde_json::Value>(line) {
        Ok(value) if value.is_object() => value.to_string(),
        _ => line.to_owned(),
    }
}
