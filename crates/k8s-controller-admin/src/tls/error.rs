//! What can be wrong with the files.

use std::error::Error;
use std::io;
use std::path::PathBuf;

/// Why a certificate or its key cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The file is missing, or may not be read.
    #[error("{} cannot be read; expected a PEM file with {expected}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What it should have.
        expected: &'static str,
        /// What the system said.
        source: io::Error,
    },

    /// There is a directory, or something else that is no file.
    #[error("{} is not a file; expected a PEM file with {expected}", path.display())]
    NotAFile {
        /// What was named.
        path: PathBuf,
        /// What it should have.
        expected: &'static str,
    },

    /// The file is larger than a Secret can be (1 MiB).
    #[error("{} is larger than 1 MiB; expected a PEM file with {expected}", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// What it should have.
        expected: &'static str,
    },

    /// The file is not PEM, or broken.
    #[error("{} is not PEM: {problem}; expected {expected}", path.display())]
    NotPem {
        /// The file.
        path: PathBuf,
        /// What it should have.
        expected: &'static str,
        /// What is wrong.
        problem: &'static str,
    },

    /// The certificate's file has PEM blocks, but none is a certificate.
    #[error("{} has no certificate, but {found}; expected blocks CERTIFICATE", path.display())]
    NoCertificate {
        /// The file.
        path: PathBuf,
        /// The kinds of its blocks.
        found: String,
    },

    /// The key's file has PEM blocks, but none is a private key.
    #[error(
        "{} has no private key, but {found}; expected a block PRIVATE KEY, RSA PRIVATE KEY or EC PRIVATE KEY",
        path.display()
    )]
    NoKey {
        /// The file.
        path: PathBuf,
        /// The kinds of its blocks.
        found: String,
    },

    /// The private key is encrypted.
    #[error("the private key in {} is encrypted; expected one without a passphrase", path.display())]
    EncryptedKey {
        /// The file.
        path: PathBuf,
    },

    /// A certificate cannot be used.
    #[error("a certificate in {} cannot be used; expected X.509 version 3", path.display())]
    BadCertificate {
        /// The file.
        path: PathBuf,
        /// What rustls said.
        source: Box<dyn Error + Send + Sync>,
    },

    /// The private key cannot be used.
    #[error("the private key in {} cannot be used; expected RSA (2048 bits or more), ECDSA (P-256, P-384) or Ed25519", path.display())]
    BadKey {
        /// The file.
        path: PathBuf,
        /// What rustls said.
        source: Box<dyn Error + Send + Sync>,
    },

    /// The key is another certificate's.
    #[error(
        "the private key in {} is not that of the first certificate in {}; expected the server's own certificate first",
        key.display(),
        cert.display()
    )]
    KeyMismatch {
        /// The file of the certificate.
        cert: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },

    /// rustls could not be set up.
    #[error("TLS cannot be set up")]
    Setup(#[source] Box<dyn Error + Send + Sync>),
}
