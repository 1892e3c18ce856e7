//! The real server as an administrator sees it, and a namespace of the scenario's own.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::sleep;

use super::audit::{self, Request};
use super::given::Given;
use super::wait::{PATIENCE, within};
use super::website::{Website, WebsiteSpec};

/// The name of the lease, which is the only one that the manifests' role allows.
const LEASE: &str = "website";
/// The namespace of the operator's own objects.
const SYSTEM: &str = "website-system";

pub(crate) struct Cluster {
    given: Given,
    client: Client,
    /// The server, and the path of the certificate to trust.
    server: SocketAddr,
    certificate: String,
    namespace: String,
    folder: TempDir,
}

impl Cluster {
    /// A namespace whose accounts may do what the manifests allow the operator.
    pub(crate) async fn new(given: Given, scenario: &str) -> Self {
        let kubeconfig = Kubeconfig::read_from(&given.kubeconfig).unwrap();
        let cluster = kubeconfig.clusters[0].cluster.clone().unwrap();
        let url = cluster.server.unwrap();
        let options = KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
        let stamp = std::time::UNIX_EPOCH
            .elapsed()
            .map_or(0, |since| since.as_nanos() % (1 << 40));
        let (_, short) = scenario.rsplit_once("::").unwrap();
        let short: String = short.chars().take(40).collect();
        let this = Self {
            given,
            client: Client::try_from(config.unwrap()).unwrap(),
            server: url.strip_prefix("https://").unwrap().parse().unwrap(),
            certificate: cluster.certificate_authority.unwrap(),
            namespace: format!("{}-{stamp:x}", short.replace('_', "-")),
            folder: tempfile::tempdir().unwrap(),
        };
        this.deploy();
        this.prepare();
        this
    }

    pub(crate) fn given(&self) -> &Given {
        &self.given
    }

    pub(crate) fn server(&self) -> SocketAddr {
        self.server
    }

    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Applies the manifests, once for all scenarios.
    fn deploy(&self) {
        static DEPLOYED: Mutex<bool> = Mutex::new(false);
        let mut deployed = DEPLOYED.lock().unwrap_or_else(PoisonError::into_inner);
        if *deployed {
            return;
        }
        let printed = Command::new(&self.given.website).arg("manifests").output();
        let printed = printed.unwrap();
        assert!(printed.status.success(), "{printed:?}");
        self.apply(&printed.stdout);
        self.kubectl(&["wait", "--for=condition=Established", "--timeout=30s"])
            .arg("customresourcedefinition/websites.example.dev")
            .output()
            .map(|output| assert!(output.status.success(), "{output:?}"))
            .unwrap();
        *deployed = true;
    }

