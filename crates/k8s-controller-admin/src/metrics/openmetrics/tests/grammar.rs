//! What OpenMetrics 1.0 demands of a text, as far as the encoder could get it wrong.

use std::collections::HashSet;

use crate::metrics::number::canonical;

#[derive(Debug)]
pub(super) struct Sample {
    pub(super) name: String,
    pub(super) labels: Vec<(String, String)>,
    pub(super) value: f64,
}

/// All samples, or what is wrong.
pub(super) fn check(text: &str) -> Result<Vec<Sample>, String> {
    let body = text.strip_suffix("# EOF\n").ok_or("no end")?;
    if !body.is_empty() && !body.ends_with('\n') {
        return Err("the last line has no end".to_owned());
    }
    let mut names = HashSet::new();
    let mut all = Vec::new();
    let mut lines = body.split_terminator('\n').peekable();
    while let Some(line) = lines.next() {
        let typed = line
            .strip_prefix("# TYPE ")
            .ok_or_else(|| format!("TYPE expected: {line}"))?;
        let (name, kind) = typed.split_once(' ').ok_or("no type")?;
        if let Some(help) = lines.peek().and_then(|line| line.strip_prefix("# HELP ")) {
            let (helped, help) = help.split_once(' ').ok_or("no help")?;
            if helped != name {
                return Err(format!("help of another: {helped}"));
            }
            unescape(help)?;
            lines.next();
        }
        for suffix in suffixes(kind)
            .ok_or_else(|| format!("type {kind}"))?
            .iter()
            .chain([&""])
        {
            if !names.insert(format!("{name}{suffix}")) && !suffix.is_empty() {
                return Err(format!("taken: {name}{suffix}"));
            }
        }
        if all.iter().any(|sample: &Sample| sample.name == name) {
            return Err(format!("taken: {name}"));
        }
        let mut samples = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with('#')) {
            samples.push(sample(line)?);
        }
        check_family(name, kind, &samples)?;
        all.extend(samples);
    }
    Ok(all)
}

fn suffixes(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "counter" => &["_total", "_created"],
        "gauge" | "unknown" => &[""],
        "histogram" => &["_bucket", "_count", "_sum", "_created"],
        "summary" => &["", "_count", "_sum", "_created"],
        _ => return None,
    })
}

fn check_family(name: &str, kind: &str, samples: &[Sample]) -> Result<(), String> {
    if samples.is_empty() {
        return Err(format!("{name} has no samples"));
    }
    let mut buckets: Vec<(f64, f64)> = Vec::new();
    for sample in samples {
        let suffix = sample
            .name
            .strip_prefix(name)
            .ok_or_else(|| format!("{} in {name}", sample.name))?;
        if !suffixes(kind).is_some_and(|suffixes| suffixes.contains(&suffix)) {
            return Err(format!("{suffix} of a {kind}"));
        }
        let counts = !suffix.is_empty();
        if counts && (sample.value.is_nan() || sample.value < 0.0) {
            return Err(format!("{} counts {}", sample.name, sample.value));
        }
        let bound = |label: &str| {
            let (_, text) = sample
                .labels
                .iter()
                .find(|(name, _)| name == label)
                .ok_or("no bound")?;
            let bound: f64 = text.parse().map_err(|_| format!("bound {text}"))?;
            if *text == canonical(bound) {
                Ok(bound)
            } else {
                Err(format!("bound {text}"))
            }
        };
        match (kind, suffix) {
            ("histogram", "_bucket") => buckets.push((bound("le")?, sample.value)),
            ("histogram", "_count") if buckets.last() != Some(&(f64::INFINITY, sample.value)) => {
                return Err("the count is not the last bucket's".to_owned());
            }
            ("histogram", "_sum") if buckets.iter().any(|(bound, _)| *bound < 0.0) => {
                return Err("a sum, and buckets below zero".to_owned());
            }
            ("summary", "") => {
                bound("quantile")?;
            }
            _ => {}
        }
    }
    let sorted = buckets.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1);
    let ends = buckets
        .last()
        .is_some_and(|(bound, _)| *bound == f64::INFINITY);
    if kind == "histogram" && !(sorted && ends) {
        return Err(format!("buckets {buckets:?}"));
    }
    Ok(())
}

fn sample(line: &str) -> Result<Sample, String> {
    let wrong = || format!("sample: {line}");
    let end = line.find(['{', ' ']).ok_or_else(wrong)?;
    let (name, mut rest) = line.split_at(end);
    let mut labels = Vec::new();
    if rest.starts_with('{') {
        while !rest.starts_with('}') {
            // The first has `{` before it, the others `,`.
            let (label, value) = rest[1..].split_once("=\"").ok_or_else(wrong)?;
            let end = closing_quote(value).ok_or_else(wrong)?;
            labels.push((label.to_owned(), unescape(&value[..end])?));
            rest = &value[end + 1..];
            if !rest.starts_with([',', '}']) {
                return Err(wrong());
            }
        }
        rest = &rest[1..];
    }
    let mut words = rest.strip_prefix(' ').ok_or_else(wrong)?.split(' ');
    let value = number(words.next().ok_or_else(wrong)?)?;
    words.next().map(number).transpose()?;
    if words.next().is_some() {
        return Err(wrong());
    }
    Ok(Sample {
        name: name.to_owned(),
        labels,
        value,
    })
}

fn number(text: &str) -> Result<f64, String> {
    let known = matches!(text, "NaN" | "+Inf" | "-Inf")
        || text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b"+-.e".contains(&byte));
    text.parse()
        .ok()
        .filter(|_| known)
        .ok_or_else(|| format!("number {text}"))
}

fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

pub(super) fn unescape(text: &str) -> Result<String, String> {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        plain.push(match c {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some(c @ ('\\' | '"')) => c,
                other => return Err(format!("escaped {other:?}")),
            },
            '"' | '\n' => return Err(format!("not escaped: {c:?}")),
            c => c,
        });
    }
    Ok(plain)
}
