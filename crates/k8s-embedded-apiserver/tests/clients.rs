//! Operators that other people's libraries run, on the embedded server and on a real one: a controller-runtime manager
//! and a kopf operator. Their sources are in `tests/clients` of the workspace.
//!
//! `cargo xtask e2e --test clients` builds them and tells where they are; without that the tests say so and pass.

#![cfg(all(unix, feature = "http"))]
#![allow(clippy::unwrap_used, reason = "in a test that is a failure")]

mod front;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use front::{Target, mask};
use serde_json::Value;

/// Names the controller-runtime manager, built.
const MANAGER: &str = "K8S_CONTROLLER_E2E_MANAGER";
/// Names kopf, installed.
const KOPF: &str = "K8S_CONTROLLER_E2E_KOPF";

/// An operator, and what it leaves behind in each state.
struct Story {
    /// Of the namespaces, too.
    name: &'static str,
    definition: &'static str,
    kind: &'static str,
    /// Which kinds are compared.
    shown: &'static str,
    start: fn(&Path, &Target, &str) -> Command,
    /// Whether it makes again what somebody else deletes.
    restores: bool,
}

const MANAGER_STORY: Story = Story {
    name: "client-manager",
    definition: "manager/sites.yaml",
    kind: "site",
    shown: "sites,configmaps,deployments",
    start: |program, target, namespace| {
        let mut command = Command::new(program);
        command
            .args(["--namespace", namespace, "--config"])
            .arg(target.kubeconfig(namespace));
        command
    },
    restores: true,
};

const KOPF_STORY: Story = Story {
    name: "client-kopf",
    definition: "kopf/pages.yaml",
    kind: "page",
    shown: "pages,configmaps",
    start: |program, target, namespace| {
        let mut command = Command::new(program);
        command
            .args(["run", "--standalone", "--namespace", namespace])
            .arg(sources().join("kopf/pages.py"))
            .env("KUBECONFIG", target.kubeconfig(namespace));
        command
    },
    restores: false,
};

#[test]
fn controller_runtime_manager() {
    tell(&MANAGER_STORY, MANAGER);
}

#[test]
fn kopf_operator() {
    tell(&KOPF_STORY, KOPF);
}

