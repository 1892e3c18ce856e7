//! The `Accept` header.

/// The media types that the real server names in a 406.
pub(crate) const MEDIA_TYPES: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];

/// One media range of an `Accept` header.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Clause<'a> {
    pub(crate) media: &'a str,
    /// `as`, `g` and `v`: what the object shall be turned into, of which group and version.
    pub(crate) transform: Option<(&'a str, &'a str, &'a str)>,
}

impl Clause<'_> {
    /// Whether JSON satisfies the range.
    pub(crate) fn takes_json(&self) -> bool {
        matches!(self.media, "application/json" | "application/*" | "*/*")
    }
}

/// The ranges, those that are liked best first. No header is as good as `*/*`.
pub(crate) fn clauses(header: &str) -> Vec<Clause<'_>> {
    let header = if header.trim().is_empty() {
        "*/*"
    } else {
        header
    };
    let mut ranked: Vec<(f32, Clause<'_>)> = header
        .split(',')
        .map(|range| {
            let mut parts = range.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default();
            let (mut quality, mut kind, mut group, mut version) = (1.0, None, "", "");
            for parameter in parts {
                let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
                let value = value.trim().trim_matches('"');
                match key.trim() {
                    "q" => quality = value.parse().unwrap_or(1.0),
                    "as" => kind = Some(value),
                    "g" => group = value,
                    "v" => version = value,
                    _ => {}
                }
            }
            (
                quality,
                Clause {
                    media,
                    transform: kind.map(|kind| (kind, group, version)),
                },
            )
        })
        .collect();
    ranked.sort_by(|(left, _), (right, _)| right.total_cmp(left));
    ranked.into_iter().map(|(_, clause)| clause).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_liked_comes_first() {
        let found = clauses("application/json;as=Table;v=v1;g=meta.k8s.io;q=0.1, application/json");
        assert_eq!(
            found[0],
            Clause {
                media: "application/json",
                transform: None
            }
        );
        assert_eq!(found[1].transform, Some(("Table", "meta.k8s.io", "v1")));
        assert!(clauses("")[0].takes_json());
    }
}
