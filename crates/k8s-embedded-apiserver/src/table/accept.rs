//! The `Accept` header.

use crate::encoding::{Encoding, Format};
use crate::status::Failure;

/// The media types that the real server names in a 406.
pub(crate) const MEDIA_TYPES: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];

/// Those of a watch.
pub(crate) const STREAM_TYPES: &[&str] = &[
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
];

/// What answers can be written in, /// What answers can be written in, what is liked best first.
const OFFERED: &[Format] = &[Format::Json, Format::Yaml, Format::Protobuf];

/// One media range of an `Accept` header.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Clause<'a> {
    /// Both are `*` for any.
    type_: &'a str,
    subtype: &'a str,
    quality: f32,
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> Clause<'a> {
    /// Reads one; `None` for what the real server leaves out.
    fn parse(range: &'a str) -> Option<Self> {
        let (media, parameters) = range.split_once(';').unwrap_or((range, ""));
        let (type_, subtype) = match media.split_once('/') {
            Some((type_, subtype)) if !subtype.is_empty() => (type_, subtype),
            _ if media.trim_matches([' ', '/']) == "*" => ("*", "*"),
            _ => return None,
        };
        if subtype.contains('/') {
            return None;
        }
        let mut clause = Self {
            type_: type_.trim_matches(' '),
            subtype: subtype.trim_matches(' '),
            quality: 1.0,
            parameters: Vec::new(),
        };
        for parameter in parameters.split(';') {
            let Some((key, value)) = parameter.split_once('=') else {
                continue;
            };
            if value.is_empty() || value.contains('=') {
                continue;
            }
            match key.trim_matches(' ') {
                "q" => clause.quality = value.parse().unwrap_or(0.0),
                key => clause.parameters.push((key, value.trim_matches(' '))),
            }
        }
        Some(clause)
    }

    fn takes(&self, format: Format) -> bool {
        let (type_, subtype) = format.media_type().split_once('/').unwrap_or_default();
        self.matches(type_, subtype)
    }

    fn matches(&self, type_: &str, subtype: &str) -> bool {
        match (self.type_, self.subtype) {
            ("*", "*") => true,
            (own, "*") => own == type_,
            own => own == (type_, subtype),
        }
    }

    /// The last parameter of this name, empty where there is none.
    fn parameter(&self, key: &str) -> &'a str {
        let found = self
            .parameters
            .iter()
            .rev()
            .find(|(known, _)| *known == key);
        found.map_or("", |(_, value)| *value)
    }

    /// `as`, `g` and `v`: what the object shall be turned into, of which group and version.
    pub(crate) fn transform(&self) -> Option<(&'a str, &'a str, &'a str)> {
        let transforms = |(key, _): &(&str, &str)| matches!(*key, "as" | "g" | "v");
        self.parameters.iter().any(transforms).then(|| {
            (
                self.parameter("as"),
                self.parameter("g"),
                self.parameter("v"),
            )
        })
    }

    /// Whether what is left of the parameters can be met; versions of the server are known to resources only.
    fn is_met(&self, format: Format, server_version: &str) -> bool {
        let (stream, version) = (self.parameter("stream"), self.parameter("sv"));
        (stream.is_empty() || (stream == "watch" && format.streams()))
            && (version.is_empty() || version == server_version)
    }

    fn encoding(&self, format: Format) -> Encoding {
        let pretty = format == Format::Json && self.parameter("pretty") == "1";
        Encoding { format, pretty }
    }
}

/// The ranges, those that are liked best first. No header is as good as `*/*`.
pub(crate) fn clauses(header: &str) -> Vec<Clause<'_>> {
    if header.is_empty() {
        return Clause::parse("*/*").into_iter().collect();
    }
    let mut ranked: Vec<Clause<'_>> = header
        .split(',')
        .filter_map(|range| Clause::parse(range.trim_matches(' ')))
        .collect();
    // The real server's order is none in the strict sense, so that how it sorts shows: by insertion.
    for unsorted in 1..ranked.len() {
        let mut at = unsorted;
        while at > 0 && comes_before(&ranked[at], &ranked[at - 1]) {
            ranked.swap(at, at - 1);
            at -= 1;
        }
    }
    ranked
}

fn comes_before(left: &Clause<'_>, right: &Clause<'_>) -> bool {
    left.quality > right.quality
        || (left.type_ != "*" && right.type_ == "*")
        || (left.subtype != "*" && right.subtype == "*")
}

