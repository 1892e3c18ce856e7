//! Where things are, and what Cargo knows of the workspace.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The root folder of the repository.
pub(crate) fn root() -> &'static Path {
    // `xtask` lies directly in the root.
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."))
}

/// The Cargo that started this program.
pub(crate) fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// What `cargo metadata` says of the members.
pub(crate) struct Metadata {
    /// The target folder.
    pub target: PathBuf,
    /// The members of the workspace, sorted by name.
    pub members: Vec<Member>,
}

/// A package of the workspace.
#[derive(Debug)]
pub(crate) struct Member {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// The names of its features, sorted; `default` included.
    pub features: Vec<String>,
    /// What it depends on by a path, that is, other members.
    pub ours: Vec<Dependency>,
    /// The names of its benchmark targets.
    pub benches: Vec<String>,
}

/// One dependency of a member on another member.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dependency {
    /// The name of the other package.
    pub name: String,
    /// For tests, examples and benchmarks only.
    pub dev: bool,
}

impl Metadata {
    /// Asks Cargo.
    pub(crate) fn load() -> Result<Self> {
        let output = Command::new(cargo())
            .args([
                "metadata",
                "--format-version",
                "1",
                "--no-deps",
                "--offline",
            ])
            .current_dir(root())
            .output()
            .context("cannot run cargo metadata")?;
        if !output.status.success() {
            bail!(
                "cargo metadata failed: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        Self::parse(&output.stdout)
    }

    fn parse(json: &[u8]) -> Result<Self> {
        let json: Value = serde_json::from_slice(json)
            .context("cargo metadata printed something else than JSON")?;
        let target = json["target_directory"]
            .as_str()
            .context("cargo metadata: target_directory is missing")?
            .into();
        let mut members = list(&json["packages"])
            .iter()
            .map(Member::parse)
            .collect::<Result<Vec<_>>>()?;
        members.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Self { target, members })
    }
}

impl Member {
    fn parse(package: &Value) -> Result<Self> {
        let text = |value: &Value, field: &str| -> Result<String> {
            let text = value[field].as_str();
            Ok(text
                .with_context(|| format!("cargo metadata: {field} is missing"))?
                .to_owned())
        };
        let manifest = PathBuf::from(text(package, "manifest_path")?);
        let mut features: Vec<String> = package["features"]
            .as_object()
            .map(|features| features.keys().cloned().collect())
            .unwrap_or_default();
        features.sort();
        let ours = list(&package["dependencies"])
            .iter()
            .filter(|dependency| dependency["path"].is_string())
            .map(|dependency| {
                Ok(Dependency {
                    name: text(dependency, "name")?,
                    dev: dependency["kind"] == "dev",
                })
            })
            .collect::<Result<_>>()?;
        let benches = list(&package["targets"])
            .iter()
            .filter(|target| list(&target["kind"]).iter().any(|kind| kind == "bench"))
            .map(|target| text(target, "name"))
            .collect::<Result<_>>()?;
        Ok(Self {
            name: text(package, "name")?,
            folder: manifest.parent().unwrap_or(Path::new("")).to_owned(),
            features,
            ours,
            benches,
        })
    }

    /// A crate that users depend on: those in `crates/`, benchmarks apart.
    pub(crate) fn is_published(&self) -> bool {
        self.folder.starts_with(root().join("crates"))
            && self.benches.is_empty()
            && !self.name.ends_with("-bench")
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_workspace_is_read() {
        let metadata = Metadata::load().unwrap();
        let xtask = metadata
            .members
            .iter()
            .find(|member| member.name == "xtask")
            .unwrap();
        assert_eq!(xtask.folder, root().join("xtask"));
        assert!(xtask.ours.is_empty());
        assert!(!xtask.is_published());
    }

    #[test]
    fn other_output_is_an_error() {
        assert!(Metadata::parse(b"<html>").is_err());
        let error = Metadata::parse(b"{}").err().unwrap().to_string();
        assert!(error.contains("target_directory"), "{error}");
    }

    #[test]
    fn path_dependencies_are_ours() {
        let json = br#"{"target_directory": "/t", "packages": [{
            "name": "a", "manifest_path": "/w/a/Cargo.toml", "features": {"x": [], "default": []},
            "dependencies": [
                {"name": "serde", "kind": null},
                {"name": "b", "kind": null, "path": "/w/b"},
                {"name": "c", "kind": "dev", "path": "/w/c"}
            ],
            "targets": [{"name": "a", "kind": ["lib"]}, {"name": "speed", "kind": ["bench"]}]
        }]}"#;
        let metadata = Metadata::parse(json).unwrap();
        let a = &metadata.members[0];
        assert_eq!(a.features, ["default", "x"]);
        assert_eq!(a.benches, ["speed"]);
        let dependency = |name: &str, dev| Dependency {
            name: name.into(),
            dev,
        };
        assert_eq!(a.ours, [dependency("b", false), dependency("c", true)]);
    }
}
