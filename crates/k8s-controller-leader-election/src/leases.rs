//! The requests about one lease.

use futures::future::{BoxFuture, FutureExt as _};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, PostParams};
use kube::{Client, ResourceExt as _};

/// Reads and writes one lease. Requests do not borrow, so that they can go on elsewhere.
pub(crate) trait Leases: Send + Sync {
    /// The lease, if it exists.
    fn get(&self) -> BoxFuture<'static, kube::Result<Option<Lease>>>;

    /// Creates it, unless it exists.
    fn create(&self, lease: Lease) -> BoxFuture<'static, kube::Result<Lease>>;

    /// Replaces it, unless it changed since that resource version.
    fn replace(&self, lease: Lease) -> BoxFuture<'static, kube::Result<Lease>>;
}

/// A lease of an API server.
pub(crate) struct KubeLeases {
    api: Api<Lease>,
    name: String,
}

impl KubeLeases {
    pub(crate) fn new(client: Client, namespace: &str, name: &str) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            name: name.to_owned(),
        }
    }
}

impl Leases for KubeLeases {
    fn get(&self) -> BoxFuture<'static, kube::Result<Option<Lease>>> {
        let (api, name) = (self.api.clone(), self.name.clone());
        async move { api.get_opt(&name).await }.boxed()
    }

    fn create(&self, lease: Lease) -> BoxFuture<'static, kube::Result<Lease>> {
        let api = self.api.clone();
        async move { api.create(&PostParams::default(), &lease).await }.boxed()
    }

    fn replace(&self, lease: Lease) -> BoxFuture<'static, kube::Result<Lease>> {
        let api = self.api.clone();
        async move {
            let name = lease.name_any();
            api.replace(&name, &PostParams::default(), &lease).await
        }
        .boxed()
    }
}
