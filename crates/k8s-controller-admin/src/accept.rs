//! Which format the `Accept` header of a scrape asks for.

/// How metrics are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Prometheus text 0.0.4.
    Text,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl Format {
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    fn media_type(self) -> (&'static str, &'static str) {
        match self {
            Self::Text => ("text", "plain"),
            Self::OpenMetrics => ("application", "openmetrics-text"),
        }
    }

    fn version(self) -> &'static str {
        match self {
            Self::Text => "0.0.4",
            Self::OpenMetrics => "1.0.0",
        }
    }
}

/// The format that is wanted most; the first of the header if two are wanted alike, text if neither is named.
///
/// Text also answers a header that accepts neither: RFC 9110 (12.5.1) lets a server disregard it, and a person with a
/// browser or curl is helped more than by 406. A range that cannot be read is disregarded alone.
pub(crate) fn negotiate<'a>(headers: impl Iterator<Item = &'a str>) -> Format {
    let ranges: Vec<Range> = headers
        .flat_map(|header| split_outside_quotes(header, ','))
        .filter_map(Range::parse)
        .collect();
    let text = preference(&ranges, Format::Text);
    match (text, preference(&ranges, Format::OpenMetrics)) {
        (None, Some(_)) => Format::OpenMetrics,
        (Some(text), Some(open)) if open.is_over(&text) => Format::OpenMetrics,
        _ => Format::Text,
    }
}

/// How much a format is wanted.
struct Preference {
    /// Thousandths, more than 0.
    quality: u16,
    /// Where the range that says so stands in the header.
    position: usize,
}

impl Preference {
    fn is_over(&self, other: &Self) -> bool {
        self.quality > other.quality
            || (self.quality == other.quality && self.position < other.position)
    }
}

/// By the most specific range that matches; `None` if it is not accepted.
fn preference(ranges: &[Range], format: Format) -> Option<Preference> {
    let matching = ranges
        .iter()
        .enumerate()
        .filter_map(|(position, range)| Some((range.specificity(format)?, position, range)));
    // Of equally specific ranges, such as two with a version and other parameters, the better one.
    let (_, position, range) = matching.max_by_key(|(specificity, position, range)| {
        (*specificity, range.quality, std::cmp::Reverse(*position))
    })?;
    (range.quality > 0).then_some(Preference {
        quality: range.quality,
        position,
    })
}

#[derive(Debug)]
struct Range {
    kind: String,
    subtype: String,
    version: Option<String>,
    /// Thousandths.
    quality: u16,
}

impl Range {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = split_outside_quotes(text, ';');
        let (kind, subtype) = parts.next()?.trim().split_once('/')?;
        let mut range = Self {
            kind: kind.to_ascii_lowercase(),
            subtype: subtype.to_ascii_lowercase(),
            version: None,
            quality: 1000,
        };
        for parameter in parts {
            let Some((name, value)) = parameter.split_once('=') else {
                continue;
            };
            let value = value.trim();
            let value = value
                .strip_prefix('"')
                .and_then(|value| value.strip_suffix('"'))
                .unwrap_or(value);
            match &*name.trim().to_ascii_lowercase() {
                "q" => range.quality = parse_quality(value)?,
                "version" => range.version = Some(value.to_owned()),
                // `charset`, and Prometheus 3's `escaping`: the names here need none.
                _ => {}
            }
        }
        Some(range)
    }

    /// How closely this range describes the format; `None` if it does not.
    fn specificity(&self, format: Format) -> Option<u8> {
        let (kind, subtype) = format.media_type();
        match (&*self.kind, &*self.subtype, self.version.as_deref()) {
            ("*", "*", _) => Some(0),
            (k, "*", _) if k == kind => Some(1),
            (k, s, None) if k == kind && s == subtype => Some(2),
            (k, s, Some(version)) if k == kind && s == subtype && version == format.version() => {
                Some(3)
            }
            _ => None,
        }
    }
}

/// Thousandths: `0`, `1`, or these with up to three decimals.
fn parse_quality(text: &str) -> Option<u16> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    if decimals.len() > 3 || !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let thousandths: u16 = format!("{decimals:0<3}").parse().ok()?;
    match (whole, thousandths) {
        ("0", thousandths) => Some(thousandths),
        ("1", 0) => Some(1000),
        _ => None,
    }
}

