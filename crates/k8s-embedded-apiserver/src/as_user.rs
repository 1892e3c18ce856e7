//! The server as one user sees it.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Buf;
use http::{Request, Response};
use http_body::Body;
use tower::{BoxError, Service};

use crate::{ApiBody, ApiFuture, EmbeddedApiServer, User};

/// A client of an [`EmbeddedApiServer`] that makes its requests as one user; made by [`EmbeddedApiServer::as_user`].
#[derive(Clone, Debug)]
pub struct AsUser {
    server: EmbeddedApiServer,
    user: Arc<User>,
}

impl EmbeddedApiServer {
    /// The server for requests of `user`, whatever credentials they carry.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use k8s_embedded_apiserver::{EmbeddedApiServer, User};
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use k8s_openapi::api::rbac::v1::RoleBinding;
    /// use kube::api::{Api, ListParams, PostParams};
    /// use kube::Client;
    ///
    /// let server = EmbeddedApiServer::builder().rbac(true).build();
    /// let robot = server.as_user(User::service_account("default", "robot"));
    /// let maps = Api::<ConfigMap>::default_namespaced(Client::new(robot, "default"));
    /// let error = maps.list(&ListParams::default()).await.unwrap_err();
    /// assert!(matches!(error, kube::Error::Api(status) if status.code == 403));
    ///
    /// let binding: RoleBinding = serde_json::from_value(serde_json::json!({
    ///     "metadata": {"name": "robot"},
    ///     "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
    ///     "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": "default"}],
    /// }))?;
    /// let bindings = Api::default_namespaced(Client::new(server, "default"));
    /// bindings.create(&PostParams::default(), &binding).await?;
    /// maps.list(&ListParams::default()).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn as_user(&self, user: User) -> AsUser {
        AsUser {
            server: self.clone(),
            user: Arc::new(user),
        }
    }
}

impl<B> Service<Request<B>> for AsUser
where
    B: Body + Send + 'static,
    B::Data: Buf + Send,
    B::Error: Into<BoxError>,
{
    type Response = Response<ApiBody>;
    type Error = Infallible;
    type Future = ApiFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<B>) -> ApiFuture {
        request.extensions_mut().insert(self.user.clone());
        self.server.call(request)
    }
}
