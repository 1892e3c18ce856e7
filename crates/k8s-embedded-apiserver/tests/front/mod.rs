//! Servers that programs talk to: the embedded one over HTTPS and, where `K8S_CONTROLLER_E2E_KUBECONFIG` names its
//! kubeconfig, a real one.
//!
//! kubectl is looked for in the folder that `KUBEBUILDER_ASSETS` names.

#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used, reason = "in a test that is a failure")]

pub(crate) mod mask;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use k8s_embedded_apiserver::EmbeddedApiServer;
use k8s_embedded_apiserver::http::{Certificate, Front, Kubeconfig};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

const ASSETS: &str = "KUBEBUILDER_ASSETS";
const KUBECONFIG: &str = "K8S_CONTROLLER_E2E_KUBECONFIG";

/// The embedded server in a thread of its own.
#[derive(Debug)]
pub(crate) struct Embedded {
    stop: Option<oneshot::Sender<()>>,
    serving: Option<std::thread::JoinHandle<()>>,
}

impl Embedded {
    /// Serves over HTTPS until it is dropped; says where, and with which certificate.
    pub(crate) fn start(server: EmbeddedApiServer) -> (Self, SocketAddr, Certificate) {
        let (stop, stopped) = oneshot::channel();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let serving = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let address = listener.local_addr().unwrap();
                let certificate = Certificate::for_address(address).unwrap();
                ready.send((address, certificate.clone())).unwrap();
                let until = async {
                    let _ = stopped.await;
                };
                let front = Front::new(server).certificate(&certificate);
                front.serve(listener, until).await.unwrap();
            });
        });
        let (address, certificate) = is_ready.recv().unwrap();
        let this = Self {
            stop: Some(stop),
            serving: Some(serving),
        };
        (this, address, certificate)
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.stop.take().map(|stop| stop.send(()));
        let ended = self.serving.take().map(std::thread::JoinHandle::join);
        if let (Some(Err(panic)), false) = (ended, std::thread::panicking()) {
            std::panic::resume_unwind(panic);
        }
    }
}

/// A server that kubectl and other programs can reach.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) name: &'static str,
    kubectl: PathBuf,
    /// Cluster and user, as a kubeconfig has them.
    cluster: Value,
    user: Value,
    folder: TempDir,
    _embedded: Option<Embedded>,
}

/// All servers; none, and the reason is told, where there is no kubectl.
pub(crate) fn targets() -> Vec<Target> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let Some(assets) = variable(ASSETS) else {
        assert!(
            variable(KUBECONFIG).is_none(),
            "{KUBECONFIG} is set, but not {ASSETS}"
        );
        eprintln!("skipped: {ASSETS} names no folder with kubectl; see `cargo xtask e2e`");
        return Vec::new();
    };
    let kubectl = Path::new(&assets).join("kubectl");
    assert!(
        kubectl.exists(),
        "{ASSETS}: there is no {}",
        kubectl.display()
    );
    let mut targets = vec![Target::embedded(&kubectl)];
    match variable(KUBECONFIG) {
        Some(kubeconfig) => targets.push(Target::real(&kubectl, &kubeconfig)),
        None => eprintln!("{KUBECONFIG} is not set: only the embedded server is tested"),
    }
    targets
}

impl Target {
    fn embedded(kubectl: &Path) -> Self {
        let (embedded, address, certificate) =
            Embedded::start(EmbeddedApiServer::builder().rbac(true).build());
        let text = Kubeconfig::new(address)
            .certificate(&certificate)
            .to_string();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        std::fs::write(&path, text).unwrap();
        let view = view(kubectl, path.as_ref());
        Self::new("embedded", kubectl, &view, folder, Some(embedded))
    }

    fn real(kubectl: &Path, kubeconfig: &OsString) -> Self {
        let view = view(kubectl, kubeconfig.as_ref());
        Self::new("real", kubectl, &view, tempfile::tempdir().unwrap(), None)
    }

    fn new(
        name: &'static str,
        kubectl: &Path,
        view: &Value,
        folder: TempDir,
        embedded: Option<Embedded>,
    ) -> Self {
        Self {
            name,
            kubectl: kubectl.into(),
            cluster: view["clusters"][0]["cluster"].clone(),
            user: view["users"][0]["user"].clone(),
            folder,
            _embedded: embedded,
        }
    }

    /// Writes a kubeconfig for a namespace, in which all names are the same on every server.
    pub(crate) fn kubeconfig(&self, namespace: &str) -> PathBuf {
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "context",
            "clusters": [{"name": "cluster", "cluster": self.cluster}],
            "users": [{"name": "user", "user": self.user}],
            "contexts": [{"name": "context", "context": {"cluster": "cluster", "user": "user", "namespace": namespace}}],
        });
        let path = self.folder.path().join(format!("config-{namespace}"));
        // Once: a program that runs may be reading it.
        if !path.exists() {
            std::fs::write(&path, config.to_string()).unwrap();
        }
        path
    }

    /// A shell command that finds kubectl, which is told of a server and a namespace in it.
    pub(crate) fn shell(&self, namespace: &str, script: &str) -> Command {
        let mut path = OsString::from(self.kubectl.parent().unwrap());
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .env("PATH", path)
            .env("HOME", self.folder.path())
            .env("TZ", "UTC")
            .env("KUBECONFIG", self.kubeconfig(namespace));
        command
    }

    /// What a shell command prints; it must succeed.
    pub(crate) fn run(&self, namespace: &str, script: &str) -> String {
        let output = self.shell(namespace, script).output().unwrap();
        assert!(
            output.status.success(),
            "{}: {script}: {}",
            self.name,
            text(&output)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// Makes a namespace of this run, which is removed when dropped.
    pub(crate) fn namespace(&self, name: &str) -> Namespace<'_> {
        let name = format!("{name}-{}", std::process::id());
        self.run("default", &format!("kubectl create namespace {name}"));
        Namespace { target: self, name }
    }

    /// Runs a command again until its output fits.
    pub(crate) fn until(
        &self,
        namespace: &str,
        script: &str,
        mut fits: impl FnMut(&str) -> bool,
    ) -> String {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let output = self.shell(namespace, script).output().unwrap();
            let found = String::from_utf8_lossy(&output.stdout).into_owned();
            if output.status.success() && fits(&found) {
                return found;
            }
            assert!(
                Instant::now() < deadline,
                "{}: {script}: not within 30 s: {}",
                self.name,
                text(&output)
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// A namespace of a test.
#[derive(Debug)]
pub(crate) struct Namespace<'a> {
    target: &'a Target,
    pub(crate) name: String,
}

impl Drop for Namespace<'_> {
    fn drop(&mut self) {
        // Nobody takes the finalizers of volume claims away where no controller of volumes runs. All of it is best
        // effort: a command of the test may have removed the namespace.
        let script = format!(
            "kubectl delete namespace {0} --wait=false; kubectl get pvc -n {0} -o name \
             | xargs -r -n1 kubectl patch -n {0} --type=merge -p '{{\"metadata\":{{\"finalizers\":null}}}}'",
            self.name
        );
        let _ = self.target.shell("default", &script).output();
    }
}

/// Everything that a program has said.
pub(crate) fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// A kubeconfig with its files' contents in it.
fn view(kubectl: &Path, kubeconfig: &std::ffi::OsStr) -> Value {
    let output = Command::new(kubectl)
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(["config", "view", "--raw", "--flatten", "-o", "json"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}
