//! Rules of the repository that compilers and lints do not know.

mod dependencies;
mod sources;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};

use crate::workspace::{self, Metadata};

/// Checks all rules.
///
/// # Errors
///
/// Lists every breach.
pub(crate) fn check(metadata: &Metadata) -> Result<()> {
    let mut breaches = dependencies::breaches(&metadata.members);
    breaches.extend(manifest_breaches(metadata)?);
    for member in metadata
        .members
        .iter()
        .filter(|member| member.is_published())
    {
        let mut files = Vec::new();
        for path in rust_files(&member.folder.join("src"))? {
            let text = fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            let shown = path.strip_prefix(workspace::root()).unwrap_or(&path);
            files.push((shown.display().to_string(), text));
        }
        breaches.extend(sources::breaches(&member.name, &files));
    }
    breaches.sort();
    ensure!(
        breaches.is_empty(),
        "{} rules broken:\n  {}",
        breaches.len(),
        breaches.join("\n  ")
    );
    Ok(())
}

/// Each member is explained in the root manifest, and takes the workspace's lints.
fn manifest_breaches(metadata: &Metadata) -> Result<Vec<String>> {
    let read = |path: PathBuf| {
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    let mut breaches = unexplained(&read(workspace::root().join("Cargo.toml"))?);
    for member in &metadata.members {
        if !has_workspace_lints(&read(member.folder.join("Cargo.toml"))?) {
            breaches.push(format!(
                "{}: Cargo.toml lacks `[lints] workspace = true`",
                member.name
            ));
        }
    }
    Ok(breaches)
}

fn unexplained(manifest: &str) -> Vec<String> {
    let lines: Vec<_> = manifest.lines().map(str::trim).collect();
    let start = lines.iter().position(|line| line.starts_with("members"));
    let members = lines
        .iter()
        .enumerate()
        .skip(start.map_or(lines.len(), |start| start + 1));
    members
        .take_while(|(_, line)| **line != "]")
        .filter(|(at, line)| line.starts_with('"') && !lines[at - 1].starts_with('#'))
        .map(|(_, line)| format!("Cargo.toml: member {line} has no comment that says what it is"))
        .collect()
}

fn has_workspace_lints(manifest: &str) -> bool {
    let mut lines = manifest
        .lines()
        .map(str::trim)
        .skip_while(|line| *line != "[lints]")
        .skip(1);
    lines.next() == Some("workspace = true")
}

/// All `.rs` files below a folder, sorted.
fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries =
            fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in entries {
            let path = entry
                .with_context(|| format!("cannot read {}", folder.display()))?
                .path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_repository_keeps_its_rules() {
        check(&Metadata::load().unwrap()).unwrap();
    }

    #[test]
    fn members_without_a_comment_are_found() {
        let manifest = "[workspace]\nmembers = [\n    # What a is.\n    \"a\",\n    \"b\",\n]\n";
        let breaches = unexplained(manifest);
        assert_eq!(breaches.len(), 1);
        assert!(breaches[0].contains("\"b\""), "{breaches:?}");
    }

    #[test]
    fn manifests_without_lints_are_found() {
        assert!(has_workspace_lints(
            "[package]\n\n[lints]\nworkspace = true\n"
        ));
        assert!(!has_workspace_lints("[package]\nworkspace = true\n"));
    }
}
