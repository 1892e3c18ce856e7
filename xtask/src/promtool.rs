//! promtool, which checks what `/metrics` answers: found, or taken out of Debian's package.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use crate::{
    process::{self, Spec},
    signals::{Interrupted, Signals},
};

/// Tells tests of promtool, by its path.
pub(crate) const PROMTOOL: &str = "K8S_CONTROLLER_PROMTOOL";

const NAME: &str = "promtool";
const PACKAGE: &str = "prometheus";

/// Finds promtool in `PATH`, or gets it unless that was done before.
///
/// `None` where it cannot be had, which is said, and skips the tests that need it.
///
/// # Errors
///
/// If a signal is caught; and with `strict` also if it cannot be had.
pub(crate) fn find_or_get(
    target: &Path,
    strict: bool,
    signals: &Signals,
) -> Result<Option<PathBuf>> {
    if let Some(program) = in_path(std::env::var_os("PATH").as_deref().unwrap_or_default()) {
        return Ok(Some(program));
    }
    let program = target.join("tools").join(NAME).join(NAME);
    if program.is_file() {
        return Ok(Some(program));
    }
    match get(&program, signals) {
        Ok(()) => Ok(Some(program)),
        Err(error) if strict || error.is::<Interrupted>() => Err(error),
        Err(error) => {
            eprintln!("xtask: SKIPPED, THE CHECKS OF METRICS WITH {NAME}: {error:#}");
            Ok(None)
        }
    }
}

fn in_path(path: &std::ffi::OsStr) -> Option<PathBuf> {
    std::env::split_paths(path)
        .map(|folder| folder.join(NAME))
        .find(|program| program.is_file())
}

fn get(program: &Path, signals: &Signals) -> Result<()> {
    let folder = program.parent().unwrap_or(Path::new("."));
    let unfinished = folder.with_file_name(format!("{NAME}-{}", std::process::id()));
    fs::create_dir_all(&unfinished)
        .with_context(|| format!("cannot create {}", unfinished.display()))?;
    let result = download(&unfinished, signals).and_then(|()| {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        fs::rename(unfinished.join("usr/bin").join(NAME), program)
            .with_context(|| format!("no {NAME} in the package {PACKAGE}"))
    });
    let _ = fs::remove_dir_all(&unfinished);
    result.with_context(|| format!("no {NAME} in PATH, and Debian's package cannot be had"))
}

/// Downloads and unpacks the package without installing it, which needs no root.
fn download(folder: &Path, signals: &Signals) -> Result<()> {
    let apt = |words: &[&str]| {
        let mut spec = Spec::new(["apt-get", "--quiet"]);
        spec.command.extend(words.iter().map(Into::into));
        spec.folder = Some(folder.into());
        process::run(&spec, signals)
    };
    if let Err(error) = apt(&["download", PACKAGE]) {
        signals.check()?;
        eprintln!("xtask: {error:#}; the lists of packages may be missing or old");
        apt(&["update"])?;
        apt(&["download", PACKAGE])?;
    }
    let Some(package) = packages(folder).pop() else {
        bail!("apt-get left no package");
    };
    let mut spec = Spec::new(["dpkg-deb", "--extract"]);
    spec.command.extend([package.into(), folder.into()]);
    process::run(&spec, signals)
}

fn packages(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "deb"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_searched_in_order() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = std::env::join_paths([Path::new("/none"), one.path(), two.path()]).unwrap();
        assert_eq!(in_path(&path), None);
        fs::create_dir(one.path().join(NAME)).unwrap();
        fs::write(two.path().join(NAME), "").unwrap();
        assert_eq!(in_path(&path), Some(two.path().join(NAME)));
    }

    #[test]
    fn one_that_was_got_before_is_used() {
        let target = tempfile::tempdir().unwrap();
        let folder = target.path().join("tools").join(NAME);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(NAME), "").unwrap();
        let found = find_or_get(target.path(), true, &Signals::default()).unwrap();
        assert!(found.is_some_and(|program| program.ends_with(NAME)));
    }
}