/// The first format and clause that go together.
pub(crate) fn negotiate<'a, T>(
    header: &'a str,
    accepts: impl Fn(&Clause<'a>, Format) -> Option<T>,
) -> Option<(Encoding, T)> {
    let meet = |clause: &Clause<'a>| {
        OFFERED.iter().find_map(|format| {
            let accepted = clause.takes(*format).then(|| accepts(clause, *format))??;
            Some((clause.encoding(*format), accepted))
        })
    };
    if header.is_empty() || header.contains(',') {
        return clauses(header).iter().find_map(meet);
    }
    // One range needs no ranking.
    meet(&Clause::parse(header.trim_matches(' '))?)
}

/// What a resource is answered in, for a clause that is met otherwise.
pub(super) fn is_met(clause: &Clause<'_>, format: Format) -> bool {
    clause.is_met(format, "v1")
}

/// What a document is written in that cannot be turned into anything else; `None` where only that is accepted.
pub(crate) fn for_documents(header: &str) -> Option<Encoding> {
    let plain = |clause: &Clause<'_>, format: Format| {
        (clause.transform().is_none() && clause.is_met(format, "")).then_some(())
    };
    negotiate(header, plain).map(|(encoding, ())| encoding)
}

/// What an error is written in. An error is never turned into anything else; where only that was accepted it comes raw.
pub(crate) fn for_errors(header: &str) -> Encoding {
    for_documents(header).unwrap_or(Encoding::RAW)
}

/// Refuses what the router of the real server refuses before anything else, for kinds that are built in. It knows no
/// `application/*`, and no `*` alone.
pub(crate) fn route(header: &str, is_watchable: bool) -> Result<(), Failure> {
    let streams = if is_watchable { STREAM_TYPES } else { &[] };
    route_to(header, MEDIA_TYPES, streams)
}

/// The same for what is in some media types; more of them are named than known.
pub(crate) fn route_to(header: &str, types: &[&str], streams: &[&str]) -> Result<(), Failure> {
    let known = |range: &str| {
        let media = range
            .split(';')
            .next()
            .unwrap_or_default()
            .trim_matches(' ');
        media == "*/*" || types.contains(&media)
    };
    if header.is_empty() || header.split(',').any(known) {
        return Ok(());
    }
    Err(Failure::unroutable_media_type(&[types, streams].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(header: &str) -> String {
        let texts = clauses(header)
            .iter()
            .map(|clause| format!("{}/{}", clause.type_, clause.subtype))
            .collect::<Vec<_>>();
        texts.join(" ")
    }

    #[test]
    fn the_best_liked_comes_first() {
        for (header, expected) in [
            ("", "*/*"),
            ("*", "*/*"),
            ("a/b;q=0.1, c/d", "c/d a/b"),
            ("*/*, a/*, a/b", "a/b a/* */*"),
            ("a/b;q=0.5,*/*", "*/* a/b"),
            ("a/b;q=x, c/d;q=0.1", "c/d a/b"),
            ("a, a/b/c, /b, a/b", "/b a/b"),
        ] {
            assert_eq!(order(header), expected, "{header}");
        }
    }

    #[test]
    fn parameters() {
        let header = "application/json;as=Table;v=v1; g=meta.k8s.io;q=0.1";
        let clauses = clauses(header);
        assert_eq!(clauses[0].transform(), Some(("Table", "meta.k8s.io", "v1")));
        assert!(clauses[0].takes(Format::Json));
    }

    #[test]
    fn errors_are_written_in_what_is_accepted_for_the_object_itself() {
        let json = |pretty| Encoding {
            format: Format::Json,
            pretty,
        };
        for (header, expected) in [
            ("", json(false)),
            (
                "application/json;as=Table;v=v1;g=meta.k8s.io",
                Encoding::RAW,
            ),
            (
                "application/json;as=Table;v=v1;g=meta.k8s.io, */*",
                json(false),
            ),
            ("application/json;pretty=1", json(true)),
            ("application/json;sv=v1", Encoding::RAW),
            (
                "application/yaml",
                Encoding {
                    format: Format::Yaml,
                    pretty: false,
                },
            ),
            ("text/html", Encoding::RAW),
        ] {
            assert_eq!(for_errors(header), expected, "{header}");
        }
    }
}
