//! The folder with the data of a control plane.

use std::{
    fs::{self, DirBuilder},
    io::ErrorKind,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

/// A new folder below the system's one for temporary files, removed when dropped.
#[derive(Debug)]
pub(super) struct DataFolder(PathBuf);

impl DataFolder {
    pub(super) fn create() -> Result<Self> {
        let base = std::env::temp_dir();
        let process = std::process::id();
        for number in 0..1000 {
            let path = base.join(format!("k8s-controller-e2e-{process}-{number}"));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(error).with_context(|| format!("cannot create {}", path.display()));
                }
            }
        }
        anyhow::bail!(
            "too many folders k8s-controller-e2e-{process}-* in {}",
            base.display()
        )
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for DataFolder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("cannot remove {}: {error}", self.0.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_differ_and_go_away() {
        let (one, two) = (DataFolder::create().unwrap(), DataFolder::create().unwrap());
        assert_ne!(one.path(), two.path());
        let path = one.path().to_owned();
        drop(one);
        assert!(!path.exists());
        assert!(two.path().is_dir());
    }
}
