//! The version of the server, and the order of API versions.

use serde_json::{Value, json};

/// The kube-apiserver that this server is measured against.
pub(super) const MAJOR: &str = "1";
pub(super) const MINOR: &str = "37";
const PATCH: &str = "2";

/// The version of that server, marked as this one's.
pub(super) fn git_version() -> String {
    format!("v{MAJOR}.{MINOR}.{PATCH}+embedded")
}

/// `/version`.
pub(super) fn info() -> Value {
    json!({
        "major": MAJOR,
        "minor": MINOR,
        "emulationMajor": MAJOR,
        "emulationMinor": MINOR,
        "minCompatibilityMajor": MAJOR,
        "minCompatibilityMinor": "36",
        "gitVersion": git_version(),
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

/// Orders versions such as v1, v2beta1 and v1alpha3: the greater is preferred. Other names come last.
pub(super) fn rank(version: &str) -> (u8, u64, u64) {
    let parse = || {
        let rest = version.strip_prefix('v')?;
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let major = rest[..end].parse().ok()?;
        let (stage, minor) = match &rest[end..] {
            "" => return Some((3, major, 0)),
            stage if stage.starts_with("beta") => (2, &stage[4..]),
            stage if stage.starts_with("alpha") => (1, &stage[5..]),
            _ => return None,
        };
        Some((stage, major, minor.parse().ok()?))
    };
    parse().unwrap_or((0, 0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_are_preferred() {
        let mut versions = [
            "foo",
            "v1alpha1",
            "v2",
            "v10beta3",
            "v11alpha2",
            "v10",
            "v1beta1",
            "v3beta1",
        ];
        versions.sort_by_key(|version| std::cmp::Reverse(rank(version)));
        assert_eq!(
            versions,
            [
                "v10",
                "v2",
                "v10beta3",
                "v3beta1",
                "v1beta1",
                "v11alpha2",
                "v1alpha1",
                "foo"
            ]
        );
    }
}