    fn apply(&self, manifests: &[u8]) {
        let mut kubectl = self
            .kubectl(&["apply", "--filename", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        kubectl.stdin.take().unwrap().write_all(manifests).unwrap();
        assert!(kubectl.wait().unwrap().success());
    }

    /// kubectl as an administrator.
    pub(crate) fn kubectl(&self, words: &[&str]) -> Command {
        let mut kubectl = Command::new(&self.given.kubectl);
        kubectl.arg("--kubeconfig").arg(&self.given.kubeconfig);
        kubectl.args(words);
        kubectl
    }

    /// Makes the namespace, and gives its accounts the roles of the operator. The lease is in the
    /// namespace and not in the operator's own, so that scenarios do not share it.
    fn prepare(&self) {
        let namespace = &self.namespace;
        let accounts = json!([{
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "Group",
            "name": format!("system:serviceaccounts:{namespace}"),
        }]);
        let binding = |kind: &str, role: &str, of: &str| {
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": kind,
                "metadata": { "name": namespace, "namespace": of },
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": role,
                    "name": if of == namespace { "lease" } else { "website" },
                },
                "subjects": accounts,
            })
        };
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": [
            { "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } },
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "Role",
                "metadata": { "name": "lease", "namespace": namespace },
                "rules": [
                    {
                        "apiGroups": ["coordination.k8s.io"],
                        "resources": ["leases"],
                        "resourceNames": [LEASE],
                        "verbs": ["get", "update"],
                    },
                    {
                        "apiGroups": ["coordination.k8s.io"],
                        "resources": ["leases"],
                        "verbs": ["create"],
                    },
                ],
            },
            binding("RoleBinding", "Role", namespace),
            binding("RoleBinding", "Role", SYSTEM),
            binding("ClusterRoleBinding", "ClusterRole", ""),
        ]});
        self.apply(list.to_string().as_bytes());
    }

    /// A kubeconfig of a new account, for the server at this address.
    pub(crate) async fn account(&self, name: &str, server: SocketAddr) -> PathBuf {
        let accounts: Api<ServiceAccount> = self.api();
        let account = object(json!({ "metadata": { "name": name } }));
        let parameters = PostParams::default();
        accounts.create(&parameters, &account).await.unwrap();
        let request: TokenRequest = object(json!({ "spec": { "audiences": [] } }));
        let token = accounts
            .create_token_request(name, &parameters, &request)
            .await
            .unwrap();
        let token = token.status.and_then(|status| status.token).unwrap();
        self.kubeconfig(name, &token, server)
    }

    /// A kubeconfig with this token.
    pub(crate) fn kubeconfig(&self, name: &str, token: &str, server: SocketAddr) -> PathBuf {
        let kubeconfig = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": "e2e", "cluster": {
                "server": format!("https://{server}"),
                "certificate-authority": self.certificate,
            }}],
            "users": [{ "name": name, "user": { "token": token } }],
            "contexts": [{ "name": "e2e", "context": { "cluster": "e2e", "user": name } }],
            "current-context": "e2e",
        });
        let path = self.folder().join(format!("{name}.kubeconfig"));
        std::fs::write(&path, kubeconfig.to_string()).unwrap();
        path
    }

    /// What an account asked the server for, in the order in which it got it.
    pub(crate) fn requests_of(&self, account: &str) -> Vec<Request> {
        let user = format!("system:serviceaccount:{}:{account}", self.namespace);
        audit::requests_of(&self.given.audit_log, &user)
    }

    /// Who holds the lease.
    pub(crate) async fn leader(&self) -> Result<String, String> {
        let lease = self.api::<Lease>().get(LEASE).await;
        let lease = lease.map_err(|error| error.to_string())?;
        let holder = lease.spec.and_then(|spec| spec.holder_identity);
        Ok(holder.unwrap_or_default())
    }

    /// Waits until this one holds the lease.
    pub(crate) async fn leads(&self, identity: &str, limit: Duration) {
        within(limit, &format!("{identity} leads"), async || {
            match self.leader().await {
                Ok(leader) if leader == identity => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    }

    /// Creates a Website, or changes what it asks for.
    pub(crate) async fn write_site(
        &self,
        name: &str,
        content: &str,
        replicas: i32,
    ) -> kube::Result<Website> {
        let spec = WebsiteSpec {
            content: content.to_owned(),
            replicas,
            host: format!("{name}.{}.example.com", self.namespace),
        };
        let site = Website::new(name, spec);
        let parameters = PatchParams::apply("user").force();
        let patch = Patch::Apply(json!({
            "apiVersion": Website::api_version(&()),
            "kind": Website::kind(&()),
            "metadata": { "name": name },
            "spec": site.spec,
        }));
        self.api().patch(name, &parameters, &patch).await
    }

    /// Waits until the status of each Website is about what it asks for now.
    pub(crate) async fn settled(&self, limit: Duration) -> Vec<Website> {
        within(limit, "every status is up to date", async || {
            let sites = self.list::<Website>().await?;
            let late: Vec<_> = sites
                .iter()
                .filter(|site| !is_up_to_date(site))
                .map(|site| (site.name_any(), site.metadata.generation, &site.status))
                .collect();
            let count = late.len();
            if count == 0 {
                return Ok(sites.clone());
            }
            Err(format!("{count} are late, such as {:?}", late[0]))
        })
        .await
    }

    /// Waits until each of these Websites is ready, and has the page that it asks for.
    pub(crate) async fn served(&self, pages: &BTreeMap<String, String>, limit: Duration) {
        within(limit, "every page is served", async || {
            let sites = by_name(self.list::<Website>().await?);
            let maps = by_name(self.list::<ConfigMap>().await?);
            let late: Vec<_> = pages
                .iter()
                .filter(|(name, content)| {
                    let is_ready = sites.get(*name).is_some_and(|site| {
                        is_up_to_date(site)
                            && site.spec.content == **content
                            && site.status.as_ref().unwrap().phase == "Ready"
                    });
                    let page = maps.get(*name).and_then(|map| map.data.as_ref());
                    !is_ready || page.and_then(|page| page.get("index.html")) != Some(content)
                })
                .collect();
            let Some((name, content)) = late.first() else {
                return Ok(());
            };
            // The lists may be long, and the server has other work.
            sleep(Duration::from_millis(200 + 10 * late.len() as u64)).await;
            Err(format!(
                "{} of {} are late, such as {name} {content:?}: {:?}",
                late.len(),
                pages.len(),
                sites.get(*name),
            ))
        })
        .await;
    }

    /// Creates a Website and waits until it is served.
    pub(crate) async fn serves_a_new_site(&self, name: &str) {
        self.write_site(name, "new", 1).await.unwrap();
        let pages = BTreeMap::from([(name.to_owned(), "new".to_owned())]);
        self.served(&pages, PATIENCE).await;
    }

    /// The events about a Website.
    pub(crate) async fn events_about(&self, site: &Website) -> Vec<Event> {
        let mut events = self.list::<Event>().await.unwrap();
        events.retain(|event| {
            let about = event.regarding.as_ref();
            about.and_then(|about| about.uid.as_ref()) == site.uid().as_ref()
        });
        events
    }

    async fn list<K>(&self) -> Result<Vec<K>, String>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        K: Clone + Debug + DeserializeOwned,
    {
        let list = self.api::<K>().list(&ListParams::default()).await;
        list.map(|list| list.items)
            .map_err(|error| error.to_string())
    }
}

fn is_up_to_date(site: &Website) -> bool {
    let observed = site.status.as_ref().and_then(|of| of.observed_generation);
    observed.is_some() && observed == site.metadata.generation
}

fn by_name<K: Resource>(objects: Vec<K>) -> BTreeMap<String, K> {
    let named = objects
        .into_iter()
        .map(|object| (object.name_any(), object));
    named.collect()
}

fn object<K: DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}
