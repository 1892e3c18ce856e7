//! The audit log of kube-apiserver: who asked it for what.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde_json::json;

/// Where kube-apiserver writes one line of JSON for each answered request.
pub(super) fn log(data: &Path) -> PathBuf {
    data.join("audit.log")
}

/// Where [`write_policy()`] puts the policy.
pub(super) fn policy(data: &Path) -> PathBuf {
    data.join("audit-policy.json")
}

/// Writes the policy: all requests, without their bodies, once they are answered.
pub(super) fn write_policy(data: &Path) -> Result<()> {
    let text = json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [{ "level": "Metadata" }],
    });
    let path = policy(data);
    fs::write(&path, format!("{text:#}\n"))
        .with_context(|| format!("cannot write {}", path.display()))
}
