//! The real kubectl against the server over HTTP: what people type first has to work.
//!
//! kubectl is looked for in the folder that `KUBEBUILDER_ASSETS` names; without it the tests say so and pass.

#![cfg(feature = "http")]
#![allow(
    clippy::unwrap_used,
    reason = "a helper of a test fails as the test does"
)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use k8s_embedded_apiserver::EmbeddedApiServer;
use k8s_embedded_apiserver::http::{self, KubeconfigFile};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

const OBJECTS: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: websites.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: websites, singular: website, kind: Website, shortNames: [web]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns:
    - {name: Host, type: string, jsonPath: .spec.host}
    - {name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status'}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {host: {type: string}, replicas: {type: integer}}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
"#;

const MORE: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {tier: web}}
data: {color: green}
---
apiVersion: example.com/v1
kind: Website
metadata: {name: home}
spec: {host: home.example.com, replicas: 2}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: home}
spec:
  replicas: 2
  selector: {matchLabels: {app: home}}
  template:
    metadata: {labels: {app: home}}
    spec: {containers: [{name: web, image: "nginx:1"}]}
"#;

fn event(uid: &str) -> String {
    format!(
        r#"
apiVersion: events.k8s.io/v1
kind: Event
metadata: {{name: home.1}}
regarding: {{apiVersion: example.com/v1, kind: Website, name: home, namespace: default, uid: "{uid}"}}
reason: Converged
action: Reconcile
type: Normal
note: "all parts are there"
reportingController: example.com/website-controller
reportingInstance: website-controller-0
eventTime: "2020-01-01T00:00:00.000000Z"
"#
    )
}

/// A server of its own in another thread, and kubectl.
struct Bench {
    kubectl: PathBuf,
    folder: TempDir,
    stop: Option<oneshot::Sender<()>>,
    serving: Option<std::thread::JoinHandle<()>>,
}

impl Bench {
    fn start() -> Option<Self> {
        let Some(kubectl) =
            std::env::var_os("KUBEBUILDER_ASSETS").map(|folder| Path::new(&folder).join("kubectl"))
        else {
            eprintln!("skipped: KUBEBUILDER_ASSETS names no folder with kubectl");
            return None;
        };
        assert!(
            kubectl.exists(),
            "KUBEBUILDER_ASSETS has no {}",
            kubectl.display()
        );
        let folder = tempfile::tempdir().unwrap();
        let (stop, stopped) = oneshot::channel();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let path = folder.path().join("config");
        let serving = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let _file = KubeconfigFile::write(path, listener.local_addr().unwrap()).unwrap();
                ready.send(()).unwrap();
                let until = async {
                    let _ = stopped.await;
                };
                http::serve(EmbeddedApiServer::new(), listener, until)
                    .await
                    .unwrap();
            });
        });
        is_ready.recv().unwrap();
        Some(Self {
            kubectl,
            folder,
            stop: Some(stop),
            serving: Some(serving),
        })
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(&self.kubectl);
        command
            .env("HOME", self.folder.path())
            .arg("--kubeconfig")
            .arg(self.folder.path().join("config"))
            .args(arguments.split_whitespace());
        command
    }

    /// What kubectl prints; it must succeed.
    fn run(&self, arguments: &str) -> String {
        let output = self.command(arguments).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.success(),
            "kubectl {arguments}: {text}{errors}"
        );
        text
    }

    /// What kubectl complains; it must fail.
    fn refused(&self, arguments: &str) -> String {
        let output = self.command(arguments).output().unwrap();
        assert!(!output.status.success(), "kubectl {arguments}");
        String::from_utf8(output.stderr).unwrap()
    }

    /// Runs with a file, whose path takes the place of `FILE`.
    fn with(&self, arguments: &str, file: &str) -> String {
        let path = self.folder.path().join("objects.yaml");
        std::fs::write(&path, file).unwrap();
        self.run(&arguments.replace("FILE", path.to_str().unwrap()))
    }

    fn objects(&self) {
        self.with("create -f FILE", OBJECTS);
        self.run("wait --for=condition=Established crd/websites.example.com --timeout=10s");
        self.with("create -f FILE", MORE);
        let uid = self.run("get website home -o jsonpath={.metadata.uid}");
        self.with("create -f FILE", &event(&uid));
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.stop.take().map(|stop| stop.send(()));
        let ended = self.serving.take().map(std::thread::JoinHandle::join);
        if let (Some(Err(panic)), false) = (ended, std::thread::panicking()) {
            std::panic::resume_unwind(panic);
        }
    }
}