fn tell(story: &Story, variable: &str) {
    let Some(program) = std::env::var_os(variable).map(PathBuf::from) else {
        eprintln!("skipped: {variable} is not set; see `cargo xtask e2e --test clients`");
        return;
    };
    let targets = front::targets();
    let states: Vec<_> = std::thread::scope(|scope| {
        let told: Vec<_> = targets
            .iter()
            .map(|target| scope.spawn(|| story.on(&program, target)))
            .collect();
        told.into_iter()
            .map(|told| {
                told.join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    });
    if let [embedded, real] = &states[..] {
        similar(embedded, real);
    }
}

fn similar(embedded: &[String], real: &[String]) {
    for (embedded, real) in embedded.iter().zip(real) {
        assert_eq!(embedded, real, "embedded, then real");
    }
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients")
}

impl Story {
    /// Lets the operator work; what there was after each step, masked.
    fn on(&self, program: &Path, target: &Target) -> Vec<String> {
        let definition = sources().join(self.definition);
        let definition = definition.display();
        target.run("default", &format!("kubectl apply -f {definition}"));
        let kinds = format!("{}s.clients.example.dev", self.kind);
        target.run(
            "default",
            &format!("kubectl wait --for=condition=Established crd/{kinds}"),
        );
        let namespace = target.namespace(self.name);
        let ns = &namespace.name;
        let mut operator = Operator::start((self.start)(program, target, ns));

        let mut states = Vec::new();
        let object = format!(
            r#"{{"apiVersion": "clients.example.dev/v1", "kind": "{}", "metadata": {{"name": "home", "labels": {{"tier": "web"}}}}, "spec": {{"text": "one"}}}}"#,
            if self.kind == "site" { "Site" } else { "Page" },
        );
        target.run(ns, &format!("echo '{object}' | kubectl create -f -"));
        states.push(self.converged(target, ns, "one", 1, &mut operator));

        target.run(
            ns,
            &format!(
                r#"kubectl patch {} home --type=merge -p '{{"spec": {{"text": "two"}}}}'"#,
                self.kind
            ),
        );
        states.push(self.converged(target, ns, "two", 2, &mut operator));

        if self.restores {
            target.run(ns, "kubectl delete configmap/home-text deployment/home-web");
            states.push(self.converged(target, ns, "two", 2, &mut operator));
        }

        // The finalizer is honoured, and what the object owned goes with it.
        target.run(
            ns,
            &format!("kubectl delete {} home --timeout=20s", self.kind),
        );
        target.until(
            ns,
            &format!("kubectl get {} -o name", self.shown),
            |found| {
                found
                    .lines()
                    .all(|line| line.ends_with("/kube-root-ca.crt"))
            },
        );
        states.push(events(target, ns));
        let ended = operator.stop();
        assert!(
            ended.success(),
            "{}: {ended}\n{}",
            target.name,
            operator.log()
        );
        operator.assert_calm();
        target.run(
            "default",
            &format!("kubectl delete -f {definition} --wait=false"),
        );
        states
    }

    /// Waits until the operator has done its part for a text.
    fn converged(
        &self,
        target: &Target,
        ns: &str,
        text: &str,
        generation: u64,
        operator: &mut Operator,
    ) -> String {
        let get = format!("kubectl get {} -o json", self.shown);
        let found = target.until(ns, &get, |found| {
            operator.assert_running();
            let list: Value = serde_json::from_str(found).unwrap();
            let items = list["items"].as_array().unwrap();
            let named = |name: &str| items.iter().find(|item| item["metadata"]["name"] == name);
            let (Some(object), Some(config_map)) = (named("home"), named("home-text")) else {
                return false;
            };
            let owner = &config_map["metadata"]["ownerReferences"][0];
            object["status"]["observedGeneration"] == generation
                && object["metadata"]["finalizers"][0] == "clients.example.dev/outside"
                && config_map["data"]["text"] == text
                && owner["uid"] == object["metadata"]["uid"]
                && named("home-outside").is_some()
                // Two handlers of kopf write the status, one after the other.
                && (self.kind != "page" || object["status"]["labels"][0] == "tier")
                && (!self.shown.contains("deployments")
                    || named("home-web").is_some_and(|found| is_deployed(found, text)))
        });
        mask::masked(&found, ns)
    }
}

/// The events about the object, once there is one for each generation.
fn events(target: &Target, ns: &str) -> String {
    let script = "kubectl get events --field-selector involvedObject.kind!=Lease --sort-by=.message -o custom-columns=R:.reason,T:.type,O:.involvedObject.name,C:.source.component,P:.reportingComponent,M:.message";
    let found = target.until(ns, script, |found| found.matches("Converged").count() >= 2);
    mask::masked(&found, ns)
}

fn is_deployed(deployment: &Value, text: &str) -> bool {
    let spec = &deployment["spec"];
    spec["replicas"] == 2 && spec["template"]["spec"]["containers"][0]["env"][0]["value"] == text
}

/// An operator, killed when dropped.
struct Operator {
    child: Child,
    log: tempfile::NamedTempFile,
}

impl Operator {
    fn start(mut command: Command) -> Self {
        let log = tempfile::NamedTempFile::new().unwrap();
        let file = || File::options().append(true).open(log.path()).unwrap();
        let child = command.stdout(file()).stderr(file()).spawn().unwrap();
        Self { child, log }
    }

    fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.log.path()).unwrap()).into_owned()
    }

    fn assert_running(&mut self) {
        let ended = self.child.try_wait().unwrap();
        assert!(ended.is_none(), "has ended: {ended:?}\n{}", self.log());
    }

    /// Tells it to end, and waits for that.
    fn stop(&mut self) -> ExitStatus {
        let pid = self.child.id().to_string();
        let kill = Command::new("kill").args(["-s", "TERM", &pid]).status();
        assert!(kill.unwrap().success());
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "does not end\n{}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Conflicts are a part of life; what a library does not understand of a server is not.
    fn assert_calm(&self) {
        let log = self.log();
        let wrong = log.lines().find(|line| {
            [
                "panic",
                "Traceback",
                "failed to list",
                "Failed to watch",
                "unmarshal",
                "decode",
            ]
            .iter()
            .any(|word| line.contains(word))
        });
        assert_eq!(wrong, None, "{log}");
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<_> = log.lines().collect();
            eprintln!("--- end of the log of the operator:");
            for line in &lines[lines.len().saturating_sub(10)..] {
                eprintln!("{}", line.chars().take(400).collect::<String>());
            }
        }
    }
}
