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
    /// # async fn main() {
    /// use k8s_embedded_apiserver::{EmbeddedApiServer, User};
    /// use k8s_openapi::api::core::v1::Secret;
    /// use kube::{Api, Client};
    ///
    /// let server = EmbeddedApiServer::builder().rbac(true).build();
    /// let client = Client::new(server.as_user(User::service_account("default", "robot")), "default");
    /// let error = Api::<Secret>::default_namespaced(client).get("key").await.unwrap_err();
    /// assert!(matches!(error, kube::Error::Api(status) if status.code == 403));
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