/// The lines of a table as words.
fn rows(table: &str) -> Vec<Vec<&str>> {
    table
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect()
}

#[test]
fn get_shows_tables() {
    let Some(bench) = Bench::start() else { return };
    bench.objects();
    let table = bench.run("get configmap");
    assert_eq!(rows(&table)[0], ["NAME", "DATA", "AGE"], "{table}");
    assert_eq!(rows(&table)[1][..2], ["settings", "1"], "{table}");
    // By short name, with the columns of the definition.
    let table = bench.run("get web");
    assert_eq!(
        rows(&table),
        [
            vec!["NAME", "HOST", "READY"],
            vec!["home", "home.example.com"]
        ],
        "{table}"
    );
    let table = bench.run("get events");
    assert_eq!(
        rows(&table)[1][1..4],
        ["Normal", "Converged", "website/home"],
        "{table}"
    );
    assert!(table.contains("all parts are there"), "{table}");
    assert_eq!(
        bench.run("get events.events.k8s.io -o name"),
        "event.events.k8s.io/home.1\n"
    );
    let table = bench.run("get deployment -o wide");
    assert_eq!(rows(&table)[1][..2], ["home", "0/2"], "{table}");
    assert_eq!(
        bench.run("get cm,web -o name -l tier=web"),
        "configmap/settings\n"
    );
    assert!(
        bench
            .run("get cm settings -o yaml")
            .contains("color: green")
    );
    assert_eq!(
        bench.run("get events --field-selector reason=Converged -o name"),
        "event/home.1\n"
    );
    assert!(
        bench
            .refused("get configmap nothing")
            .contains("configmaps \"nothing\" not found")
    );
    assert!(bench.run("get namespaces").contains("default"));
}

#[test]
fn objects_are_labelled_annotated_patched_and_deleted() {
    let Some(bench) = Bench::start() else { return };
    bench.objects();
    for target in ["configmap settings", "website home", "event home.1"] {
        assert!(
            bench
                .run(&format!("label {target} seen=yes"))
                .contains("labeled")
        );
        assert!(
            bench
                .run(&format!("annotate {target} note=here"))
                .contains("annotated")
        );
        let path = "jsonpath={.metadata.labels.seen}/{.metadata.annotations.note}";
        assert_eq!(bench.run(&format!("get {target} -o {path}")), "yes/here");
        assert!(
            bench
                .run(&format!("label {target} seen-"))
                .contains("unlabeled")
        );
    }
    bench.run(r#"patch website home --subresource=status --type=merge -p {"status":{"conditions":[{"type":"Ready","status":"True"}]}}"#);
    bench.run("wait --for=condition=Ready website/home --timeout=10s");
    bench.run("scale deployment home --replicas=3");
    assert_eq!(
        bench.run("get deployment home -o jsonpath={.spec.replicas}"),
        "3"
    );
    bench.run("set image deployment/home web=nginx:2");
    assert_eq!(
        bench.run("get deployment home -o jsonpath={.spec.template.spec.containers[*].image}"),
        "nginx:2"
    );
    for target in [
        "configmap settings",
        "website home",
        "event home.1",
        "deployment home",
        "crd websites.example.com",
    ] {
        bench.run(&format!("delete {target} --timeout=10s"));
    }
    assert_eq!(bench.run("get configmaps,events,deployments -o name"), "");
}

#[test]
fn describe_shows_the_events_of_an_object() {
    let Some(bench) = Bench::start() else { return };
    bench.objects();
    let website = bench.run("describe website home");
    assert!(website.contains("Host:      home.example.com"), "{website}");
    assert!(website.contains("all parts are there"), "{website}");
    assert!(bench.run("describe configmap settings").contains("color:"));
    assert!(bench.run("describe event home.1").contains("Converged"));
    assert!(
        bench
            .run("events --for website/home")
            .contains("all parts are there")
    );
}

#[test]
fn apply_changes_what_changed() {
    let Some(bench) = Bench::start() else { return };
    bench.with("create -f FILE", OBJECTS);
    assert_eq!(
        bench.with("apply -f FILE", MORE).matches("created").count(),
        3
    );
    assert_eq!(
        bench
            .with("apply -f FILE", MORE)
            .matches("unchanged")
            .count(),
        3
    );
    let changed = MORE
        .replace("color: green", "shape: round")
        .replace("host: home", "host: www")
        .replace("nginx:1", "nginx:2");
    assert_eq!(
        bench
            .with("apply -f FILE", &changed)
            .matches("configured")
            .count(),
        3
    );
    assert_eq!(
        bench.run("get configmap settings -o jsonpath={.data}"),
        r#"{"shape":"round"}"#
    );
    assert_eq!(
        bench.run("get website home -o jsonpath={.spec.host}"),
        "www.example.com"
    );
    assert_eq!(
        bench.run("get deployment home -o jsonpath={.spec.template.spec.containers[*].image}"),
        "nginx:2"
    );
    bench.with("replace -f FILE", MORE);
    bench.with("delete -f FILE", MORE);
}

const UNKNOWN: &str = r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: "reads:all"}
roleRef: {kind: Role, name: reader}
subjects: [{kind: User, name: u}, {kind: ServiceAccount, name: s, namespace: default}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: backup}
"#;

