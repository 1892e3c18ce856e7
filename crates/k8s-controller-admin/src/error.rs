//! Why the server does not run.

use std::io;
use std::net::SocketAddr;

/// Why an [`AdminServer`](crate::AdminServer) could not be bound, or ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address cannot be listened on.
    #[error("the admin server cannot listen on {address}: {}", bind_hint(source))]
    Bind {
        /// The address that was asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },

    /// A check has a name that cannot be part of a path.
    #[error(
        "{probe} check {name:?}: {problem}; expected segments such as \"cache\" or \"controller/website\", \
         without whitespace and control characters"
    )]
    CheckName {
        /// `liveness` or `readiness`.
        probe: &'static str,
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },

    /// Two checks of the same probe have the same name.
    #[error(
        "{probe} check {name:?} was added more than once; expected a name of its own for each (\"ping\" is taken)"
    )]
    DuplicateCheck {
        /// `liveness` or `readiness`.
        probe: &'static str,
        /// The name.
        name: String,
    },

    /// A file for TLS cannot be used.
    #[cfg(feature = "tls")]
    #[error(transparent)]
    Tls(#[from] crate::TlsError),

    /// The socket no longer accepts connections, and never will again.
    #[error("the admin server can no longer accept connections on {address}")]
    Accept {
        /// The address that was listened on.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}

/// What a person who configures the address wants to know.
fn bind_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "another socket listens there already",
        io::ErrorKind::AddrNotAvailable => "this machine has no such address",
        io::ErrorKind::PermissionDenied => {
            "it is not allowed to; ports below 1024 usually need the capability NET_BIND_SERVICE"
        }
        _ => "the system refused",
    }
}
