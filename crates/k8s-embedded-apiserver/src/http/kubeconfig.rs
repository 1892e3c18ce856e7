//! Kubeconfig files that lead to the server.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::Certificate;

/// First line of the files that are ours to replace.
const MARK: &str = "# Written by k8s-embedded-apiserver, which replaces and removes this file.";

/// Sent over HTTPS where no token was chosen; a server without users takes any.
const ANY_TOKEN: &str = "embedded";

/// The text of a kubeconfig that leads to a server at `address` over plain HTTP: a [`Kubeconfig`] without more.
#[must_use]
pub fn kubeconfig(address: SocketAddr) -> String {
    Kubeconfig::new(address).to_string()
}

/// What a kubeconfig says. Its text is what [`Display`](fmt::Display) writes.
///
/// An address that stands for all of the machine's (`0.0.0.0`) becomes the loopback one.
#[derive(Clone, Debug)]
#[must_use = "its text is what it is for"]
pub struct Kubeconfig {
    address: SocketAddr,
    authority: Option<String>,
    token: Option<String>,
}

impl Kubeconfig {
    /// Leads to `address` over plain HTTP, without credentials.
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            authority: None,
            token: None,
        }
    }

    /// Leads there over HTTPS, to a server that shows this certificate.
    pub fn certificate(mut self, certificate: &Certificate) -> Self {
        self.authority = Some(certificate.authority().to_owned());
        self
    }

    /// Sends this bearer token.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }
}

impl From<SocketAddr> for Kubeconfig {
    fn from(address: SocketAddr) -> Self {
        Self::new(address)
    }
}

impl fmt::Display for Kubeconfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.authority {
            Some(_) => "https",
            None => "http",
        };
        let address = reached(self.address);
        let authority = self
            .authority
            .as_ref()
            .map(|pem| {
                format!(
                    "\n    certificate-authority-data: {}",
                    BASE64_STANDARD.encode(pem)
                )
            })
            .unwrap_or_default();
        // Over HTTPS kubectl asks for a password where it has no credentials.
        let token = match (&self.token, &self.authority) {
            (None, Some(_)) => Some(ANY_TOKEN),
            (token, _) => token.as_deref(),
        };
        // JSON is YAML, whatever the token has in it.
        let user = match token {
            Some(token) => serde_json::json!({ "token": token }).to_string(),
            None => "{}".into(),
        };
        write!(
            f,
            "{MARK}
apiVersion: v1
kind: Config
current-context: embedded
clusters:
- name: embedded
  cluster:
    server: {scheme}://{address}{authority}
users:
- name: embedded
  user: {user}
contexts:
- name: embedded
  context:
    cluster: embedded
    user: embedded
    namespace: default
"
        )
    }
}

/// Where a server that listens on `address` is reached.
fn reached(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Why a kubeconfig was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KubeconfigError {
    /// There is a file already, and it may lead to a cluster that somebody needs.
    #[error("{} exists and was not written by k8s-embedded-apiserver: name another file, or move it away", .0.display())]
    Foreign(PathBuf),
    /// The file could not be read or written.
    #[error("{} could not be written", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A kubeconfig that was written for a server.
#[derive(Debug)]
pub struct KubeconfigFile {
    path: PathBuf,
    text: String,
}

impl KubeconfigFile {
    /// Writes a kubeconfig, or one for a server at a plain address, readable by its owner alone.
    ///
    /// The file is there whole or not at all. An empty file, and one that this function wrote before, is replaced.
    ///
    /// # Errors
    ///
    /// [`KubeconfigError::Foreign`] if there is a file of somebody else's; nothing is changed then.
    pub fn write(
        path: impl Into<PathBuf>,
        kubeconfig: impl Into<Kubeconfig>,
    ) -> Result<Self, KubeconfigError> {
        let path = path.into();
        let text = kubeconfig.into().to_string();
        let failed = |source| KubeconfigError::Io {
            path: path.clone(),
            source,
        };
        match fs::read(&path) {
            // An empty file, such as `mktemp` makes, is nobody's loss.
            Ok(found) if !found.is_empty() && !found.starts_with(MARK.as_bytes()) => {
                return Err(KubeconfigError::Foreign(path));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        let temporary = temporary_beside(&path);
        write_private(&temporary, &text)
            .and_then(|()| fs::rename(&temporary, &path))
            .map_err(|error| {
                // Best effort: there may be no such file.
                let _ = fs::remove_file(&temporary);
                failed(error)
            })?;
        Ok(Self { path, text })
    }

    /// Where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the file, unless another server has replaced it meanwhile.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or removed; that it is gone is no error.
    pub fn remove(self) -> io::Result<()> {
        match fs::read(&self.path) {
            Ok(found) if found == self.text.as_bytes() => fs::remove_file(&self.path),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// A name in the same folder, so that it can be renamed onto `path` in one step.
fn temporary_beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 8080))
    }

    #[test]
    fn leads_to_the_loopback_address() {
        assert!(kubeconfig(address()).contains("server: http://127.0.0.1:8080\n"));
        assert!(
            kubeconfig(SocketAddr::from(([0, 0, 0, 0], 1)))
                .contains("server: http://127.0.0.1:1\n")
        );
        assert!(
            kubeconfig(SocketAddr::from((Ipv6Addr::UNSPECIFIED, 1)))
                .contains("server: http://[::1]:1\n")
        );
    }

    #[test]
    fn replaces_its_own_files_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        KubeconfigFile::write(&path, SocketAddr::from(([127, 0, 0, 1], 1))).unwrap();
        let second = KubeconfigFile::write(&path, address()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), kubeconfig(address()));
        second.remove().unwrap();
        assert!(!path.exists());

        fs::write(&path, "").unwrap();
        KubeconfigFile::write(&path, address())
            .unwrap()
            .remove()
            .unwrap();

        fs::write(&path, "apiVersion: v1\nkind: Config\n").unwrap();
        let error = KubeconfigFile::write(&path, address()).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("was not written by k8s-embedded-apiserver"),
            "{error}"
        );
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "apiVersion: v1\nkind: Config\n"
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn another_servers_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        let first = KubeconfigFile::write(&path, address()).unwrap();
        let _second = KubeconfigFile::write(&path, SocketAddr::from(([127, 0, 0, 1], 9))).unwrap();
        first.remove().unwrap();
        assert!(path.exists());
    }

    #[cfg(unix)]
    #[test]
    fn is_for_the_owner_alone() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let file = KubeconfigFile::write(folder.path().join("config"), address()).unwrap();
        assert_eq!(
            fs::metadata(file.path()).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = KubeconfigFile::write("/nonexistent/folder/config", address()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "/nonexistent/folder/config could not be written"
        );
    }
}
