//! Two PEM files.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{Error, InconsistentKeys};

use super::TlsError;

/// No Secret is larger.
const MAX_BYTES: u64 = 1024 * 1024;

const A_CERTIFICATE: &str = "the server's certificate and its intermediate ones";
const A_KEY: &str = "the certificate's private key";

#[derive(Clone, Debug)]
pub(crate) struct Files {
    pub(super) cert: PathBuf,
    pub(super) key: PathBuf,
}

/// What was in the files. Without `Debug`, so that a key is not logged.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Contents {
    cert: Vec<u8>,
    key: Vec<u8>,
}

impl Files {
    pub(crate) fn new(cert: PathBuf, key: PathBuf) -> Self {
        Self { cert, key }
    }

    pub(super) async fn read(&self) -> Result<Contents, TlsError> {
        let files = self.clone();
        let reading = tokio::task::spawn_blocking(move || {
            Ok(Contents {
                cert: read(&files.cert, A_CERTIFICATE)?,
                key: read(&files.key, A_KEY)?,
            })
        });
        reading.await.unwrap_or_else(|error| {
            Err(TlsError::Read {
                path: self.cert.clone(),
                expected: A_CERTIFICATE,
                source: io::Error::other(error),
            })
        })
    }
}

fn read(path: &Path, expected: &'static str) -> Result<Vec<u8>, TlsError> {
    let failed = |source| TlsError::Read {
        path: path.to_owned(),
        expected,
        source,
    };
    // A pipe would be waited for.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        let path = path.to_owned();
        return Err(TlsError::NotAFile { path, expected });
    }
    let mut contents = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut contents))
        .map_err(failed)?;
    if contents.len() as u64 > MAX_BYTES {
        let path = path.to_owned();
        return Err(TlsError::TooLarge { path, expected });
    }
    Ok(contents)
}

impl Contents {
    /// `files` are named in errors.
    pub(super) fn certified_key(&self, files: &Files) -> Result<CertifiedKey, TlsError> {
        let chain = self.certificates(&files.cert)?;
        let key = self.private_key(&files.key)?;
        let key = ring::default_provider()
            .key_provider
            .load_private_key(key)
            .map_err(|error| TlsError::BadKey {
                path: files.key.clone(),
                source: error.into(),
            })?;
        let certified = CertifiedKey::new(chain, key);
        match certified.keys_match() {
            // Of a kind of key that does not tell its public half.
            Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(certified),
            Err(Error::InconsistentKeys(_)) => Err(TlsError::KeyMismatch {
                cert: files.cert.clone(),
                key: files.key.clone(),
            }),
            Err(error) => Err(bad_certificate(&files.cert, error)),
        }
    }

    fn certificates(&self, path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
        let chain = CertificateDer::pem_slice_iter(&self.cert)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| not_pem(path, A_CERTIFICATE, &error))?;
        if chain.is_empty() {
            return Err(TlsError::NoCertificate {
                path: path.to_owned(),
                found: blocks(&self.cert, path, A_CERTIFICATE)?,
            });
        }
        for certificate in &chain {
            ParsedCertificate::try_from(certificate)
                .map_err(|error| bad_certificate(path, error))?;
        }
        Ok(chain)
    }

    fn private_key(&self, path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
        let text = String::from_utf8_lossy(&self.key);
        // PKCS#8, and what openssl wrote before.
        if text.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----")
            || text.contains("Proc-Type: 4,ENCRYPTED")
        {
            let path = path.to_owned();
            return Err(TlsError::EncryptedKey { path });
        }
        match PrivateKeyDer::from_pem_slice(&self.key) {
            Ok(key) => Ok(key),
            Err(pem::Error::NoItemsFound) => Err(TlsError::NoKey {
                path: path.to_owned(),
                found: blocks(&self.key, path, A_KEY)?,
            }),
            Err(error) => Err(not_pem(path, A_KEY, &error)),
        }
    }
}

fn bad_certificate(path: &Path, error: Error) -> TlsError {
    TlsError::BadCertificate {
        path: path.to_owned(),
        source: error.into(),
    }
}

fn not_pem(path: &Path, expected: &'static str, error: &pem::Error) -> TlsError {
    let problem = match error {
        pem::Error::MissingSectionEnd { .. } => "a block has no END line",
        pem::Error::IllegalSectionStart { .. } => "a BEGIN line is malformed",
        pem::Error::Base64Decode(_) => "the base64 of a block is invalid",
        _ => "a block cannot be read",
    };
    TlsError::NotPem {
        path: path.to_owned(),
        expected,
        problem,
    }
}

/// The kinds of the blocks of a PEM file, to tell which of two files was taken for the other.
fn blocks(contents: &[u8], path: &Path, expected: &'static str) -> Result<String, TlsError> {
    let text = String::from_utf8_lossy(contents);
    let kinds: Vec<&str> = text
        .lines()
        .filter_map(|line| {
            line.trim()
                .strip_prefix("-----BEGIN ")?
                .strip_suffix("-----")
        })
        .collect();
    if kinds.is_empty() {
        return Err(TlsError::NotPem {
            path: path.to_owned(),
            expected,
            problem: "it has no BEGIN line",
        });
    }
    Ok(kinds.join(", "))
}
