//! The command lines of the control plane's programs.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use super::{audit, flag, kubeconfig, ports::Ports};
use crate::{control_plane::Folder, process::Spec};

/// A program's name, and how to start it.
pub(super) type Named = (&'static str, Spec);

/// The name of the program that tests may kill.
pub(super) const KUBE_APISERVER: &str = "kube-apiserver";

/// Where the id of kube-apiserver's process stands.
pub(super) fn apiserver_pid(data: &Path) -> PathBuf {
    data.join("kube-apiserver.pid")
}

/// The certificate, and after it that of its issuer, which kube-apiserver makes for itself.
pub(super) fn certificate(data: &Path) -> PathBuf {
    data.join("certificates/apiserver.crt")
}

pub(super) fn etcd(programs: &Folder, data: &Path, ports: Ports) -> Named {
    let client = format!("http://127.0.0.1:{}", ports.etcd_client);
    let peer = format!("http://127.0.0.1:{}", ports.etcd_peer);
    let mut spec = spec("etcd", programs, data);
    spec.command.push(flag("data-dir", &data.join("etcd")));
    spec.command.extend(
        [
            // The data lives as long as the process.
            "--unsafe-no-fsync".to_owned(),
            "--name=default".to_owned(),
            format!("--listen-client-urls={client}"),
            format!("--advertise-client-urls={client}"),
            format!("--listen-peer-urls={peer}"),
            format!("--initial-advertise-peer-urls={peer}"),
            format!("--initial-cluster=default={peer}"),
        ]
        .map(Into::into),
    );
    // It is the last to end.
    spec.orphaned_folder = Some(data.into());
    ("etcd", spec)
}

pub(super) fn kube_apiserver(programs: &Folder, data: &Path, ports: Ports) -> Named {
    let mut spec = spec(KUBE_APISERVER, programs, data);
    spec.pid_file = Some(apiserver_pid(data));
    // The server makes the key of its certificate before it reads those of service accounts.
    let key = certificate(data).with_extension("key");
    spec.command.extend([
        flag("cert-dir", &data.join("certificates")),
        flag("service-account-signing-key-file", &key),
        flag("service-account-key-file", &key),
        flag("token-auth-file", &kubeconfig::tokens(data)),
        flag("audit-policy-file", &audit::policy(data)),
        flag("audit-log-path", &audit::log(data)),
    ]);
    spec.command.extend(
        [
            &format!("--etcd-servers=http://127.0.0.1:{}", ports.etcd_client),
            &format!("--secure-port={}", ports.api),
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            // The others refuse a loopback address.
            "--endpoint-reconciler-type=none",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=10.0.0.0/24",
            // No controller makes the default service accounts that it asks for.
            "--disable-admission-plugins=ServiceAccount",
            // Off by default, and on in some clusters: it asks for one more rule of a role.
            "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
            // Megabytes; it is never to be parted while somebody reads it.
            "--audit-log-maxsize=10000",
        ]
        .map(Into::into),
    );
    (KUBE_APISERVER, spec)
}

pub(super) fn kube_controller_manager(programs: &Folder, data: &Path) -> Named {
    let mut spec = spec("kube-controller-manager", programs, data);
    spec.command
        .push(flag("kubeconfig", &kubeconfig::path(data)));
    spec.command.extend(
        [
            "--controllers=garbage-collector-controller,namespace-controller",
            "--leader-elect=false",
            // No port: nothing asks it for anything.
            "--secure-port=0",
            "--kube-api-qps=200",
            "--kube-api-burst=400",
        ]
        .map(Into::into),
    );
    ("kube-controller-manager", spec)
}

fn spec(name: &str, programs: &Folder, data: &Path) -> Spec {
    let mut spec = Spec::new([programs.program(name)]);
    spec.folder = Some(data.into());
    spec.log = Some(data.join(format!("{name}.log")));
    // There is nothing to save, and a graceful end takes seconds.
    spec.patience = Duration::ZERO;
    spec
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_port_is_used_where_it_belongs() {
        let programs = Folder::of_test(Path::new("/bin"));
        let ports = Ports {
            etcd_client: 1,
            etcd_peer: 2,
            api: 3,
        };
        let words = |(_, spec): Named| -> Vec<String> {
            spec.command
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect()
        };
        let etcd = words(etcd(&programs, Path::new("/data"), ports));
        assert_eq!(etcd[0], "/bin/etcd");
        assert!(
            etcd.contains(&"--listen-client-urls=http://127.0.0.1:1".into()),
            "{etcd:?}"
        );
        assert!(
            etcd.contains(&"--initial-cluster=default=http://127.0.0.1:2".into()),
            "{etcd:?}"
        );
        let server = words(kube_apiserver(&programs, Path::new("/data"), ports));
        assert!(
            server.contains(&"--etcd-servers=http://127.0.0.1:1".into()),
            "{server:?}"
        );
        assert!(server.contains(&"--secure-port=3".into()), "{server:?}");
        assert!(
            server.contains(&"--token-auth-file=/data/tokens.csv".into()),
            "{server:?}"
        );
        assert!(
            server.contains(&"--audit-log-path=/data/audit.log".into()),
            "{server:?}"
        );
    }
}
