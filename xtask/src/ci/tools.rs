//! Cargo tools that steps need, installed below the target folder.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::{
    process::{self, Spec},
    signals::Signals,
    workspace,
};

/// A program from the registry, in one fixed version.
pub(super) struct Tool {
    name: &'static str,
    version: &'static str,
}

/// Checks dependencies. Built without optimisation: it runs for seconds and compiles for minutes.
pub(super) const DENY: Tool = Tool {
    name: "cargo-deny",
    version: "0.20.2",
};

impl Tool {
    /// The path of the program, installed first if it is not there.
    pub(super) fn installed(&self, target: &Path, signals: &Signals) -> Result<PathBuf> {
        let root = self.root(target);
        let program = root.join("bin").join(self.name);
        if !program.is_file() {
            let mut spec = Spec::new([workspace::cargo()]);
            let words = [
                "install",
                "--locked",
                "--debug",
                "--version",
                self.version,
                self.name,
                "--root",
            ];
            spec.command.extend(words.map(Into::into));
            spec.command.push(root.into());
            spec.env = vec![("CARGO_PROFILE_DEV_DEBUG", Some("0".into()))];
            process::run(&spec, signals)
                .with_context(|| format!("cannot install {}", self.name))?;
        }
        Ok(program)
    }

    fn root(&self, target: &Path) -> PathBuf {
        target
            .join("tools")
            .join(format!("{}-{}", self.name, self.version))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_installed_version_is_used() {
        let target = tempfile::tempdir().unwrap();
        let bin = DENY.root(target.path()).join("bin");
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join("cargo-deny"), "").unwrap();
        let program = DENY.installed(target.path(), &Signals::default()).unwrap();
        assert_eq!(program, bin.join("cargo-deny"));
    }
}
