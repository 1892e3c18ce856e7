//! Free ports.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context, Result};

/// The ports of a control plane, all on 127.0.0.1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ports {
    pub etcd_client: u16,
    pub etcd_peer: u16,
    pub api: u16,
}

impl Ports {
    /// Ports that are free now; somebody may take one before it is used.
    pub(super) fn free() -> Result<Self> {
        // Held together, so that they differ.
        let listeners = [listen()?, listen()?, listen()?];
        let port = |listener: &TcpListener| {
            let address = listener.local_addr().context("cannot ask for a port")?;
            anyhow::Ok(address.port())
        };
        Ok(Self {
            etcd_client: port(&listeners[0])?,
            etcd_peer: port(&listeners[1])?,
            api: port(&listeners[2])?,
        })
    }
}

fn listen() -> Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port on 127.0.0.1")
}

/// Whether a log says that a port was not free.
pub(super) fn is_taken(log: &str) -> bool {
    log.contains("address already in use")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_free_and_differ() {
        let ports = Ports::free().unwrap();
        let all = [ports.etcd_client, ports.etcd_peer, ports.api];
        let listeners: Vec<_> = all
            .iter()
            .map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).unwrap())
            .collect();
        assert_eq!(listeners.len(), 3);
    }

    #[test]
    fn a_taken_port_is_seen_in_the_log() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let error = TcpListener::bind(taken.local_addr().unwrap()).unwrap_err();
        assert!(is_taken(&error.to_string().to_lowercase()), "{error}");
        assert!(is_taken(
            "failed to create listener: listen tcp 127.0.0.1:1: bind: address already in use"
        ));
        assert!(!is_taken("certificate expired"));
    }
}