#[test]
fn a_kind_that_is_not_served_is_named() {
    let Some(bench) = Bench::start() else {
        return;
    };
    let file = bench.folder.path().join("unknown.yaml");
    std::fs::write(&file, UNKNOWN).unwrap();
    let error = bench.refused(&format!("apply -f {}", file.display()));
    assert!(
        error.contains(r#"no matches for kind "Job" in version "batch/v1""#),
        "{error}"
    );
    // What was good of it is there, with the groups that the real server fills in.
    let groups = "jsonpath={.roleRef.apiGroup},{.subjects[*].apiGroup}";
    assert_eq!(
        bench.run(&format!("get rolebinding reads:all -o {groups}")),
        "rbac.authorization.k8s.io,rbac.authorization.k8s.io"
    );
}

#[test]
fn get_watches() {
    let Some(bench) = Bench::start() else { return };
    bench.objects();
    let mut child = bench
        .command("get configmap -w")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    assert_eq!(
        lines.next().unwrap().split_whitespace().next(),
        Some("NAME")
    );
    assert!(lines.next().unwrap().starts_with("settings"));
    bench.with(
        "apply -f FILE",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: late}, data: {a: b, c: d}}",
    );
    let late = lines.next().unwrap();
    assert_eq!(
        late.split_whitespace().take(2).collect::<Vec<_>>(),
        ["late", "2"],
        "{late}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn explain_knows_the_schema_of_a_definition() {
    let Some(bench) = Bench::start() else { return };
    bench.with("create -f FILE", OBJECTS);
    let text = bench.run("explain website.spec");
    assert!(
        text.contains("host") && text.contains("<integer>"),
        "{text}"
    );
    assert!(bench.run("api-resources").contains("websites"));
    assert!(bench.run("version").contains("Server Version: v1.37"));
}

/// These commands send protobuf.
#[test]
fn objects_are_made_without_a_file() {
    let Some(bench) = Bench::start() else { return };
    bench.run("create namespace shop");
    bench.run("create configmap settings -n shop --from-literal=color=green");
    assert_eq!(
        bench.run("get configmap settings -n shop -o jsonpath={.data.color}"),
        "green"
    );
    bench.run("create secret generic keys --from-literal=k=v");
    assert_eq!(bench.run("get secret keys -o jsonpath={.data.k}"), "dg==");
    bench.run("create serviceaccount robot");
    bench.run("create deployment home --image=nginx:1 --replicas=2 --port=80");
    assert_eq!(
        bench.run("get deployment home -o jsonpath={.spec.replicas}"),
        "2"
    );
    bench.run("create service clusterip home --tcp=80:8080");
    bench.run("create clusterrole reader --verb=get --resource=pods");
    assert_eq!(
        bench.run("get clusterrole reader -o jsonpath={.rules[0].verbs}"),
        r#"["get"]"#
    );
    bench.run("delete namespace shop --timeout=10s");
    assert!(bench.refused("get namespace shop").contains("not found"));
}
