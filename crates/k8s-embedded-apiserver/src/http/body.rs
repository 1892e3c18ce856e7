//! The body of an answer that ends when the server does.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::future::BoxFuture;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::watch;

use crate::ApiBody;

/// What is ready is sent; where there would be a wait, the end of the server is the end of the body.
pub(super) struct EndingBody {
    inner: ApiBody,
    stopped: BoxFuture<'static, ()>,
    ended: bool,
}

impl EndingBody {
    pub(super) fn new(inner: ApiBody, mut stopped: watch::Receiver<bool>) -> Self {
        let stopped = Box::pin(async move {
            // An error means that the server is gone altogether.
            let _ = stopped.wait_for(|stopped| *stopped).await;
        });
        Self {
            inner,
            stopped,
            ended: false,
        }
    }
}

impl fmt::Debug for EndingBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EndingBody").field(&self.inner).finish()
    }
}

impl Body for EndingBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        if let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(cx) {
            return Poll::Ready(frame);
        }
        if self.stopped.as_mut().poll(cx).is_ready() {
            self.ended = true;
            return Poll::Ready(None);
        }
        Poll::Pending
    }

    fn is_end_stream(&self) -> bool {
        self.ended || self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
