//! The kubeconfig of a control plane, and the token in it.

use std::{
    fs::{self, OpenOptions},
    hash::{BuildHasher, RandomState},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde_json::json;

use super::commands;

/// Where [`write()`] puts the kubeconfig.
pub(super) fn path(data: &Path) -> PathBuf {
    data.join("kubeconfig")
}

/// Where [`write()`] puts the tokens that kube-apiserver accepts.
pub(super) fn tokens(data: &Path) -> PathBuf {
    data.join("tokens.csv")
}

/// Writes a kubeconfig with a new token for an administrator, and the file of accepted tokens.
pub(super) fn write(data: &Path, server: &str) -> Result<()> {
    let token = random_token();
    private_file(
        &tokens(data),
        &format!("{token},admin,admin,system:masters\n"),
    )?;
    private_file(
        &path(data),
        &render(server, &commands::certificate(data), &token),
    )
}

/// JSON, which is YAML too.
fn render(server: &str, certificate: &Path, token: &str) -> String {
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": "e2e",
            "cluster": { "server": server, "certificate-authority": certificate },
        }],
        "users": [{ "name": "admin", "user": { "token": token } }],
        "contexts": [{ "name": "e2e", "context": { "cluster": "e2e", "user": "admin" } }],
        "current-context": "e2e",
    });
    format!("{kubeconfig:#}\n")
}

/// Not known to other users of the machine. `RandomState` is seeded by the system.
fn random_token() -> String {
    let word = || RandomState::new().hash_one(0);
    format!(
        "{:016x}{:016x}",
        word(),
        RandomState::new().hash_one(word())
    )
}

fn private_file(path: &Path, text: &str) -> Result<()> {
    let _ = fs::remove_file(path);
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_kubeconfig_trusts_the_certificate_and_has_the_token() {
        let text = render("https://127.0.0.1:7", Path::new("/d/c.crt"), "secret");
        let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            parsed["clusters"][0]["cluster"]["server"],
            "https://127.0.0.1:7"
        );
        assert_eq!(
            parsed["clusters"][0]["cluster"]["certificate-authority"],
            "/d/c.crt"
        );
        assert_eq!(parsed["users"][0]["user"]["token"], "secret");
        assert_eq!(parsed["current-context"], parsed["contexts"][0]["name"]);
        assert!(!text.contains("insecure"));
    }

    #[test]
    fn the_files_agree_and_are_private() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "https://127.0.0.1:7").unwrap();
        let tokens = fs::read_to_string(tokens(folder.path())).unwrap();
        let token = tokens.split(',').next().unwrap();
        assert_eq!(token.len(), 32);
        assert!(
            fs::read_to_string(path(folder.path()))
                .unwrap()
                .contains(token)
        );
        let mode = fs::metadata(path(folder.path()))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn tokens_differ() {
        assert_ne!(random_token(), random_token());
    }
}
