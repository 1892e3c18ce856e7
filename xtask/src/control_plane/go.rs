//! The Go that is installed.

use std::{io::ErrorKind, process::Command};

use anyhow::{Context, Result, bail, ensure};

use super::build;

/// What Kubernetes 1.37 asks for, as major and minor version.
const OLDEST: (u32, u32) = (1, 26);

/// What Go says of itself.
#[derive(Clone, Debug)]
pub(crate) struct Go {
    /// As `go env` tells it, such as `go1.26.8`.
    pub version: String,
    /// The platform it builds for, such as `linux/amd64`.
    pub platform: String,
}

/// Asks the installed Go.
///
/// # Errors
///
/// If there is none, or it is older than [`OLDEST`].
pub(crate) fn version() -> Result<Go> {
    // In the module's folder, where a Go that can fetch a newer one of itself has done so.
    let output = Command::new("go")
        .args(["env", "GOVERSION", "GOOS", "GOARCH"])
        .env("GOWORK", "off")
        .current_dir(build::module())
        .output();
    let output = match output {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("no Go is installed; the control plane needs {}", oldest());
        }
        other => other.context("cannot run go")?,
    };
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{} is needed: {}",
        oldest(),
        stderr.trim()
    );
    let text = String::from_utf8_lossy(&output.stdout);
    let [version, os, architecture] = text.lines().collect::<Vec<_>>()[..] else {
        bail!("`go env GOVERSION GOOS GOARCH` printed {text:?}");
    };
    check(version)?;
    Ok(Go {
        version: version.to_owned(),
        platform: format!("{os}/{architecture}"),
    })
}

fn check(version: &str) -> Result<()> {
    let parsed = parse(version)
        .with_context(|| format!("cannot read the version of Go from {version:?}"))?;
    ensure!(
        parsed >= OLDEST,
        "{version} is installed; the control plane needs {}",
        oldest()
    );
    Ok(())
}

fn oldest() -> String {
    format!("Go {}.{} or newer", OLDEST.0, OLDEST.1)
}

/// Major and minor version from `go1.26.8`, `go1.27rc1`, `devel go1.28-abcdef Mon Jan ...`.
fn parse(version: &str) -> Option<(u32, u32)> {
    let number = version
        .split_whitespace()
        .find_map(|word| word.strip_prefix("go"))?;
    let mut parts = number.split(|character: char| !character.is_ascii_digit());
    let mut next = || parts.next()?.parse().ok();
    Some((next()?, next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        for (text, expected) in [
            ("go1.26.8", Some((1, 26))),
            ("go1.27rc1", Some((1, 27))),
            ("go2.0", Some((2, 0))),
            (
                "devel go1.28-3c1e5f Mon Jan 5 10:00:00 2026 +0000",
                Some((1, 28)),
            ),
            ("go1.26.8 X:nodwarf5", Some((1, 26))),
            ("go1", None),
            ("", None),
            ("1.26", None),
            ("gopher", None),
        ] {
            assert_eq!(parse(text), expected, "{text:?}");
        }
    }

    #[test]
    fn an_old_one_is_refused_with_what_is_needed() {
        let error = check("go1.25.9").unwrap_err().to_string();
        assert_eq!(
            error,
            "go1.25.9 is installed; the control plane needs Go 1.26 or newer"
        );
        check("go1.26").unwrap();
    }
}
