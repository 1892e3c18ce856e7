//! The body of a write, which is the last thing of it that the connection takes.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body as HttpBody, Frame, SizeHint};
use kube::Client;
use kube::client::Body;
use tower::BoxError;

use super::Fence;

/// How far a write is.
#[derive(Debug, Default)]
pub(super) struct Progress {
    sent: AtomicBool,
    refused: AtomicBool,
}

impl Progress {
    /// Whether the connection has taken all of it, so that there will be an answer.
    pub(super) fn is_sent(&self) -> bool {
        self.sent.load(Ordering::Acquire)
    }

    /// Whether the connection was refused a part of it, so that it is incomplete for ever.
    pub(super) fn is_refused(&self) -> bool {
        self.refused.load(Ordering::Acquire)
    }
}

/// A body that ends in an error when it is taken and the lease is not certainly held.
///
/// It does not call itself empty before it was asked: a connection that knows that there is no body
/// would not ask.
pub(super) struct FencedBody {
    body: Body,
    fence: Fence,
    progress: Arc<Progress>,
}

impl HttpBody for FencedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if !self.progress.is_sent()
            && let Err(refusal) = self.fence.check()
        {
            self.progress.refused.store(true, Ordering::Release);
            return Poll::Ready(Some(Err(refusal.into())));
        }
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        let is_last = matches!(polled, Poll::Ready(None)) || self.body.is_end_stream();
        if polled.is_ready() && is_last {
            self.progress.sent.store(true, Ordering::Release);
        }
        polled.map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.progress.is_sent() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let hint = self.body.size_hint();
        if hint.exact() == Some(0) && !self.progress.is_sent() {
            // A length of zero is also something after which no connection asks for the body.
            return SizeHint::new();
        }
        hint
    }
}

/// Makes fenced bodies.
///
/// kube lets nobody make a [`Body`] of another kind of body, but it makes one of the answers of
/// any service: so this is a service that answers with what it was sent.
#[derive(Clone)]
pub(super) struct Wrapper(Client);

/// What goes along with a body on its way through the wrapper.
#[derive(Clone)]
struct Guard {
    fence: Fence,
    progress: Arc<Progress>,
}

impl Wrapper {
    pub(super) fn new() -> Self {
        let echo = tower::service_fn(|request: Request<Body>| async move {
            let (mut parts, body) = request.into_parts();
            let answer = match parts.extensions.remove::<Guard>() {
                Some(Guard { fence, progress }) => Response::new(FencedBody {
                    body,
                    fence,
                    progress,
                }),
                None => return Err(BoxError::from("a body without a guard")),
            };
            Ok(answer)
        });
        Self(Client::new(echo, "default"))
    }

    pub(super) async fn wrap(
        &self,
        body: Body,
        fence: &Fence,
        progress: &Arc<Progress>,
    ) -> kube::Result<Body> {
        let mut request = Request::new(body);
        request.extensions_mut().insert(Guard {
            fence: fence.clone(),
            progress: progress.clone(),
        });
        Ok(self.0.send(request).await?.into_body())
    }
}
