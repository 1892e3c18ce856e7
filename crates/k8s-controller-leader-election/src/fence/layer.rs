//! The layer that refuses writes.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::{BoxFuture, FutureExt as _};
use http::{Method, Request};
use kube::client::Body;
use tower::{BoxError, Layer, Service};

use super::Fence;
use super::body::{Progress, Wrapper};

/// A tower layer that refuses POST, PUT, PATCH and DELETE once the lease is no longer certainly
/// held; made by [`Fence::layer`].
///
/// That is checked when the request begins, each time its future is polled until the request is
/// sent, and when the connection takes the body. So a thread that was blocked between any two of
/// these sends nothing when it goes on. A request that the connection has taken is left to be
/// answered: it may have been carried out.
///
/// A body that is guarded that way cannot be sent twice. So a retry below this layer, as the one of
/// a client made from a [`kube::Config`] on 429, 503 and 504, does not apply to writes; the answer
/// comes back as an error. Other methods pass as they are.
#[derive(Clone)]
pub struct FenceLayer {
    fence: Fence,
    wrapper: Wrapper,
}

impl FenceLayer {
    pub(super) fn new(fence: Fence) -> Self {
        Self {
            fence,
            wrapper: Wrapper::new(),
        }
    }
}

impl<S> Layer<S> for FenceLayer {
    type Service = FenceService<S>;

    fn layer(&self, inner: S) -> FenceService<S> {
        FenceService {
            inner,
            layer: self.clone(),
        }
    }
}

impl fmt::Debug for FenceLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FenceLayer").field(&self.fence).finish()
    }
}

/// What [`FenceLayer`] makes of a service.
#[derive(Clone, Debug)]
pub struct FenceService<S> {
    inner: S,
    layer: FenceLayer,
}

impl<S> Service<Request<Body>> for FenceService<S>
where
    S: Service<Request<Body>> + Clone + Send + 'static,
    S::Response: Send,
    S::Error: Into<BoxError>,
    S::Future: Send,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<S::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if !writes(request.method()) {
            return self
                .inner
                .call(request)
                .map(|result| result.map_err(Into::into))
                .boxed();
        }
        // The one that is ready goes along; the clone may not be ready yet.
        let clone = self.inner.clone();
        let inner = std::mem::replace(&mut self.inner, clone);
        write(inner, request, self.layer.clone()).boxed()
    }
}

async fn write<S>(
    mut inner: S,
    request: Request<Body>,
    FenceLayer { fence, wrapper }: FenceLayer,
) -> Result<S::Response, BoxError>
where
    S: Service<Request<Body>>,
    S::Error: Into<BoxError>,
{
    fence.check()?;
    let progress = Arc::new(Progress::default());
    let (parts, body) = request.into_parts();
    let body = wrapper.wrap(body, &fence, &progress).await?;
    fence.check()?;
    let mut answer = std::pin::pin!(inner.call(Request::from_parts(parts, body)));
    let answer = poll_fn(|cx| {
        if !progress.is_sent() {
            fence.check()?;
        }
        answer.as_mut().poll(cx).map_err(Into::into)
    })
    .await;
    if progress.is_refused() {
        // However the connection reports that there was no more of the body.
        return Err(fence.refusal().into());
    }
    answer
}

/// Whether the request may change something. Kubernetes has no other methods that do.
fn writes(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}
