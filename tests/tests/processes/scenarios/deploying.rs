//! The manifests on a real server, and the operator under the account that they make for it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Write as _;
use std::net::SocketAddr;
use std::process::{Output, Stdio};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use rustix::process::Signal;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::support::admin::Admin;
use crate::support::audit::{self, Request};
use crate::support::cluster::Cluster;
use crate::support::operator::Operator;
use crate::support::proxy::Proxy;
use crate::support::wait::{PATIENCE, within};
use crate::support::website::{Website, WebsiteSpec};

const SYSTEM: &str = "website-system";
const ACCOUNT: &str = "website";
const USER: &str = "system:serviceaccount:website-system:website";
pub(crate) async fn applied_and_run_as_its_own_account(cluster: Cluster) {
    stored_as_applied(&cluster);
    admits_its_pod(&cluster);
    may_do_what_it_does_and_no_more(&cluster).await;
}

/// Each object is there, and applying them again changes nothing.
fn stored_as_applied(cluster: &Cluster) {
    let manifests = manifests(cluster);
    let versions = || {
        let version = r#"{range .items[*]}{.kind} {.metadata.resourceVersion}{"\n"}{end}"#;
        let output = format!("--output=jsonpath={version}");
        succeeded(&kubectl(
            cluster,
            &["get", "--filename", "-", &output],
            &manifests,
        ))
    };
    let before = versions();
    let count = manifests.matches("\nkind: ").count();
    assert_eq!(before.lines().count(), count, "{before}");
    let apply = ["apply", "--filename", "-"];
    let applied = succeeded(&kubectl(cluster, &apply, &manifests));
    // For this kind, kubectl sends a patch in any case.
    let changed = |line: &&str| !line.ends_with(" unchanged");
    let changed: Vec<_> = applied.lines().filter(changed).collect();
    assert_eq!(changed, ["poddisruptionbudget.policy/website configured"]);
    assert_eq!(versions(), before);
    let different = kubectl(cluster, &["diff", "--filename", "-"], &manifests);
    assert_eq!(succeeded(&different), "");
}

/// The namespace admits the pod of the Deployment, and refuses one that could do more.
fn admits_its_pod(cluster: &Cluster) {
    let deployment: Deployment = stored(cluster, "deployment");
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": "website", "namespace": SYSTEM },
        "spec": deployment.spec.template.spec,
    });
    let create = ["create", "--dry-run=server", "--filename", "-"];
    succeeded(&kubectl(cluster, &create, &pod.to_string()));
    pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = json!(true);
    let refused = kubectl(cluster, &create, &pod.to_string());
    assert!(!refused.status.success());
    let why = String::from_utf8(refused.stderr).unwrap();
    assert!(why.contains("violates PodSecurity"), "{why}");
}

/// Each request is allowed, and each right is used.
async fn may_do_what_it_does_and_no_more(cluster: &Cluster) {
    let proxy = Proxy::to(cluster.server()).await;
    let mut operator = start(cluster, "website-0", proxy.address());
    let admin = Admin::of(&mut operator).await;
    live(cluster).await;
    race(cluster, &proxy, &admin).await;
    operator.assert_well();
    operator.signal(Signal::TERM);
    let status = operator.end(PATIENCE).await;
    assert!(status.success(), "{status}");

    let granted = granted(cluster);
    // A watch is logged when it ends.
    let requests = within(PATIENCE, "every permission is used", async || {
        let requests = audit::requests_of(&cluster.given().audit_log, USER);
        let used = used(&requests);
        if granted.is_subset(&used) {
            return Ok(requests);
        }
        let unused: Vec<_> = granted.difference(&used).collect();
        Err(format!("unused: {unused:?}"))
    })
    .await;
    let denied: Vec<_> = requests
        .iter()
        .filter(|request| request.code == 403)
        .collect();
    assert!(denied.is_empty(), "{denied:#?}");
    assert_eq!(used(&requests), granted);
}