/// The parts between separators that are not within a quoted string.
fn split_outside_quotes(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    let mut escaped = false;
    text.split(move |c| {
        let was_escaped = std::mem::take(&mut escaped);
        match c {
            '\\' if quoted && !was_escaped => escaped = true,
            '"' if !was_escaped => quoted = !quoted,
            _ => {}
        }
        c == separator && !quoted
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What Prometheus 3 sends.
    const PROMETHEUS: &str = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
        application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,\
        text/plain;version=0.0.4;q=0.3,*/*;q=0.2";

    #[test]
    fn formats() {
        use Format::{OpenMetrics, Text};
        let cases: &[(&[&str], Format)] = &[
            (&[], Text),
            (&[""], Text),
            (&["*/*"], Text),
            (&["text/html, */*;q=0.8"], Text),
            (&["text/plain"], Text),
            (&["text/*"], Text),
            (&["application/json"], Text),
            (&["application/*"], OpenMetrics),
            (&["application/openmetrics-text"], OpenMetrics),
            (
                &["APPLICATION/OpenMetrics-Text; Version=1.0.0"],
                OpenMetrics,
            ),
            (
                &["application/openmetrics-text; version=\"1.0.0\""],
                OpenMetrics,
            ),
            (&["application/openmetrics-text; version=0.0.1"], Text),
            (&["application/openmetrics-text; version=2.0.0"], Text),
            (
                &["application/openmetrics-text; charset=utf-8"],
                OpenMetrics,
            ),
            (&[PROMETHEUS], OpenMetrics),
            (
                &[
                    "application/openmetrics-text;version=0.0.1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                ],
                Text,
            ),
            // By quality, then by position.
            (
                &["application/openmetrics-text;q=0.4,text/plain;q=0.5"],
                Text,
            ),
            (
                &["text/plain;q=0.4,application/openmetrics-text;q=0.5"],
                OpenMetrics,
            ),
            (
                &["text/plain;q=0.4", "application/openmetrics-text;q=0.5"],
                OpenMetrics,
            ),
            (&["text/plain,application/openmetrics-text"], Text),
            (&["application/openmetrics-text,text/plain"], OpenMetrics),
            (&["application/openmetrics-text, */*"], OpenMetrics),
            (&["application/openmetrics-text;q=0.1, */*;q=0.9"], Text),
            // The most specific range counts, and 0 is a refusal.
            (&["*/*;q=0.9, text/plain;q=0"], OpenMetrics),
            (&["*/*, application/openmetrics-text;q=0"], Text),
            (&["text/plain;q=0, application/openmetrics-text;q=0"], Text),
            (
                &[
                    "application/openmetrics-text;q=1, application/openmetrics-text;version=1.0.0;q=0.1, text/plain;q=0.5",
                ],
                Text,
            ),
            // What cannot be read is not there.
            (&["application/openmetrics-text;q=2"], Text),
            (&["application/openmetrics-text;q=abc, text/plain"], Text),
            (&["application/openmetrics-text;q="], Text),
            (&["application"], Text),
            (
                &["text/plain;x=\"a,b;q=0\";q=0.1, application/openmetrics-text;q=0.2"],
                OpenMetrics,
            ),
            (
                &["text/plain;x=\"\\\",\";q=0.1, application/openmetrics-text;q=0.2"],
                OpenMetrics,
            ),
            (
                &["application/openmetrics-text;x=\"open, text/plain"],
                OpenMetrics,
            ),
        ];
        for (headers, expected) in cases {
            assert_eq!(negotiate(headers.iter().copied()), *expected, "{headers:?}");
        }
    }

    #[test]
    fn qualities() {
        for (text, expected) in [
            ("0", Some(0)),
            ("1", Some(1000)),
            ("0.5", Some(500)),
            ("0.001", Some(1)),
            ("0.", Some(0)),
            ("1.000", Some(1000)),
            ("1.001", None),
            ("0.0001", None),
            ("-1", None),
            ("0.+1", None),
            (".5", None),
            ("NaN", None),
        ] {
            assert_eq!(parse_quality(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_header_has_an_answer(headers in proptest::collection::vec("[a-z*/;,=\"\\\\ .0-9é]{0,40}", 0..4)) {
            negotiate(headers.iter().map(String::as_str));
        }

        #[test]
        fn a_higher_quality_wins(text in 1u16..1000, open in 1u16..1000, text_first: bool) {
            prop_assume!(text != open);
            let text_range = format!("text/plain;q=0.{text:03}");
            let open_range = format!("application/openmetrics-text;q=0.{open:03}");
            let header = if text_first { format!("{text_range},{open_range}") } else { format!("{open_range},{text_range}") };
            let expected = if text > open { Format::Text } else { Format::OpenMetrics };
            prop_assert_eq!(negotiate([&*header].into_iter()), expected);
        }
    }
}
