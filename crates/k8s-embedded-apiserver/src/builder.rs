//! What can be chosen about a server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::Full;
use k8s_openapi::jiff::Timestamp;
use tower::{BoxError, Service};

use crate::admission;
use crate::auth::{self, ISSUER};
use crate::lifecycle::{Controllers, State};
use crate::source::Source;
use crate::store::Limits;
use crate::{EmbeddedApiServer, User};

/// How long after a change controllers act: about what it takes in a small cluster.
const CONTROLLER_DELAY: Duration = Duration::from_millis(20);

/// `namespaceDeletionGracePeriod` of kube-controller-manager.
const NAMESPACE_DELAY: Duration = Duration::from_secs(5);

/// Changes of each collection that are kept for watches.
const HISTORY_LIMIT: usize = 10_000;

/// How often versions are forgotten for lists of the past, as by a real server.
const COMPACTION_INTERVAL: Duration = Duration::from_secs(5 * 60);

type Clock = Box<dyn Fn() -> Timestamp + Send + Sync>;

/// What can be chosen about an [`EmbeddedApiServer`].
#[must_use = "a builder does nothing until `build`"]
pub struct Builder {
    clock: Option<Clock>,
    seed: Option<u64>,
    controllers: Controllers,
    limits: Limits,
    default_user: Option<User>,
    tokens: Vec<(String, User)>,
    rbac: bool,
    issuer: String,
    webhooks: admission::Client,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("seed", &self.seed)
            .field("controllers", &self.controllers)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            clock: None,
            seed: None,
            controllers: Controllers {
                garbage_collection: true,
                namespace_deletion: true,
                service_accounts: true,
                delay: CONTROLLER_DELAY,
                namespace_delay: NAMESPACE_DELAY,
            },
            limits: Limits {
                history: HISTORY_LIMIT,
                compaction: COMPACTION_INTERVAL,
                lag: Duration::ZERO,
            },
            default_user: Some(User::admin()),
            tokens: Vec::new(),
            rbac: false,
            issuer: ISSUER.into(),
            webhooks: admission::Client::default(),
        }
    }

    /// Where timestamps come from.
    ///
    /// By default it is the wall clock at the time of [`build`](Self::build), moved on by tokio's clock: under paused
    /// time an hour of virtual time moves timestamps by an hour. Outside a tokio runtime tokio's clock is the
    /// system's, so that a server may be built before the runtime is.
    pub fn clock(mut self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.clock = Some(Box::new(clock));
        self
    }

    /// Fixes uids and generated names. By default every server has its own random seed.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Whether dependents go when their owners do (by default they do), as the garbage collector of a cluster sees to
    /// it. Deletes in the foreground and orphaning deletes wait for it.
    pub fn garbage_collection(mut self, run: bool) -> Self {
        self.controllers.garbage_collection = run;
        self
    }

    /// Whether a namespace that is deleted goes away with its content (by default it does), as the namespace
    /// controller of a cluster sees to it.
    pub fn namespace_deletion(mut self, run: bool) -> Self {
        self.controllers.namespace_deletion = run;
        self
    }

    /// Whether every namespace gets a ServiceAccount `default` (by default it does).
    pub fn default_service_accounts(mut self, run: bool) -> Self {
        self.controllers.service_accounts = run;
        self
    }

    /// How long after a change the controllers of the cluster act (by default 20 ms of tokio's time). With zero what
    /// follows from a request is done before it is answered.
    pub fn controller_delay(mut self, delay: Duration) -> Self {
        self.controllers.delay = delay;
        self
    }

    /// How long after a change of a namespace that goes away its content is looked at (by default 5 s of tokio's time,
    /// as in a real cluster). With zero an empty namespace is gone before its delete is answered.
    pub fn namespace_deletion_delay(mut self, delay: Duration) -> Self {
        self.controllers.namespace_delay = delay;
        self
    }

    /// How many changes of each kind of object are kept for watches (by default 10,000). A watch from an older version
    /// is answered with 410 Expired.
    pub fn history_limit(mut self, changes: usize) -> Self {
        self.limits.history = changes;
        self
    }

    /// How often old versions are compacted (by default every 5 minutes of tokio's time, as by kube-apiserver's
    /// `--etcd-compaction-interval`; zero is never).
    ///
    /// A version can be listed for one to two intervals after the write that followed it: then a list at exactly that
    /// version, and a `continue` token, is answered with 410 Expired. Watches are not concerned.
    pub fn etcd_compaction_interval(mut self, interval: Duration) -> Self {
        self.limits.compaction = interval;
        self
    }

    /// How far the watch cache is behind the writes, in tokio's time (by default not at all).
    ///
    /// On a real server watches, and reads that ask for it, are served from a cache that follows the writes a moment
    /// later; it is that moment in which controllers act on what is no longer true. With a lag
    ///
    /// - a watch tells of a write when it is that old, and its bookmarks are as far behind;
    /// - a get or list with `resourceVersion=0` shows how things were;
    /// - one with another version waits until the cache has got there, up to three seconds;
    /// - a get or list without a version, the pages that follow it, a list at exactly some version, and every write,
    ///   see the last write, as ever.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), kube::Error> {
    /// use std::time::Duration;
    /// use k8s_embedded_apiserver::EmbeddedApiServer;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::api::{ListParams, ObjectMeta, PostParams};
    /// use kube::{Api, Client};
    ///
    /// let server = EmbeddedApiServer::builder().watch_cache_lag(Duration::from_millis(300)).build();
    /// let api: Api<ConfigMap> = Api::default_namespaced(Client::new(server, "default"));
    /// let metadata = ObjectMeta { name: Some("a".into()), ..ObjectMeta::default() };
    /// api.create(&PostParams::default(), &ConfigMap { metadata, ..ConfigMap::default() }).await?;
    ///
    /// let cached = ListParams::default().match_any();
    /// assert_eq!(api.list(&cached).await?.items.len(), 0);
    /// assert_eq!(api.list(&ListParams::default()).await?.items.len(), 1);
    /// tokio::time::sleep(Duration::from_millis(300)).await;
    /// assert_eq!(api.list(&cached).await?.items.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn watch_cache_lag(mut self, lag: Duration) -> Self {
        self.limits.lag = lag;
        self
    }

    /// Whose requests without credentials are. By default [`User::admin`], who may do everything;
    /// [`User::anonymous`] is what a kube-apiserver has, and `None` refuses them with 401.
    pub fn default_user(mut self, user: impl Into<Option<User>>) -> Self {
        self.default_user = user.into();
        self
    }

    /// Makes requests with the bearer token `token` those of `user`. A token that nobody has is refused
    /// with 401; without any such token every one is as good as none, but those of service accounts.
    pub fn token(mut self, token: impl Into<String>, user: User) -> Self {
        self.tokens.push((token.into(), user));
        self
    }

    /// Whether only what roles allow may be done (by default everybody may do everything).
    ///
    /// Members of `system:masters`, as the [default user](Self::default_user) is, may do everything all the same. The
    /// server begins with the roles and bindings of a kube-apiserver, such as `cluster-admin`, `edit` and `view`.
    pub fn rbac(mut self, enforce: bool) -> Self {
        self.rbac = enforce;
        self
    }

    /// Who issues tokens of service accounts, and the audience they have if none is asked for (by default
    /// `https://localhost`).
    pub fn service_account_issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = issuer.into();
        self
    }

    /// Lets a service in the process answer for the webhooks of a host: `NAME.NAMESPACE.svc` for those that a
    /// configuration gives by their service, the host of the URL for others; with `:PORT` for one port only.
    ///
    /// It is asked once a `ValidatingWebhookConfiguration` or a `MutatingWebhookConfiguration` says so: by POST to the
    /// path there, with an `AdmissionReview` in JSON, and answers with one. kube's feature `admission` has its types.
    ///
    /// ```
    /// use std::convert::Infallible;
    ///
    /// use bytes::Bytes;
    /// use http::{Request, Response};
    /// use http_body_util::{BodyExt, Full};
    /// use k8s_embedded_apiserver::EmbeddedApiServer;
    /// use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::api::{Api, PostParams};
    /// use kube::Client;
    /// use serde_json::{Value, json};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let webhook = tower::service_fn(|request: Request<Full<Bytes>>| async move {
    ///     let body = request.into_body().collect().await?.to_bytes();
    ///     let review: Value = serde_json::from_slice(&body).unwrap_or_default();
    ///     let answer = json!({
    ///         "apiVersion": "admission.k8s.io/v1",
    ///         "kind": "AdmissionReview",
    ///         "response": {
    ///             "uid": review["request"]["uid"],
    ///             "allowed": review["request"]["name"] != "forbidden",
    ///             "status": {"message": "not that name"},
    ///         },
    ///     });
    ///     Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(answer.to_string()))))
    /// });
    /// let server = EmbeddedApiServer::builder().webhook("policy.default.svc", webhook).build();
    /// let client = Client::new(server, "default");
    ///
    /// let configuration: ValidatingWebhookConfiguration = serde_json::from_value(json!({
    ///     "metadata": {"name": "policy"},
    ///     "webhooks": [{
    ///         "name": "policy.example.com",
    ///         "clientConfig": {"service": {"namespace": "default", "name": "policy", "path": "/check"}},
    ///         "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
    ///         "sideEffects": "None",
    ///         "admissionReviewVersions": ["v1"],
    ///     }],
    /// }))?;
    /// let configurations = Api::all(client.clone());
    /// configurations.create(&PostParams::default(), &configuration).await?;
    ///
    /// let mut map = ConfigMap::default();
    /// map.metadata.name = Some("forbidden".into());
    /// let maps = Api::default_namespaced(client);
    /// let error = maps.create(&PostParams::default(), &map).await.unwrap_err();
    /// assert!(error.to_string().contains("not that name"), "{error}");
    /// # Ok(())
    /// # }
    /// ```
    pub fn webhook<S, B>(mut self, host: impl Into<String>, service: S) -> Self
    where
        S: Service<Request<Full<Bytes>>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
        B: Body + Send,
        B::Data: Send,
        B::Error: Into<BoxError>,
    {
        self.webhooks.serve(host.into(), service);
        self
    }

    /// Where the webhooks of a host listen, whose name is written as for [`webhook`](Self::webhook). They are called
    /// over HTTPS, and their certificate is checked against the `caBundle` of the configuration.
    #[cfg(feature = "http")]
    pub fn webhook_address(
        mut self,
        host: impl Into<String>,
        address: std::net::SocketAddr,
    ) -> Self {
        self.webhooks.resolve(host.into(), address);
        self
    }

    /// A server of its own.
    #[must_use]
    pub fn build(self) -> EmbeddedApiServer {
        let source = Source::new(self.clock, self.seed);
        // A cluster that starts has done what follows from its first objects.
        let at_once = Controllers {
            delay: Duration::ZERO,
            ..self.controllers.clone()
        };
        let mut state = State::new(source, self.limits, at_once);
        crate::start::fill(&mut state);
        crate::plugins::first_classes(&mut state);
        state.access.default_user = self.default_user.map(Arc::new);
        state.access.signer.issuer = self.issuer;
        let tokens = self.tokens.into_iter();
        state.access.tokens = tokens
            .map(|(token, user)| (token, Arc::new(user)))
            .collect();
        if self.rbac {
            auth::install_policy(&mut state);
            state.access.enforce_roles();
        }
        state.controllers = self.controllers;
        EmbeddedApiServer::with_state(state, self.webhooks)
    }
}