/// Websites that are created, edited, deleted; one fails meanwhile.
async fn live(cluster: &Cluster) {
    cluster.serves_a_new_site("shop").await;
    let host = format!("shop.{}.example.com", cluster.namespace());
    let spec = WebsiteSpec {
        content: "mine".into(),
        replicas: 1,
        host,
    };
    let sites = cluster.api::<Website>();
    let rival = Website::new("rival", spec);
    let rival = sites.create(&PostParams::default(), &rival).await.unwrap();
    within(PATIENCE, "the event of the rival is repeated", async || {
        let repeated = |event: &Event| event.series.as_ref().map(|series| series.count);
        let events = cluster.events_about(&rival).await;
        let taken = |event: &&Event| event.reason.as_deref() == Some("HostTaken");
        match events.iter().find(taken).and_then(repeated) {
            Some(count) if count >= 2 => Ok(()),
            _ => Err(format!("{events:?}")),
        }
    })
    .await;
    phase(cluster, "rival", "Failed").await;

    cluster.write_site("shop", "edited", 3).await.unwrap();
    phase(cluster, "shop", "Ready").await;
    let page = cluster.api::<ConfigMap>().get("shop").await.unwrap();
    assert_eq!(page.data.unwrap()["index.html"], "edited");
    let server = cluster.api::<Deployment>().get("shop").await.unwrap();
    assert_eq!(server.spec.replicas, Some(3));

    sites
        .delete("shop", &DeleteParams::default())
        .await
        .unwrap();
    within(PATIENCE, "the shop is gone", async || {
        match sites.get_opt("shop").await {
            Ok(None) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
    // Its host is free now. An edit spares the wait for the next retry.
    let edit = Patch::Merge(json!({ "spec": { "content": "ours" } }));
    let parameters = PatchParams::default();
    sites.patch("rival", &parameters, &edit).await.unwrap();
    phase(cluster, "rival", "Ready").await;
    let wait = [
        "wait",
        "--for=condition=Ready",
        "website/rival",
        "--timeout=1s",
    ];
    let wait = [&wait[..], &["--namespace", cluster.namespace()]].concat();
    succeeded(&kubectl(cluster, &wait, ""));
}

/// Somebody else is faster with a finalizer, while the patch with that of the operator is on its
/// way.
async fn race(cluster: &Cluster, proxy: &Proxy, admin: &Admin) {
    proxy.block();
    cluster.write_site("raced", "new", 1).await.unwrap();
    within(PATIENCE, "a pass runs", async || {
        let workers = admin.value("controller_runtime_active_workers").await;
        (workers > 0.0).then_some(()).ok_or("none runs".to_owned())
    })
    .await;
    let other = Patch::Merge(json!({ "metadata": { "finalizers": ["example.dev/other"] } }));
    let sites = cluster.api::<Website>();
    let parameters = PatchParams::default();
    sites.patch("raced", &parameters, &other).await.unwrap();
    proxy.unblock();
    let site = phase(cluster, "raced", "Ready").await;
    assert_eq!(site.metadata.finalizers.unwrap().len(), 2);
}

/// Starts a replica as the Deployment says, with a token of its account.
fn start(cluster: &Cluster, pod: &str, server: SocketAddr) -> Operator {
    let token = ["create", "token", ACCOUNT, "--namespace", SYSTEM];
    let token = succeeded(&kubectl(cluster, &token, ""));
    let kubeconfig = cluster.kubeconfig(pod, token.trim(), server);
    let deployment: Deployment = stored(cluster, "deployment");
    let container = &deployment.spec.template.spec.unwrap().containers[0];
    let arguments = container.args.clone().unwrap();
    // Two things are other than in a pod.
    let mut arguments: Vec<OsString> = arguments
        .iter()
        .filter(|argument| !argument.starts_with("--admin-address"))
        .map(Into::into)
        .collect();
    arguments.extend(["--admin-address=127.0.0.1:0", "--kubeconfig"].map(Into::into));
    arguments.push(kubeconfig.into());
    let names = container.env.as_deref().unwrap_or_default();
    let names: Vec<_> = names
        .iter()
        .map(|variable| variable.name.as_str())
        .collect();
    assert_eq!(names, ["POD_NAME"]);
    Operator::spawn(cluster, pod, &arguments, &[("POD_NAME", pod)])
}

async fn phase(cluster: &Cluster, name: &str, expected: &str) -> Website {
    let sites = cluster.api::<Website>();
    let what = format!("{name} is {expected}");
    within(PATIENCE, &what, async || {
        let site = sites.get(name).await.map_err(|error| error.to_string())?;
        let status = site.status.as_ref().filter(|status| {
            status.observed_generation == site.metadata.generation && status.phase == expected
        });
        match status {
            Some(_) => Ok(site),
            None => Err(format!("{:?}", site.status)),
        }
    })
    .await
}

/// What the roles allow, as `resource/subresource verb`.
fn granted(cluster: &Cluster) -> BTreeSet<String> {
    let allowed = |rule: PolicyRule| {
        let resources = rule.resources.unwrap_or_default();
        let pairs = resources.into_iter().flat_map(|resource| {
            let verbs = rule.verbs.iter();
            verbs.map(move |verb| format!("{resource} {verb}"))
        });
        pairs.collect::<Vec<_>>()
    };
    let everywhere: ClusterRole = stored(cluster, "clusterrole");
    let in_system: Role = stored(cluster, "role");
    let rules = [everywhere.rules, in_system.rules];
    let rules = rules.into_iter().flatten().flatten();
    rules.flat_map(allowed).collect()
}

/// What the account has asked for, in the same form.
fn used(requests: &[Request]) -> BTreeSet<String> {
    let of_objects = requests
        .iter()
        .filter(|request| !request.resource.is_empty());
    of_objects
        .map(|request| {
            let (resource, _) = request.object.split_once(' ').unwrap();
            format!("{resource} {}", request.verb)
        })
        .collect()
}

fn manifests(cluster: &Cluster) -> String {
    let mut website = std::process::Command::new(&cluster.given().website);
    succeeded(&website.arg("manifests").output().unwrap())
}

/// One of the objects that are named after the operator.
fn stored<K: DeserializeOwned>(cluster: &Cluster, kind: &str) -> K {
    let get = [
        "get",
        kind,
        "website",
        "--namespace",
        SYSTEM,
        "--output",
        "json",
    ];
    serde_json::from_str(&succeeded(&kubectl(cluster, &get, ""))).unwrap()
}

fn kubectl(cluster: &Cluster, words: &[&str], input: &str) -> Output {
    let mut kubectl = cluster
        .kubectl(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may end without having read.
    let _ = kubectl.stdin.take().unwrap().write_all(input.as_bytes());
    kubectl.wait_with_output().unwrap()
}

/// Its standard output; nothing may be on the other, where warnings go.
fn succeeded(output: &Output) -> String {
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    String::from_utf8(output.stdout.clone()).unwrap()
}
